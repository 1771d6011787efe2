//! What the records of one model say together.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_data::Units;
use ptsm_signal::{SubjectId, TargetAccess};
use serde::{Deserialize, Serialize};

use crate::benchmark::called;
use crate::chance::{ALPHA, above_chance, chance_level, chance_threshold};
use crate::error::{Error, Result};
use crate::metrics::METRICS;
use crate::record::{FewShot, Record};
use crate::statistics::{Interval, RESAMPLES, bootstrap_interval, deviation, mean};

/// The share of cases an interval covers.
pub(crate) const LEVEL: f64 = 0.95;
/// Any number will do, as long as the same records give the same interval.
pub(crate) const BOOTSTRAP_SEED: u64 = 2024;

/// What one model reached on one data set, under one protocol and one access to the scored person.
///
/// A person's value is the mean over seeds of the mean over that person's records (sessions, folds). Undefined values are left
/// out and counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The data set.
    pub data: String,
    /// The decoder.
    pub model: String,
    /// What tells it from the same decoder with other settings or other trials.
    pub variant: Option<String>,
    /// How people were split.
    pub protocol: String,
    /// The sessions and runs that were learnt from; none for all.
    pub learnt: Option<Units>,
    /// The sessions and runs that were scored; none for all.
    pub tested: Option<Units>,
    /// What was seen of the scored person.
    pub target_access: TargetAccess,
    /// Few-shot tuning.
    pub adapt: Option<FewShot>,
    /// Number of classes, K.
    pub classes: usize,
    /// Number of seeds.
    pub seeds: usize,
    /// Number of records.
    pub records: usize,
    /// Each person's values.
    pub subjects: Vec<SubjectSummary>,
    /// Each metric over all people, in the order of [`METRICS`].
    pub metrics: Vec<Spread>,
    /// How the accuracy compares with guessing.
    pub chance: Chance,
}

/// One person's values, averaged over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectSummary {
    /// The person.
    pub subject: SubjectId,
    /// Trials scored with one seed.
    pub n: usize,
    /// Value of each metric by name; NaN (`null`) where it is undefined with all seeds.
    pub scores: BTreeMap<String, f64>,
    /// The accuracy that guessing exceeds with probability [`ALPHA`].
    pub chance_threshold: f64,
    /// Whether the share of trials decoded right is above it.
    pub above_chance: bool,
}

/// One metric over all people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The metric's name.
    pub metric: String,
    /// Mean over people.
    pub mean: f64,
    /// Standard deviation over people: how much people differ. None of one person.
    pub sd_subjects: Option<f64>,
    /// Standard deviation over seeds of the mean over people: how much luck matters. Over people scored with every seed; none
    /// of one seed. Never to be compared with the deviation over people.
    pub sd_seeds: Option<f64>,
    /// 95 % bootstrap interval of the mean over people.
    pub interval: Option<Interval>,
    /// Records in which the metric is undefined.
    pub undefined: usize,
}

/// How the accuracy compares with guessing, at an error rate of [`ALPHA`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chance {
    /// What guessing reaches: see [`chance_level`].
    pub level: f64,
    /// The error rate.
    pub alpha: f64,
    /// People above their own threshold.
    pub above: usize,
    /// Their share of all people.
    pub share: f64,
    /// Trials of all people together.
    pub pooled_n: usize,
    /// Share of all trials decoded right, averaged over seeds.
    pub pooled_accuracy: f64,
    /// What guessing exceeds on all trials.
    pub pooled_threshold: f64,
    /// Whether the pooled accuracy is above it.
    pub pooled_above: bool,
}

impl Summary {
    /// Sums up records: one summary for each data set, model, protocol, access and tuning, in order of first appearance.
    pub fn of(records: &[Record]) -> Result<Vec<Summary>> {
        let mut groups: Vec<Vec<&Record>> = Vec::new();
        for record in records {
            match groups.iter_mut().find(|group| alike(group[0], record)) {
                Some(group) => group.push(record),
                None => groups.push(vec![record]),
            }
        }
        groups.iter().map(|group| Summary::of_group(group)).collect()
    }

    /// What it is called among others: its model, its variant, and the parts of recordings it is about.
    pub fn called(&self) -> String {
        let name = called(&self.model, self.variant.as_deref());
        let part = |units: &Option<Units>| units.as_ref().map_or("all".to_string(), Units::to_string);
        match (&self.learnt, &self.tested) {
            (None, None) => name,
            (learnt, tested) => format!("{name}, {}->{}", part(learnt), part(tested)),
        }
    }

    /// One metric over all people.
    pub fn metric(&self, name: &str) -> Option<&Spread> {
        self.metrics.iter().find(|m| m.metric == name)
    }

    fn of_group(group: &[&Record]) -> Result<Summary> {
        check(group)?;
        let first = group[0];
        let classes = first.scores.classes();
        let seeds: BTreeSet<u64> = group.iter().map(|r| r.seed).collect();
        let mut cells: BTreeMap<SubjectId, BTreeMap<u64, Vec<&Record>>> = BTreeMap::new();
        for record in group {
            cells.entry(record.subject).or_default().entry(record.seed).or_default().push(record);
        }
        let by_class =
            (0..classes).map(|k| group.iter().map(|r| r.scores.confusion[k].iter().sum::<usize>()).sum());
        let level = chance_level(&by_class.collect::<Vec<usize>>());
        let mut subjects: Vec<SubjectSummary> = Vec::new();
        let (mut pooled_n, mut pooled_right) = (0, 0.0);
        for (&subject, by_seed) in &cells {
            // A run cut short may lack a session with some seed; the smaller number is on the safe side.
            let n = by_seed.values().map(|cell| trials(cell)).min().unwrap_or(0);
            let accuracies: Vec<f64> =
                by_seed.values().map(|cell| right(cell) as f64 / trials(cell) as f64).collect();
            let accuracy = mean(&accuracies);
            subjects.push(SubjectSummary {
                subject,
                n,
                scores: BTreeMap::new(),
                chance_threshold: chance_threshold(n, level, ALPHA),
                above_chance: above_chance(n, accuracy, level, ALPHA),
            });
            pooled_n += n;
            pooled_right += n as f64 * accuracy;
        }
        let mut metrics = Vec::new();
        for metric in METRICS {
            let values: Vec<BTreeMap<u64, f64>> = cells
                .values()
                .map(|by_seed| {
                    by_seed
                        .iter()
                        .map(|(&seed, cell)| {
                            (seed, defined_mean(cell.iter().map(|r| (metric.get)(&r.scores))))
                        })
                        .filter(|(_, value)| !value.is_nan())
                        .collect()
                })
                .collect();
            for (summary, by_seed) in subjects.iter_mut().zip(&values) {
                summary.scores.insert(metric.name.into(), defined_mean(by_seed.values().copied()));
            }
            let by_subject: Vec<f64> =
                subjects.iter().map(|s| s.scores[metric.name]).filter(|v| !v.is_nan()).collect();
            metrics.push(Spread {
                metric: metric.name.into(),
                mean: mean(&by_subject),
                sd_subjects: deviation(&by_subject),
                sd_seeds: deviation(&seed_means(&values, &seeds)),
                interval: bootstrap_interval(&by_subject, LEVEL, RESAMPLES, BOOTSTRAP_SEED),
                undefined: group.iter().filter(|r| (metric.get)(&r.scores).is_nan()).count(),
            });
        }
        let above = subjects.iter().filter(|s| s.above_chance).count();
        let pooled_accuracy = pooled_right / pooled_n as f64;
        let chance = Chance {
            level,
            alpha: ALPHA,
            above,
            share: above as f64 / subjects.len() as f64,
            pooled_n,
            pooled_accuracy,
            pooled_threshold: chance_threshold(pooled_n, level, ALPHA),
            pooled_above: above_chance(pooled_n, pooled_accuracy, level, ALPHA),
        };
        Ok(Summary {
            data: first.data.clone(),
            model: first.model.clone(),
            variant: first.variant.clone(),
            protocol: first.protocol.clone(),
            learnt: first.learnt.clone(),
            tested: first.tested.clone(),
            target_access: first.target_access,
            adapt: first.adapt,
            classes,
            seeds: seeds.len(),
            records: group.len(),
            subjects,
            metrics,
            chance,
        })
    }
}

fn alike(a: &Record, b: &Record) -> bool {
    let names = |r: &Record| [r.data.clone(), r.model.clone(), r.protocol.clone()];
    let parts = |r: &Record| (r.variant.clone(), r.learnt.clone(), r.tested.clone(), r.precision.clone());
    names(a) == names(b) && parts(a) == parts(b) && (a.target_access, a.adapt) == (b.target_access, b.adapt)
}

/// Records that would count a trial twice, or count different tasks as one, are refused.
fn check(group: &[&Record]) -> Result<()> {
    let model = &group[0].model;
    let classes = group[0].scores.classes();
    if let Some(other) = group.iter().find(|r| r.scores.classes() != classes) {
        let (subject, k) = (other.subject, other.scores.classes());
        return Err(Error::summary(model, format!("{subject} has {k} classes, others have {classes}")));
    }
    let mut seen = BTreeSet::new();
    let mut single_sessions = BTreeMap::new();
    for r in group {
        let (subject, fold, seed) = (r.subject, r.fold, r.seed);
        let twice = |what: String| {
            Error::summary(model, format!("{subject}, fold {fold}, seed {seed}: {what}"))
                .with_hint("two runs may have written to one file; sum them up one by one")
        };
        if *single_sessions.entry((subject, fold, seed)).or_insert(r.session.is_some()) != r.session.is_some()
        {
            return Err(twice("both single sessions and all sessions together are given".into()));
        }
        if !seen.insert((subject, r.session, fold, seed)) {
            return Err(twice(match r.session {
                Some(session) => format!("session {session} is given twice"),
                None => "given twice".into(),
            }));
        }
    }
    Ok(())
}

fn trials(cell: &[&Record]) -> usize {
    cell.iter().map(|r| r.scores.n).sum()
}

fn right(cell: &[&Record]) -> usize {
    cell.iter().map(|r| r.scores.right()).sum()
}

fn defined_mean(values: impl Iterator<Item = f64>) -> f64 {
    mean(&values.filter(|v| !v.is_nan()).collect::<Vec<_>>())
}

/// For each seed the mean over people. Only people with a value for every seed count: otherwise seeds would differ by whom
/// they were tried on.
fn seed_means(values: &[BTreeMap<u64, f64>], seeds: &BTreeSet<u64>) -> Vec<f64> {
    let complete: Vec<_> = values.iter().filter(|by_seed| by_seed.len() == seeds.len()).collect();
    if complete.is_empty() {
        return Vec::new();
    }
    seeds.iter().map(|seed| mean(&complete.iter().map(|by_seed| by_seed[seed]).collect::<Vec<_>>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scores::Scores;

    /// `right` of 20 trials of two classes decoded right, mistakes shared between the classes as equally as possible.
    fn record(subject: u32, seed: u64, right: usize) -> Record {
        let labels: Vec<u32> = (0..20).map(|i| i % 2).collect();
        let probabilities: Vec<f32> = labels
            .iter()
            .enumerate()
            .flat_map(|(i, &l)| if (l == 0) == (i < right) { [0.8, 0.2] } else { [0.2, 0.8] })
            .collect();
        Record {
            data: "simulated".into(),
            model: "eegnet".into(),
            variant: None,
            protocol: "loso".into(),
            learnt: None,
            tested: None,
            target_access: TargetAccess::Nothing,
            subject: SubjectId(subject),
            session: None,
            fold: subject as usize,
            seed,
            precision: None,
            adapt: None,
            scores: Scores::of(&labels, &probabilities, 2, 0).unwrap(),
        }
    }

    #[test]
    fn people_and_seeds_are_two_spreads() {
        let records = [(1, 0, 10), (1, 1, 12), (2, 0, 16), (2, 1, 18), (3, 0, 19), (3, 1, 15)]
            .map(|(subject, seed, right)| record(subject, seed, right));
        let summaries = Summary::of(&records).unwrap();
        assert_eq!(summaries.len(), 1);
        let summary = &summaries[0];
        assert_eq!((summary.seeds, summary.records, summary.subjects.len()), (2, 6, 3));
        let accuracy = summary.metric("accuracy").unwrap();
        // People: 0.55, 0.85, 0.85; seeds: 0.75, 0.75.
        assert!((accuracy.mean - 0.75).abs() < 1e-12);
        assert!((accuracy.sd_subjects.unwrap() - 0.03f64.sqrt()).abs() < 1e-12);
        assert!(accuracy.sd_seeds.unwrap().abs() < 1e-12);
        let interval = accuracy.interval.unwrap();
        assert!((interval.low - 0.55).abs() < 1e-9 && (interval.high - 0.85).abs() < 1e-9, "{interval:?}");
        // binom.isf(0.05, 20, 0.5) = 14, binom.isf(0.05, 60, 0.5) = 36
        assert_eq!(summary.subjects[0].chance_threshold, 0.7);
        assert_eq!((summary.chance.above, summary.chance.pooled_n), (2, 60));
        assert!((summary.chance.pooled_threshold - 0.6).abs() < 1e-12 && summary.chance.pooled_above);
    }

    #[test]
    fn one_seed_and_one_person_have_no_spread() {
        let summary = Summary::of(&[record(1, 0, 15)]).unwrap().remove(0);
        let accuracy = summary.metric("accuracy").unwrap();
        assert_eq!((accuracy.sd_subjects, accuracy.sd_seeds, accuracy.interval), (None, None, None));
    }

    #[test]
    fn undefined_values_are_counted_and_left_out() {
        let mut records = vec![record(1, 0, 15), record(2, 0, 16)];
        records[1].scores = Scores::of(&[0, 0], &[0.9, 0.1, 0.8, 0.2], 2, 0).unwrap();
        let summary = Summary::of(&records).unwrap().remove(0);
        let auc = summary.metric("auc").unwrap();
        assert_eq!((auc.undefined, auc.mean), (1, records[0].scores.auc));
        assert!(summary.subjects[1].scores["auc"].is_nan());
        assert_eq!(summary.metric("accuracy").unwrap().undefined, 0);
        assert!(serde_json::to_string(&summary).unwrap().contains(r#""auc":null"#));
    }

    #[test]
    fn a_person_that_lacks_a_seed_does_not_count_for_the_spread_over_seeds() {
        let records = [record(1, 0, 10), record(1, 1, 12), record(2, 0, 20)];
        let summary = Summary::of(&records).unwrap().remove(0);
        let sd = summary.metric("accuracy").unwrap().sd_seeds.unwrap();
        assert!((sd - 0.1 / 2f64.sqrt()).abs() < 1e-12, "{sd}");
    }

    #[test]
    fn other_access_is_another_summary() {
        let aligned = Record { target_access: TargetAccess::WHOLE, ..record(1, 0, 20) };
        let shots = Record { adapt: Some(FewShot { shots: 0, set_aside: 5 }), ..record(1, 0, 20) };
        let rounded = Record { precision: Some("bf16".into()), ..record(1, 0, 20) };
        let variant = Record { variant: Some("small".into()), ..record(1, 0, 20) };
        let part = Record { tested: Some("s1".parse().unwrap()), ..record(1, 0, 20) };
        assert_eq!(
            Summary::of(&[record(1, 0, 15), aligned, shots, rounded, variant, part]).unwrap().len(),
            6
        );
        assert!(Summary::of(&[]).unwrap().is_empty());
    }

    #[test]
    fn sessions_are_averaged_and_nothing_counts_twice() {
        let session = |s, right| Record { session: Some(s), ..record(1, 0, right) };
        let summary = Summary::of(&[session(1, 12), session(2, 16)]).unwrap().remove(0);
        assert!((summary.metric("accuracy").unwrap().mean - 0.7).abs() < 1e-12);
        assert_eq!(summary.subjects[0].n, 40);
        let error = Summary::of(&[session(1, 12), session(1, 13)]).unwrap_err();
        assert!(error.to_string().contains("S01, fold 1, seed 0: session 1 is given twice"), "{error}");
        assert!(Summary::of(&[session(1, 12), record(1, 0, 12)]).unwrap_err().hint().is_some());
    }
}
