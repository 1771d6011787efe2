//! Damaged and lying GDF files are errors: no panic, no memory for samples that are not there.

use ptsm_io::{Bytes, gdf};

use crate::gdf_made::{File, MadeSignal, counts, table};
use crate::shared::damaged::Reader;
use crate::shared::{Numbers, annotations, nowhere};

const GDF: Reader = Reader { folder: "gdf/", parse: gdf::parse };

#[test]
fn cut_short_anywhere() {
    for (bytes, good) in GDF.cut_short() {
        // From the first whole record on; the samples are good without the table of events.
        assert!(good.iter().copied().eq(1024 + 1500..bytes.len()), "{good:?}");
    }
}

#[test]
fn harmed_anywhere() {
    GDF.harmed();
    for whole in GDF.fixtures() {
        // And the table of events.
        let mut numbers = Numbers(2);
        for _ in 0..2000 {
            let mut bytes = whole.clone();
            let at = bytes.len() - 1 - numbers.below(68);
            bytes[at] = numbers.next() as u8;
            GDF.reads(bytes);
        }
    }
}

#[test]
fn a_table_that_is_cut_short_keeps_what_is_there() {
    for version in ["1.25", "2.20"] {
        for (mode, width) in [(1, 6), (3, 12)] {
            let mut file = File::new(version, vec![counts("C3", &[&[1, 2, 3, 4]])]);
            file.events = table(version, mode, 4.0, &[(1, 1, 0, 2), (2, 2, 0, 2), (4, 3, 0, 2)]);
            let (whole, rows) = (file.bytes(), 3 * width);
            let opened = |left: usize| {
                let length = whole.len() - rows + left;
                gdf::parse(Bytes::from(whole[..length].to_vec()), &nowhere()).unwrap()
            };
            assert_eq!((opened(rows).annotations().len(), opened(rows).notes().len()), (3, 0));
            // Positions only; then types, of which the last is cut in two.
            for (left, count) in [(0, 0), (12, 0), (13, 0), (14, 1), (17, 2)] {
                let opened = opened(left);
                assert_eq!(opened.annotations().len(), count, "{version}, {mode}, {left}");
                let note = format!("a table of 3 events is cut short: {count} are used");
                assert!(opened.notes()[0].starts_with(&note), "{:?}", opened.notes());
            }
            if mode == 3 {
                // The second duration is cut in two.
                let opened = opened(24 + 7);
                let expected =
                    [(0.0, 0.5, Some(0), "1"), (0.25, 0.0, Some(1), "2"), (0.75, 0.0, Some(3), "3")];
                assert_eq!(annotations(&opened), expected);
                assert!(opened.notes()[0].ends_with("3 are used, 2 of them without duration"));
            }
            let head = gdf::parse(Bytes::from(whole[..whole.len() - rows - 3].to_vec()), &nowhere()).unwrap();
            assert!(head.notes()[0].contains("cut short after 5 bytes"), "{:?}", head.notes());
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
        // A table that is not there.
        let mut harmed = whole.clone();
        let number = if version == "1.25" { 520 } else { 517 };
        harmed[number..number + 3].fill(255);
        let opened = gdf::parse(Bytes::from(harmed), &nowhere()).unwrap();
        assert!(
            opened.notes()[0].contains("of 16777215 events is cut short: 0 are used"),
            "{:?}",
            opened.notes()
        );
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
        ] {
            GDF.refuses(&whole, at, &bytes, says);
        }
    }
}

#[test]
fn signals_without_samples_are_left_out() {
    let sparse = MadeSignal { samples: 0, records: vec![vec![]], ..counts("Sparse", &[&[]]) };
    let opened =
        gdf::parse(Bytes::from(File::new("2.20", vec![sparse, counts("C3", &[&[1]])]).bytes()), &nowhere());
    let opened = opened.unwrap();
    assert_eq!((opened.signals().len(), &*opened.signals()[0].name), (1, "C3"));
    assert!(opened.notes()[0].contains("`Sparse`"));
}
