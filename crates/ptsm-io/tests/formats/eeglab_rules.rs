//! What EEGLAB files may hold, rule by rule, in files this crate writes.

use std::fs;
use std::path::{Path, PathBuf};

use ptsm_io::mat::{self, Numbers, Value};
use ptsm_io::{Bytes, Place, RecordingFile, Result, SignalKind, eeglab};
use tempfile::TempDir;

use crate::by_hand;

fn text(text: &str) -> Value {
    Value::Text(vec![text.into()])
}

fn number(number: f64) -> Value {
    Value::row(vec![number])
}

/// A struct array of one row; fields come by name with a value for each element.
fn structs(fields: Vec<(&str, Vec<Value>)>) -> Value {
    let count = fields[0].1.len();
    let names = fields.iter().map(|(name, _)| name.to_string()).collect();
    let values = (0..count).flat_map(|i| fields.iter().map(move |(_, values)| values[i].clone())).collect();
    Value::Struct { dims: vec![1, count], fields: names, values }
}

/// Two channels of six samples; sample s of channel c is 10 c + s.
fn data() -> Value {
    let numbers = (0..12).map(|i| (10 * (i % 2) + i / 2) as f32).collect();
    Value::Array { dims: vec![2, 6], real: Numbers::F32(numbers), imaginary: None, logical: false }
}

/// Fields of a small recording with some others instead.
fn fields(other: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    let mut all = vec![
        ("setname", text("Jane Doe")),
        ("nbchan", number(2.0)),
        ("trials", number(1.0)),
        ("pnts", number(6.0)),
        ("srate", number(100.0)),
        ("xmin", number(0.0)),
        ("data", data()),
        ("chanlocs", structs(vec![("labels", vec![text("C3"), text("Cz")])])),
    ];
    all.retain(|(name, _)| !other.iter().any(|(instead, _)| instead == name));
    all.extend(other);
    all
}

fn write(folder: &TempDir, variables: &[(&str, &Value)]) -> PathBuf {
    let path = folder.path().join("a.set");
    mat::write(&path, variables).unwrap();
    path
}

/// Opens a recording with some fields.
fn open(other: Vec<(&'static str, Value)>) -> Result<RecordingFile> {
    let folder = tempfile::tempdir().unwrap();
    eeglab::open(&write(&folder, &[("EEG", &Value::record(fields(other)))]))
}

fn all(opened: &RecordingFile) -> Vec<f32> {
    let signals: Vec<usize> = (0..opened.signals().len()).collect();
    let mut to = vec![0.0; signals.len() * opened.length()];
    opened.read(&signals, 0, &mut to).unwrap();
    to
}

const SAMPLES: [f32; 12] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];

#[test]
fn samples_may_be_of_any_type_packed_or_not_in_a_struct_or_alone() {
    let Value::Array { dims, real, .. } = data() else { unreachable!() };
    let numbers = real.to_f64();
    let folder = tempfile::tempdir().unwrap();
    for real in [
        Numbers::F32(numbers.iter().map(|&x| x as f32).collect()),
        Numbers::F64(numbers.clone()),
        Numbers::I16(numbers.iter().map(|&x| x as i16).collect()),
        Numbers::U8(numbers.iter().map(|&x| x as u8).collect()),
    ] {
        let data = Value::Array { dims: dims.clone(), real, imaginary: None, logical: false };
        let fields = fields(vec![("data", data)]);
        let whole = Value::record(fields.clone());
        let flat: Vec<(&str, &Value)> = fields.iter().map(|(name, value)| (*name, value)).collect();
        for variables in [vec![("EEG", &whole)], vec![("ALLEEG", &whole)], flat] {
            let path = write(&folder, &variables);
            let opened = eeglab::open(&path).unwrap();
            assert_eq!(all(&opened), SAMPLES);
            assert!(opened.notes().is_empty(), "{:?}", opened.notes());
            // The same, packed variable by variable.
            let bytes = fs::read(&path).unwrap();
            let (mut packed, mut at) = (bytes[..128].to_vec(), 128);
            while at < bytes.len() {
                let length = 8 + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
                packed.extend(by_hand::packed(&bytes[at..at + length]));
                at += length;
            }
            let place = Place::from(Path::new("packed.set"));
            let opened = eeglab::parse(Bytes::from(packed), None, &place).unwrap();
            assert_eq!(all(&opened), SAMPLES);
            assert_eq!(all(&opened), SAMPLES);
        }
    }
}

#[test]
fn v73_trials_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trials-v73.set");
    let opened = eeglab::open(&path).unwrap();
    let epochs = opened.epochs().unwrap();
    assert_eq!((epochs.samples, epochs.start_s), (10, -0.03));
    assert_eq!(epochs.codes, ["left", "right", "left"]);
    assert_eq!(opened.signals()[1].kind, SignalKind::Eog);
    let sample = |i: usize| (10 * (i / 10) + i % 10) as f32;
    let expected: Vec<f32> = (0..30).map(sample).chain((0..30).map(|i| 100.0 + sample(i))).collect();
    assert_eq!(all(&opened), expected);
    // Windows inside of trials and across.
    for (first, n) in [(0, 10), (3, 4), (8, 5), (5, 25), (29, 1)] {
        let mut window = vec![0.0; n];
        opened.read(&[1], first, &mut window).unwrap();
        assert_eq!(window, expected[30 + first..][..n]);
    }
    assert!(!format!("{opened:?} {:?}", opened.notes()).contains("secret"));
}

#[test]
fn samples_in_another_file_are_found_under_either_name() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..12).flat_map(|i| ((10 * (i % 2) + i / 2) as f32).to_le_bytes()).collect();
    let write_set =
        |name: &str| write(&folder, &[("EEG", &Value::record(fields(vec![("data", text(name))])))]);
    let fdt = |name: &str| folder.path().join(name);
    fs::write(fdt("b.fdt"), &bytes).unwrap();
    for name in ["b.fdt", r"C:\Users\Jane\b.fdt", "/home/jane/b.fdt", "../b.fdt"] {
        assert_eq!(all(&eeglab::open(&write_set(name)).unwrap()), SAMPLES, "{name}");
    }
    let error = eeglab::open(&write_set("c.fdt")).unwrap_err();
    assert!(error.to_string().contains("`c.fdt`, which is not there"), "{error}");
    assert!(error.hint().unwrap().contains("a.fdt"));
    fs::rename(fdt("b.fdt"), fdt("a.fdt")).unwrap();
    assert_eq!(all(&eeglab::open(&write_set("c.fdt")).unwrap()), SAMPLES);
    fs::write(fdt("a.fdt"), &bytes[..47]).unwrap();
    let error = eeglab::open(&write_set("c.fdt")).unwrap_err();
    assert!(error.to_string().contains("which has 47 bytes"), "{error}");
    fs::write(fdt("a.fdt"), [&bytes[..], &[0; 8]].concat()).unwrap();
    let opened = eeglab::open(&write_set("c.fdt")).unwrap();
    assert_eq!(all(&opened), SAMPLES);
    assert!(opened.notes()[0].contains("8 bytes after the samples"), "{:?}", opened.notes());
    fs::write(fdt("b.dat"), &bytes).unwrap();
    let error = eeglab::open(&write_set("b.dat")).unwrap_err();
    assert!(error.to_string().contains("old format") && error.hint().is_some(), "{error}");
}

#[test]
fn several_recordings_in_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let record = Value::record(fields(vec![]));
    let Value::Struct { fields, values, .. } = record else { unreachable!() };
    let two = Value::Struct { dims: vec![1, 2], fields, values: [values.clone(), values].concat() };
    for name in ["ALLEEG", "EEG"] {
        let error = eeglab::open(&write(&folder, &[(name, &two)])).unwrap_err();
        assert!(error.to_string().contains("holds 2 recordings"), "{error}");
        assert!(error.hint().unwrap().contains("pop_saveset"));
    }
}

#[test]
fn channels_have_names_kinds_and_places() {
    let places = structs(vec![
        ("labels", vec![text(" Fp1 "), text("HEOG")]),
        ("type", vec![text("EEG"), text("eog")]),
        ("X", vec![number(80.0), Value::matrix(vec![0, 0], vec![])]),
        ("Y", vec![number(60.0), number(1.0)]),
        ("Z", vec![number(0.0), number(1.0)]),
    ]);
    let opened = open(vec![("chanlocs", places)]).unwrap();
    let [first, second] = opened.signals() else { panic!("two are wanted") };
    assert_eq!((first.name.as_str(), first.kind, first.microvolts), ("Fp1", SignalKind::Eeg, true));
    let at = first.position.unwrap();
    assert!((at.x + 0.6).abs() < 1e-12 && (at.y - 0.8).abs() < 1e-12 && at.z == 0.0, "{at:?}");
    assert_eq!((second.name.as_str(), second.kind, second.position), ("HEOG", SignalKind::Eog, None));
    assert_eq!(opened.electrodes(), [0]);
    // Triggers are no microvolts.
    let places =
        structs(vec![("labels", vec![number(7.0), text("")]), ("type", vec![text("MISC"), text("TRIG")])]);
    let opened = open(vec![("chanlocs", places)]).unwrap();
    let kinds: Vec<_> = opened.signals().iter().map(|s| (s.name.as_str(), s.kind, s.microvolts)).collect();
    assert_eq!(kinds, [("7", SignalKind::Other, false), ("EEG002", SignalKind::Stimulus, false)]);
}

#[test]
fn channels_nobody_named_are_named_by_number() {
    let none = Value::matrix(vec![0, 0], vec![]);
    let three = structs(vec![("labels", vec![text("C3"), text("Cz"), text("C4")])]);
    for (places, note) in [(none, "does not name"), (three, "describes 3 channels, not 2")] {
        let opened = open(vec![("chanlocs", places)]).unwrap();
        let names: Vec<&str> = opened.signals().iter().map(|signal| signal.name.as_str()).collect();
        assert_eq!(names, ["EEG001", "EEG002"]);
        assert!(opened.notes()[0].contains(note), "{:?}", opened.notes());
    }
}

#[test]
fn events_become_marks() {
    let nothing = Value::matrix(vec![0, 0], vec![]);
    let events = structs(vec![
        ("type", vec![text("left"), number(769.0), text("x"), nothing.clone(), text("late"), text("early")]),
        ("latency", vec![number(1.0), number(3.6), number(f64::NAN), number(2.0), number(7.0), number(-1.0)]),
        (
            "duration",
            vec![number(2.0), nothing.clone(), nothing.clone(), nothing, number(f64::NAN), number(0.0)],
        ),
        ("name", vec![text("Jane"); 6]),
    ]);
    let opened = open(vec![("event", events)]).unwrap();
    let annotations: Vec<_> =
        opened.annotations().iter().map(|m| (m.text.as_str(), m.sample, m.onset_s, m.duration_s)).collect();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert_eq!(annotations.len(), 4);
    assert_eq!((annotations[0].0, annotations[0].1), ("early", None));
    assert_eq!((annotations[1].0, annotations[1].1), ("left", Some(0)));
    assert!(near(annotations[1].2, 0.0) && near(annotations[1].3, 0.02));
    assert_eq!((annotations[2].0, annotations[2].1), ("769", Some(3)));
    assert!(near(annotations[2].2, 0.026) && annotations[2].3 == 0.0);
    assert_eq!((annotations[3].0, annotations[3].1), ("late", None));
    let notes = opened.notes().join("; ");
    assert!(notes.contains("2 of 6 events have no type or no latency"), "{notes}");
    assert!(notes.contains("2 of 6 events lie outside"), "{notes}");
    assert!(!format!("{:?}", opened.annotations()).contains("Jane"));
}

#[test]
fn boundaries_are_gaps_and_no_marks() {
    let events = structs(vec![
        ("type", vec![text("boundary"), text("boundary"), text("go"), number(-99.0), text("boundary")]),
        ("latency", vec![number(0.5), number(2.5), number(3.0), number(4.5), number(6.5)]),
        ("duration", vec![number(0.0), number(10.0), number(0.0), number(f64::NAN), number(0.0)]),
    ]);
    let opened = open(vec![("event", events)]).unwrap();
    let segments: Vec<_> = opened.segments().iter().map(|s| (s.first, s.samples, s.start_s)).collect();
    assert_eq!(segments, [(0, 2, 0.0), (2, 2, 0.12), (4, 2, 0.14)]);
    assert_eq!(opened.annotations().len(), 1);
    assert_eq!((opened.annotations()[0].text.as_str(), opened.annotations()[0].sample), ("go", Some(2)));
    assert!((opened.annotations()[0].onset_s - 0.12).abs() < 1e-12);
    assert_eq!(opened.recording(None).unwrap().breaks, [2, 4]);
    assert!(opened.notes().is_empty(), "{:?}", opened.notes());
}

#[test]
fn boundaries_at_whole_samples_begin_there() {
    let events = structs(vec![
        ("type", vec![text("boundary"), text("boundary")]),
        ("latency", vec![number(1.0), number(4.0)]),
        ("duration", vec![number(0.0), number(0.0)]),
    ]);
    let opened = open(vec![("event", events)]).unwrap();
    let segments: Vec<_> = opened.segments().iter().map(|s| (s.first, s.samples)).collect();
    assert_eq!(segments, [(0, 3), (3, 3)]);
}

#[test]
fn trials_are_of_the_event_nearest_to_their_cue() {
    let sizes = || vec![("trials", number(3.0)), ("pnts", number(2.0)), ("xmin", number(-0.01))];
    let events = structs(vec![
        ("type", vec![text("rest"), text("left"), text("boundary"), text("right")]),
        ("latency", vec![number(1.0), number(2.0), number(4.0), number(3.0)]),
    ]);
    let codes = |other: Vec<(&'static str, Value)>| {
        let opened = open([sizes(), other].concat()).unwrap();
        assert_eq!(opened.format(), "EEGLAB epochs");
        assert_eq!(opened.segments().len(), 3);
        (opened.epochs().unwrap().codes.clone(), opened.notes().join("; "))
    };
    let (found, notes) = codes(vec![("event", events.clone())]);
    assert_eq!(found, ["left", "right", ""]);
    assert!(notes.contains("1 of 3 trials have no event"), "{notes}");
    // The list of trials is believed before the events are.
    let cell = |values: Vec<Value>| Value::Cell { dims: vec![1, values.len()], values };
    let list = structs(vec![
        (
            "eventlatency",
            vec![cell(vec![number(-300.0), number(0.0)]), number(4.0), Value::row(vec![9.0, -8.0])],
        ),
        ("eventtype", vec![cell(vec![text("cue"), text("go")]), number(7.0), Value::row(vec![1.0, 2.0])]),
    ]);
    let (found, notes) = codes(vec![("event", events.clone()), ("epoch", list)]);
    assert_eq!((found, notes.as_str()), (vec!["go".to_string(), "7".into(), "2".into()], ""));
    // A list of other trials is not.
    let list = structs(vec![("eventlatency", vec![number(0.0)]), ("eventtype", vec![text("go")])]);
    assert_eq!(codes(vec![("event", events), ("epoch", list)]).0, ["left", "right", ""]);
    // Trials may be a dimension of their own.
    let Value::Array { real, .. } = data() else { unreachable!() };
    let cube = Value::Array { dims: vec![2, 2, 3], real, imaginary: None, logical: false };
    let opened = open([sizes(), vec![("data", cube)]].concat()).unwrap();
    assert_eq!((opened.epochs().unwrap().samples, opened.length()), (2, 6));
    assert_eq!(all(&opened), SAMPLES);
}

#[test]
fn headers_that_cannot_be_are_refused_with_what_to_do() {
    let refused = |other: Vec<(&'static str, Value)>, what: &str| {
        let error = open(other).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert!(error.hint().is_some(), "{error}");
    };
    refused(vec![("srate", number(0.0))], "`srate`");
    refused(vec![("data", Value::matrix(vec![0, 0], vec![]))], "holds 1 trials of 0 samples of 0 channels");
    refused(vec![("data", Value::matrix(vec![2, 0], vec![]))], "of 0 samples");
    refused(vec![("data", Value::matrix(vec![70_000, 1], vec![0.0; 70_000]))], "claims 70000 channels");
    refused(vec![("data", Value::matrix(vec![1, 1, 1, 2], vec![0.0; 2]))], "two or three");
    refused(
        vec![("data", Value::Cell { dims: vec![1, 1], values: vec![number(1.0)] })],
        "neither numbers nor",
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fdt"), [0; 48]).unwrap();
    let lie = |name: &'static str, lie: f64| {
        let fields = fields(vec![("data", text("a.fdt")), (name, number(lie))]);
        eeglab::open(&write(&folder, &[("EEG", &Value::record(fields))])).unwrap_err().to_string()
    };
    assert!(lie("pnts", 0.5).contains("does not say how many"));
    assert!(lie("nbchan", f64::NAN).contains("does not say how many"));
    assert!(lie("pnts", 9e14).contains("which has 48 bytes"));
    assert!(lie("trials", 9e14).contains("more than 1048576 trials"));
    let one = number(1.0);
    let error = eeglab::open(&write(&folder, &[("x", &one)])).unwrap_err();
    assert!(error.to_string().contains("holds no EEG") && error.hint().is_some(), "{error}");
    // Sizes that only disagree are mended.
    let opened = open(vec![("pnts", number(7.0))]).unwrap();
    assert_eq!(opened.length(), 6);
    assert!(opened.notes()[0].contains("do not fit"), "{:?}", opened.notes());
}
