//! A real recording, of which a cut is in the repository: it is read, epoched and held against committed numbers.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use ptsm_data::Source;
use ptsm_signal::{Band, FilterKind, Pipeline, Scaling, SubjectId};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/physionet-mi")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn a_real_recording_is_epoched_as_an_independent_reader_does() {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let source = Source::parse("files:manifest.toml", Some(&folder())).unwrap();
    let raw = Pipeline { window_s: [0.0, 4.0], scaling: Scaling::None, ..Pipeline::default() };
    let loaded = source.load(Some(&raw), None).unwrap();
    assert_eq!(loaded.notes, <[String; 0]>::default());
    let (layout, info) = (loaded.trials.layout(), loaded.trials.info());
    let names: Vec<Value> = layout.channels.iter().map(|channel| channel.name.clone().into()).collect();
    assert_eq!(Value::from(names), expected["channels"]);
    assert_eq!((layout.rate_hz, layout.samples), (expected["rate_hz"].as_f64().unwrap(), 640));
    let trials = expected["trials"].as_array().unwrap();
    assert_eq!((info.len(), trials.len()), (8, 8));
    for (row, (trial, expected)) in info.iter().zip(trials).enumerate() {
        let code = ["T1", "T2"][trial.label as usize];
        assert_eq!((code, trial.subject, trial.run), (expected["code"].as_str().unwrap(), SubjectId(1), 4));
        assert!((trial.cue_s - expected["onset_s"].as_f64().unwrap()).abs() < 0.5 / layout.rate_hz);
        let (means, deviations) = (numbers(&expected["mean_uv"]), numbers(&expected["deviation_uv"]));
        for (channel, samples) in loaded.trials.signal(row).chunks_exact(layout.samples).enumerate() {
            let n = samples.len() as f64;
            let mean = samples.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
            let variance = samples.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
            // Samples are in single precision.
            assert!((mean - means[channel]).abs() < 1e-4, "trial {row}, channel {channel}");
            assert!((variance.sqrt() - deviations[channel]).abs() < 1e-4, "trial {row}, channel {channel}");
        }
    }
}

#[test]
fn the_mu_and_beta_bands_of_a_real_recording_are_a_part_of_it() {
    let source = Source::parse("files:manifest.toml", Some(&folder())).unwrap();
    let kind = FilterKind::ZeroPhase { order: 4 };
    let band = Some(Band { low_hz: Some(8.0), high_hz: Some(30.0), kind });
    let (rate_hz, window_s, scaling) = (Some(80.0), [0.5, 3.5], Scaling::None);
    let pipeline = Pipeline { band, rate_hz, window_s, scaling, ..Pipeline::default() };
    let loaded = source.load(Some(&pipeline), None).unwrap();
    assert_eq!((loaded.trials.len(), loaded.trials.layout().samples), (8, 240));
    let deviation = |row: usize| {
        let signal = loaded.trials.signal(row);
        (signal.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / signal.len() as f64).sqrt()
    };
    let all: Vec<f64> = (0..8).map(deviation).collect();
    // A change of these numbers is a change of the filter, the resampling or the window.
    let expected = [16.4194, 14.6276, 16.1736, 14.1574, 15.3005, 16.5067, 18.8935, 17.4920];
    for (got, expected) in all.iter().zip(expected) {
        assert!((got - expected).abs() < 1e-3, "{all:?}");
    }
}
