//! Recordings of ANT: files its own library packed (`data/make_ant.py`), every rule by hand, and damage.

#![allow(clippy::unwrap_used)]

#[path = "shared/ant_made.rs"]
mod ant_made;
mod hostile;

use std::fs;
use std::path::{Path, PathBuf};

use ant_made::File;
use hostile::{Random, examine, windows_equal_the_whole};
use ptsm_io::{Bytes, Error, Kind, Opened, Stretch, cnt};

fn parse(bytes: &[u8]) -> Result<Opened, Error> {
    cnt::parse(Bytes::from(bytes.to_vec()), &Path::new("a.cnt").into())
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn signal(opened: &Opened, i: usize) -> Vec<f32> {
    let mut values = vec![0.0; opened.length()];
    opened.read(&[i], 0, &mut values).unwrap();
    values
}

/// What `make_ant.py` stores.
fn number(channel: usize, sample: i64) -> i64 {
    let noise = (sample * sample * 7919 + sample * 104729) % 1009 - 504;
    let parabola = sample * sample / 20;
    [parabola, parabola + noise.rem_euclid(7), noise * 3, (sample % 50) * 100003 - noise * 5003][channel]
}

#[test]
fn packed_numbers_are_unpacked_as_ants_library_does() {
    for name in ["ant.cnt", "ant-rf64.cnt"] {
        let opened = ptsm_io::open(&data(name)).unwrap();
        assert_eq!((opened.format(), opened.rate_hz(), opened.length()), ("ANT", 100.0, 350));
        let signals: Vec<_> = opened.signals().iter().map(|s| (&*s.name, s.kind, s.microvolts)).collect();
        let expected = [("C3", Kind::Eeg), ("Cz", Kind::Eeg), ("EOG", Kind::Eog), ("Oz", Kind::Eeg)];
        assert_eq!(signals, expected.map(|(name, kind)| (name, kind, true)));
        for channel in 0..4 {
            let expected: Vec<f32> = (0..350).map(|t| number(channel, t) as f32 / 128.0).collect();
            assert_eq!(signal(&opened, channel), expected, "{name} {channel}");
        }
        windows_equal_the_whole(&opened);
        assert!(opened.notes().is_empty(), "{:?}", opened.notes());
    }
    let bytes = fs::read(data("ant.cnt")).unwrap();
    assert!(bytes.len() < 350 * 4 * 2, "{} bytes are not packed", bytes.len());
}

#[test]
fn parts_of_the_file_say_what_the_numbers_are() {
    for wide in [false, true] {
        let mut file = File::new(wide, &[&[1, -2, 3], &[7, 8, 9], &[100_000, 5, 6]]);
        file.events = vec![(1, "T1"), (2, "__"), (9, "12345678"), (2, "")];
        let opened = parse(&file.bytes()).unwrap();
        assert_eq!(signal(&opened, 0), [1.0, -2.0, 3.0]);
        assert_eq!(signal(&opened, 1), [7.0, 8.0, 9.0]);
        // Thousandths of millivolts.
        assert_eq!(signal(&opened, 2), [100_000.0, 5.0, 6.0]);
        windows_equal_the_whole(&opened);
        let signals: Vec<_> =
            opened.signals().iter().map(|s| (&*s.name, s.kind, s.microvolts, s.bad)).collect();
        let expected = [
            ("C3", Kind::Eeg, true, false),
            ("Status", Kind::Stimulus, false, false),
            ("EOG", Kind::Eog, true, true),
        ];
        assert_eq!(signals, expected);
        let marks: Vec<_> = opened.marks().iter().map(|m| (m.sample, &*m.text)).collect();
        assert_eq!(marks, [(Some(1), "T1"), (None, "12345678")]);
        let stretch = |start_s, first, samples| Stretch { start_s, first, samples };
        assert_eq!(opened.stretches(), [stretch(0.0, 0, 2), stretch(0.02, 2, 1)]);
        assert!(!format!("{:?} {:?}", opened.signals(), opened.notes()).contains("Secret"));
    }
}

#[test]
fn what_cannot_be_read_says_so() {
    let good = || File::new(false, &[&[1, 2, 3], &[4, 5, 6]]);
    let text = good().text();
    let header = |from: &str, to: &str| File { header: Some(text.replace(from, to)), ..good() }.bytes();
    let bytes = good().bytes();
    let without = |name: &str| {
        let at = bytes.windows(4).position(|part| part == name.as_bytes()).unwrap();
        let mut bytes = bytes.clone();
        bytes[at] = b'x';
        bytes
    };
    for (bytes, says) in [
        (without("CNT "), "no recording of ANT"),
        (without("eeph"), "there is no part `eeph` in `CNT `"),
        (without("raw3"), "there is no part `raw3` in `CNT `"),
        (without("data"), "there is no part `data` in `raw3`"),
        (without("ep  "), "there is no part `ep  ` in `raw3`"),
        (header("[Sampling Rate]", "[x]"), "how many samples a second has"),
        (header("100.0", "-1"), "how many samples a second has"),
        (header("[Samples]\n3", "[Samples]\nx"), "how many samples and channels"),
        (header("[Samples]\n3", "[Samples]\n5"), "5 samples are not in 2 blocks of 2"),
        (header("[Samples]\n3", "[Samples]\n0"), "0 samples are not in 2 blocks of 2"),
        (header("[Channels]\n2", "[Channels]\n3"), "describes no channel"),
        (header("[Channels]\n2", "[Channels]\n1"), "the order of channels is not one of 1"),
        (header("C3 0.5 2.0 uV", "C3 0.5"), "`C3 0.5 REF:CPz` describes no channel"),
        (File { order: vec![0, 0], ..good() }.bytes(), "the order of channels is not one of 2"),
        (File { order: vec![0, 9], ..good() }.bytes(), "the order of channels is not one of 2"),
        (bytes[..bytes.len() - 30].to_vec(), "bytes"),
    ] {
        let error = parse(&bytes).unwrap_err();
        assert!(error.to_string().starts_with("a.cnt") && error.to_string().contains(says), "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
    // A block that makes no sense is told when it is read.
    let mut bytes = bytes.clone();
    let at = bytes.windows(4).position(|part| part == b"data").unwrap();
    bytes[at + 8] = 0x50;
    let opened = parse(&bytes).unwrap();
    let error = opened.read(&[0], 0, &mut [0.0; 3]).unwrap_err();
    assert!(error.to_string().contains("samples 0 to 0+2 cannot be unpacked"), "{error}");
    assert!(opened.read(&[0], 2, &mut [0.0]).is_ok());
    // A scale of zero is none.
    let opened = parse(&header("0.5 2.0", "0 2.0")).unwrap();
    assert_eq!((opened.signals()[0].kind, opened.signals()[0].microvolts), (Kind::Other, false));
    assert!(opened.notes()[0].contains("no scale for `C3`"), "{:?}", opened.notes());
}

#[test]
fn blocks_too_small_for_their_samples_are_not_believed() {
    // A million samples in blocks of some bytes: no memory is taken for them.
    let file = File::new(false, &[&[1, 2], &[4, 5]]);
    let text = file.text().replace("[Samples]\n2", "[Samples]\n1000000000");
    let mut file = File { header: Some(text), ..file };
    file.each = 1_000_000_000;
    let error = parse(&file.bytes()).unwrap_err();
    assert!(error.to_string().contains("block 0 of 1000000000 samples is not there"), "{error}");
}

#[test]
fn damaged_anywhere() {
    let mut random = Random(6);
    let mut file = File::new(true, &[&[1, -2, 3], &[7, 8, 9]]);
    file.events = vec![(1, "T1"), (2, "__")];
    for bytes in [file.bytes(), fs::read(data("ant.cnt")).unwrap(), fs::read(data("ant-rf64.cnt")).unwrap()] {
        (0..bytes.len()).for_each(|length| examine(parse(&bytes[..length])));
        (0..3000).for_each(|_| examine(parse(&random.damage(&bytes))));
    }
}
