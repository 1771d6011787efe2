//! How long cutting a recording takes. `cargo test --release -p ptsm-signal --test speed -- --ignored --nocapture`
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use ptsm_signal::{Band, Channel, Event, FilterKind, Pipeline, Recording, SubjectId, Who};

/// Two minutes of 64 channels at 160 Hz with 15 trials of 4 s, as in one file of a motor imagery data set.
#[test]
#[ignore = "measures time"]
fn two_minutes_of_64_channels() {
    let samples = 20_000;
    let value = |i: usize| (i % samples) as f32 * 0.37 + (i % 97) as f32 + (i / samples) as f32;
    let x = (0..64 * samples).map(|i| 100.0 * value(i).sin()).collect();
    let channels = (0..64).map(|c| Channel::named(&format!("E{c}"))).collect();
    let event = |i: usize| Event { sample: 1300 * i + 100, code: "T1".into(), samples: 0 };
    let recording = Recording::new(160.0, channels, x, (0..15).map(event).collect()).unwrap();
    let band = |order| Band { low_hz: Some(0.5), high_hz: Some(45.0), kind: FilterKind::ZeroPhase { order } };
    let who = Who { subject: SubjectId(1), session: 1, run: 1 };
    for (name, pipeline) in [
        ("window", Pipeline::default()),
        ("resampling", Pipeline { rate_hz: Some(100.0), ..Pipeline::default() }),
        ("band", Pipeline { band: Some(band(4)), ..Pipeline::default() }),
        ("both", Pipeline { band: Some(band(4)), rate_hz: Some(100.0), ..Pipeline::default() }),
    ] {
        let mut best = f64::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            let cut = pipeline.cut(&recording, &[("T1".into(), "left".into())], who).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
            assert_eq!(cut.trials.len(), 15);
        }
        eprintln!("{name}: {:.2} ms, best of 20", 1e3 * best);
    }
}
