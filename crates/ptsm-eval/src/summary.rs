//! What the records of one model say together.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_signal::{SubjectId, TargetAccess};
use serde::{Deserialize, Serialize};

use crate::benchmark::display_name;
use crate::chance::{ALPHA, STRICT_ALPHA, above_chance, chance_level, chance_threshold};
use crate::error::{Error, Result};
use crate::evidence::{BySeed, Evidence};
use crate::metrics::{METRICS, Metric, metric};
use crate::record::{FewShot, Record};
use crate::splits::Units;
use crate::statistics::{Interval, RESAMPLES, bootstrap_interval, deviation, mean};

/// The share of cases an interval covers.
pub(crate) const LEVEL: f64 = 0.95;
/// Any number will do, as long as the same records give the same interval.
pub(crate) const BOOTSTRAP_SEED: u64 = 2024;

/// What one model reached on one data set, under one protocol and one target access.
///
/// A subject's value is the mean over seeds of the mean over that subject's records (sessions, folds). Undefined values are left
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
    /// How subjects were split.
    pub protocol: String,
    /// The sessions and runs that were trained on; none for all.
    #[serde(rename = "learnt")]
    pub trained_on: Option<Units>,
    /// The sessions and runs that were scored; none for all.
    pub tested: Option<Units>,
    /// The target access.
    pub target_access: TargetAccess,
    /// Few-shot tuning.
    pub adapt: Option<FewShot>,
    /// Number of classes, K.
    pub classes: usize,
    /// The class that F1, sensitivity and specificity call positive; none with more than two classes, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive_class: Option<String>,
    /// Number of seeds.
    pub seeds: usize,
    /// Number of records.
    pub records: usize,
    /// Each subject's values.
    pub subjects: Vec<SubjectSummary>,
    /// Each metric over all subjects, in the order of [`METRICS`].
    pub metrics: Vec<Spread>,
    /// How the leading metric compares with chance.
    pub chance: Chance,
}

/// One subject's values, averaged over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectSummary {
    /// The subject.
    pub subject: SubjectId,
    /// Trials scored with one seed.
    pub n: usize,
    /// Value of each metric by name; NaN (`null`) where it is undefined with all seeds.
    pub scores: BTreeMap<String, f64>,
    /// What chance exceeds in the leading metric with probability [`ALPHA`]; none where there is no test for it, or where this subject has
    /// no trials of some class.
    pub chance_threshold: Option<f64>,
    /// Whether the value on all of the subject's trials is above it.
    pub above_chance: Option<bool>,
}

/// One metric over all subjects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The metric's name.
    pub metric: String,
    /// Mean over subjects.
    pub mean: f64,
    /// Standard deviation over subjects: how much subjects differ. None where there is only one subject.
    pub sd_subjects: Option<f64>,
    /// Standard deviation over seeds of the mean over subjects: how much chance in training matters. Over subjects scored with every seed; none
    /// of one seed. Never to be compared with the SD over subjects.
    pub sd_seeds: Option<f64>,
    /// 95 % bootstrap interval of the mean over subjects.
    pub interval: Option<Interval>,
    /// Records in which the metric is undefined.
    pub undefined: usize,
}

/// How the leading metric compares with chance, at an error rate of [`ALPHA`].
///
/// There are tests for accuracy, balanced accuracy and the AUC of two classes (the crate's module `null` says which). For another metric
/// everything that a test says is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chance {
    /// The metric; none in older files, where it is accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// What chance reaches: of accuracy see [`chance_level`], of balanced accuracy 1/K, of AUC a half.
    pub level: Option<f64>,
    /// The error rate.
    pub alpha: f64,
    /// Subjects above their own threshold.
    pub above: Option<usize>,
    /// Their share of all subjects who can be tested: balanced accuracy and AUC need trials of all classes.
    pub share: Option<f64>,
    /// Trials of all subjects together.
    pub pooled_n: usize,
    /// Share of all trials decoded right, averaged over seeds.
    pub pooled_accuracy: f64,
    /// Accuracy of all trials together, of other metrics the mean over subjects; none in older files, and where there is no test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled_value: Option<f64>,
    /// What chance exceeds there.
    pub pooled_threshold: Option<f64>,
    /// Whether the pooled value is above it.
    pub pooled_above: Option<bool>,
    /// The same at an error rate of [`STRICT_ALPHA`]; none in older files, and where there is no test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<StrictTest>,
    /// The accuracy of always answering the most frequent class; none where no class is clearly more frequent, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<f64>,
}

/// The pooled value against chance at an error rate of [`STRICT_ALPHA`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrictTest {
    /// What chance exceeds.
    pub threshold: f64,
    /// Whether the pooled value is above it.
    pub above: bool,
}

impl Chance {
    /// The metric that is tested.
    pub fn metric(&self) -> &'static Metric {
        self.metric.as_deref().and_then(metric).unwrap_or(&METRICS[0])
    }

    /// The test of the pooled value at an error rate of [`STRICT_ALPHA`]; none where there is no test for the metric.
    pub fn strict(&self) -> Option<StrictTest> {
        self.strict.or_else(|| {
            // A file of before: everything was about accuracy.
            let level = self.level.filter(|_| self.metric.is_none())?;
            Some(StrictTest {
                threshold: chance_threshold(self.pooled_n, level, STRICT_ALPHA),
                above: above_chance(self.pooled_n, self.pooled_accuracy, level, STRICT_ALPHA),
            })
        })
    }

    /// Whether nothing says that the decoder knows anything: at [`ALPHA`], all subjects together. None where there is no test.
    pub fn at_chance(&self) -> Option<bool> {
        self.pooled_above.map(|above| !above)
    }
}

impl Summary {
    /// Sums up records: one summary for each data set, model, protocol, access and tuning, in order of first appearance. Chance is that
    /// of accuracy, or, where trials of one class are clearly more, of balanced accuracy.
    pub fn of(records: &[Record]) -> Result<Vec<Summary>> {
        Summary::led_by(records, None)
    }

    /// The same with the metric that is reported first, which chance is then of.
    pub fn led_by(records: &[Record], leading: Option<&Metric>) -> Result<Vec<Summary>> {
        let mut groups: Vec<Vec<&Record>> = Vec::new();
        for record in records {
            match groups.iter_mut().find(|group| alike(group[0], record)) {
                Some(group) => group.push(record),
                None => groups.push(vec![record]),
            }
        }
        groups.iter().map(|group| Summary::of_group(group, leading)).collect()
    }

    /// What it is called among others: its model, its variant, and the parts of recordings it is about.
    pub fn display_name(&self) -> String {
        let name = display_name(&self.model, self.variant.as_deref());
        let part = |units: &Option<Units>| units.as_ref().map_or("all".to_string(), Units::to_string);
        match (&self.trained_on, &self.tested) {
            (None, None) => name,
            (trained_on, tested) => format!("{name}, {}->{}", part(trained_on), part(tested)),
        }
    }

    /// One metric over all subjects.
    pub fn metric(&self, name: &str) -> Option<&Spread> {
        self.metrics.iter().find(|m| m.metric == name)
    }

    fn of_group(group: &[&Record], leading: Option<&Metric>) -> Result<Summary> {
        check(group)?;
        let first = group[0];
        let classes = first.scores.classes();
        let seeds: BTreeSet<u64> = group.iter().map(|r| r.seed).collect();
        let mut cells: BTreeMap<SubjectId, BySeed<'_>> = BTreeMap::new();
        for record in group {
            cells.entry(record.subject).or_default().entry(record.seed).or_default().push(record);
        }
        let by_class =
            (0..classes).map(|k| group.iter().map(|r| r.scores.confusion[k].iter().sum::<usize>()).sum());
        let level = chance_level(&by_class.collect::<Vec<usize>>());
        let leading = match leading {
            Some(leading) => leading,
            // Where one class is more frequent, accuracy says how often that one is named.
            None if level > 1.0 / classes as f64 => &METRICS[1],
            None => &METRICS[0],
        };
        let mut subjects: Vec<SubjectSummary> = Vec::new();
        let (mut evidence, mut accuracies) = (vec![], vec![]);
        for (&subject, by_seed) in &cells {
            let own = Evidence::of(leading, by_seed, level);
            subjects.push(SubjectSummary {
                subject,
                n: by_seed.values().map(|cell| trials(cell)).min().unwrap_or(0),
                scores: BTreeMap::new(),
                chance_threshold: own.as_ref().map(|own| own.threshold(ALPHA)),
                above_chance: own.as_ref().map(|own| own.is_above(ALPHA)),
            });
            evidence.extend(own);
            accuracies.extend(Evidence::of(&METRICS[0], by_seed, level));
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
        let testable = Evidence::level(leading, classes, level);
        let tested = subjects.iter().filter(|s| s.above_chance.is_some()).count();
        let above = testable
            .filter(|_| tested > 0)
            .map(|_| subjects.iter().filter(|s| s.above_chance == Some(true)).count());
        let pooled = Evidence::pooled(&evidence);
        let chance = Chance {
            metric: Some(leading.name.into()),
            majority: (level > 1.0 / classes as f64).then_some(level),
            level: testable,
            alpha: ALPHA,
            above,
            share: above.map(|above| above as f64 / tested as f64),
            pooled_n: subjects.iter().map(|s| s.n).sum(),
            pooled_accuracy: Evidence::pooled(&accuracies).map_or(f64::NAN, |all| all.value()),
            pooled_value: pooled.as_ref().map(Evidence::value),
            pooled_threshold: pooled.as_ref().map(|all| all.threshold(ALPHA)),
            pooled_above: pooled.as_ref().map(|all| all.is_above(ALPHA)),
            strict: pooled.as_ref().map(|all| StrictTest {
                threshold: all.threshold(STRICT_ALPHA),
                above: all.is_above(STRICT_ALPHA),
            }),
        };
        Ok(Summary {
            data: first.data.clone(),
            model: first.model.clone(),
            variant: first.variant.clone(),
            protocol: first.protocol.clone(),
            trained_on: first.trained_on.clone(),
            tested: first.tested.clone(),
            target_access: first.target_access,
            adapt: first.adapt,
            classes,
            positive_class: group.iter().find_map(|r| r.positive_class.clone()),
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
    let parts = |r: &Record| (r.variant.clone(), r.trained_on.clone(), r.tested.clone(), r.precision.clone());
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

fn defined_mean(values: impl Iterator<Item = f64>) -> f64 {
    mean(&values.filter(|v| !v.is_nan()).collect::<Vec<_>>())
}

/// For each seed the mean over subjects. Only subjects with a value for every seed count: otherwise seeds would differ by whom
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
            trained_on: None,
            tested: None,
            target_access: TargetAccess::Nothing,
            subject: SubjectId(subject),
            session: None,
            fold: subject as usize,
            seed,
            precision: None,
            adapt: None,
            positive_class: None,
            scores: Scores::of(&labels, &probabilities, 2, 0).unwrap(),
        }
    }

    #[test]
    fn subjects_and_seeds_are_two_spreads() {
        let records = [(1, 0, 10), (1, 1, 12), (2, 0, 16), (2, 1, 18), (3, 0, 19), (3, 1, 15)]
            .map(|(subject, seed, right)| record(subject, seed, right));
        let summaries = Summary::of(&records).unwrap();
        assert_eq!(summaries.len(), 1);
        let summary = &summaries[0];
        assert_eq!((summary.seeds, summary.records, summary.subjects.len()), (2, 6, 3));
        let accuracy = summary.metric("accuracy").unwrap();
        // Subjects: 0.55, 0.85, 0.85; seeds: 0.75, 0.75.
        assert!((accuracy.mean - 0.75).abs() < 1e-12);
        assert!((accuracy.sd_subjects.unwrap() - 0.03f64.sqrt()).abs() < 1e-12);
        assert!(accuracy.sd_seeds.unwrap().abs() < 1e-12);
        let interval = accuracy.interval.unwrap();
        assert!((interval.low - 0.55).abs() < 1e-9 && (interval.high - 0.85).abs() < 1e-9, "{interval:?}");
        // binom.isf(0.05, 20, 0.5) = 14, binom.isf(0.05, 60, 0.5) = 36
        assert_eq!(summary.subjects[0].chance_threshold, Some(0.7));
        assert_eq!((summary.chance.above, summary.chance.pooled_n), (Some(2), 60));
        let threshold = summary.chance.pooled_threshold.unwrap();
        assert!((threshold - 0.6).abs() < 1e-12 && summary.chance.pooled_above == Some(true));
        // An accuracy that is asked for is the same.
        let by_accuracy = Summary::led_by(&records, metric("accuracy")).unwrap();
        assert_eq!(by_accuracy, summaries);
    }

    /// A speller, one trial in six of the target: AUC 75.6 and balanced accuracy 69 per cent, and fewer trials right than by always
    /// answering "not the target".
    fn speller(subject: u32) -> Record {
        let mut labels = vec![];
        let mut probabilities: Vec<f32> = vec![];
        // Of both classes some are taken for the target; on either side of the border targets lie a little higher.
        for (label, n, taken, higher) in [(1, 40, 23, 0.19), (0, 200, 40, 0.0)] {
            for i in 0..n {
                let (base, place) = match i < taken {
                    true => (0.52, i as f32 / taken as f32),
                    false => (0.02, (i - taken) as f32 / (n - taken) as f32),
                };
                let p = base + 0.45 * (place + higher) / 1.2;
                labels.push(label);
                probabilities.extend([1.0 - p, p]);
            }
        }
        let scores = Scores::of(&labels, &probabilities, 2, 1).unwrap();
        Record { scores, positive_class: Some("target".into()), ..record(subject, 0, 20) }
    }

    #[test]
    fn chance_is_of_the_metric_that_is_reported() {
        let records: Vec<Record> = (1..=5).map(speller).collect();
        let scores = &records[0].scores;
        assert!((scores.auc - 0.756).abs() < 0.005, "{}", scores.auc);
        assert!((scores.balanced_accuracy - 0.69).abs() < 0.005, "{}", scores.balanced_accuracy);
        assert!(scores.accuracy < 200.0 / 240.0, "{}", scores.accuracy);
        let of = |name: &str| Summary::led_by(&records, metric(name)).unwrap().remove(0);

        let auc = of("auc");
        assert_eq!(
            (auc.chance.level, auc.chance.above, auc.chance.pooled_above),
            (Some(0.5), Some(5), Some(true))
        );
        // 0.5 + norm.isf(alpha) * sqrt(241 / (12 * 40 * 200)) of a subject (exact: within a pair), by sqrt(5) of the mean.
        let threshold = auc.subjects[0].chance_threshold.unwrap();
        assert!((threshold - 0.582_412).abs() < 2e-4, "{threshold}");
        assert!((auc.chance.pooled_threshold.unwrap() - 0.536_856).abs() < 1e-6, "{:?}", auc.chance);
        assert!(auc.chance.strict().unwrap().above);

        let balanced = of("balanced_accuracy");
        assert_eq!((balanced.chance.level, balanced.chance.above), (Some(0.5), Some(5)));
        // What nobody asks for is the same: accuracy would be that of the larger class.
        assert_eq!(Summary::of(&records).unwrap()[0], balanced);
        assert_eq!(balanced.positive_class.as_deref(), Some("target"));

        let accuracy = of("accuracy");
        assert_eq!((accuracy.chance.level, accuracy.chance.above), (Some(200.0 / 240.0), Some(0)));
        assert_eq!(accuracy.chance.pooled_above, Some(false));

        // No test is better than a wrong one.
        let kappa = of("kappa");
        assert_eq!((kappa.chance.level, kappa.chance.above, kappa.chance.strict()), (None, None, None));
        assert_eq!(kappa.subjects[0].above_chance, None);
    }

    #[test]
    fn random_answers_are_not_above_chance_in_any_metric() {
        // Somebody who always names one class, with probabilities that say nothing.
        let of = |p: f32| {
            let labels: Vec<u32> = (0..60).map(|i| u32::from(i % 6 == 0)).collect();
            let probabilities: Vec<f32> =
                labels.iter().enumerate().flat_map(|(i, _)| [p - 0.01 * (i % 5) as f32, 0.0]).collect();
            let probabilities: Vec<f32> =
                probabilities.chunks(2).flat_map(|pair| [pair[0], 1.0 - pair[0]]).collect();
            Record { scores: Scores::of(&labels, &probabilities, 2, 1).unwrap(), ..record(1, 0, 20) }
        };
        for name in ["accuracy", "balanced_accuracy", "auc"] {
            for p in [0.9, 0.2] {
                let summary = Summary::led_by(&[of(p)], metric(name)).unwrap().remove(0);
                assert_eq!(
                    (summary.chance.above, summary.chance.at_chance()),
                    (Some(0), Some(true)),
                    "{name} {p}"
                );
            }
        }
    }

    #[test]
    fn summaries_of_before_are_about_accuracy() {
        let old = r#"{"level":0.5,"alpha":0.05,"above":2,"share":0.66,"pooled_n":288,"pooled_accuracy":0.7621528,"pooled_threshold":0.5486111,"pooled_above":true}"#;
        let chance: Chance = serde_json::from_str(old).unwrap();
        assert_eq!(chance.metric().name, "accuracy");
        assert_eq!(
            chance.strict(),
            Some(StrictTest { threshold: chance_threshold(288, 0.5, 0.001), above: true })
        );
        assert_eq!(serde_json::to_string(&chance).unwrap(), old);
    }

    #[test]
    fn one_seed_and_one_subject_have_no_spread() {
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
    fn a_subject_that_lacks_a_seed_does_not_count_for_the_sd_over_seeds() {
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
