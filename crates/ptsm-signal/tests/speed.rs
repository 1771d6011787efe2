//! How long cutting a recording takes. `cargo test --release -p ptsm-signal --test speed -- --ignored --nocapture`
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use ptsm_signal::{Band, Channel, Event, FilterKind, Pipeline, Recording, RecordingId, SubjectId};

/// Ten minutes of 64 channels at 160 Hz with a trial of 4 s every 8 s.
#[test]
#[ignore = "measures time"]
fn ten_minutes_of_64_channels() {
    let samples = 96_000;
    let value = |i: usize| (i % samples) as f32 * 0.37 + (i % 97) as f32 + (i / samples) as f32;
    let x = (0..64 * samples).map(|i| 100.0 * value(i).sin()).collect();
    let channels = (0..64).map(|c| Channel::named(&format!("E{c}"))).collect();
    let event = |i: usize| Event { sample: 1280 * i + 100, code: "T1".into(), samples: 0 };
    let recording = Recording::new(160.0, channels, x, (0..72).map(event).collect()).unwrap();
    let kind = FilterKind::ZeroPhase { order: 4 };
    let band = Some(Band { low_hz: Some(8.0), high_hz: Some(30.0), kind });
    let id = RecordingId { subject: SubjectId(1), session: 1, run: 1 };
    for (name, pipeline) in [
        ("windows alone", Pipeline::default()),
        ("resampling", Pipeline { rate_hz: Some(100.0), ..Pipeline::default() }),
        ("band", Pipeline { band, ..Pipeline::default() }),
        ("both", Pipeline { band, rate_hz: Some(100.0), ..Pipeline::default() }),
    ] {
        let mut best = f64::MAX;
        for _ in 0..10 {
            let start = Instant::now();
            let cut = pipeline.epoch(&recording, &[("T1".into(), "left".into())], id).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
            assert_eq!(cut.trials.len(), 72);
        }
        eprintln!("{name}: {:.2} ms, best of 10", 1e3 * best);
    }
}
