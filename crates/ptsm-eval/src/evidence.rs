//! What trials say for or against a decoder's knowing something, by the metric that is reported.

use std::collections::BTreeMap;

use crate::chance::{above_chance, chance_level, chance_threshold};
use crate::metrics::Metric;
use crate::null::{
    auc_threshold, auc_variance, balanced_accuracy_threshold, balanced_accuracy_variance, normal_threshold,
};
use crate::record::Record;
use crate::statistics::mean;

/// The records of one subject, by seed.
pub(crate) type BySeed<'a> = BTreeMap<u64, Vec<&'a Record>>;

/// A value of a metric with what is needed to compare it with chance. Seeds are averaged and count once: they decode the same trials.
pub(crate) enum Evidence {
    /// The share of trials decoded right, and the chance level.
    Accuracy { n: usize, value: f64, level: f64 },
    /// Trials of each class and the share of them decoded right.
    BalancedAccuracy { trials: Vec<usize>, recalls: Vec<f64> },
    /// The mean over subjects of a metric whose chance level and variance by chance are known.
    Mean { value: f64, level: f64, variance: f64 },
    /// The AUC of two classes: its variance by chance, and the trials of both classes where it is of one record.
    Auc { value: f64, variance: f64, one: Option<[usize; 2]> },
}

impl Evidence {
    /// What chance reaches in a metric; none where there is no test for it. `level` is that of accuracy.
    pub(crate) fn level(metric: &Metric, classes: usize, level: f64) -> Option<f64> {
        match metric.name {
            "accuracy" => Some(level),
            "balanced_accuracy" => Some(1.0 / classes as f64),
            "auc" if classes == 2 => Some(0.5),
            _ => None,
        }
    }

    /// Of one subject; none where there is no test, or where trials of a class are missing that the metric needs.
    pub(crate) fn of(metric: &Metric, by_seed: &BySeed<'_>, level: f64) -> Option<Evidence> {
        let classes = by_seed.values().flatten().next()?.scores.classes();
        Evidence::level(metric, classes, level)?;
        match metric.name {
            "accuracy" => Some(accuracy(by_seed, level)),
            "balanced_accuracy" => balanced_accuracy(by_seed, classes),
            "auc" => auc(by_seed),
            _ => None,
        }
    }

    /// Of all subjects together: accuracy of all trials, balanced accuracy and AUC as the mean over subjects. None where there are no subjects.
    pub(crate) fn pooled(all: &[Evidence]) -> Option<Evidence> {
        match all.first()? {
            Evidence::Accuracy { level, .. } => {
                let (mut trials, mut right) = (0, 0.0);
                for one in all {
                    if let Evidence::Accuracy { n, value, .. } = one {
                        trials += n;
                        right += *n as f64 * value;
                    }
                }
                Some(Evidence::Accuracy { n: trials, value: right / trials as f64, level: *level })
            }
            Evidence::BalancedAccuracy { trials, recalls } if all.len() == 1 => {
                Some(Evidence::BalancedAccuracy { trials: trials.clone(), recalls: recalls.clone() })
            }
            // Not the recalls of all trials together: a decoder that answers with each subject's frequent class, where that differs, would be
            // above chance there and in nobody.
            Evidence::BalancedAccuracy { trials, .. } => {
                let parts = all.iter().filter_map(|evidence| match evidence {
                    Evidence::BalancedAccuracy { trials, recalls } => {
                        Some((mean(recalls), balanced_accuracy_variance(trials)))
                    }
                    _ => None,
                });
                let (values, variances): (Vec<f64>, Vec<f64>) = parts.unzip();
                let variance = mean(&variances) / variances.len() as f64;
                Some(Evidence::Mean { value: mean(&values), level: 1.0 / trials.len() as f64, variance })
            }
            Evidence::Mean { value, level, variance } => {
                Some(Evidence::Mean { value: *value, level: *level, variance: *variance })
            }
            Evidence::Auc { one, .. } => {
                let parts = all.iter().filter_map(|evidence| match evidence {
                    Evidence::Auc { value, variance, .. } => Some((*value, *variance)),
                    _ => None,
                });
                let (values, variances): (Vec<f64>, Vec<f64>) = parts.unzip();
                Some(Evidence::Auc {
                    value: mean(&values),
                    variance: mean(&variances) / variances.len() as f64,
                    one: one.filter(|_| all.len() == 1),
                })
            }
        }
    }

    /// The value that is compared with chance.
    pub(crate) fn value(&self) -> f64 {
        match self {
            Evidence::Accuracy { value, .. } | Evidence::Auc { value, .. } | Evidence::Mean { value, .. } => {
                *value
            }
            Evidence::BalancedAccuracy { recalls, .. } => mean(recalls),
        }
    }

    /// What chance exceeds with probability `alpha` or less.
    pub(crate) fn threshold(&self, alpha: f64) -> f64 {
        match self {
            Evidence::Accuracy { n, level, .. } => chance_threshold(*n, *level, alpha),
            Evidence::BalancedAccuracy { trials, .. } => balanced_accuracy_threshold(trials, alpha),
            Evidence::Auc { one: Some([a, b]), .. } => auc_threshold(*a, *b, alpha),
            Evidence::Auc { variance, .. } => normal_threshold(0.5, *variance, alpha),
            Evidence::Mean { level, variance, .. } => normal_threshold(*level, *variance, alpha),
        }
    }

    /// Whether the value is above that.
    pub(crate) fn is_above(&self, alpha: f64) -> bool {
        match self {
            Evidence::Accuracy { n, value, level } => above_chance(*n, *value, *level, alpha),
            // The slack is above rounding and below what one trial changes.
            _ => self.value() > self.threshold(alpha) + 1e-12,
        }
    }
}

/// What chance exceeds, with probability `alpha` or less, in the mean over subjects of a metric, by each subject's trials of each class: normal, and
/// exact for one subject. None where there is no test for the metric, or nobody has trials of all classes.
pub fn mean_threshold(metric: &Metric, trials_by_class: &[Vec<usize>], alpha: f64) -> Option<f64> {
    let classes = trials_by_class.first()?.len();
    let sums: Vec<usize> = (0..classes).map(|k| trials_by_class.iter().map(|own| own[k]).sum()).collect();
    let level = Evidence::level(metric, classes, chance_level(&sums))?;
    let testable = |own: &&Vec<usize>| match metric.name {
        "accuracy" => own.iter().any(|n| *n > 0),
        _ => !own.contains(&0),
    };
    let subjects: Vec<&Vec<usize>> = trials_by_class.iter().filter(testable).collect();
    if let [one] = subjects[..] {
        return Some(match metric.name {
            "accuracy" => chance_threshold(one.iter().sum(), level, alpha),
            "balanced_accuracy" => balanced_accuracy_threshold(one, alpha),
            _ => auc_threshold(one[0], one[1], alpha),
        });
    }
    let variance = |own: &&Vec<usize>| match metric.name {
        "accuracy" => level * (1.0 - level) / own.iter().sum::<usize>() as f64,
        "balanced_accuracy" => balanced_accuracy_variance(own),
        _ => auc_variance(own[0], own[1]),
    };
    let variances: Vec<f64> = subjects.iter().map(variance).collect();
    let n = variances.len() as f64;
    (n > 0.0).then(|| normal_threshold(level, mean(&variances) / n, alpha))
}

fn accuracy(by_seed: &BySeed<'_>, level: f64) -> Evidence {
    let trials = |cell: &[&Record]| cell.iter().map(|r| r.scores.n).sum::<usize>();
    let right = |cell: &[&Record]| cell.iter().map(|r| r.scores.right()).sum::<usize>();
    // A run cut short may lack a session with some seed; the smaller number is on the safe side.
    let n = by_seed.values().map(|cell| trials(cell)).min().unwrap_or(0);
    let accuracies: Vec<f64> =
        by_seed.values().map(|cell| right(cell) as f64 / trials(cell) as f64).collect();
    Evidence::Accuracy { n, value: mean(&accuracies), level }
}

fn balanced_accuracy(by_seed: &BySeed<'_>, classes: usize) -> Option<Evidence> {
    let (mut trials, mut recalls) = (vec![], vec![]);
    for k in 0..classes {
        let given = |cell: &[&Record]| -> usize { cell.iter().flat_map(|r| &r.scores.confusion[k]).sum() };
        let hits = |cell: &[&Record]| cell.iter().map(|r| r.scores.confusion[k][k]).sum::<usize>();
        let n = by_seed.values().map(|cell| given(cell)).min().filter(|n| *n > 0)?;
        trials.push(n);
        recalls.push(mean(&by_seed.values().map(|c| hits(c) as f64 / given(c) as f64).collect::<Vec<_>>()));
    }
    Some(Evidence::BalancedAccuracy { trials, recalls })
}

fn auc(by_seed: &BySeed<'_>) -> Option<Evidence> {
    let mut values = vec![];
    let mut widest: Option<(f64, Option<[usize; 2]>)> = None;
    for cell in by_seed.values() {
        let defined: Vec<&&Record> = cell.iter().filter(|r| r.scores.auc.is_finite()).collect();
        if defined.is_empty() {
            continue;
        }
        values.push(mean(&defined.iter().map(|r| r.scores.auc).collect::<Vec<_>>()));
        let sides = |r: &Record| [0, 1].map(|k| r.scores.confusion[k].iter().sum::<usize>());
        let variances: Vec<f64> = defined
            .iter()
            .map(|r| {
                let [a, b] = sides(r);
                auc_variance(a, b)
            })
            .collect();
        let variance = mean(&variances) / variances.len() as f64;
        if widest.is_none_or(|(known, _)| variance > known) {
            widest = Some((variance, (defined.len() == 1).then(|| sides(defined[0]))));
        }
    }
    let (variance, one) = widest?;
    Some(Evidence::Auc { value: mean(&values), variance, one })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::metric;

    /// `level + norm.isf(alpha) * sqrt(variance.mean() / subjects)`, SciPy 1.17.
    #[test]
    fn means_over_subjects_need_less_than_one_subject() {
        let of = |name: &str, subjects: &[Vec<usize>]| mean_threshold(metric(name).unwrap(), subjects, 0.05);
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-6, "{found:?}")
        };
        let speller = vec![vec![1200, 240]; 5];
        near(of("auc", &speller), 0.515_020_6);
        near(of("balanced_accuracy", &speller), 0.513_003_7);
        near(of("accuracy", &vec![vec![8, 8]; 4]), 0.602_803_4);
        assert_eq!(of("auc", &speller[..1]), Some(auc_threshold(1200, 240, 0.05)));
        assert_eq!(of("kappa", &speller), None);
        assert_eq!(of("auc", &[vec![3, 3, 3], vec![3, 3, 3]]), None);
        assert_eq!(of("auc", &[]), None);
        assert_eq!(of("balanced_accuracy", &[vec![5, 0], vec![0, 5]]), None);
    }

    /// A decoder that answers with each subject's frequent class knows nothing of any subject, though 82 % of the trials of each class are right.
    #[test]
    fn frequent_classes_that_differ_between_subjects_are_no_evidence() {
        let of = |trials: [usize; 2], recalls: [f64; 2]| Evidence::BalancedAccuracy {
            trials: trials.to_vec(),
            recalls: recalls.to_vec(),
        };
        let at_chance = [of([90, 20], [1.0, 0.0]), of([20, 90], [0.0, 1.0])];
        let pooled = Evidence::pooled(&at_chance).unwrap();
        assert_eq!(pooled.value(), 0.5);
        assert!(!pooled.is_above(0.05));
        let known = [of([90, 20], [0.8, 0.7]), of([20, 90], [0.7, 0.8])];
        assert!(Evidence::pooled(&known).unwrap().is_above(0.001));
    }
}
