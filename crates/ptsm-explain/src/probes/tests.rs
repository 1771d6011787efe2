//! Probes find what was planted, and nothing in noise.

use super::*;
use crate::random::normal;

const SUBJECTS: usize = 8;
const EACH: usize = 50;
const DRAWS: usize = 39;

/// Trials subject after subject: noise, and what is added to it. `[subjects * each]` subjects and classes.
fn trials(add: impl Fn(usize, u32, &mut [f64])) -> (Features, Vec<u32>, Vec<u32>) {
    seeded_trials(5, add)
}

fn seeded_trials(seed: u64, add: impl Fn(usize, u32, &mut [f64])) -> (Features, Vec<u32>, Vec<u32>) {
    let mut rows = normal(SUBJECTS * EACH, 16, seed);
    let subjects: Vec<u32> = (0..SUBJECTS * EACH).map(|i| (i / EACH) as u32 + 100).collect();
    let classes: Vec<u32> = (0..SUBJECTS * EACH).map(|i| (i * 7 / 3 % 2) as u32).collect();
    for (i, class) in classes.iter().enumerate() {
        let mut row: Vec<f64> = rows.row(i).iter().copied().collect();
        add(i / EACH, *class, &mut row);
        row.iter().enumerate().for_each(|(j, v)| rows[(i, j)] = *v);
    }
    (Features { rows }, subjects, classes)
}

fn ask_subject(found: &(Features, Vec<u32>, Vec<u32>), kind: Probe) -> ProbeResult {
    let (features, subjects, classes) = found;
    let question = ProbeInput { features, labels: subjects, groups: subjects, blocks: classes };
    probe(&question, &TrialSplit::by_time(subjects, 0.6), kind, PermutationSettings { draws: DRAWS, seed: 3 })
        .unwrap()
}

fn ask_class(found: &(Features, Vec<u32>, Vec<u32>), kind: Probe) -> ProbeResult {
    let (features, subjects, classes) = found;
    let question = ProbeInput { features, labels: classes, groups: subjects, blocks: subjects };
    let split = TrialSplit::by_group(subjects, &[100, 103, 106]);
    probe(&question, &split, kind, PermutationSettings { draws: DRAWS, seed: 3 }).unwrap()
}

#[test]
fn subjects_who_differ_in_their_means_are_found_by_both() {
    let found = trials(|subject, _, row| row[subject % 4] += 1.5 * (subject as f64 - 4.0));
    for kind in [Probe::Linear, Probe::Nonlinear] {
        let probed = ask_subject(&found, kind);
        assert_eq!((probed.classes, probed.trained, probed.tested), (8, 240, 160));
        assert!(probed.balanced_accuracy > 0.5 && probed.above_threshold, "{probed:?}");
        assert_eq!(probed.shuffled.p, 1.0 / 40.0);
        let Interval { low, high } = probed.interval;
        assert!(low < probed.balanced_accuracy && probed.balanced_accuracy < high && low > probed.chance);
    }
}

#[test]
fn noise_has_nothing_to_find() {
    for kind in [Probe::Linear, Probe::Nonlinear] {
        let mut all = vec![];
        for seed in 0..4 {
            let found = seeded_trials(seed, |_, _, _| ());
            all.extend([ask_subject(&found, kind), ask_class(&found, kind)]);
        }
        for probed in &all {
            let mean = mean(&probed.shuffled.draws);
            assert!((mean - probed.chance).abs() < 0.02, "{mean}");
        }
        // One in twenty is above by chance: of eight, more than two are one in two hundred.
        assert!(all.iter().filter(|probed| probed.above_threshold).count() <= 2);
        assert!(all.iter().filter(|probed| probed.shuffled.p <= 0.05).count() <= 2);
        let covered = |p: &&ProbeResult| p.interval.low <= p.chance && p.chance <= p.interval.high;
        assert!(all.iter().filter(covered).count() >= 6);
    }
}

#[test]
fn only_the_nonlinear_probe_finds_a_class_that_is_a_size() {
    // One class is louder, its mean the same.
    let found = trials(|_, class, row| row.iter_mut().for_each(|v| *v *= 1.0 + 0.7 * f64::from(class)));
    let (linear, nonlinear) = (ask_class(&found, Probe::Linear), ask_class(&found, Probe::Nonlinear));
    assert!(linear.balanced_accuracy < 0.6, "{linear:?}");
    assert!(nonlinear.balanced_accuracy > 0.8 && nonlinear.shuffled.p < 0.03, "{nonlinear:?}");
}

#[test]
fn subjects_with_their_own_share_of_classes_are_no_finding() {
    // A class is more frequent in some subjects, who are recognised; classes themselves leave no trace.
    let (features, subjects, _) = trials(|subject, _, row| row[0] += 3.0 * (subject % 2) as f64);
    let classes: Vec<u32> =
        (0..subjects.len()).map(|i| u32::from(i * 7 % 10 < 3 + 4 * (i / EACH % 2))).collect();
    let split = TrialSplit::by_time(&subjects, 0.5);
    let ask = |blocks| {
        let question = ProbeInput { features: &features, labels: &classes, groups: &subjects, blocks };
        probe(&question, &split, Probe::Linear, PermutationSettings { draws: DRAWS, seed: 1 }).unwrap()
    };
    let one = vec![0; subjects.len()];
    assert!(ask(&one).shuffled.p < 0.03 && ask(&subjects).shuffled.p > 0.05, "{:?}", ask(&subjects));
}

#[test]
fn a_rare_class_counts_as_much() {
    let rows = normal(600, 4, 2);
    let labels: Vec<u32> = (0..600).map(|i| u32::from(i % 6 == 0)).collect();
    let ones = vec![1; 600];
    let features = Features { rows };
    let question = ProbeInput { features: &features, labels: &labels, groups: &ones, blocks: &ones };
    let split = TrialSplit::by_time(&ones, 0.5);
    let probed = probe(&question, &split, Probe::Linear, PermutationSettings { draws: 0, seed: 1 }).unwrap();
    assert!((probed.majority - 5.0 / 6.0).abs() < 1e-12 && probed.chance == 0.5);
    // 50 and 250 trials are worth 167 of two equally frequent classes.
    assert_eq!(probed.threshold, chance_threshold(167, 0.5, ALPHA));
    assert!(probed.accuracy < 0.7 && !probed.above_threshold && probed.shuffled.p.is_nan());
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let found = trials(|_, class, row| row[0] += f64::from(class));
    assert_eq!(ask_class(&found, Probe::Nonlinear), ask_class(&found, Probe::Nonlinear));
}

#[test]
fn questions_without_an_answer_are_refused() {
    let (features, subjects, classes) = trials(|_, _, _| ());
    let refused = |labels: &[u32], blocks: &[u32], split: &TrialSplit| {
        let question = ProbeInput { features: &features, labels, groups: &subjects, blocks };
        probe(&question, split, Probe::Linear, PermutationSettings { draws: 1, seed: 0 })
            .unwrap_err()
            .to_string()
    };
    let time = TrialSplit::by_time(&subjects, 0.5);
    assert!(refused(&classes[1..], &subjects, &time).contains("399 labels"));
    assert!(refused(&subjects, &subjects, &time).contains("changes nothing"));
    assert!(refused(&subjects, &classes, &TrialSplit::by_group(&subjects, &[100])).contains("label 100"));
    assert!(refused(&vec![1; 400], &subjects, &time).contains("same label"));
}
