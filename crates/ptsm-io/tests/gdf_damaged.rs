//! Damaged and lying GDF files are errors: no panic, no memory for samples that are not there.

#![allow(clippy::unwrap_used)]

#[path = "shared/gdf_made.rs"]
mod gdf_made;
mod shared;

use gdf_made::{File, Made, counts, table};
use ptsm_io::{Bytes, gdf};
use shared::{Numbers, expected, nowhere, read_all};

fn parse(bytes: Vec<u8>) -> bool {
    read_all(gdf::parse(Bytes::from(bytes), &nowhere()))
}

#[test]
fn cut_short_anywhere() {
    for (path, _) in expected("gdf/") {
        let bytes = std::fs::read(&path).unwrap();
        let good: Vec<usize> = (0..bytes.len()).filter(|&length| parse(bytes[..length].to_vec())).collect();
        // From the first whole record to the last one; the table of events is whole or damaged.
        assert_eq!((good[0], good[good.len() - 1]), (1024 + 1500, 1024 + 6000), "{}", path.display());
    }
}

#[test]
fn harmed_anywhere() {
    for (path, _) in expected("gdf/") {
        let whole = std::fs::read(&path).unwrap();
        let mut numbers = Numbers(2);
        let mut read = 0;
        for _ in 0..4000 {
            let mut bytes = whole.clone();
            numbers.harm(&mut bytes, 1024);
            read += usize::from(parse(bytes));
        }
        assert!(read > 400, "only {read} of 4000 could be read: the harm is too great to test anything");
        // And the table of events.
        for _ in 0..2000 {
            let mut bytes = whole.clone();
            let at = bytes.len() - 1 - numbers.below(68);
            bytes[at] = numbers.next() as u8;
            parse(bytes);
        }
    }
}

#[test]
fn claims_are_not_believed() {
    for version in ["1.25", "2.20"] {
        let mut file = File::new(version, vec![counts("C3", &[&[1, 2]])]);
        file.events = table(version, 3, 1.0, &[(1, 1, 0, 0)]);
        let whole = file.bytes();
        let u32s = |value: u32| value.to_le_bytes().to_vec();
        let many =
            if version == "1.25" { "byte 256: 1099511627520 bytes" } else { "byte 256: 16776960 bytes" };
        let number = if version == "1.25" { 520 } else { 517 };
        for (at, bytes, says) in [
            (0, b"GDF 3.00".to_vec(), "byte 0: this is not GDF of version 1 or 2"),
            (0, b"EDF 1.00".to_vec(), "byte 0: this is not GDF"),
            (252, u32s(u32::MAX), many),
            (252, u32s(0), "byte 252: the file has no signals"),
            (244, [u32s(1), u32s(0)].concat(), "byte 244: 1/0 s is no length of a record"),
            (236, vec![0; 8], "byte 512: 0 records of 4 bytes"),
            (472, u32s(u32::MAX), "byte 512: 1 records of 8589934590 bytes"),
            (472, u32s(0), "byte 512: 1 records of 0 bytes"),
            (476, u32s(18), "byte 476: samples of `C3` are of type 18"),
            (476, u32s(267), "byte 476: samples of `C3` are of type 267"),
            (number, vec![255; 3], "a table of 16777215 events is cut short"),
        ] {
            let mut harmed = whole.clone();
            harmed[at..at + bytes.len()].copy_from_slice(&bytes);
            let error = gdf::parse(Bytes::from(harmed), &nowhere()).unwrap_err();
            assert!(error.to_string().contains(says), "{version}, {bytes:?} at {at}: {error}");
            assert!(error.to_string().starts_with("made.bin, byte ") && error.hint().is_some(), "{error}");
        }
    }
}

#[test]
fn signals_without_samples_are_left_out() {
    let sparse = Made { samples: 0, records: vec![vec![]], ..counts("Sparse", &[&[]]) };
    let opened =
        gdf::parse(Bytes::from(File::new("2.20", vec![sparse, counts("C3", &[&[1]])]).bytes()), &nowhere());
    let opened = opened.unwrap();
    assert_eq!((opened.signals().len(), &*opened.signals()[0].name), (1, "C3"));
    assert!(opened.notes()[0].contains("`Sparse`"));
}
