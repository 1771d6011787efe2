//! How long an epoch of TSMNet takes on one thread: `RAYON_NUM_THREADS=1 cargo run --release --example tsmnet -p ptsm-decode`.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;
use std::time::Instant;

use ptsm_decode::registry::find;
use ptsm_decode::{Lesson, Run, Unwatched};
use ptsm_engine::{Cpu, Isa};
use ptsm_signal::{Channel, Layout, SubjectId, Trial, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

const PEOPLE: u32 = 28;
const JUDGES: u32 = 4;
const EACH: u32 = 45;
const CHANNELS: usize = 64;
const SAMPLES: usize = 640;
const EPOCHS: usize = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = (&Cpu::with(1, Isa::best())?).into();
    let trials = trials()?;
    let people = |from: u32, to: u32| (from..=to).map(SubjectId).collect::<BTreeSet<_>>();
    let judges = trials.of(&people(PEOPLE + 1, PEOPLE + JUDGES));
    let run = Run { device: &device, identity: "speed" };
    for name in ["tsmnet", "tsmnet-spdmbn"] {
        let method = find(name)?;
        for (judged, select) in [(judges.clone(), "loss"), (judges.only(|_| false), "last")] {
            let changes = json!({ "training": { "epochs": EPOCHS, "select": select } });
            let decoder = method.build(method.settings(trials.layout(), &changes)?)?;
            let lesson = Lesson::new(trials.of(&people(1, PEOPLE)), judged)?;
            let start = Instant::now();
            decoder.fit_seeds(&lesson, &[1], &run, &mut Unwatched)?;
            let epoch = start.elapsed().as_secs_f64() / EPOCHS as f64;
            println!("{name:13} {} judges: {epoch:.2} s per epoch", lesson.validation().subjects().len());
        }
    }
    Ok(())
}

/// Noise that neighbours in time and space share.
fn trials() -> Result<Trials, ptsm_signal::Error> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let layout = Layout {
        channels: (0..CHANNELS).map(|c| Channel::named(&format!("X{c}"))).collect(),
        samples: SAMPLES,
        rate_hz: 160.0,
        start_s: 0.0,
        classes: vec!["a".into(), "b".into()],
    };
    let mut x = vec![];
    let mut info = vec![];
    for i in 0..(PEOPLE + JUDGES) * EACH {
        let mut sources = [0.0f32; 24];
        let mixing: Vec<f32> = (0..24 * CHANNELS).map(|_| random.random_range(-1.0..1.0)).collect();
        let mut trial = vec![0.0; CHANNELS * SAMPLES];
        for t in 0..SAMPLES {
            sources.iter_mut().for_each(|s| *s = 0.8 * *s + random.random_range(-1.0..1.0f32));
            for c in 0..CHANNELS {
                let mixed = sources.iter().zip(&mixing[c * 24..]).map(|(s, m)| s * m).sum::<f32>();
                trial[c * SAMPLES + t] = mixed + random.random_range(-0.1..0.1f32);
            }
        }
        x.extend(trial);
        info.push(Trial {
            label: i % 2,
            subject: SubjectId(1 + i / EACH),
            session: 1,
            run: 1,
            cue_s: f64::from(i),
        });
    }
    Trials::new(layout, x, info)
}
