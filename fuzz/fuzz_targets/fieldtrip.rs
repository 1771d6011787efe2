#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ptsm_fuzz::fieldtrip(bytes));
