//! Whether probabilities mean what they say.
//!
//! A decoder that says "80 %" should be right in 80 of 100 such trials. What is looked at is the class it decides for and the probability that it gives to it
//! (Guo et al. 2017, "On calibration of modern neural networks").

use ptsm_decode::{LogitCalibration, Ties, inverse_temperature, softmax};
use ptsm_eval::{Interval, Result, mean};
use serde::{Deserialize, Serialize};

use crate::features::refused;
use crate::intervals::wilson;

/// Probabilities less than this are replaced by it, as scikit-learn does: the logarithm of 0 is no number.
const LEAST: f64 = f64::EPSILON;

/// Probabilities of classes, and which class it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Rows")]
pub struct LabelledProbabilities {
    /// `[n, K]`, row by row.
    probabilities: Vec<f64>,
    labels: Vec<u32>,
    classes: usize,
}

/// What is read before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    probabilities: Vec<f64>,
    labels: Vec<u32>,
    classes: usize,
}

impl TryFrom<Rows> for LabelledProbabilities {
    type Error = ptsm_eval::Error;

    fn try_from(rows: Rows) -> Result<LabelledProbabilities> {
        LabelledProbabilities::new(&rows.probabilities, &rows.labels, rows.classes)
    }
}

/// How trials are put together by the probability of their decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binning {
    /// So many, each as wide as the others. Some may be empty.
    EqualWidth(usize),
    /// So many, each with as many trials as the others but for one.
    EqualMass(usize),
}

/// Trials whose decisions have about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// From which probability.
    pub low: f64,
    /// To which.
    pub high: f64,
    /// Number of trials.
    pub n: usize,
    /// The mean probability of the decisions; NaN without trials.
    pub confidence: f64,
    /// The share of right decisions; NaN without trials.
    pub accuracy: f64,
    /// Of the accuracy, 95 %, for independent trials.
    pub interval: Interval,
}

/// How far probabilities are from what they say.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// By probability.
    pub curve: Vec<Bin>,
    /// The mean distance of accuracy from probability, bins weighted by their trials.
    pub expected_error: f64,
    /// The largest distance.
    pub maximum_error: f64,
    /// The mean squared distance of probabilities from what happened, summed over classes: 0 to 2.
    pub brier: f64,
    /// The mean of minus the logarithm of the probability of what happened.
    pub log_loss: f64,
    /// The share of right decisions.
    pub accuracy: f64,
    /// The mean probability of the decisions.
    pub confidence: f64,
}

impl LabelledProbabilities {
    /// From probabilities `[n, K]`, row by row, and the class of each trial.
    pub fn new<V: Copy + Into<f64>>(
        probabilities: &[V],
        labels: &[u32],
        classes: usize,
    ) -> Result<LabelledProbabilities> {
        if classes < 2 || labels.is_empty() || probabilities.len() != labels.len() * classes {
            return Err(refused(
                format!(
                    "{} probabilities do not fit {} trials of {classes} classes",
                    probabilities.len(),
                    labels.len()
                ),
                "give one for each class of each trial",
            ));
        }
        if let Some(label) = labels.iter().find(|&&label| label as usize >= classes) {
            return Err(refused(
                format!("label {label} is none of the {classes} classes"),
                "count classes from 0",
            ));
        }
        let probabilities: Vec<f64> = probabilities.iter().map(|&p| p.into()).collect();
        for (i, row) in probabilities.chunks(classes).enumerate() {
            let sum: f64 = row.iter().sum();
            // Single precision is allowed for.
            if row.iter().any(|p| !(0.0..=1.0 + 1e-6).contains(p)) || (sum - 1.0).abs() > 1e-4 {
                return Err(refused(
                    format!("the probabilities of trial {i} are not between 0 and 1 with the sum 1"),
                    "give probabilities, not scores",
                ));
            }
        }
        Ok(LabelledProbabilities { probabilities, labels: labels.to_vec(), classes })
    }

    /// `[n, K]`, row by row.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], usize)> {
        self.probabilities.chunks(self.classes).zip(self.labels.iter().map(|&label| label as usize))
    }

    /// For every trial, the probability of its decision and whether that is right. Of equally likely classes the first is decided for.
    fn decisions(&self) -> Vec<(f64, bool)> {
        let decided = |(row, label): (&[f64], usize)| {
            let first = row
                .iter()
                .enumerate()
                .fold((0, f64::MIN), |best, (class, &p)| if p > best.1 { (class, p) } else { best });
            (first.1.min(1.0), first.0 == label)
        };
        self.rows().map(decided).collect()
    }

    /// How far the probabilities are from what they say.
    pub fn calibration(&self, bins: Binning) -> Calibration {
        let decisions = self.decisions();
        let n = decisions.len() as f64;
        let curve = curve(&decisions, bins);
        let filled = curve.iter().filter(|bin| bin.n > 0);
        let gaps: Vec<(f64, f64)> =
            filled.map(|bin| ((bin.accuracy - bin.confidence).abs(), bin.n as f64 / n)).collect();
        let brier = |(row, label): (&[f64], usize)| -> f64 {
            row.iter().enumerate().map(|(class, p)| (p - f64::from(u8::from(class == label))).powi(2)).sum()
        };
        Calibration {
            expected_error: gaps.iter().map(|(gap, share)| gap * share).sum(),
            maximum_error: gaps.iter().map(|(gap, _)| *gap).fold(0.0, f64::max),
            brier: self.rows().map(brier).sum::<f64>() / n,
            log_loss: self.rows().map(|(row, label)| -row[label].max(LEAST).ln()).sum::<f64>() / n,
            accuracy: decisions.iter().filter(|d| d.1).count() as f64 / n,
            confidence: decisions.iter().map(|d| d.0).sum::<f64>() / n,
            curve,
        }
    }

    /// The temperature that makes what happened most likely: above 1 where the decoder is over-confident, below 1 where it is under-confident. It changes
    /// no decision. It is to be fitted on subjects who were neither trained on nor are scored.
    pub fn temperature(&self) -> f64 {
        let logs = |row: &[f64]| -> Vec<f64> { row.iter().map(|p| p.max(LEAST).ln()).collect() };
        let trials: Vec<(Vec<f64>, usize)> = self.rows().map(|(row, label)| (logs(row), label)).collect();
        1.0 / inverse_temperature(trials.iter().map(|(logs, label)| (&logs[..], *label)), Ties::MostCertain)
    }

    /// What these were before decoders were calibrated, of each of whom there are as many trials, one decoder after the other.
    pub fn before(&self, calibrations: &[LogitCalibration]) -> Result<LabelledProbabilities> {
        let of_each = self.labels.len() / calibrations.len().max(1);
        if of_each * calibrations.len() != self.labels.len() {
            return Err(refused(
                format!(
                    "{} trials are not as many of each of {} decoders",
                    self.labels.len(),
                    calibrations.len()
                ),
                "give the probabilities of all decoders, one after the other",
            ));
        }
        let rows = self.probabilities.chunks(self.classes).enumerate();
        let undone = rows.flat_map(|(i, row)| {
            let row: Vec<f32> = row.iter().map(|&p| p as f32).collect();
            calibrations[i / of_each].undo(&row)
        });
        Ok(LabelledProbabilities { probabilities: undone.collect(), ..self.clone() })
    }

    /// The same trials at another temperature, above 0.
    pub fn at(&self, temperature: f64) -> LabelledProbabilities {
        let heated =
            |row: &[f64]| softmax(&row.iter().map(|p| p.max(LEAST).ln() / temperature).collect::<Vec<f64>>());
        let probabilities = self.probabilities.chunks(self.classes).flat_map(heated).collect();
        LabelledProbabilities { probabilities, ..self.clone() }
    }
}

fn curve(decisions: &[(f64, bool)], bins: Binning) -> Vec<Bin> {
    let mut sorted = decisions.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    match bins {
        Binning::EqualWidth(count) => {
            let count = count.max(1);
            let edge = |i: usize| i as f64 / count as f64;
            (0..count)
                .map(|i| {
                    // The upper edge belongs to a bin, the lower one to the one before.
                    let from = if i == 0 { 0 } else { sorted.partition_point(|d| d.0 <= edge(i)) };
                    let to = sorted.partition_point(|d| d.0 <= edge(i + 1));
                    bin(edge(i), edge(i + 1), &sorted[from..to])
                })
                .collect()
        }
        Binning::EqualMass(count) => {
            let count = count.clamp(1, sorted.len());
            let cut = |i: usize| i * sorted.len() / count;
            (0..count)
                .map(|i| {
                    let own = &sorted[cut(i)..cut(i + 1)];
                    bin(own[0].0, own[own.len() - 1].0, own)
                })
                .collect()
        }
    }
}

fn bin(low: f64, high: f64, own: &[(f64, bool)]) -> Bin {
    let n = own.len();
    let accuracy = own.iter().filter(|d| d.1).count() as f64 / n as f64;
    let confidence = mean(&own.iter().map(|d| d.0).collect::<Vec<_>>());
    Bin { low, high, n, confidence, accuracy, interval: wilson(accuracy, n as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes; the probability of class 1 and what it was.
    fn binary(of: &[(f64, u32)]) -> LabelledProbabilities {
        let probabilities: Vec<f64> = of.iter().flat_map(|(p, _)| [1.0 - p, *p]).collect();
        let labels: Vec<u32> = of.iter().map(|(_, label)| *label).collect();
        LabelledProbabilities::new(&probabilities, &labels, 2).unwrap()
    }

    #[test]
    fn small_numbers_by_hand() {
        // 0.9 right, 0.9 wrong, 0.75 (of class 0) right, 0.6 right.
        let found = binary(&[(0.9, 1), (0.9, 0), (0.25, 0), (0.6, 1)]).calibration(Binning::EqualWidth(5));
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        // (0.8, 1]: 0.9 against 0.5. (0.6, 0.8]: 0.75 against 1. (0.4, 0.6]: 0.6 against 1.
        let counts: Vec<usize> = found.curve.iter().map(|bin| bin.n).collect();
        assert_eq!(counts, [0, 0, 1, 1, 2]);
        near(found.expected_error, (2.0 * 0.4 + 0.25 + 0.4) / 4.0);
        near(found.maximum_error, 0.4);
        near(found.brier, 2.0 * (0.01 + 0.81 + 0.0625 + 0.16) / 4.0);
        near(found.log_loss, -(0.9f64.ln() + 0.1f64.ln() + 0.75f64.ln() + 0.6f64.ln()) / 4.0);
        near(found.accuracy, 0.75);
        near(found.confidence, 0.7875);
        assert!(found.curve[0].accuracy.is_nan() && found.curve[0].interval.low.is_nan());
        assert!(found.curve[4].interval.low < 0.5 && found.curve[4].interval.high > 0.5);
    }

    #[test]
    fn the_calibration_of_each_decoder_is_undone() {
        let calibration = |temperature: f64| LogitCalibration { temperature, offsets: vec![0.0, 0.0] };
        let twice = binary(&[(0.75, 1), (0.75, 1)]);
        let before = twice.before(&[calibration(1.0), calibration(2.0)]).unwrap();
        // Odds of 3 at a temperature of 2 were odds of 9.
        for (found, expected) in before.probabilities().iter().zip([0.25, 0.75, 0.1, 0.9]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        assert!(binary(&[(0.5, 1)]).before(&[calibration(1.0), calibration(2.0)]).is_err());
    }

    #[test]
    fn equal_mass_leaves_no_bin_empty() {
        let trials: Vec<(f64, u32)> = (0..103).map(|i| (0.5 + 0.2 * (i as f64 / 103.0).powi(3), 1)).collect();
        let found = binary(&trials).calibration(Binning::EqualMass(10));
        assert!(found.curve.iter().all(|bin| bin.n == 10 || bin.n == 11) && found.curve.len() == 10);
        assert_eq!(binary(&trials[..3]).calibration(Binning::EqualMass(10)).curve.len(), 3);
    }

    #[test]
    fn a_temperature_cools_what_is_too_sure() {
        // Always 0.9, right in three of four: at the best temperature 0.75 is said.
        let sure = binary(&[(0.9, 1), (0.9, 1), (0.9, 0), (0.1, 0)]);
        let temperature = sure.temperature();
        assert!((temperature - 9f64.ln() / 3f64.ln()).abs() < 1e-12, "{temperature}");
        let cooled = sure.at(temperature).calibration(Binning::EqualWidth(10));
        assert!(cooled.expected_error < 1e-12 && cooled.accuracy == 0.75);
        assert!(cooled.log_loss < sure.calibration(Binning::EqualWidth(10)).log_loss);
        // At 1 nothing changes; who is always right, or always wrong, goes to the end.
        let same = sure.at(1.0);
        assert!(same.probabilities().iter().zip(sure.probabilities()).all(|(a, b)| (a - b).abs() < 1e-15));
        assert!((binary(&[(0.9, 1)]).temperature() - 0.01).abs() < 1e-9);
        assert!((binary(&[(0.9, 0)]).temperature() - 100.0).abs() < 1e-6);
    }

    #[test]
    fn certainty_that_is_wrong_is_a_number() {
        let wrong = binary(&[(1.0, 0), (1.0, 1)]);
        assert!(
            wrong.calibration(Binning::EqualWidth(10)).log_loss < 20.0 && wrong.temperature().is_finite()
        );
        assert!(wrong.at(2.0).probabilities().iter().all(|p| p.is_finite()));
    }

    #[test]
    fn what_are_no_probabilities_is_refused() {
        let refused =
            |p: &[f32], labels: &[u32], classes| LabelledProbabilities::new(p, labels, classes).is_err();
        assert!(refused(&[0.5, 0.6], &[0], 2) && refused(&[1.5, -0.5], &[0], 2));
        assert!(refused(&[f32::NAN, 0.5], &[0], 2) && refused(&[0.5, 0.5], &[2], 2));
        assert!(refused(&[0.5, 0.5], &[0, 1], 2) && refused(&[], &[], 2) && refused(&[1.0], &[0], 1));
        assert!(!refused(&[0.333_333, 0.666_667], &[0], 2));
    }
}
