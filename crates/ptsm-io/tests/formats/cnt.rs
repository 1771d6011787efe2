//! Recordings of Neuroscan: every rule by hand, and damage. `cargo xtask test` holds them against MNE.

use std::path::Path;

use ptsm_io::{Bytes, Error, RecordingFile, SignalKind, cnt};

use crate::cnt_made::{File, START};
use crate::hostile::{Random, examine, windows_equal_the_whole};

fn parse(bytes: &[u8]) -> Result<RecordingFile, Error> {
    cnt::parse(Bytes::from(bytes.to_vec()), &Path::new("a.cnt").into())
}

fn signal(opened: &RecordingFile, i: usize) -> Vec<f32> {
    let mut values = vec![0.0; opened.length()];
    opened.read(&[i], 0, &mut values).unwrap();
    values
}

fn annotations(opened: &RecordingFile) -> Vec<(Option<usize>, f64, &str)> {
    opened.annotations().iter().map(|m| (m.sample, (m.duration_s * 100.0).round(), &*m.text)).collect()
}

const NUMBERS: [[i32; 2]; 6] = [[10, -5], [12, -4], [-20, 3], [0, 0], [30000, -30000], [1, 2]];

#[test]
fn numbers_of_both_widths_and_in_blocks_become_microvolts() {
    for width in [2, 4] {
        for block in [0, 1, 2, 3, 6] {
            let file = File { block, ..File::new(width, &NUMBERS) };
            let opened = parse(&file.bytes()).unwrap();
            assert_eq!(
                (opened.format(), opened.rate_hz()),
                (&*format!("Neuroscan, {} bits", 8 * width), 100.0)
            );
            // (number - baseline) * sensitivity * calibration / 204.8
            assert_eq!(signal(&opened, 0), NUMBERS.map(|[a, _]| (a - 10) as f32 * 0.5), "{width} {block}");
            assert_eq!(signal(&opened, 1), NUMBERS.map(|[_, b]| (b + 5) as f32), "{width} {block}");
            windows_equal_the_whole(&opened);
            let [c3, veo] = opened.signals() else { panic!("not two") };
            assert_eq!((&*c3.name, c3.kind, c3.microvolts, c3.bad), ("C3", SignalKind::Eeg, true, false));
            assert_eq!((&*veo.name, veo.kind, veo.microvolts, veo.bad), ("VEO", SignalKind::Eog, true, true));
            assert!(opened.notes().is_empty(), "{:?}", opened.notes());
            if width == 2 {
                let [low, high] = c3.range.unwrap();
                assert!((low + 16389.0).abs() < 1e-2 && (high - 16378.5).abs() < 1e-2, "{low} {high}");
            }
        }
    }
    let opened = parse(&File { block: 4, ..File::new(2, &NUMBERS) }.bytes()).unwrap();
    assert_eq!(opened.length(), 4);
    assert!(opened.notes()[0].contains("the last 2 samples are no whole block"));
    assert!(!format!("{:?} {:?}", opened, opened.notes()).contains("Secret"));
}

#[test]
fn events_of_all_types_lie_where_they_should() {
    for (table, width) in [(1, 2), (2, 4), (3, 2), (3, 4)] {
        let mut file = File { table, ..File::new(width, &NUMBERS) };
        let at = |sample: u32| if table == 3 { sample + 1 } else { file.byte(sample) };
        file.events = vec![
            (at(0), 7, 0, 0),
            (at(2), 0, 3, 0),
            (at(3), 1, 0, 4),
            (at(5), 65535, 0, 0),
            (at(6), 9, 0, 0),
            (0, 8, 0, 0),
        ];
        let opened = parse(&file.bytes()).unwrap();
        let expected = [
            (Some(0), 0.0, "7"),
            (Some(0), 0.0, "8"),
            (Some(2), 0.0, "Keyboard Response 3"),
            (Some(3), 0.0, "KeyPad Response 4"),
            (Some(5), 0.0, "65535"),
            (None, 0.0, "9"),
        ];
        assert_eq!(annotations(&opened), expected, "type {table}");
        assert_eq!(opened.notes(), ["1 of 6 events lie outside of the samples"]);
    }
}

#[test]
fn spans_to_be_left_out_have_a_duration() {
    let mut file = File::new(2, &[[0; 2]; 50]);
    let at = |sample| file.byte(sample);
    file.events = vec![(at(10), 0, 0, 0xc0), (at(12), 5, 0, 0), (at(20), 0, 0, 0xd0), (at(30), 0, 0, 0xc0)];
    let opened = parse(&file.bytes()).unwrap();
    assert_eq!(
        annotations(&opened),
        [(Some(10), 10.0, "BAD_0"), (Some(12), 0.0, "5"), (Some(30), 20.0, "BAD_0")]
    );
}

#[test]
fn widths_are_found_where_the_header_is_wrong() {
    // The byte that newer programs write says it.
    for (width, flag) in [(2, 0), (4, 1)] {
        let mut file = File { samples: 0, ..File::new(width, &NUMBERS) };
        file.next = (file.end() + 9) as i32;
        file.tail = vec![0; 60];
        file.tail[52] = flag;
        let opened = parse(&file.bytes()).unwrap();
        assert_eq!(signal(&opened, 1), NUMBERS.map(|[_, b]| (b + 5) as f32));
        assert!(opened.notes()[0].contains("says 0 samples, the file holds 6"), "{:?}", opened.notes());
    }
    // The table is not where the header says, as in large files; it is behind the samples.
    for width in [2, 4] {
        for place in [-5, 0, i32::MAX] {
            let mut file = File { place: Some(place), ..File::new(width, &NUMBERS) };
            file.events = vec![(file.byte(3), 4, 0, 0)];
            let opened = parse(&file.bytes()).unwrap();
            assert_eq!(
                (opened.length(), annotations(&opened)),
                (6, vec![(Some(3), 0.0, "4")]),
                "{width} {place}"
            );
        }
    }
    // A recording that was never closed has no table.
    let file = File { place: Some(0), ..File::new(2, &NUMBERS) };
    let opened = parse(&file.bytes()[..file.end()]).unwrap();
    assert!(opened.length() == 6 && opened.notes()[0].contains("no events"), "{:?}", opened.notes());
}

#[test]
fn what_cannot_be_read_says_so() {
    let good = File::new(2, &NUMBERS).bytes();
    let with = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        parse(&bytes).unwrap_err()
    };
    for (error, says) in [
        (with(864, &5i32.to_le_bytes()), "have they 16 or 32 bits?"),
        (with(864, &0i32.to_le_bytes()), "have they 16 or 32 bits?"),
        (with(370, &[0, 0]), "0 channels need a header"),
        (with(370, &[0xff, 0xff]), "65535 channels need a header of 4916025 bytes"),
        (with(376, &[0, 0]), "impossible rate 0 Hz"),
        (with(894, &1000i32.to_le_bytes()), "blocks of 500 samples do not fit 6 samples"),
        (with(good.len() - 9, &[4]), "a table of events of type 4 is unknown"),
        (with(good.len() - 8, &[1]), "bytes are expected here"),
        (with(0, b"X"), "does not begin as a recording of Neuroscan or of ANT"),
        (parse(b"RIFF\x10\0\0\0WAVE").unwrap_err(), "no recording of ANT"),
    ] {
        assert!(error.to_string().starts_with("a.cnt") && error.to_string().contains(says), "{error}");
    }
    // A scale of zero is none.
    let mut bytes = good.clone();
    bytes[900 + 59..900 + 63].fill(0);
    let opened = parse(&bytes).unwrap();
    let c3 = &opened.signals()[0];
    assert_eq!((c3.kind, c3.microvolts, signal(&opened, 0)[4]), (SignalKind::Other, false, 30000.0));
    assert!(opened.notes()[0].contains("no scale for `C3`"), "{:?}", opened.notes());
}

#[test]
fn damaged_anywhere() {
    let mut file = File { block: 2, ..File::new(2, &NUMBERS) };
    file.events = (0..5).map(|sample| (file.byte(sample), 3, 0, 0)).collect();
    let bytes = file.bytes();
    (0..bytes.len()).for_each(|length| examine(parse(&bytes[..length])));
    let mut random = Random(4);
    (0..5000).for_each(|_| examine(parse(&random.damage(&bytes))));
    // Headers more often.
    for _ in 0..5000 {
        let head = random.damage(&bytes[360..START]);
        examine(parse(&[&bytes[..360], &head, &bytes[START..]].concat()));
    }
}
