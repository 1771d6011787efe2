//! Recordings of EEGLAB hold what they should, whatever kind of file they are in.

use std::path::{Path, PathBuf};

use ptsm_io::{RecordingFile, eeglab};
use serde_json::Value as Json;

fn shared() -> Option<(PathBuf, Vec<Json>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/datasets/fixtures");
    let Ok(text) = std::fs::read_to_string(folder.join("expected.json")) else {
        eprintln!("skipped: needs ../shared/datasets/fixtures");
        return None;
    };
    let expected: Vec<Json> = serde_json::from_str(&text).unwrap();
    let of = |entry: &Json| entry["path"].as_str().unwrap().starts_with("eeglab/");
    Some((folder, expected.into_iter().filter(of).collect()))
}

/// One sample.
fn at(opened: &RecordingFile, signal: usize, sample: usize) -> f32 {
    let mut to = [0.0];
    opened.read(&[signal], sample, &mut to).unwrap();
    to[0]
}

#[test]
fn shared_files_are_as_expected() {
    let Some((folder, expected)) = shared() else { return };
    assert_eq!(expected.len(), 5);
    for entry in expected {
        let name = entry["path"].as_str().unwrap();
        let opened = eeglab::open(&folder.join(name)).unwrap();
        let names: Vec<&str> = opened.signals().iter().map(|signal| signal.name.as_str()).collect();
        let expected: Vec<&str> =
            entry["ch_names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(names, expected, "{name}");
        assert_eq!(opened.rate_hz(), entry["sfreq"].as_f64().unwrap(), "{name}");
        let trials = entry["n_trials"].as_u64().unwrap_or(1) as usize;
        let samples = entry["n_samples"].as_u64().unwrap() as usize;
        assert_eq!(opened.length(), trials * samples, "{name}");
        let tolerance = entry["tolerance"].as_f64().unwrap_or(1e-6) as f32;
        for sample in entry["samples"].as_array().into_iter().flatten() {
            let number = |i: usize| sample[i].as_f64().unwrap();
            let read = at(&opened, number(0) as usize, number(1) as usize);
            assert!((read - number(2) as f32).abs() <= tolerance, "{name}: {read} is not {sample}");
        }
        for (k, event) in entry["events_samples"].as_array().into_iter().flatten().enumerate() {
            let annotation = &opened.annotations()[k];
            assert_eq!(annotation.sample, event[0].as_u64().map(|sample| sample as usize), "{name}");
            assert_eq!(annotation.text, event[1].as_str().unwrap(), "{name}");
            assert!((annotation.onset_s - event[0].as_f64().unwrap() / opened.rate_hz()).abs() < 1e-9);
        }
        assert_eq!(opened.epochs().is_some(), trials > 1, "{name}");
        if let Some(epochs) = opened.epochs() {
            assert_eq!((epochs.samples, epochs.start_s), (samples, entry["tmin"].as_f64().unwrap()));
            assert_eq!(epochs.codes, ["left", "right"]);
            assert_eq!(at(&opened, 0, samples), 0.0);
            assert_eq!(at(&opened, 2, samples - 1), 11.0);
            assert_eq!(opened.segments().len(), 2);
        }
        assert!(opened.notes().is_empty(), "{name}: {:?}", opened.notes());
    }
}

#[test]
fn windows_are_parts_of_the_whole() {
    let Some((folder, expected)) = shared() else { return };
    for entry in expected {
        let opened = eeglab::open(&folder.join(entry["path"].as_str().unwrap())).unwrap();
        let length = opened.length();
        let mut whole = vec![0.0; 3 * length];
        opened.read(&[0, 1, 2], 0, &mut whole).unwrap();
        for (first, n) in [(0, 1), (0, length), (17, 61), (length - 5, 5), (150, 100)] {
            let mut window = vec![0.0; 2 * n];
            opened.read(&[2, 1], first, &mut window).unwrap();
            assert_eq!(window[..n], whole[2 * length + first..][..n]);
            assert_eq!(window[n..], whole[length + first..][..n]);
        }
        let recording = opened.recording(None).unwrap();
        assert_eq!(recording.samples, whole);
    }
}
