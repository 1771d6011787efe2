//! How long filtering takes. `cargo test --release -p ptsm-signal --test speed -- --ignored --nocapture`
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use ptsm_signal::filter::{Pass, Resampler, butterworth, zero_phase};

#[test]
#[ignore = "measures time"]
fn ten_minutes_of_64_channels() {
    let channel: Vec<f64> = (0..96_000).map(|t| f64::from(t).sin() + f64::from(t % 97)).collect();
    let sections = butterworth(4, Pass::Band(8.0, 30.0), 160.0).unwrap();
    let resampler = Resampler::between(160.0, 100.0).unwrap();
    let start = Instant::now();
    let filtered: Vec<_> = (0..64).map(|_| zero_phase(&sections, &channel).unwrap()).collect();
    let middle = Instant::now();
    let samples: usize = filtered.iter().map(|channel| resampler.apply(channel).len()).sum();
    let (filtering, resampling) = (middle - start, middle.elapsed());
    assert_eq!(samples, 64 * 60_000);
    eprintln!("zero-phase band-pass {filtering:.1?}, resampling to 100 Hz {resampling:.1?}");
}
