//! Recordings that are more than one file, or one of many variables: folders list them once, manifests read them.

use std::fs;

use ptsm_data::{AddReport, LoadOptions, add_folder};
use ptsm_io::mat::{self, Value};

use crate::common::{Place, labels, noise};

fn add(place: &Place) -> AddReport {
    add_folder(&place.at("d"), None, false, &LoadOptions::default()).unwrap()
}

/// Tags of FIF, one after the other.
pub(crate) struct Fif(pub(crate) Vec<u8>);

impl Fif {
    pub(crate) fn tag(mut self, kind: i32, of: i32, bytes: &[u8]) -> Fif {
        self.0.extend([kind, of, bytes.len() as i32, 0].map(i32::to_be_bytes).concat());
        self.0.extend(bytes);
        self
    }

    pub(crate) fn int(self, kind: i32, value: i32) -> Fif {
        self.tag(kind, 3, &value.to_be_bytes())
    }
}

/// A recording of one channel at 100 Hz with an event each second, which goes on in another file.
fn fif(samples: usize, seed: u64, next: Option<&str>) -> Vec<u8> {
    fif_from(None, samples, seed, next)
}

/// The same where the device had counted so many samples before the first one.
pub(crate) fn fif_from(first: Option<i32>, samples: usize, seed: u64, next: Option<&str>) -> Vec<u8> {
    let channel = |kind: i32, scale: f32, name: &str| {
        let mut bytes = vec![0; 96];
        bytes[8..12].copy_from_slice(&kind.to_be_bytes());
        bytes[12..16].copy_from_slice(&1f32.to_be_bytes());
        bytes[16..20].copy_from_slice(&scale.to_be_bytes());
        bytes[72..76].copy_from_slice(&107i32.to_be_bytes());
        bytes[80..][..name.len()].copy_from_slice(name.as_bytes());
        bytes
    };
    let trigger = |t: usize| if t % 100 == 50 { (1 + t / 100 % 2) as f32 } else { 0.0 };
    let numbers = noise(1, samples, seed).into_iter().enumerate().flat_map(|(t, x)| [x, trigger(t)]);
    let numbers: Vec<u8> = numbers.flat_map(f32::to_be_bytes).collect();
    let mut file = Fif(vec![]).tag(100, 31, &[0; 20]).int(101, -1).int(104, 101).int(200, 2);
    file = file.tag(201, 4, &100f32.to_be_bytes());
    file = file.tag(203, 30, &channel(2, 1e-6, "C3")).tag(203, 30, &channel(3, 1.0, "STI 014"));
    file = file.int(105, 101).int(104, 102);
    if let Some(first) = first {
        file = file.int(208, first);
    }
    file = file.tag(300, 4, &numbers);
    if let Some(next) = next {
        file = file.int(104, 118).int(115, 2).tag(118, 10, next.as_bytes()).int(117, 1).int(105, 118);
    }
    file.int(105, 102).0
}

#[test]
fn parts_of_split_recordings_are_listed_once() {
    let place = Place::new();
    for subject in 1..=2 {
        let (first, second) = (format!("S{subject}_raw.fif"), format!("S{subject}_raw-1.fif"));
        place.write(&format!("d/{first}"), fif(500, subject, Some(&second)));
        place.write(&format!("d/{second}"), fif(500, 7 * subject, None));
    }
    let added = add(&place);
    assert_eq!((added.recordings, added.subjects), (2, 2));
    assert!(added.unreadable.is_empty(), "{:?}", added.unreadable);
    let text = fs::read_to_string(&added.manifest).unwrap();
    assert!(text.contains("2 channels") || text.contains("1 channels, 100 Hz, 10 s"), "{text}");
    assert!(!text.contains("raw-1.fif"), "{text}");
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    // The last event is too near to the end for a trial.
    assert_eq!(loaded.trials.len(), 2 * 9);
    // Without its first part the second one is a recording of its own: nothing in this one says otherwise.
    fs::remove_file(place.at("d/S1_raw-1.fif")).unwrap();
    let added = add_folder(&place.at("d"), None, true, &LoadOptions::default()).unwrap();
    assert_eq!((added.recordings, added.unreadable.len()), (1, 1));
    assert!(added.unreadable[0].error.contains("`S1_raw-1.fif`, is not there"), "{:?}", added.unreadable);
}

/// A recording of FieldTrip with two channels.
fn record(trials: &[usize], seed: u64, codes: &[f64]) -> Value {
    let cell = |values: Vec<Value>| Value::Cell { dims: vec![1, values.len()], values };
    let text = |text: &str| Value::Text(vec![text.to_string()]);
    let matrix = |(k, &samples): (usize, &usize)| {
        let numbers = noise(2, samples, seed + k as u64).into_iter().map(f64::from).collect();
        Value::matrix(vec![2, samples], numbers)
    };
    let time = |&samples: &usize| Value::row((0..samples).map(|t| t as f64 / 100.0).collect());
    Value::record(vec![
        ("label", cell(vec![text("C3"), text("C4")])),
        ("fsample", Value::row(vec![100.0])),
        ("trial", cell(trials.iter().enumerate().map(matrix).collect())),
        ("time", cell(trials.iter().map(time).collect())),
        ("trialinfo", Value::matrix(vec![codes.len(), 1], codes.to_vec())),
    ])
}

#[test]
fn epochs_of_fieldtrip_are_added_and_read() {
    let place = Place::new();
    fs::create_dir_all(place.at("d")).unwrap();
    let codes = [1.0, 2.0, 2.0, 1.0];
    for subject in 1..=2 {
        let record = record(&[100; 4], subject, &codes);
        mat::write(&place.at(&format!("d/S{subject}.mat")), &[("clean", &record)]).unwrap();
    }
    mat::write(&place.at("d/S3.mat"), &[("data", &record(&[100, 90], 3, &[1.0, 2.0]))]).unwrap();
    let added = add(&place);
    let events: Vec<_> = added.events.iter().map(|code| (&*code.code, code.events)).collect();
    assert_eq!((added.recordings, events), (2, vec![("1", 4), ("2", 4)]));
    assert!(
        added.unreadable[0].error.contains("its 2 trials have 90 to 100 samples"),
        "{:?}",
        added.unreadable
    );
    let text = fs::read_to_string(&added.manifest).unwrap();
    assert!(
        text.contains("epochs that are cut already: what follows still applies") && !text.contains("[mat]"),
        "{text}"
    );
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    assert_eq!(labels(&loaded), ["1", "2", "2", "1", "1", "2", "2", "1"]);
    assert_eq!(loaded.trials.layout().samples, 100);
    assert!(
        loaded.notes.iter().any(|note| note.to_string().contains("does not say the unit")),
        "{:?}",
        loaded.notes
    );
}

#[test]
fn recordings_of_fieldtrip_lie_beside_plain_matrices() {
    let place = Place::new();
    fs::create_dir_all(place.at("d")).unwrap();
    let event = Value::Struct {
        dims: vec![1, 2],
        fields: vec!["value".into(), "sample".into()],
        values: [1.0, 101.0, 2.0, 301.0].map(|x| Value::row(vec![x])).to_vec(),
    };
    mat::write(&place.at("d/S1.mat"), &[("data", &record(&[1000], 1, &[])), ("event", &event)]).unwrap();
    let samples = noise(2, 1000, 5).into_iter().map(f64::from).collect();
    let triggers = (0..1000)
        .map(|t| {
            if t == 100 {
                1.0
            } else if t == 300 {
                2.0
            } else {
                0.0
            }
        })
        .collect();
    let plain = Value::matrix(vec![1000, 2], samples);
    let variables =
        [("y", &plain), ("trig", &Value::matrix(vec![1000, 1], triggers)), ("fs", &Value::row(vec![100.0]))];
    mat::write(&place.at("d/S2.mat"), &variables).unwrap();
    let added = add(&place);
    assert_eq!((added.recordings, added.unreadable.len()), (2, 0));
    let manifest = fs::read_to_string(&added.manifest).unwrap();
    place.write(
        "d/d.toml",
        manifest
            .replace("# 1 = ", "1 = ")
            .replace("# 2 = ", "2 = ")
            .replace("\"ch1\", \"ch2\"", "\"C3\", \"C4\""),
    );
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    assert_eq!(labels(&loaded), ["1", "2", "1", "2"]);
}
