//! Recordings of ANT: files its own library packed (`data/make_ant.py`), every rule by hand, and damage.

use std::fs;
use std::path::{Path, PathBuf};

use ptsm_io::{Bytes, Error, RecordingFile, Segment, SignalKind, cnt};

use crate::ant_made::{Events, File, list, number as code, wide};
use crate::hostile::{Random, examine, windows_equal_the_whole};

fn parse(bytes: &[u8]) -> Result<RecordingFile, Error> {
    cnt::parse(Bytes::from(bytes.to_vec()), &Path::new("a.cnt").into())
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn signal(opened: &RecordingFile, i: usize) -> Vec<f32> {
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
        let expected = [
            ("C3", SignalKind::Eeg),
            ("Cz", SignalKind::Eeg),
            ("EOG", SignalKind::Eog),
            ("Oz", SignalKind::Eeg),
        ];
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
            ("C3", SignalKind::Eeg, true, false),
            ("Status", SignalKind::Stimulus, false, false),
            ("EOG", SignalKind::Eog, true, true),
        ];
        assert_eq!(signals, expected);
        let annotations: Vec<_> = opened.annotations().iter().map(|m| (m.sample, &*m.text)).collect();
        assert_eq!(annotations, [(Some(1), "T1"), (None, "12345678")]);
        let segment = |start_s, first, samples| Segment { start_s, first, samples };
        assert_eq!(opened.segments(), [segment(0.0, 0, 2), segment(0.02, 2, 1)]);
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
    assert_eq!((opened.signals()[0].kind, opened.signals()[0].microvolts), (SignalKind::Other, false));
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

/// A recording of four seconds that began half a second after the first of January 2023.
fn dated() -> File {
    let numbers: Vec<i32> = (0..400).collect();
    let info = b"[StartDate]\n4.4927e+04\n[StartFraction]\n5.0e-01\n[SubjectName]\nSecret\n".to_vec();
    File { each: 100, info, events: vec![(7, "inside")], ..File::new(false, &[&numbers]) }
}

fn annotations(opened: &RecordingFile) -> Vec<(Option<usize>, f64, &str)> {
    opened.annotations().iter().map(|m| (m.sample, m.duration_s, &*m.text)).collect()
}

#[test]
fn events_beside_the_recording_go_first() {
    for version in [20, 34, 40, 103, 174] {
        let mut events = Events::new(version);
        events.epoch(0.6, &[("EventCode", code(5))]);
        events.epoch(1.5, &[("EventCode", code(77)), ("Condition", wide("go left")), ("x", list())]);
        events.epoch(1.7, &[("Impedance", list()), ("Name:", wide("Impedance"))]);
        events.marker(2.0, "blink");
        events.epoch(2.5, &[("Condition", wide("Amplifier disconnected"))]);
        events.epoch(3.5, &[("Condition", wide("Amplifier reconnected"))]);
        // Before and behind the recording.
        events.epoch(0.4, &[]);
        events.epoch(4.5, &[]);
        let expected = [
            (Some(10), 0.5, "5"),
            (Some(100), 0.5, "77/go left"),
            (Some(120), 0.5, "impedance"),
            (Some(150), 0.0, "0/blink"),
            (Some(200), 1.0, "BAD_disconnection"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cnt");
        fs::write(&path, dated().bytes()).unwrap();
        let evt = path.with_extension("evt");
        fs::write(&evt, events.bytes()).unwrap();
        let opened = ptsm_io::open(&path).unwrap();
        assert_eq!(annotations(&opened), expected, "version {version}");
        assert_eq!((opened.files().len(), opened.notes()), (2, &[][..]));
        // A file that is cut short keeps what is there, and that is told.
        fs::write(&evt, &events.bytes()[..events.bytes().len() - 1]).unwrap();
        let opened = ptsm_io::open(&path).unwrap();
        assert_eq!(annotations(&opened), expected);
        assert!(opened.notes()[0].contains("its first 7 events only"), "{:?}", opened.notes());
        // Nobody knows how long an event of another class is.
        events.add("class dcSpikeEvent_c", 1.0, 0.0, &[]);
        fs::write(&evt, events.bytes()).unwrap();
        assert!(ptsm_io::open(&path).unwrap().notes()[0].contains("its first 8 events only"));
    }
}

#[test]
fn events_whose_samples_are_not_known_are_reported() {
    let mut events = Events::new(174);
    events.epoch(1.0, &[("EventCode", code(5))]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cnt");
    fs::write(path.with_extension("evt"), events.bytes()).unwrap();
    fs::write(&path, File { info: vec![], ..dated() }.bytes()).unwrap();
    let opened = ptsm_io::open(&path).unwrap();
    assert_eq!(annotations(&opened), [(Some(7), 0.0, "inside")]);
    assert!(opened.notes()[0].contains("does not say when it began: 1 events"), "{:?}", opened.notes());
    fs::write(&path, dated().bytes()).unwrap();
    assert_eq!(annotations(&ptsm_io::open(&path).unwrap()), [(Some(50), 0.5, "5")]);
    // Two numbers in the place of a text.
    let binary = [44927f64.to_le_bytes(), 0.75f64.to_le_bytes()].concat();
    fs::write(&path, File { info: binary, ..dated() }.bytes()).unwrap();
    assert_eq!(annotations(&ptsm_io::open(&path).unwrap()), [(Some(25), 0.5, "5")]);
    fs::write(path.with_extension("seg"), "NumberSegments=2\n").unwrap();
    let opened = ptsm_io::open(&path).unwrap();
    assert_eq!(annotations(&opened), [(Some(7), 0.0, "inside")]);
    assert!(opened.notes()[0].contains("was paused: 1 events"), "{:?}", opened.notes());
}

#[test]
fn triggers_may_be_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cnt");
    fs::write(&path, dated().bytes()).unwrap();
    let text = "0.0100000000000000 12\n  0.100000  1100 5\n 0.2 ab\n0.5 900 __\nx\n  0.4 1500 9 cls a\n";
    fs::write(path.with_extension("trg"), text).unwrap();
    let opened = ptsm_io::open(&path).unwrap();
    assert_eq!(annotations(&opened), [(Some(10), 0.0, "5"), (Some(20), 0.0, "ab"), (Some(40), 0.0, "9")]);
    assert_eq!(opened.segments().len(), 2);
    fs::write(path.with_extension("trg"), text.replace("0.0100", "0.0200")).unwrap();
    let opened = ptsm_io::open(&path).unwrap();
    assert_eq!(annotations(&opened), [(Some(7), 0.0, "inside")]);
    assert!(opened.notes()[0].contains("of another rate"), "{:?}", opened.notes());
}

#[test]
fn damaged_events_leave_the_samples() {
    let mut events = Events::new(174);
    for seconds in 0..4 {
        events.epoch(f64::from(seconds), &[("EventCode", code(5)), ("Condition", wide("x")), ("y", list())]);
        events.marker(f64::from(seconds), "blink");
    }
    let (bytes, file) = (events.bytes(), dated().bytes());
    let with = |events: &[u8]| {
        let (file, events) = (Bytes::from(file.clone()), Bytes::from(events.to_vec()));
        cnt::parse_with_events(file, events, &Path::new("a.cnt").into())
    };
    let mut random = Random(8);
    for length in 0..bytes.len() {
        assert!(with(&bytes[..length]).unwrap().notes()[0].contains("events only"));
    }
    (0..4000).for_each(|_| assert_eq!(with(&random.damage(&bytes)).unwrap().length(), 400));
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
