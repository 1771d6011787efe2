//! How long the classic decoders take to learn and to decode: `cargo run --release --example classic -p ptsm-decode`.
//! `lab/python/classic/speed.py` does the same with pyRiemann and scikit-learn.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use ptsm_decode::registry::find;
use ptsm_decode::{NoWatch, Run, TrainingData};
use ptsm_engine::Cpu;
use ptsm_signal::{Channel, Layout, SubjectId, Trial, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// Trials, channels and samples.
const SHAPES: [(u32, usize, usize); 2] = [(288, 22, 500), (400, 62, 500)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cpu = Cpu::new()?;
    for (count, channels, samples) in SHAPES {
        let trials = trials(count, channels, samples)?;
        for name in ["csp-lda", "fbcsp-lda", "mdm", "ts-lr", "xdawn-ts", "slda-erp", "sblest"] {
            let method = find(name)?;
            let changes = if name == "fbcsp-lda" { json!({}) } else { json!({ "band_hz": null }) };
            let decoder = method.build(method.settings(trials.layout(), &changes)?)?;
            let none = trials.all().only(|_| false);
            let data = TrainingData::new(trials.all(), none)?;
            let run = Run { device: &(&cpu).into(), identity: "speed" };
            let mut best = [f64::MAX; 2];
            for _ in 0..5 {
                let start = Instant::now();
                let fits = decoder.fit_seeds(&data, &[1], &run, &mut NoWatch)?;
                let fit_s = start.elapsed().as_secs_f64();
                let start = Instant::now();
                fits[0].fitted.probabilities(&trials.all())?;
                best = [best[0].min(fit_s), best[1].min(start.elapsed().as_secs_f64())];
            }
            let [fit, predict] = best.map(|s| 1e3 * s);
            println!(
                "{name:10} {count} x {channels} x {samples}: fit {fit:8.1} ms, predict {predict:8.1} ms"
            );
        }
    }
    Ok(())
}

fn trials(count: u32, channels: usize, samples: usize) -> Result<Trials, ptsm_signal::Error> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let layout = Layout {
        channels: (0..channels).map(|c| Channel::named(&format!("X{c}"))).collect(),
        samples,
        rate_hz: 250.0,
        start_s: 0.0,
        classes: vec!["a".into(), "b".into()],
        task: Default::default(),
    };
    let mut x = Vec::with_capacity(count as usize * channels * samples);
    for i in 0..count {
        for channel in 0..channels {
            let size = if channel == (i % 2) as usize { 1.5 } else { 1.0 };
            x.extend((0..samples).map(|_| size * random.random_range(-1.0..1.0f32)));
        }
    }
    let trial = |i| Trial { label: i % 2, subject: SubjectId(1 + i % 9), session: 1, run: 1, cue_s: 0.0 };
    Trials::new(layout, x, (0..count).map(trial).collect())
}
