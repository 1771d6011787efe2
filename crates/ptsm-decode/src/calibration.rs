//! How sure a decoder should be: temperature and class offsets, `p = softmax((z - b) / T)`, fitted on subjects it was not trained on.
//!
//! A network's probabilities are those of the subjects it learnt from, by whom it was fitted until it was sure; of others it is less often
//! right. Fitted are `log T` and `b / T` by the likelihood of the labels, with standard normal priors, which a few dozen trials outweigh. Every class weighs
//! the same: the probabilities are those of classes that are equally frequent, whatever their share among the trials.
//!
//! Guo et al. 2017, "On calibration of modern neural networks": temperature; offsets are their "bias" of vector scaling.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use crate::probabilities::{log_sum_exp, softmax};

/// Temperature and offsets of a decoder's logits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogitCalibration {
    /// Above 1 where the decoder was too sure.
    pub temperature: f64,
    /// What is taken from each class's logit first.
    pub offsets: Vec<f64>,
}

/// Steps of Newton's method that are never needed.
const MOST_STEPS: usize = 100;

impl LogitCalibration {
    /// Fits it to logits `[n, K]` of trials with known classes, of which there is at least one. Where mirroring exchanges classes, the
    /// offsets of two that become each other are the same.
    pub fn fit(
        logits: &[f64],
        labels: &[u32],
        classes: usize,
        exchanged: Option<&[u32]>,
    ) -> LogitCalibration {
        let mut trials = weighed(logits, labels, classes);
        if let Some(exchanged) = exchanged {
            // An equivariant decoder gives the image of a trial the same logits, exchanged: images tie the offsets together.
            trials.iter_mut().for_each(|(_, _, weight)| *weight *= 0.5);
            let image = |(z, label, weight): &(Vec<f64>, usize, f64)| {
                (
                    exchanged.iter().map(|&class| z[class as usize]).collect(),
                    exchanged[*label] as usize,
                    *weight,
                )
            };
            let images: Vec<_> = trials.iter().map(image).collect();
            trials.extend(images);
        }
        let at = minimise(&trials, DVector::zeros(classes + 1), classes);
        let temperature = (-at[0]).exp();
        LogitCalibration { temperature, offsets: at.iter().skip(1).map(|c| c * temperature).collect() }
    }

    /// The same with a temperature alone, which changes no decision: all offsets are 0.
    pub fn fit_temperature(logits: &[f64], labels: &[u32], classes: usize) -> LogitCalibration {
        let at = minimise(&weighed(logits, labels, classes), DVector::zeros(1), classes);
        LogitCalibration { temperature: (-at[0]).exp(), offsets: vec![0.0; classes] }
    }

    /// What the probabilities of a trial were before this calibration, from what they are after it.
    pub fn undo(&self, probabilities: &[f32]) -> Vec<f64> {
        let logarithm = |p: &f32| f64::from(p.max(f32::MIN_POSITIVE)).ln();
        let logits = probabilities.iter().zip(&self.offsets);
        softmax(&logits.map(|(p, b)| logarithm(p) * self.temperature + b).collect::<Vec<f64>>())
    }

    /// The logits to take the softmax of.
    pub fn apply(&self, logits: &[f64]) -> Vec<f64> {
        logits.iter().zip(&self.offsets).map(|(z, b)| (z - b) / self.temperature).collect()
    }
}

/// Logits, class and weight of each trial: every class weighs the same, all together as much as there are trials.
fn weighed(logits: &[f64], labels: &[u32], classes: usize) -> Vec<(Vec<f64>, usize, f64)> {
    let mut counts = vec![0usize; classes];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    let present = counts.iter().filter(|&&n| n > 0).count();
    let weight = |label: usize| labels.len() as f64 / (present * counts[label]) as f64;
    let each = logits.chunks_exact(classes).zip(labels);
    each.map(|(z, &label)| (z.to_vec(), label as usize, weight(label as usize))).collect()
}

/// The parameters of the least loss: the first one is the logarithm of the inverse temperature, the others, where there are more, are
/// offsets of scaled logits.
fn minimise(trials: &[(Vec<f64>, usize, f64)], mut at: DVector<f64>, classes: usize) -> DVector<f64> {
    let mut loss = Loss::new(trials, &at, classes);
    for _ in 0..MOST_STEPS {
        let Some(newton) = loss.curvature.clone().cholesky().map(|c| c.solve(&loss.slope)) else { break };
        let (mut part, mut next) = (1.0, None);
        while part > 1e-8 && next.is_none() {
            let tried = &at - &newton * part;
            let of_tried = Loss::new(trials, &tried, classes);
            if of_tried.value < loss.value {
                next = Some((tried, of_tried));
            }
            part *= 0.5;
        }
        let Some(next) = next else { break };
        let gained = loss.value - next.1.value;
        (at, loss) = next;
        if gained < 1e-12 {
            break;
        }
    }
    at
}

/// What is made small, at some parameters: offsets are 0 where there is the temperature alone.
struct Loss {
    value: f64,
    slope: DVector<f64>,
    /// Fisher's information with that of the priors: positive definite everywhere.
    curvature: DMatrix<f64>,
}

impl Loss {
    fn new(trials: &[(Vec<f64>, usize, f64)], at: &DVector<f64>, classes: usize) -> Loss {
        let size = at.len();
        let offset = |k: usize| at.get(k + 1).copied().unwrap_or(0.0);
        let mut loss = Loss {
            value: 0.5 * at.norm_squared(),
            slope: at.clone(),
            curvature: DMatrix::identity(size, size),
        };
        let scale = at[0].exp();
        for (z, label, weight) in trials {
            let scaled: Vec<f64> = z.iter().map(|z| z * scale).collect();
            let scores: Vec<f64> = scaled.iter().enumerate().map(|(k, s)| s - offset(k)).collect();
            let p = softmax(&scores);
            loss.value += weight * (log_sum_exp(&scores) - scores[*label]);
            // Of each class's score by all parameters.
            let by = |k: usize, parameter: usize| match parameter {
                0 => scaled[k],
                other => -f64::from(u8::from(other == k + 1)),
            };
            let mean: Vec<f64> = (0..size).map(|i| (0..classes).map(|k| p[k] * by(k, i)).sum()).collect();
            for i in 0..size {
                loss.slope[i] += weight * (mean[i] - by(*label, i));
                for j in 0..size {
                    let product: f64 = (0..classes).map(|k| p[k] * by(k, i) * by(k, j)).sum();
                    loss.curvature[(i, j)] += weight * (product - mean[i] * mean[j]);
                }
            }
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Logits of a decoder that is too sure, and shifted, with the classes drawn from what it should have said.
    fn simulated(n: usize, temperature: f64, offsets: [f64; 3], frequent: f64) -> (Vec<f64>, Vec<u32>) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut logits, mut labels) = (vec![], vec![]);
        while labels.len() < n {
            let honest: Vec<f64> = (0..3).map(|_| 3.0 * (rng.random::<f64>() - 0.5)).collect();
            let p = softmax(&honest);
            let drawn: f64 = rng.random();
            let label = if drawn < p[0] {
                0
            } else if drawn < p[0] + p[1] {
                1
            } else {
                2
            };
            // The other classes are rarer than the first.
            if label > 0 && rng.random::<f64>() > frequent {
                continue;
            }
            logits.extend(honest.iter().zip(offsets).map(|(z, b)| z * temperature + b));
            labels.push(label);
        }
        (logits, labels)
    }

    #[test]
    fn it_finds_temperature_and_offsets_whatever_the_share_of_classes() {
        for frequent in [1.0, 0.2] {
            let (logits, labels) = simulated(20_000, 4.0, [1.0, -1.0, 0.0], frequent);
            let found = LogitCalibration::fit(&logits, &labels, 3, None);
            assert!((found.temperature / 4.0 - 1.0).abs() < 0.06, "{frequent}: {found:?}");
            let mean = found.offsets.iter().sum::<f64>() / 3.0;
            for (found, true_offset) in found.offsets.iter().zip([1.0, -1.0, 0.0]) {
                assert!((found - mean - true_offset).abs() < 0.25, "{frequent}: {found} {true_offset}");
            }
        }
    }

    #[test]
    fn a_temperature_alone_is_found_below_1_and_above_and_moves_no_class() {
        for true_temperature in [0.4, 4.0] {
            let (logits, labels) = simulated(20_000, true_temperature, [0.0; 3], 0.3);
            let found = LogitCalibration::fit_temperature(&logits, &labels, 3);
            assert!((found.temperature / true_temperature - 1.0).abs() < 0.06, "{found:?}");
            assert_eq!(found.offsets, [0.0; 3]);
        }
        // Shifted logits are no reason for an offset.
        let (logits, labels) = simulated(2_000, 1.0, [1.0, -1.0, 0.0], 1.0);
        assert_eq!(LogitCalibration::fit_temperature(&logits, &labels, 3).offsets, [0.0; 3]);
    }

    #[test]
    fn what_was_applied_can_be_undone() {
        let calibration = LogitCalibration { temperature: 2.5, offsets: vec![0.3, -0.2, 0.0] };
        let logits = [1.0, -2.0, 0.5];
        let after: Vec<f32> = softmax(&calibration.apply(&logits)).iter().map(|&p| p as f32).collect();
        for (before, expected) in calibration.undo(&after).iter().zip(softmax(&logits)) {
            assert!((before - expected).abs() < 1e-6, "{before} {expected}");
        }
    }

    #[test]
    fn the_slope_is_that_of_the_loss() {
        let (logits, labels) = simulated(50, 2.0, [0.5, 0.0, -0.5], 1.0);
        let trials: Vec<_> = logits
            .chunks(3)
            .zip(&labels)
            .map(|(z, &l)| (z.to_vec(), l as usize, 1.0 + f64::from(l)))
            .collect();
        for at in [vec![-0.3, 0.2, -0.1, 0.4], vec![-0.3]] {
            let at = DVector::from_vec(at);
            let loss = Loss::new(&trials, &at, 3);
            for i in 0..at.len() {
                let value = |by: f64| {
                    let mut moved = at.clone();
                    moved[i] += by;
                    Loss::new(&trials, &moved, 3).value
                };
                let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!((difference - loss.slope[i]).abs() < 1e-6, "{i}: {difference} {}", loss.slope[i]);
            }
        }
    }

    #[test]
    fn classes_that_are_exchanged_share_an_offset() {
        let (logits, labels) = simulated(300, 3.0, [2.0, -1.0, 0.3], 0.4);
        let found = LogitCalibration::fit(&logits, &labels, 3, Some(&[1, 0, 2]));
        assert!((found.offsets[0] - found.offsets[1]).abs() < 1e-6, "{found:?}");
        assert!((found.offsets[0] - found.offsets[2]).abs() > 0.05, "{found:?}");
    }

    #[test]
    fn few_trials_and_certain_ones_give_finite_numbers() {
        for labels in [&[0u32][..], &[1], &[0, 1], &[0, 0, 0, 0]] {
            let logits: Vec<f64> =
                labels.iter().flat_map(|&l| if l == 0 { [900.0, -900.0] } else { [-900.0, 900.0] }).collect();
            let found = LogitCalibration::fit(&logits, labels, 2, None);
            assert!(found.temperature.is_finite() && found.temperature > 0.0, "{found:?}");
            assert!(found.apply(&logits[..2]).iter().all(|s| s.is_finite()), "{found:?}");
            let alone = LogitCalibration::fit_temperature(&logits, labels, 2).temperature;
            assert!(alone.is_finite() && alone > 0.0, "{alone}");
        }
    }
}
