//! The tutorial `docs/add-a-decoder.md`: its code is this file and `add_a_decoder/log_power.rs`, compiled and run here.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "add_a_decoder/log_power.rs"]
mod log_power;

use std::collections::{BTreeSet, HashMap};

use log_power::LOG_POWER;
use ptsm_decode::{ModelFile, NoWatch, Run, TrainingData};
use ptsm_engine::{Cpu, Device};
use ptsm_signal::{Channel, Layout, SubjectId, Subset, Trial, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// Noise of ten subjects in which one of two channels is stronger, one way for each class.
fn simulated() -> Trials {
    let layout = Layout {
        channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
        samples: 64,
        rate_hz: 64.0,
        start_s: 0.0,
        classes: vec!["left".into(), "right".into()],
        task: Default::default(),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut x, mut info) = (vec![], vec![]);
    for i in 0..10 * 24 {
        let label = i % 2;
        for channel in 0..3 {
            let amplitude = if channel == 2 * label { 2.0 } else { 1.0 };
            x.extend((0..64).map(|_| amplitude * rng.random_range(-1.0..1.0f32)));
        }
        info.push(Trial { label, subject: SubjectId(i / 24 + 1), session: 1, run: 1, cue_s: f64::from(i) });
    }
    Trials::new(layout, x, info).unwrap()
}

fn accuracy(probabilities: &[f32], trials: &Subset<'_>) -> f64 {
    let right = probabilities.chunks(2).zip(trials.labels()).filter(|(p, l)| (p[1] > p[0]) == (*l == 1));
    right.count() as f64 / trials.len() as f64
}

#[test]
fn a_new_network_is_trained_and_scored() {
    let trials = simulated();
    let subjects =
        |ids: std::ops::RangeInclusive<u32>| -> BTreeSet<SubjectId> { ids.map(SubjectId).collect() };
    let device: Device = (&Cpu::new().unwrap()).into();

    let settings = LOG_POWER.settings(trials.layout(), &json!({ "network": { "filters": 4 } })).unwrap();
    let decoder = LOG_POWER.build(settings.clone()).unwrap();
    let data = TrainingData::new(trials.of(&subjects(1..=6)), trials.of(&subjects(7..=8))).unwrap();
    let run = Run { device: &device, identity: "tutorial" };
    let fits = decoder.fit_seeds(&data, &[1, 2], &run, &mut NoWatch).unwrap();

    let unseen = trials.of(&subjects(9..=10));
    for fit in &fits {
        let probabilities = fit.fitted.probabilities(&unseen).unwrap();
        let score = accuracy(&probabilities, &unseen);
        assert!(score > 0.9, "seed {} decodes {score} of unseen subjects' trials", fit.seed);
    }

    // What every network has: a file, values inside it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log-power.safetensors");
    fits[0].fitted.save(&path, HashMap::new()).unwrap();
    let (bytes, layout) = (std::fs::read(&path).unwrap(), trials.layout());
    let file = ModelFile { path: &path, bytes: &bytes, settings: &settings, layout, known_subjects: 0 };
    let again = LOG_POWER.load(&file, &device).unwrap();
    assert_eq!(again.probabilities(&unseen).unwrap(), fits[0].fitted.probabilities(&unseen).unwrap());
    let features = again.intermediate_values(&unseen, &["features"]).unwrap().unwrap();
    assert_eq!(features[0].len(), 4 * unseen.len());
}

/// Every block of Rust on the page is a part of the two files, word for word.
#[test]
fn the_page_shows_this_code() {
    let page = include_str!("../../../docs/add-a-decoder.md");
    let files = [include_str!("add_a_decoder.rs"), include_str!("add_a_decoder/log_power.rs")];
    let mut blocks = 0;
    for block in page.split("```rust\n").skip(1) {
        let block = block.split("```").next().unwrap();
        // Blocks of the page begin at the margin.
        let flat =
            |text: &str| text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
        let shown = flat(block);
        assert!(files.iter().any(|file| flat(file).contains(&shown)), "not in the files:\n{block}");
        blocks += 1;
    }
    assert!(blocks >= 4, "{blocks}");
}
