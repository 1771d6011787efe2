//! The cohort as a whole: repeatable, in range, and as its truth says.

#![allow(clippy::unwrap_used)]

use ptsm_signal::{Recording, SubjectId};

use crate::activity::Activity;
use crate::anatomy::Site;
use crate::head::Head;
use crate::random::Streams;
use crate::schedule::CueSchedule;
use crate::subject::SimulatedSubject;
use crate::{Cohort, SimulateError, SimulatedTask, attention, erp, imagery};

/// Power in a band: sums of the discrete Fourier transform's squares, by Goertzel's recursion.
pub(crate) fn band_power(x: &[f32], rate_hz: f64, low_hz: f64, high_hz: f64) -> f64 {
    let length = x.len() as f64;
    let mean = x.iter().map(|v| f64::from(*v)).sum::<f64>() / length;
    let bins = (low_hz * length / rate_hz).ceil() as usize..(high_hz * length / rate_hz).ceil() as usize;
    bins.map(|k| {
        let turn = 2.0 * (std::f64::consts::TAU * k as f64 / length).cos();
        let (mut one, mut two) = (0.0, 0.0);
        for v in x {
            (one, two) = (f64::from(*v) - mean + turn * one - two, one);
        }
        2.0 * (one * one + two * two - turn * one * two) / (length * length)
    })
    .sum()
}

/// All recordings of one subject.
fn recordings(cohort: &Cohort, subject: u32) -> Vec<Recording> {
    let runs = (1..=cohort.sessions).flat_map(|session| (1..=cohort.runs).map(move |run| (session, run)));
    runs.map(|(session, run)| cohort.recording(SubjectId(subject), session, run).unwrap()).collect()
}

/// Mean over trials of each class of something measured in each channel of a trial's window: `[class][channel]`.
fn class_means(
    cohort: &Cohort,
    recordings: &[Recording],
    window_s: [f64; 2],
    measure: impl Fn(&[f32]) -> f64,
) -> [Vec<f64>; 2] {
    let mut sums = [vec![0.0; cohort.channels.len()], vec![0.0; cohort.channels.len()]];
    let mut counts = [0.0; 2];
    for recording in recordings {
        for event in &recording.events {
            let class = cohort.task.classes().iter().position(|c| *c == event.code).unwrap();
            counts[class] += 1.0;
            for (c, sum) in sums[class].iter_mut().enumerate() {
                let [from, to] = window_s.map(|s| (event.sample as f64 + s * cohort.rate_hz) as usize);
                *sum += measure(&recording.channel(c)[from..to]);
            }
        }
    }
    for (sum, count) in sums.iter_mut().zip(counts) {
        sum.iter_mut().for_each(|v| *v /= count);
    }
    sums
}

fn channel(cohort: &Cohort, name: &str) -> usize {
    cohort.channels.iter().position(|c| c == name).unwrap()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let product = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    product(&|x, y| x * y) / (product(&|x, _| x * x) * product(&|_, y| y * y)).sqrt()
}

/// One session of one run with many trials, no accidents: what is measured is the effect, not luck.
fn plain(task: SimulatedTask, trials: u32) -> Cohort {
    Cohort { subjects: 4, sessions: 1, runs: 1, trials, absent: 0.0, artifacts: 0.0, ..Cohort::of(task) }
}

/// Who has the largest effect.
fn strongest(cohort: &Cohort) -> u32 {
    let subjects = cohort.truth().subjects;
    subjects.iter().max_by(|a, b| a.strength.total_cmp(&b.strength)).unwrap().subject.0
}

#[test]
fn a_seed_repeats_to_the_byte_and_another_does_not() {
    for task in [SimulatedTask::Imagery, SimulatedTask::Erp, SimulatedTask::Attention] {
        let cohort = Cohort { trials: 6, ..Cohort::of(task) };
        let make = |cohort: &Cohort| cohort.recording(SubjectId(3), 2, 1).unwrap();
        let bits = |r: &Recording| r.samples.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let one = make(&cohort);
        assert_eq!(bits(&one), bits(&make(&cohort)));
        assert_eq!(one, make(&Cohort { subjects: 300, sessions: 5, runs: 9, ..cohort.clone() }));
        assert_ne!(one.samples, make(&Cohort { seed: 1, ..cohort.clone() }).samples);
        assert_ne!(one.samples, cohort.recording(SubjectId(3), 1, 1).unwrap().samples);
        // What is heard does not move what is shown.
        assert_eq!(one.events, make(&Cohort { background: 0.5, strength: 0.0, ..cohort }).events);
    }
}

#[test]
fn a_bigger_cohort_has_the_same_subjects() {
    let truth = |subjects| Cohort { subjects, ..Cohort::default() }.truth().subjects;
    assert_eq!(truth(5), truth(50)[..5]);
    let absent = truth(40).iter().filter(|s| s.absent).count();
    assert!((5..=7).contains(&absent), "{absent} of 40, 15 % asked for");
    assert!(truth(40).iter().all(|s| s.absent == (s.strength == 0.0)));
}

#[test]
fn amplitudes_are_those_of_real_subjects() {
    let cohort = Cohort { subjects: 6, trials: 8, ..Cohort::default() };
    let mut blinks = 0.0_f32;
    for subject in 1..=6 {
        let recording = cohort.recording(SubjectId(subject), 1, 1).unwrap();
        assert_eq!(recording.channels[0].name, "Fp1");
        assert!(recording.samples.iter().all(|v| v.is_finite() && v.abs() < 700.0));
        for c in 0..cohort.channels.len() {
            let x = recording.channel(c);
            // Two seconds at a time, so that a blink counts where it is; the median is the background.
            let mut rms: Vec<f64> =
                x.chunks_exact(256).map(|s| band_power(s, 128.0, 1.0, 40.0).sqrt()).collect();
            rms.sort_by(f64::total_cmp);
            let median = rms[rms.len() / 2];
            assert!((2.5..25.0).contains(&median), "{} {median} uV", cohort.channels[c]);
        }
        let x = recording.channel(0);
        blinks = x.windows(26).map(|w| w[25] - w[0]).fold(blinks, f32::max);
    }
    assert!((100.0..400.0).contains(&blinks), "the largest blink rises by {blinks} uV");
}

#[test]
fn the_hand_area_opposite_to_the_hand_is_quieter() {
    let cohort = plain(SimulatedTask::Imagery, 80);
    let truth = cohort.truth();
    let subject = strongest(&cohort);
    let recordings = recordings(&cohort, subject);
    let [left, right] = class_means(&cohort, &recordings, [1.0, 3.5], |x| band_power(x, 128.0, 8.0, 14.0));
    let (c3, c4) = (channel(&cohort, "C3"), channel(&cohort, "C4"));
    assert!(right[c3] < 0.8 * left[c3], "C3: {} {}", left[c3], right[c3]);
    assert!(left[c4] < 0.8 * right[c4], "C4: {} {}", left[c4], right[c4]);
    // Channels differ as the truth says.
    let own = &truth.subjects[subject as usize - 1].channels;
    let difference: Vec<f64> = left.iter().zip(&right).map(|(l, r)| (l / r).ln().abs()).collect();
    assert!(correlation(&difference, own) > 0.8, "{}", correlation(&difference, own));
    assert!(correlation(&difference, &truth.channels) > 0.7, "{}", correlation(&difference, &truth.channels));
    // Before the cue there is nothing.
    let [earlier_left, earlier_right] =
        class_means(&cohort, &recordings, [-1.2, 0.0], |x| band_power(x, 128.0, 8.0, 14.0));
    let lean = |l: &[f64], r: &[f64]| (l[c3] * r[c4] / (r[c3] * l[c4])).ln();
    let (then, before) = (lean(&left, &right), lean(&earlier_left, &earlier_right));
    assert!(before.abs() < 0.3 * then, "{before} {then}");
}

#[test]
fn truth_lies_where_the_task_is() {
    for (task, near, far) in [
        (SimulatedTask::Imagery, ["C3", "C4"], ["Fp1", "Oz"]),
        (SimulatedTask::Erp, ["Pz", "CPz"], ["Fp1", "T7"]),
        (SimulatedTask::Attention, ["P3", "P4"], ["Fp1", "Fz"]),
    ] {
        let cohort = Cohort::of(task);
        let truth = cohort.truth();
        let at = |name: &str| truth.channels[channel(&cohort, name)];
        assert!(near.iter().all(|name| at(name) > 0.6), "{task:?}");
        assert!(far.iter().all(|name| at(name) < 0.25), "{task:?}");
        let [from, to] = truth.window_s;
        assert!(0.0 < from && from < to && to <= cohort.window_s()[1]);
        let samples = cohort.pipeline().window_s.map(|s| s * cohort.rate_hz);
        assert_eq!(truth.times.len() as f64, (samples[1] - samples[0]).round());
        let most = truth.times.iter().copied().fold(0.0, f64::max);
        assert!((0.95..=1.0).contains(&most));
        let none = Cohort { strength: 0.0, ..cohort }.truth();
        assert!(none.channels.iter().all(|v| *v == 0.0));
        assert!(none.subjects.iter().all(|s| s.strength == 0.0));
    }
}

#[test]
fn without_strength_the_class_changes_nothing() {
    for task in [SimulatedTask::Imagery, SimulatedTask::Erp, SimulatedTask::Attention] {
        let cohort = Cohort { trials: 12, strength: 0.0, ..Cohort::of(task) };
        let streams = Streams { seed: 0, subject: 1, session: 1, run: 1 };
        let subject_model = SimulatedSubject::new(&cohort, 1, &Head::adult());
        let schedule = CueSchedule::new(&cohort, &streams);
        let mut other = schedule.clone();
        other.cues.iter_mut().for_each(|cue| cue.class = 1 - cue.class);
        let act = |schedule: &CueSchedule, effect: f64| {
            let mut activity = Activity::new(schedule.length);
            match task {
                SimulatedTask::Imagery => imagery::act(&mut activity, schedule, 128.0, effect, &streams),
                SimulatedTask::Erp => {
                    erp::act(&mut activity, schedule, 128.0, effect, &subject_model, &streams)
                }
                SimulatedTask::Attention => attention::act(&mut activity, schedule, 128.0, effect, &streams),
            }
            Site::ALL.map(|site| (activity.gain(site).to_vec(), activity.evoked(site).to_vec()))
        };
        assert_eq!(subject_model.effect, 0.0);
        assert_eq!(act(&schedule, 0.0), act(&other, 0.0));
        assert_ne!(act(&schedule, 1.0), act(&other, 1.0));
    }
}

#[test]
fn targets_evoke_a_p300_over_the_parietal_cortex() {
    let cohort = plain(SimulatedTask::Erp, 600);
    let truth = cohort.truth();
    let subject = strongest(&cohort);
    let recordings = recordings(&cohort, subject);
    let at = truth.subjects[subject as usize - 1].latency_s.unwrap();
    let mean = |window: [f64; 2]| {
        let [other, target] =
            class_means(&cohort, &recordings, window, |x| f64::from(x.iter().sum::<f32>()) / x.len() as f64);
        target.iter().zip(other).map(|(t, o)| t - o).collect::<Vec<_>>()
    };
    let (peak, early) = (mean([at - 0.05, at + 0.05]), mean([0.0, 0.1]));
    // A target is never followed at once by many others, so what is around it lies a little lower.
    let pz = channel(&cohort, "Pz");
    assert!(peak[pz] - early[pz] > 3.0, "{} {}", peak[pz], early[pz]);
    let own = &truth.subjects[subject as usize - 1].channels;
    let sizes: Vec<f64> = peak.iter().zip(&early).map(|(p, e)| (p - e).abs()).collect();
    assert!(correlation(&sizes, own) > 0.8, "{}", correlation(&sizes, own));
}

#[test]
fn parietal_alpha_leans_to_the_attended_side() {
    let cohort = plain(SimulatedTask::Attention, 80);
    let recordings = recordings(&cohort, strongest(&cohort));
    let [left, right] = class_means(&cohort, &recordings, [1.0, 5.0], |x| band_power(x, 128.0, 8.0, 13.0));
    let (p3, p4) = (channel(&cohort, "P3"), channel(&cohort, "P4"));
    assert!(left[p3] > 1.1 * right[p3], "P3: {} {}", left[p3], right[p3]);
    assert!(right[p4] > 1.1 * left[p4], "P4: {} {}", left[p4], right[p4]);
}

#[test]
fn other_rates_and_caps_work() {
    for rate_hz in [64.0, 160.0, 250.5, 1000.0] {
        let channels = ["Cz", "T3", "PO10"].map(String::from).to_vec();
        let cohort = Cohort { rate_hz, channels, trials: 3, ..Cohort::default() };
        let recording = cohort.recording(SubjectId(1), 1, 1).unwrap();
        assert_eq!(recording.channels[1].name, "T7");
        assert_eq!(recording.events.len(), 3);
        assert!(recording.samples.iter().all(|v| v.is_finite()));
        assert_eq!(cohort.truth().times.len(), (4.0 * rate_hz).round() as usize);
    }
}

#[test]
fn nonsense_is_refused_by_name() {
    let refuse = |cohort: Cohort| cohort.check().unwrap_err().to_string();
    let good = Cohort::default;
    assert_eq!(good().check(), Ok(()));
    assert!(refuse(Cohort { subjects: 0, ..good() }).contains("`subjects` is 0"));
    assert!(refuse(Cohort { rate_hz: 50.0, ..good() }).contains("`rate_hz` is 50; it must be from 64"));
    assert!(refuse(Cohort { strength: f64::NAN, ..good() }).contains("`strength` is NaN"));
    assert!(refuse(Cohort { absent: 1.5, ..good() }).contains("`absent`"));
    assert!(refuse(Cohort { trials: 5, ..Cohort::of(SimulatedTask::Erp) }).contains("`trials` is 5"));
    let long = refuse(Cohort { trials: 10_000, rate_hz: 4096.0, ..good() });
    assert!(long.contains("GiB of memory; at most 2 GiB are possible"), "{long}");
    let hint = Cohort { trials: 10_000, rate_hz: 1000.0, ..good() }.check().unwrap_err().hint().unwrap();
    assert!(hint.contains("raise `runs`"), "{hint}");
    assert!(refuse(Cohort { channels: vec![], ..good() }).contains("`channels` is empty"));
    let named = |names: &[&str]| Cohort { channels: names.iter().map(|n| n.to_string()).collect(), ..good() };
    let unknown = named(&["C3", "Q7"]).check().unwrap_err();
    assert_eq!(unknown, SimulateError::UnknownChannel { name: "Q7".into() });
    assert!(unknown.hint().unwrap().contains("`C3`"));
    assert!(refuse(named(&["T3", "T7"])).contains("twice"));
    let missing = good().recording(SubjectId(21), 1, 1).unwrap_err();
    assert_eq!(missing, SimulateError::Missing { what: "subject", given: 21, last: 20 });
    assert!(good().recording(SubjectId(1), 0, 1).is_err() && good().recording(SubjectId(1), 1, 3).is_err());
}
