//! Ocular regression and the band of each epoch.
#![allow(clippy::unwrap_used)]

use ptsm_signal::filter::{Pass, butterworth, zero_phase};
use ptsm_signal::{
    Alignment, Band, Channel, Event, FilterKind, Layout, OcularRegression, Pick, Pipeline, Recording,
    RecordingId, Reference, Scaling, SubjectId, TargetAccess, Trial, Trials,
};

fn plain() -> Pipeline {
    Pipeline { window_s: [0.0, 10.0], scaling: Scaling::None, ..Pipeline::default() }
}

/// Trials of these channels at 100 Hz, one for each subject of a list.
fn trials(
    names: &[&str],
    subjects: &[u32],
    samples: usize,
    value: impl Fn(usize, usize, usize) -> f64,
) -> Trials {
    let layout = Layout {
        channels: names.iter().map(|name| Channel::named(name)).collect(),
        samples,
        rate_hz: 100.0,
        start_s: 0.0,
        classes: vec!["a".into(), "b".into()],
        task: Default::default(),
    };
    let mut x = vec![];
    for n in 0..subjects.len() {
        for c in 0..names.len() {
            x.extend((0..samples).map(|t| value(n, c, t) as f32));
        }
    }
    let info = subjects.iter().enumerate().map(|(n, &subject)| Trial {
        label: (n % 2) as u32,
        subject: SubjectId(subject),
        session: 1,
        run: 1,
        cue_s: n as f64,
    });
    Trials::new(layout, x, info.collect()).unwrap()
}

fn named(names: &[&str]) -> Option<OcularRegression> {
    Some(OcularRegression::Channels(names.iter().map(|name| name.to_string()).collect()))
}

/// The input of `lab/python/ocular_golden.py`.
fn golden_value(n: usize, c: usize, t: usize) -> f64 {
    let (n, c, t) = (n as f64, c as f64, t as f64);
    let eye = 60.0 * (0.05 * t * (1.0 + 0.3 * n) + n).sin();
    eye / (1.0 + c) + 9.0 * (0.9 * t + 2.0 * c + n).sin() + 5.0 * (0.31 * t * (c + 1.0)).cos() + 3.0 * c + n
}

#[test]
fn regression_equals_numpys_least_squares() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("golden/ocular.json")).unwrap();
    let raw = trials(&["Fp1", "C3", "AF8", "Pz"], &[1, 1, 2, 2, 2, 1], 40, golden_value);
    for ocular in [named(&["Fp1", "AF8"]), Some(OcularRegression::Frontal)] {
        let done = Pipeline { ocular, ..plain() }.finish(raw.clone()).unwrap();
        let names: Vec<&str> = done.layout().channels.iter().map(|c| &*c.name).collect();
        assert_eq!(names, ["C3", "Pz"]);
        let want = golden["out"].as_array().unwrap();
        let got = done.to_vec();
        assert_eq!(got.len(), want.len());
        for (g, w) in got.iter().zip(want) {
            // Half a step of single precision at 50 microvolts.
            assert!((f64::from(*g) - w.as_f64().unwrap()).abs() < 4e-6, "{g} is not {w}");
        }
    }
}

/// Noise that is the same on every machine.
fn noise(n: usize, c: usize, t: usize) -> f64 {
    let mut state = (n as u64) << 40 | (c as u64) << 20 | t as u64;
    state = (state ^ (state >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

#[test]
fn an_eye_that_is_mixed_into_every_channel_is_taken_out() {
    let names = ["Fp1", "Fp2", "F7", "F8", "C3", "Cz", "C4", "Oz"];
    let gain = [1.0, 0.9, 1.3, -1.3, 0.3, 0.2, -0.3, 0.05];
    let eye = |n: usize, t: usize| 80.0 * (0.04 * t as f64 + 1.7 * n as f64).sin().signum();
    let subjects: Vec<u32> = (0..40).map(|n| 1 + n / 20).collect();
    let brain = |n: usize, c: usize, t: usize| 10.0 * noise(n, c, t);
    let mixed = trials(&names, &subjects, 200, |n, c, t| gain[c] * eye(n, t) + brain(n, c, t));
    let done = Pipeline { ocular: Some(OcularRegression::Frontal), ..plain() }.finish(mixed.clone()).unwrap();
    assert_eq!(done.layout().channels.len(), 4);
    // How far a channel goes with the eye, and how much of what is no eye is left.
    for (k, c) in (4..8).enumerate() {
        let (mut with_eye, mut power, mut kept, mut own) = (0.0, 0.0, 0.0, 0.0);
        for n in 0..40 {
            for t in 0..200 {
                let left = f64::from(done.signal(n)[k * 200 + t]);
                with_eye += left * eye(n, t);
                power += eye(n, t).powi(2);
                kept += left * brain(n, c, t);
                own += brain(n, c, t).powi(2);
            }
        }
        assert!((with_eye / power).abs() < 0.01, "{}: {}", names[c], with_eye / power);
        assert!((kept / own - 1.0).abs() < 0.05, "{}: {}", names[c], kept / own);
    }
}

#[test]
fn recordings_and_arrays_are_treated_alike() {
    let samples = 3000;
    let names = ["C3", "Fp1", "Cz", "C4", "Fp2"];
    let value =
        |c: usize, t: usize| golden_value(0, c, t) + 40.0 * noise(1, c, t) + 30.0 * noise(2, 0, t / 50);
    let x = (0..names.len()).flat_map(|c| (0..samples).map(move |t| value(c, t) as f32)).collect();
    let events =
        (0..6).map(|i| Event { sample: 100 + 400 * i, code: ["l", "r"][i % 2].into(), samples: 0 }).collect();
    let recording = Recording::new(100.0, names.map(Channel::named).to_vec(), x, events).unwrap();
    let cues = ["l", "r"].map(|code| (code.to_string(), code.to_string()));
    let id = RecordingId { subject: SubjectId(1), session: 1, run: 1 };
    let kind = FilterKind::ZeroPhase { order: 4 };
    let raw = Pipeline { window_s: [0.0, 3.0], ..plain() };
    let whole = Pipeline {
        reference: Reference::Average,
        ocular: named(&["Fp2", "Fp1"]),
        epoch_band: Some(Band { low_hz: Some(7.5), high_hz: Some(31.0), kind }),
        scaling: Scaling::TrialDeviation,
        ..raw.clone()
    };
    let cut = whole.epoch(&recording, &cues, id).unwrap().trials;
    let finished = whole.finish(raw.epoch(&recording, &cues, id).unwrap().trials).unwrap();
    assert_eq!(cut, finished);
    // Regressors need not be picked; of the picked ones none is left that is regressed on.
    let pick =
        |names: &[&str]| Pick::Names(names.iter().map(|name| name.to_string()).collect::<Vec<String>>());
    let against = |pick| Pipeline { pick, reference: Reference::AsRecorded, ..whole.clone() };
    let few = against(pick(&["C3", "Cz", "C4"])).epoch(&recording, &cues, id).unwrap().trials;
    assert_eq!(few, against(Pick::All).epoch(&recording, &cues, id).unwrap().trials);
    let error = against(pick(&["Fp1"])).epoch(&recording, &cues, id).unwrap_err();
    assert!(error.hint().unwrap().contains("pick other channels"), "{error}");
    let eyes = Pipeline { pick: Pick::Frontal, ..raw }.epoch(&recording, &cues, id).unwrap().trials;
    let kept: Vec<&str> = eyes.layout().channels.iter().map(|c| &*c.name).collect();
    assert_eq!(kept, ["Fp1", "Fp2"]);
}

#[test]
fn an_epoch_is_filtered_as_a_recording_of_its_length() {
    let raw = trials(&["C3", "C4", "Cz"], &[1, 2], 200, golden_value);
    let kind = FilterKind::ZeroPhase { order: 4 };
    let band = Band { low_hz: Some(7.5), high_hz: Some(31.0), kind };
    let pipeline = Pipeline { epoch_band: Some(band), ..plain() };
    let done = pipeline.finish(raw.clone()).unwrap();
    let sections = butterworth(4, Pass::Band(7.5, 31.0), 100.0).unwrap();
    for n in 0..2 {
        for (row, out) in raw.signal(n).chunks_exact(200).zip(done.signal(n).chunks_exact(200)) {
            let row: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
            let want: Vec<f32> = zero_phase(&sections, &row).unwrap().iter().map(|&x| x as f32).collect();
            assert_eq!(out, want);
        }
    }
    let short = trials(&["C3"], &[1], 20, golden_value);
    assert!(pipeline.finish(short).unwrap_err().to_string().contains("too few"));
}

#[test]
fn wrong_regressions_are_refused_with_a_hint() {
    let raw = trials(&["C3", "Fp1"], &[1, 2], 50, golden_value);
    let refused = |ocular| Pipeline { ocular, ..plain() }.finish(raw.clone()).unwrap_err();
    assert!(refused(named(&["Fp2"])).to_string().contains("`Fp2`"));
    assert!(refused(named(&["C3", "Fp1"])).to_string().contains("which are all"));
    let unplaced = trials(&["ch1", "ch2"], &[1], 50, golden_value);
    let error = Pipeline { ocular: Some(OcularRegression::Frontal), ..plain() }.finish(unplaced).unwrap_err();
    assert!(error.hint().unwrap().contains("name the channels"), "{error}");
    let short = trials(&["C3", "Fp1"], &[1], 1, golden_value);
    let error = Pipeline { ocular: named(&["Fp1"]), ..plain() }.finish(short).unwrap_err();
    assert!(error.hint().unwrap().contains("more samples"), "{error}");
}

#[test]
fn regression_counts_as_transductive() {
    let eyes = Pipeline { ocular: Some(OcularRegression::Frontal), ..plain() };
    assert_eq!(eyes.target_access(), TargetAccess::WHOLE);
    let both = Pipeline { alignment: Alignment::EuclideanStream, ..eyes };
    assert_eq!(both.target_access(), TargetAccess::WHOLE);
}
