//! FieldTrip's files of both kinds of MATLAB files, and damage.

use std::fs;
use std::path::{Path, PathBuf};

use ptsm_io::mat::{self, Numbers, Value};
use ptsm_io::{Bytes, Error, RecordingFile, SignalKind, fieldtrip};

use crate::by_hand;
use crate::hostile::{Random, examine, windows_equal_the_whole};

fn parse(bytes: &[u8]) -> Result<RecordingFile, Error> {
    fieldtrip::parse(Bytes::from(bytes.to_vec()), &Path::new("a.mat").into())
}

fn signal(opened: &RecordingFile, i: usize) -> Vec<f32> {
    let mut values = vec![0.0; opened.length()];
    opened.read(&[i], 0, &mut values).unwrap();
    values
}

fn cell(values: Vec<Value>) -> Value {
    Value::Cell { dims: vec![1, values.len()], values }
}

fn texts(names: &[&str]) -> Value {
    cell(names.iter().map(|name| Value::Text(vec![name.to_string()])).collect())
}

/// A trial of two channels: 100 * channel + 10 * trial + sample.
fn trial(k: usize, samples: usize) -> Value {
    let numbers = (0..samples).flat_map(|t| (0..2).map(move |c| (100 * c + 10 * k + t) as f64)).collect();
    Value::matrix(vec![2, samples], numbers)
}

fn time(from: f64, samples: usize) -> Value {
    Value::row((0..samples).map(|t| from + t as f64 / 100.0).collect())
}

/// What every recording has, with some fields more.
fn record(lengths: &[usize], more: Vec<(&'static str, Value)>) -> Value {
    let mut fields = vec![
        ("label", texts(&["C3", "EOG1"])),
        ("trial", cell(lengths.iter().enumerate().map(|(k, &n)| trial(k, n)).collect())),
        ("time", cell(lengths.iter().map(|&n| time(-0.03, n)).collect())),
        ("fsample", Value::row(vec![100.0])),
        ("cfg", Value::record(vec![("dataset", Value::Text(vec!["secret".into()]))])),
    ];
    for (name, value) in more {
        fields.retain(|(known, _)| *known != name);
        fields.push((name, value));
    }
    Value::record(fields)
}

/// The bytes of a file, not packed and packed.
fn written(variables: &[(&str, &Value)]) -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    mat::write(&path, variables).unwrap();
    let plain = fs::read(&path).unwrap();
    let packed: Vec<Vec<u8>> = variables
        .iter()
        .map(|variable| {
            mat::write(&path, &[*variable]).unwrap();
            by_hand::packed(&fs::read(&path).unwrap()[128..])
        })
        .collect();
    [plain, by_hand::file(&packed)]
}

fn v73() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fieldtrip-v73.mat")
}

#[test]
fn one_trial_is_a_recording_with_the_events_beside_it() {
    let element = |kind: &str, value: Value, sample: f64| {
        [Value::Text(vec![kind.into()]), value, Value::row(vec![sample]), Value::row(vec![2.0])]
    };
    let event = Value::Struct {
        dims: vec![1, 3],
        fields: ["type", "value", "sample", "duration"].map(String::from).to_vec(),
        values: [
            element("trigger", Value::row(vec![5.0]), 101.0),
            element("button", Value::row(vec![]), 104.0),
            element("trigger", Value::Text(vec!["S 2".into()]), 99.0),
        ]
        .concat(),
    };
    let record = record(&[10], vec![("sampleinfo", Value::row(vec![101.0, 110.0]))]);
    for bytes in written(&[("event", &event), ("my_data", &record)]) {
        let opened = parse(&bytes).unwrap();
        assert_eq!((opened.format(), opened.rate_hz(), opened.length()), ("FieldTrip", 100.0, 10));
        assert!(opened.epochs().is_none());
        assert_eq!(signal(&opened, 0), (0..10).map(|t| t as f32).collect::<Vec<_>>());
        assert_eq!(signal(&opened, 1), (0..10).map(|t| 100.0 + t as f32).collect::<Vec<_>>());
        windows_equal_the_whole(&opened);
        let [c3, eog] = opened.signals() else { panic!("not two") };
        assert_eq!((&*c3.name, c3.kind, c3.microvolts), ("C3", SignalKind::Eeg, true));
        assert_eq!((&*eog.name, eog.kind, eog.microvolts), ("EOG1", SignalKind::Eog, true));
        let annotations: Vec<_> =
            opened.annotations().iter().map(|m| (m.sample, m.duration_s, &*m.text)).collect();
        assert_eq!(annotations, [(None, 0.02, "S 2"), (Some(0), 0.02, "5"), (Some(3), 0.02, "button")]);
        assert!(opened.notes()[0].contains("does not say the unit of 2 channels"), "{:?}", opened.notes());
        assert!(!format!("{:?} {:?}", opened.signals(), opened.notes()).contains("secret"));
    }
}

#[test]
fn trials_of_one_length_are_epochs() {
    let info = Value::matrix(vec![3, 2], vec![1.0, 2.0, 1.0, 7.0, 8.0, 9.0]);
    let units = texts(&["mV", "uV"]);
    let record = record(&[10; 3], vec![("trialinfo", info), ("chanunit", units)]);
    let mut files = written(&[("x", &Value::row(vec![1.0; 500])), ("epochs_clean", &record)]).to_vec();
    files.push(fs::read(v73()).unwrap());
    for bytes in files {
        let opened = parse(&bytes).unwrap();
        let epochs = opened.epochs().unwrap();
        assert_eq!((opened.format(), epochs.samples, epochs.start_s), ("FieldTrip epochs", 10, -0.03));
        assert_eq!(epochs.codes, ["1", "2", "1"]);
        // The first channel is in millivolts.
        let expected: Vec<f32> = (0..30).map(|i| 1000.0 * i as f32).collect();
        assert_eq!(signal(&opened, 0), expected);
        assert_eq!(signal(&opened, 1), (100..130).map(|i| i as f32).collect::<Vec<_>>());
        windows_equal_the_whole(&opened);
        let annotations: Vec<_> = opened.annotations().iter().map(|m| (m.sample, &*m.text)).collect();
        assert_eq!(annotations, [(Some(3), "1"), (Some(13), "2"), (Some(23), "1")]);
        assert_eq!(opened.segments().len(), 3);
        assert!(opened.notes().is_empty(), "{:?}", opened.notes());
    }
}

#[test]
fn what_is_not_said_is_reported_or_worked_out() {
    // The rate follows from the times; nobody says what trials are of.
    let bare = record(&[10; 2], vec![("fsample", Value::row(vec![]))]);
    let opened = parse(&written(&[("data", &bare)])[0]).unwrap();
    assert_eq!(opened.rate_hz(), 100.0);
    assert!(opened.notes()[0].contains("no `trialinfo`: it is not said what the 2 trials are of"));
    assert_eq!(opened.epochs().unwrap().codes, ["", ""]);
    assert!(opened.annotations().is_empty());
    // Kinds and units may come from the header of the original file, which has more channels.
    let header = Value::record(vec![
        ("label", texts(&["Cz", "EOG1", "C3"])),
        ("chanunit", texts(&["uV", "V", "mV"])),
        ("chantype", texts(&["eeg", "eog", "trigger"])),
    ]);
    let opened = parse(&written(&[("data", &record(&[4], vec![("hdr", header)]))])[0]).unwrap();
    let seen: Vec<_> = opened.signals().iter().map(|s| (s.kind, s.microvolts)).collect();
    assert_eq!(seen, [(SignalKind::Stimulus, false), (SignalKind::Eog, true)]);
    assert_eq!(signal(&opened, 1)[0], 1e8);
    let wide = record(&[4], vec![("chanunit", texts(&["T", "uV"]))]);
    let opened = parse(&written(&[("data", &wide)])[0]).unwrap();
    assert_eq!((opened.signals()[0].kind, &*opened.signals()[0].unit), (SignalKind::Other, "T"));
}

#[test]
fn what_cannot_be_read_says_so() {
    let with = |lengths: &[usize], more| parse(&written(&[("data", &record(lengths, more))])[0]).unwrap_err();
    let complex = Value::Array {
        dims: vec![2, 2],
        real: Numbers::F64(vec![0.0; 4]),
        imaginary: Some(Numbers::F64(vec![0.0; 4])),
        logical: false,
    };
    let other = Value::matrix(vec![3, 10], vec![0.0; 30]);
    let several = record(&[4], vec![]);
    for (error, says) in [
        (with(&[10, 12, 8], vec![]), "its 3 trials have 8 to 12 samples: not one length"),
        (with(&[], vec![]), "`trial` is empty"),
        (with(&[0, 0], vec![]), "a trial has 0 samples of 2 channels"),
        (with(&[10], vec![("trial", trial(0, 10))]), "`trial` is no cell array of trials"),
        (with(&[10; 2], vec![("trial", cell(vec![trial(0, 10), other]))]), "[3, 10], the first one [2, 10]"),
        (with(&[2], vec![("trial", cell(vec![complex]))]), "complex numbers"),
        (with(&[10], vec![("time", cell(vec![time(0.0, 9)]))]), "`time` does not fit trials of 10 samples"),
        (with(&[10], vec![("time", cell(vec![]))]), "`time` does not fit 1 trials"),
        (
            with(&[10; 2], vec![("time", cell(vec![time(0.0, 10), time(0.5, 10)]))]),
            "begin at different times after the cue: 0 s and 0.5 s",
        ),
        (with(&[10], vec![("label", texts(&["C3"]))]), "`label` names 1 channels, trials have 2"),
        (with(&[10], vec![("label", Value::row(vec![1.0]))]), "`label` is no list of names"),
        (with(&[1], vec![("fsample", Value::row(vec![]))]), "how many samples a second has"),
        (with(&[4], vec![("fsample", Value::row(vec![-1.0]))]), "how many samples a second has"),
        (
            parse(&written(&[("a", &several), ("b", &several)])[0]).unwrap_err(),
            "several recordings: `a`, `b`",
        ),
        (parse(&written(&[("x", &Value::row(vec![1.0; 200]))])[0]).unwrap_err(), "no recording of FieldTrip"),
    ] {
        assert!(error.to_string().starts_with("a.mat") && error.to_string().contains(says), "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
    // Of several the one called `data` counts.
    assert!(parse(&written(&[("a", &several), ("data", &several)])[0]).is_ok());
}

#[test]
fn damaged_anywhere() {
    let record = record(&[10; 3], vec![("trialinfo", Value::row(vec![1.0, 2.0, 1.0]))]);
    let mut random = Random(9);
    for bytes in written(&[("data", &record)]).into_iter().chain([fs::read(v73()).unwrap()]) {
        (0..bytes.len()).step_by(3).for_each(|length| examine(parse(&bytes[..length])));
        (0..1500).for_each(|_| examine(parse(&random.damage(&bytes))));
    }
}
