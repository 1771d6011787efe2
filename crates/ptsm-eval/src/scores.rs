//! What probabilities say about known labels.

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};

/// How far probabilities may be from 0..1 and their sum from 1: single-precision softmax is much closer, raw scores are not.
const SLACK: f32 = 1e-3;

/// The numbers of one set of trials. With K = 2 classes one is positive (see [`positive_class`]); with more, each is
/// taken against the rest and the mean is given.
///
/// Undefined numbers are NaN, and `null` in JSON: a recall of a class that never came, an AUC without both sides, an F1
/// of a class neither given nor decoded, a kappa where chance alone agrees on everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Number of trials.
    pub n: usize,
    /// Share of trials decoded right.
    #[serde(deserialize_with = "number_or_null")]
    pub accuracy: f64,
    /// Mean recall of the classes.
    #[serde(deserialize_with = "number_or_null")]
    pub balanced_accuracy: f64,
    /// F1 of the positive class for K = 2, [`Scores::f1_macro`] otherwise.
    #[serde(deserialize_with = "number_or_null")]
    pub f1: f64,
    /// Mean F1 of the classes.
    #[serde(deserialize_with = "number_or_null")]
    pub f1_macro: f64,
    /// Mean F1 of the classes, weighted by their number of trials.
    #[serde(deserialize_with = "number_or_null")]
    pub f1_weighted: f64,
    /// Recall of the positive class.
    #[serde(deserialize_with = "number_or_null")]
    pub sensitivity: f64,
    /// Recall of the negative class.
    #[serde(deserialize_with = "number_or_null")]
    pub specificity: f64,
    /// Cohen's kappa.
    #[serde(deserialize_with = "number_or_null")]
    pub kappa: f64,
    /// Rank statistic of the probabilities, ties counting a half.
    #[serde(deserialize_with = "number_or_null")]
    pub auc: f64,
    /// Trials by true class (row) and decoded class (column).
    pub confusion: Vec<Vec<usize>>,
    /// Mean of `-ln p(true class)`, p being at least the single-precision epsilon.
    #[serde(deserialize_with = "number_or_null")]
    pub log_loss: f64,
}

fn number_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

impl Scores {
    /// Scores trials. The decoded class is the most probable one, the first of equals.
    ///
    /// # Shapes
    /// `labels: [n]`, `probabilities: [n, classes]`
    pub fn of(labels: &[u32], probabilities: &[f32], classes: usize, positive: usize) -> Result<Scores> {
        check(labels, probabilities, classes, positive)?;
        let mut confusion = vec![vec![0; classes]; classes];
        let mut log_loss = 0.0;
        for (&label, row) in labels.iter().zip(probabilities.chunks_exact(classes)) {
            let label = label as usize;
            confusion[label][largest(row)] += 1;
            log_loss -= f64::from(row[label].max(f32::EPSILON)).ln();
        }
        let sides = BinaryCounts::of_all(&confusion);
        let auc_of = |k| auc(labels, probabilities.iter().skip(k).step_by(classes).copied(), k as u32);
        let macro_of = |value: &dyn Fn(usize) -> f64| (0..classes).map(value).sum::<f64>() / classes as f64;

        let n = labels.len();
        let f1_macro = macro_of(&|k| sides[k].f1());
        let sensitivity = macro_of(&|k| sides[k].sensitivity());
        let (f1, positive_sensitivity, specificity, auc) = if classes == 2 {
            let side = &sides[positive];
            (side.f1(), side.sensitivity(), side.specificity(), auc_of(positive))
        } else {
            (f1_macro, sensitivity, macro_of(&|k| sides[k].specificity()), macro_of(&auc_of))
        };
        // A class without trials has no weight, whatever its F1.
        let weighted = sides.iter().filter(|s| s.given() > 0).map(|s| s.given() as f64 * s.f1()).sum::<f64>();
        let right = sides.iter().map(|s| s.hits).sum::<usize>();
        Ok(Scores {
            n,
            accuracy: ratio(right, n),
            balanced_accuracy: sensitivity,
            f1,
            f1_macro,
            f1_weighted: weighted / n as f64,
            sensitivity: positive_sensitivity,
            specificity,
            kappa: kappa(&sides, right, n),
            auc,
            confusion,
            log_loss: log_loss / n as f64,
        })
    }

    /// Number of classes, K.
    pub fn classes(&self) -> usize {
        self.confusion.len()
    }

    /// Number of trials decoded right.
    pub fn right(&self) -> usize {
        self.confusion.iter().enumerate().map(|(k, row)| row[k]).sum()
    }
}

/// Which of the classes is positive: the first whose name begins with `left` (imagery, attention) or `target` (event-related
/// potentials), whatever its case; else class 0.
pub fn positive_class(classes: &[String]) -> usize {
    let positive = |name: &String| {
        let name = name.to_lowercase();
        name.starts_with("left") || name.starts_with("target")
    };
    classes.iter().position(positive).unwrap_or(0)
}

/// One class against the rest.
struct BinaryCounts {
    hits: usize,
    misses: usize,
    false_alarms: usize,
    rejections: usize,
}

impl BinaryCounts {
    fn of_all(confusion: &[Vec<usize>]) -> Vec<BinaryCounts> {
        let n: usize = confusion.iter().flatten().sum();
        (0..confusion.len())
            .map(|k| {
                let hits = confusion[k][k];
                let misses = confusion[k].iter().sum::<usize>() - hits;
                let false_alarms = confusion.iter().map(|row| row[k]).sum::<usize>() - hits;
                BinaryCounts { hits, misses, false_alarms, rejections: n - hits - misses - false_alarms }
            })
            .collect()
    }

    fn given(&self) -> usize {
        self.hits + self.misses
    }

    fn decoded(&self) -> usize {
        self.hits + self.false_alarms
    }

    fn sensitivity(&self) -> f64 {
        ratio(self.hits, self.given())
    }

    fn specificity(&self) -> f64 {
        ratio(self.rejections, self.rejections + self.false_alarms)
    }

    fn f1(&self) -> f64 {
        ratio(2 * self.hits, 2 * self.hits + self.false_alarms + self.misses)
    }
}

/// NaN for 0 of 0.
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn kappa(sides: &[BinaryCounts], right: usize, n: usize) -> f64 {
    // In whole numbers: chance that agrees on everything is then exactly n * n, and kappa 0 / 0.
    let n = n as f64;
    let expected: f64 = sides.iter().map(|s| s.given() as f64 * s.decoded() as f64).sum();
    (right as f64 * n - expected) / (n * n - expected)
}

/// The first of the largest.
fn largest(row: &[f32]) -> usize {
    let mut best = 0;
    for (k, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = k;
        }
    }
    best
}

/// Share of pairs of a trial of class `k` and another trial in which the first has the larger value, by ranks (Mann-Whitney).
fn auc(labels: &[u32], values: impl Iterator<Item = f32>, k: u32) -> f64 {
    let mut sorted: Vec<(f32, bool)> = values.zip(labels).map(|(v, &label)| (v, label == k)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let inside = sorted.iter().filter(|(_, inside)| *inside).count();
    // Twice the number of pairs won, so that a tie is the whole number 1.
    let (mut twice, mut below) = (0, 0);
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        let own = equal.iter().filter(|(_, inside)| *inside).count();
        let others = equal.len() - own;
        twice += own * (2 * below + others);
        below += others;
    }
    ratio(twice, 2 * inside * (sorted.len() - inside))
}

fn check(labels: &[u32], probabilities: &[f32], classes: usize, positive: usize) -> Result<()> {
    if classes < 2 || positive >= classes {
        return Err(Error::scores(format!("class {positive} of {classes} cannot be the positive one")));
    }
    if labels.is_empty() {
        return Err(Error::scores("there are no trials"));
    }
    if labels.len().checked_mul(classes) != Some(probabilities.len()) {
        let (n, given) = (labels.len(), probabilities.len());
        return Err(Error::scores(format!(
            "{n} labels of {classes} classes do not fit {given} probabilities"
        )));
    }
    if let Some(trial) = labels.iter().position(|&l| l as usize >= classes) {
        let label = labels[trial];
        return Err(Error::scores(format!("trial {trial} has label {label}; there are {classes} classes")));
    }
    if let Some(i) = probabilities.iter().position(|p| !p.is_finite()) {
        let (trial, class, value) = (i / classes, i % classes, probabilities[i]);
        return Err(Error::scores(format!("trial {trial}, class {class}: the probability is {value}"))
            .with_hint(
                "the training diverged or the input was not finite; a smaller learning rate may help",
            ));
    }
    let possible = |row: &[f32]| {
        row.iter().all(|p| (-SLACK..=1.0 + SLACK).contains(p))
            && (row.iter().sum::<f32>() - 1.0).abs() <= SLACK
    };
    if let Some(trial) = probabilities.chunks_exact(classes).position(|row| !possible(row)) {
        let row = &probabilities[trial * classes..][..classes];
        return Err(Error::scores(format!("trial {trial}: {row:?} are not probabilities that add up to 1"))
            .with_hint("turn raw scores into probabilities with a softmax"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_go_to_the_first_class_and_half_the_pairs() {
        let scores = Scores::of(&[0, 1, 0, 1], &[0.5; 8], 2, 1).unwrap();
        assert_eq!(scores.confusion, [[2, 0], [2, 0]]);
        assert_eq!((scores.auc, scores.sensitivity, scores.specificity), (0.5, 0.0, 1.0));
        assert_eq!((scores.f1, scores.kappa), (0.0, 0.0));
    }

    #[test]
    fn a_class_that_never_came_is_undefined_and_survives_a_file() {
        let scores = Scores::of(&[1, 1], &[0.2, 0.8, 0.4, 0.6], 2, 0).unwrap();
        assert_eq!((scores.accuracy, scores.specificity, scores.f1_weighted), (1.0, 1.0, 1.0));
        for undefined in [scores.auc, scores.sensitivity, scores.balanced_accuracy, scores.f1, scores.kappa] {
            assert!(undefined.is_nan(), "{scores:?}");
        }
        let text = serde_json::to_string(&scores).unwrap();
        assert!(text.contains(r#""auc":null"#), "{text}");
        let back: Scores = serde_json::from_str(&text).unwrap();
        assert!(back.auc.is_nan() && back.accuracy == 1.0);
        assert!(serde_json::from_str::<Scores>(&text.replace(r#""auc":null,"#, "")).is_err());
    }

    #[test]
    fn a_certain_mistake_costs_much_but_not_everything() {
        let scores = Scores::of(&[0], &[0.0, 1.0], 2, 0).unwrap();
        assert_eq!(scores.log_loss, -f64::from(f32::EPSILON).ln());
    }

    #[test]
    fn what_cannot_be_scored_is_refused_in_words() {
        let message = |labels: &[u32], p: &[f32], k, positive| {
            Scores::of(labels, p, k, positive).unwrap_err().to_string()
        };
        assert!(message(&[], &[], 2, 0).contains("no trials"));
        assert!(message(&[0], &[1.0], 1, 0).contains("class 0 of 1"));
        assert!(message(&[0], &[0.5, 0.5], 2, 2).contains("class 2 of 2"));
        assert!(message(&[0, 1], &[0.5, 0.5], 2, 0).contains("2 labels of 2 classes do not fit 2"));
        assert!(message(&[0, 2], &[0.5; 4], 2, 0).contains("trial 1 has label 2"));
        assert!(message(&[0, 1], &[0.5, 0.5, f32::NAN, 0.5], 2, 0).contains("trial 1, class 0"));
        assert!(message(&[0], &[-3.0, 4.0], 2, 0).contains("not probabilities"));
        assert!(message(&[0], &[0.9, 0.9], 2, 0).contains("add up to 1"));
        assert!(Scores::of(&[0], &[f32::INFINITY, 0.0], 2, 0).unwrap_err().hint().is_some());
    }

    #[test]
    fn left_and_target_are_positive() {
        let of = |names: &[&str]| positive_class(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["right_hand", "Left_Hand"]), 1);
        assert_eq!(of(&["left", "right"]), 0);
        assert_eq!(of(&["non-target", "target"]), 1);
        assert_eq!(of(&["feet", "rest"]), 0);
    }
}
