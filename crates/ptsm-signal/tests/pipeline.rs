//! From recordings to trials, step by step and as a whole.
#![allow(clippy::unwrap_used)]

use ptsm_signal::filter::{Pass, Resampler, WindowFunction, butterworth, fir, firwin, notch, zero_phase};
use ptsm_signal::{
    Alignment, Band, Channel, EpochedRecording, Event, FilterKind, Pick, Pipeline, Recording, RecordingId,
    Reference, Scaling, SubjectId, TargetAccess, Trials,
};

const RATE: f64 = 160.0;
const WHO: RecordingId = RecordingId { subject: SubjectId(7), session: 2, run: 3 };

/// Four channels of 12.5 s with an offset each, and an event every two seconds.
fn recording() -> Recording {
    let samples = 2000;
    let value = |c: usize, t: usize| {
        let (c, t) = (c as f64, t as f64);
        500.0 * c
            + 20.0 * (0.39 * t + c).sin()
            + 7.0 * ((1.7 + 0.1 * c) * t).cos()
            + 3.0 * (0.01 * t * t).sin()
    };
    let x = (0..4).flat_map(|c| (0..samples).map(move |t| value(c, t) as f32)).collect();
    let codes = ["T1", "T2", "T0", "T1", "T2", "T1"];
    let event =
        |(i, code): (usize, &&str)| Event { sample: 320 * i + 33, code: code.to_string(), samples: 0 };
    let events = codes.iter().enumerate().map(event).collect();
    Recording::new(RATE, ["C3", "Cz", "C4", "M1"].map(Channel::named).to_vec(), x, events).unwrap()
}

fn cues() -> Vec<(String, String)> {
    [("T2", "right"), ("T1", "left")].map(|(code, class)| (code.to_string(), class.to_string())).to_vec()
}

fn plain() -> Pipeline {
    Pipeline { window_s: [0.5, 2.0], scaling: Scaling::None, ..Pipeline::default() }
}

fn cut(pipeline: &Pipeline) -> EpochedRecording {
    pipeline.epoch(&recording(), &cues(), WHO).unwrap()
}

#[track_caller]
fn close(got: &[f32], want: impl IntoIterator<Item = f64>, tolerance: f64) {
    let want: Vec<f64> = want.into_iter().collect();
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(&want).enumerate() {
        assert!((f64::from(*g) - w).abs() <= tolerance, "sample {i}: {g} is not {w}");
    }
}

#[test]
fn plain_windows_are_the_recordings_own_samples() {
    let EpochedRecording { trials, short } = cut(&plain());
    // The last event is at sample 1633, its window ends at 1953; all five are inside.
    assert_eq!((trials.len(), short), (5, 0));
    let layout = trials.layout();
    assert_eq!((layout.samples, layout.rate_hz, layout.start_s), (240, RATE, 0.5));
    assert_eq!(layout.classes, ["right", "left"]);
    assert_eq!(layout.channels, recording().channels);
    let labels: Vec<_> = trials.info().iter().map(|t| t.label).collect();
    assert_eq!(labels, [1, 0, 1, 0, 1]);
    let second = trials.info()[1];
    assert_eq!((second.subject, second.session, second.run), (SubjectId(7), 2, 3));
    assert_eq!(second.cue_s, 353.0 / RATE);
    assert_eq!(trials.signal(1)[240..480], recording().channel(1)[353 + 80..353 + 320]);
}

#[test]
fn windows_past_the_ends_are_left_out_and_counted() {
    let late = cut(&Pipeline { window_s: [0.5, 2.5], ..plain() });
    assert_eq!((late.trials.len(), late.short), (4, 1));
    let early = cut(&Pipeline { window_s: [-0.3, 1.0], ..plain() });
    assert_eq!((early.trials.len(), early.short), (4, 1));
    let base = cut(&Pipeline { baseline_s: Some([-0.3, 0.0]), ..plain() });
    assert_eq!((base.trials.len(), base.short), (4, 1));
    let none = cut(&Pipeline { window_s: [0.0, 100.0], ..plain() });
    assert_eq!((none.trials.len(), none.short), (0, 5));
}

#[test]
fn steps_come_in_the_order_of_the_fields() {
    let pipeline = Pipeline {
        pick: Pick::Names(vec!["C4".into(), "c3".into()]),
        reference: Reference::Channels(vec!["M1".into()]),
        notch_hz: Some(50.0),
        band: Some(Band { low_hz: Some(1.0), high_hz: Some(40.0), kind: FilterKind::ZeroPhase { order: 4 } }),
        rate_hz: Some(100.0),
        baseline_s: Some([-0.1, 0.1]),
        scaling: Scaling::By(10.0),
        ..plain()
    };
    let EpochedRecording { trials, .. } = cut(&pipeline);
    assert_eq!((trials.layout().samples, trials.layout().rate_hz), (150, 100.0));
    let names: Vec<_> = trials.layout().channels.iter().map(|c| &*c.name).collect();
    assert_eq!(names, ["C4", "C3"]);
    let recording = recording();
    for (place, channel) in [(0, 2), (1, 0)] {
        let (own, mastoid) = (recording.channel(channel), recording.channel(3));
        let mut signal: Vec<f64> =
            own.iter().zip(mastoid).map(|(&x, &m)| f64::from(x) - f64::from(m)).collect();
        signal = zero_phase(&notch(50.0, 30.0, RATE).unwrap(), &signal).unwrap();
        signal = zero_phase(&butterworth(4, Pass::Band(1.0, 40.0), RATE).unwrap(), &signal).unwrap();
        let level = signal[0];
        signal.iter_mut().for_each(|x| *x -= level);
        signal = Resampler::between(RATE, 100.0).unwrap().apply(&signal);
        signal.iter_mut().for_each(|x| *x += level);
        for (trial, event) in [33, 353, 993, 1313, 1633].into_iter().enumerate() {
            let cue = (event as f64 / RATE * 100.0).round() as usize;
            let baseline = signal[cue - 10..cue + 10].iter().sum::<f64>() / 20.0;
            let want = signal[cue + 50..cue + 200].iter().map(|x| (x - baseline) / 10.0);
            close(&trials.signal(trial)[place * 150..][..150], want, 1e-6);
        }
    }
}

#[test]
fn a_windowed_sinc_is_applied_without_delay() {
    let band = Band { low_hz: Some(4.0), high_hz: None, kind: FilterKind::Fir { taps: 101 } };
    let EpochedRecording { trials, .. } = cut(&Pipeline { band: Some(band), ..plain() });
    let recording = recording();
    let signal: Vec<f64> = recording.channel(2).iter().map(|&x| f64::from(x)).collect();
    let filter = firwin(101, Pass::High(4.0), WindowFunction::Hamming, RATE).unwrap();
    let want = fir(&filter, &signal).unwrap()[33 + 80..33 + 320].to_vec();
    close(&trials.signal(0)[480..720], want, 1e-5);
}

#[test]
fn a_causal_pipeline_does_not_look_ahead() {
    let band = Band { low_hz: Some(8.0), high_hz: Some(30.0), kind: FilterKind::Causal { order: 4 } };
    let pipeline = Pipeline { notch_hz: Some(50.0), band: Some(band), ..plain() };
    let whole = cut(&pipeline).trials;
    // The same recording ended after the second trial.
    let recording = recording();
    let x = (0..4).flat_map(|c| recording.channel(c)[..353 + 320].to_vec()).collect();
    let events = recording.events[..2].to_vec();
    let begun = Recording::new(RATE, recording.channels.clone(), x, events).unwrap();
    let begun = pipeline.epoch(&begun, &cues(), WHO).unwrap().trials;
    assert_eq!(begun.len(), 2);
    assert_eq!(begun.to_vec(), &whole.to_vec()[..begun.to_vec().len()]);
    let both_ways = Band { kind: FilterKind::ZeroPhase { order: 4 }, ..band };
    assert_ne!(cut(&Pipeline { band: Some(both_ways), ..pipeline }).trials.to_vec(), whole.to_vec());
}

#[test]
fn resampling_keeps_offsets_and_places() {
    // An offset as amplifiers have it, and a pulse half a second after an event.
    let mut x = vec![20_000f32; 1600];
    let pulse = |t: f64| (-((t - 7.5) / 0.02).powi(2)).exp();
    x.iter_mut().enumerate().for_each(|(t, x)| *x += 100.0 * pulse(t as f64 / RATE) as f32);
    let event = Event { sample: 1120, code: "T1".into(), samples: 0 };
    let recording = Recording::new(RATE, vec![Channel::named("Cz")], x, vec![event]).unwrap();
    let pipeline = Pipeline { rate_hz: Some(128.0), window_s: [-7.0, 3.0], ..plain() };
    let EpochedRecording { trials, short } = pipeline.epoch(&recording, &cues(), WHO).unwrap();
    assert_eq!((trials.len(), short, trials.layout().samples), (1, 0, 1280));
    assert_eq!(trials.layout().start_s, -7.0);
    let want = (0..1280).map(|t| 20_000.0 + 100.0 * pulse(f64::from(t) / 128.0));
    close(trials.signal(0), want, 0.3);
    let peak = (0..1280).max_by(|&a, &b| trials.to_vec()[a].total_cmp(&trials.to_vec()[b])).unwrap();
    assert_eq!(peak, 960); // 7.5 s
    assert!(trials.signal(0)[..800].iter().all(|&x| (x - 20_000.0).abs() < 0.01));
}

#[test]
fn an_average_reference_sums_to_nothing_and_trials_have_deviation_one() {
    let pipeline = Pipeline { reference: Reference::Average, scaling: Scaling::TrialDeviation, ..plain() };
    let trials = cut(&pipeline).trials;
    for trial in 0..trials.len() {
        let x: Vec<f64> = trials.signal(trial).iter().map(|&x| f64::from(x)).collect();
        for t in 0..240 {
            assert!((x[t] + x[240 + t] + x[480 + t] + x[720 + t]).abs() < 1e-6);
        }
        assert!((x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64 - 1.0).abs() < 1e-6);
    }
    // What it left can be aligned.
    let mut trials = trials;
    Pipeline { alignment: Alignment::Euclidean, ..pipeline }.align(&mut trials).unwrap();
    let x = trials.signal(0);
    assert!((0..240).all(|t| (x[t] + x[240 + t] + x[480 + t] + x[720 + t]).abs() < 1e-5));
}

#[test]
fn missing_samples_are_named_where_they_are_used() {
    let mut recording = recording();
    recording.samples[2000 + 400] = f32::NAN;
    let error = plain().epoch(&recording, &cues(), WHO).unwrap_err();
    assert_eq!(error.to_string(), "channel `Cz`: the sample at 2.500 s is NaN, not a number");
    let without = Pipeline { pick: Pick::Names(vec!["C3".into(), "C4".into()]), ..plain() };
    assert!(without.epoch(&recording, &cues(), WHO).is_ok());
    let against = Pipeline { reference: Reference::Channels(vec!["Cz".into()]), ..without };
    assert!(against.epoch(&recording, &cues(), WHO).is_err());
}

#[test]
fn what_does_not_fit_the_recording_is_refused() {
    let kind = FilterKind::ZeroPhase { order: 4 };
    let band = Band { low_hz: Some(8.0), high_hz: Some(80.0), kind };
    let error = Pipeline { band: Some(band), ..plain() }.epoch(&recording(), &cues(), WHO).unwrap_err();
    assert!(error.to_string().contains("80 Hz") && error.hint().unwrap().contains("160 Hz"), "{error}");
    assert!(Pipeline { notch_hz: Some(100.0), ..plain() }.epoch(&recording(), &cues(), WHO).is_err());
    let error = plain().epoch(&recording(), &[("769".into(), "left".into())], WHO).unwrap_err();
    assert_eq!(error.hint(), Some("its events are `T0`, `T1`, `T2`"));
    assert!(plain().epoch(&recording(), &[], WHO).is_err());
    // Fields of a recording are open; one that no longer fits together is refused, too.
    let mut broken = recording();
    broken.channels.clear();
    assert!(plain().epoch(&broken, &cues(), WHO).is_err());
    let mut short = recording();
    short.samples.truncate(40);
    short.events = vec![Event { sample: 0, code: "T1".into(), samples: 0 }];
    let filtered = Pipeline { band: Some(Band { high_hz: Some(40.0), ..band }), ..plain() };
    // Where no window fits, nothing needs to be filtered.
    let cut = filtered.epoch(&short, &cues(), WHO).unwrap();
    assert_eq!((cut.trials.len(), cut.short), (0, 1));
    let error = Pipeline { window_s: [0.0, 0.05], ..filtered }.epoch(&short, &cues(), WHO).unwrap_err();
    assert!(error.to_string().contains("10 samples are too few"), "{error}");
}

#[test]
fn nothing_is_filtered_or_cut_across_a_gap() {
    let kind = FilterKind::ZeroPhase { order: 2 };
    let band = Some(Band { low_hz: Some(1.0), high_hz: Some(40.0), kind });
    let pipeline = Pipeline { band, rate_hz: Some(100.0), window_s: [0.0, 0.5], ..plain() };
    let whole = recording();
    let at = whole.length() / 2 + 3;
    let part = |from: usize, to: usize| {
        let samples = (0..whole.channels.len()).flat_map(|c| whole.channel(c)[from..to].to_vec()).collect();
        let inside = whole.events.iter().filter(|e| (from..to).contains(&e.sample));
        let events = inside.map(|e| Event { sample: e.sample - from, ..e.clone() }).collect();
        Recording::new(RATE, whole.channels.clone(), samples, events).unwrap()
    };
    let mut apart = pipeline.epoch(&part(0, at), &cues(), WHO).unwrap();
    let second = pipeline.epoch(&part(at, whole.length()), &cues(), WHO).unwrap();
    assert!(!apart.trials.is_empty() && !second.trials.is_empty());
    apart.trials.append(&second.trials).unwrap();
    let together = pipeline.epoch(&whole.clone().with_breaks(vec![at]).unwrap(), &cues(), WHO).unwrap();
    assert_eq!(together.trials.to_vec(), apart.trials.to_vec());
    assert_ne!(pipeline.epoch(&whole, &cues(), WHO).unwrap().trials.to_vec(), apart.trials.to_vec());
    // A gap inside a window leaves the trial out.
    let cue = whole.events.iter().find(|e| e.code == "T1").unwrap().sample;
    let cut = pipeline.epoch(&whole.clone().with_breaks(vec![cue + 10]).unwrap(), &cues(), WHO).unwrap();
    assert_eq!((cut.short, cut.trials.len()), (1, 4));
    for breaks in [vec![0], vec![5, 5], vec![9, 3], vec![whole.length()]] {
        assert!(whole.clone().with_breaks(breaks).is_err());
    }
}

#[test]
fn a_segment_too_short_for_the_filter_loses_its_trials_only() {
    let kind = FilterKind::ZeroPhase { order: 4 };
    let band = Some(Band { low_hz: Some(8.0), high_hz: Some(40.0), kind });
    let pipeline = Pipeline { band, window_s: [0.0, 0.05], ..plain() };
    let whole = recording();
    let all = pipeline.epoch(&whole, &cues(), WHO).unwrap().trials.len();
    let cue = whole.events.iter().find(|e| e.code == "T1").unwrap().sample;
    let parted = whole.clone().with_breaks(vec![cue - 1, cue + 10]).unwrap();
    let cut = pipeline.epoch(&parted, &cues(), WHO).unwrap();
    assert_eq!((cut.trials.len(), cut.short), (all - 1, 1));
    // Without a filter it is long enough.
    let cut = Pipeline { band: None, ..pipeline.clone() }.epoch(&parted, &cues(), WHO).unwrap();
    assert_eq!((cut.trials.len(), cut.short), (all, 0));
    // Where no segment is long enough, that is the filter's fault.
    let alone = Recording { events: vec![Event { sample: cue, code: "T1".into(), samples: 0 }], ..parted };
    let error = pipeline.epoch(&alone, &cues(), WHO).unwrap_err();
    assert!(error.to_string().contains("11 samples are too few"), "{error}");
}

#[test]
fn trials_that_are_cut_already_are_finished_as_recordings_are() {
    let raw: Trials = cut(&Pipeline { window_s: [-0.2, 2.0], ..plain() }).trials;
    let finish = Pipeline {
        pick: Pick::Names(vec!["C4".into(), "C3".into()]),
        reference: Reference::Channels(vec!["M1".into()]),
        baseline_s: Some([-0.2, 0.0]),
        window_s: [0.5, 2.0],
        scaling: Scaling::TrialDeviation,
        ..plain()
    };
    let finished = finish.finish(raw.clone()).unwrap();
    assert_eq!(finished, cut(&finish).trials);
    // A window that is not inside leaves the trials as long as they were.
    let outside = Pipeline { window_s: [0.0, 4.0], ..plain() }.finish(raw.clone()).unwrap();
    assert_eq!(outside, raw);
    assert!(Pipeline { baseline_s: Some([-0.5, 0.0]), ..plain() }.finish(raw.clone()).is_err());
}

#[test]
fn trials_that_are_cut_already_are_not_filtered() {
    let raw = cut(&plain()).trials;
    let band = Band { low_hz: Some(8.0), high_hz: None, kind: FilterKind::Causal { order: 4 } };
    for pipeline in [
        Pipeline { band: Some(band), ..plain() },
        Pipeline { notch_hz: Some(50.0), ..plain() },
        Pipeline { rate_hz: Some(100.0), ..plain() },
    ] {
        let error = pipeline.finish(raw.clone()).unwrap_err();
        assert!(error.hint().unwrap().contains("before epoching"), "{error}");
    }
    assert_eq!(Pipeline { rate_hz: Some(RATE), ..plain() }.finish(raw.clone()).unwrap(), raw);
}

#[test]
fn only_alignment_looks_at_the_test_subject() {
    assert_eq!(plain().target_access(), TargetAccess::Nothing);
    let aligned = Pipeline { alignment: Alignment::Riemannian, ..plain() };
    assert_eq!(aligned.target_access(), TargetAccess::WHOLE);
}
