//! Files of a few megabytes that ask for as much memory as they can: what opening them takes is bounded.

#![allow(clippy::unwrap_used)]

#[path = "shared/edf_made.rs"]
mod edf_made;
#[path = "memory/mod.rs"]
mod measured;
mod shared;

use edf_made::{File, Made, counts, counts24, texts};
use ptsm_io::{Bytes, Opened, Result, edf};
use shared::nowhere;

/// Opens a file and checks what that takes: some memory for a million marks, and a few times the bytes of the file. A file of 100 MB
/// stays below 1 GB.
fn open(bytes: Vec<u8>, parse: impl FnOnce(Bytes) -> Result<Opened>) -> Result<Opened> {
    let length = bytes.len();
    let (opened, peak) = measured::peak_of(|| parse(Bytes::from(bytes)));
    assert!(peak < (200 << 20) + 8 * length, "{peak} bytes of memory for {length} of file");
    opened
}

fn open_edf(file: &File) -> Result<Opened> {
    open(file.bytes(), |bytes| edf::parse(bytes, &nowhere()))
}

fn says(opened: Result<Opened>, words: &str) {
    let error = opened.unwrap_err();
    assert!(error.to_string().contains(words) && error.hint().is_some(), "{error}");
}

/// So many bytes, again and again the same.
fn filled(with: &[u8], length: usize) -> Vec<u8> {
    with.iter().copied().cycle().take(length).collect()
}

#[test]
fn annotations_of_one_letter() {
    let block = |count: usize| [b"+0\x14".as_slice(), &filled(b"a\x14", 2 * count), b"\0"].concat();
    let with = |block: &[u8]| {
        let length = block.len().next_multiple_of(2);
        open_edf(&File::edf("EDF+C", vec![counts("C3", &[&[1, 2]]), texts("EDF Annotations", length, &[block])]))
    };
    says(with(&block(4 << 20)), "has more than 1048576 annotations");
    says(with(&filled(b"+0\x14a\x14\0", 16 << 20)), "has more than 1048576 annotations");
    assert_eq!(with(&block(1 << 20)).unwrap().marks().len(), 1 << 20);
}

#[test]
fn a_gap_after_every_record() {
    let (samples, starts): (Vec<_>, Vec<_>) =
        (0..2 << 20).map(|i| (vec![0, 0], format!("+{}\x14\x14\0", 10 + i % 2 * 10).into_bytes())).unzip();
    let with = |samples: Vec<Vec<u8>>, starts: Vec<Vec<u8>>| {
        let signals =
            vec![Made { records: samples, ..counts("C3", &[]) }, Made { records: starts, ..texts("EDF Annotations", 6, &[]) }];
        open_edf(&File::edf("EDF+D", signals))
    };
    let half = 1 << 20;
    let opened = with(samples[..half].to_vec(), starts[..half].to_vec()).unwrap();
    assert_eq!(opened.stretches().len(), half);
    says(with(samples, starts), "has more than 1048576 stretches between gaps");
}

#[test]
fn triggers_at_every_other_sample() {
    let with = |samples: i32| {
        let values: Vec<i32> = (0..samples).map(|i| i % 2).collect();
        let signals = vec![counts24("C3", &[&values]), counts24("Status", &[&values])];
        open_edf(&File { bdf: true, ..File::edf("24BIT", signals) }).unwrap()
    };
    let many = with(4 << 20);
    assert!(many.marks().is_empty());
    assert!(many.notes()[0].contains("`Status` changes too often"), "{:?}", many.notes());
    assert_eq!(with(1 << 20).marks().len(), 1 << 19);
}
