//! Logistic regression with an L2 penalty.
//!
//! Minimises `||W||^2 / 2 + c sum_i s_i loss_i`, c being scikit-learn's `C` and s_i the weight of the example's class; the biases are
//! free. Two classes have one row of weights and the loss `ln(1 + exp(-f))` of class 1 against class 0; more classes have a row each
//! and the loss of a softmax, as scikit-learn has it. Solved by Newton steps, each found by conjugate gradients: the
//! minimum is the only one, so the way to it does not matter.

use nalgebra::{DMatrix, DVector};

use super::linear::class_counts;
use super::matrices::{Matrices, NamedMatrices, column};
use crate::error::{Error, Result};
use crate::probabilities::softmax;

/// Most Newton steps; ten are common.
const STEPS: usize = 200;
/// Most conjugate gradients for one of them.
const GRADIENTS: usize = 500;

/// How a regression is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regularisation {
    /// What the losses weigh against the penalty, scikit-learn's `C`.
    pub inverse_penalty: f64,
    /// Whether classes weigh the same however many examples they have.
    pub balanced: bool,
    /// The largest entry of the gradient at which the minimum is found, as a share of the examples' weight.
    pub tolerance: f64,
}

/// A linear classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    /// `[K, F]`, a class a row; with two classes `[1, F]`, of class 1.
    pub weights: DMatrix<f64>,
    /// One per row.
    pub biases: DVector<f64>,
}

impl Logistic {
    /// Learns from features `[n, F]`, an example a row.
    pub fn fit(
        features: &DMatrix<f64>,
        labels: &[u32],
        classes: usize,
        regularisation: Regularisation,
    ) -> Result<Logistic> {
        regularisation.check()?;
        let counts = class_counts(features.nrows(), labels, classes)?;
        if features.iter().any(|v| !v.is_finite()) {
            return Err(Error::trials(
                "a feature is not a number",
                "look for missing samples and for flat channels in the signal",
            ));
        }
        let weight = |class: usize| match regularisation.balanced {
            true => labels.len() as f64 / (classes * counts[class]) as f64,
            false => 1.0,
        };
        let scale = labels.iter().map(|&l| regularisation.inverse_penalty * weight(l as usize));
        let problem = Problem {
            features,
            across: features.transpose(),
            labels,
            scale: DVector::from_iterator(labels.len(), scale),
            rows: if classes == 2 { 1 } else { classes },
        };
        Ok(problem.minimum(regularisation.tolerance))
    }

    /// The probability of every class, `[K]`.
    pub fn probabilities(&self, features: &[f64]) -> Result<DVector<f64>> {
        if features.len() != self.weights.ncols() {
            let (needed, given) = (self.weights.ncols(), features.len());
            return Err(Error::Configuration(format!("{needed} features are needed, {given} are given")));
        }
        let scores = &self.weights * DVector::from_column_slice(features) + &self.biases;
        let p = match scores.as_slice() {
            [score] => softmax(&[0.0, *score]),
            scores => softmax(scores),
        };
        Ok(p.into())
    }

    /// What goes into a file.
    pub(crate) fn matrices(&self) -> NamedMatrices {
        vec![("logistic.weights", self.weights.clone()), ("logistic.biases", column(&self.biases))]
    }

    /// From a file, for so many classes and features.
    pub(crate) fn restore(file: &Matrices, classes: usize, features: usize) -> Result<Logistic> {
        let rows = if classes == 2 { 1 } else { classes };
        let weights = file.sized("logistic.weights", rows, features)?;
        Ok(Logistic { weights, biases: file.vector("logistic.biases", rows)? })
    }

    /// Number of fitted parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.weights.len() + self.biases.len()
    }
}

impl Regularisation {
    /// Refuses what cannot be minimised.
    pub(crate) fn check(&self) -> Result<()> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        if !positive(self.inverse_penalty) {
            let given = self.inverse_penalty;
            return Err(Error::Configuration(format!("an inverse penalty of {given} is not above 0")));
        }
        if !positive(self.tolerance) {
            return Err(Error::Configuration(format!("a tolerance of {} is not above 0", self.tolerance)));
        }
        Ok(())
    }
}

/// What is minimised. A point is `[F + 1, R]`, a row of weights and its bias a column.
struct Problem<'a> {
    features: &'a DMatrix<f64>,
    /// The same, an example a column: products with it are fast.
    across: DMatrix<f64>,
    labels: &'a [u32],
    scale: DVector<f64>,
    rows: usize,
}

impl Problem<'_> {
    /// `[n, R]`: what a point, or a direction, says about every example.
    fn scores(&self, point: &DMatrix<f64>) -> DMatrix<f64> {
        let count = self.features.ncols();
        let mut scores = self.features * point.rows(0, count);
        for (mut column, bias) in scores.column_iter_mut().zip(point.row(count).iter()) {
            column.add_scalar_mut(*bias);
        }
        scores
    }

    /// The penalty's part of a gradient and that of the losses, whose derivatives by the scores are `[n, R]`.
    fn gathered(&self, point: &DMatrix<f64>, by_scores: &DMatrix<f64>) -> DMatrix<f64> {
        let count = self.features.ncols();
        let mut gathered = point.clone();
        gathered.row_mut(count).fill(0.0);
        gathered.rows_mut(0, count).gemm(1.0, &self.across, by_scores, 1.0);
        for (mut to, from) in gathered.column_iter_mut().zip(by_scores.column_iter()) {
            to[count] += from.sum();
        }
        gathered
    }

    /// The value, and for every example the derivatives by its scores and the probabilities.
    fn value(&self, point: &DMatrix<f64>, scores: &DMatrix<f64>) -> (f64, DMatrix<f64>, DMatrix<f64>) {
        let mut value = 0.5 * point.rows(0, self.features.ncols()).norm_squared();
        let (mut slopes, mut likely) = (scores.clone(), scores.clone());
        for (i, &label) in self.labels.iter().enumerate() {
            let scale = self.scale[i];
            if self.rows == 1 {
                let score = scores[i];
                // Large scores must not overflow.
                let small = (-score.abs()).exp();
                let p = if score >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
                let signed = if label == 1 { -score } else { score };
                value += scale * (signed.max(0.0) + small.ln_1p());
                likely[i] = p;
                slopes[i] = scale * (p - f64::from(label));
                continue;
            }
            let row = scores.row(i);
            let largest = row.max();
            let sum: f64 = row.iter().map(|s| (s - largest).exp()).sum();
            value += scale * (largest + sum.ln() - row[label as usize]);
            for class in 0..self.rows {
                let p = (scores[(i, class)] - largest).exp() / sum;
                likely[(i, class)] = p;
                slopes[(i, class)] = scale * (p - f64::from(u8::from(label as usize == class)));
            }
        }
        (value, slopes, likely)
    }

    /// The second derivative in a direction.
    fn curved(&self, direction: &DMatrix<f64>, likely: &DMatrix<f64>) -> DMatrix<f64> {
        let mut scores = self.scores(direction);
        for i in 0..self.labels.len() {
            if self.rows == 1 {
                scores[i] *= self.scale[i] * likely[i] * (1.0 - likely[i]);
                continue;
            }
            let mean = scores.row(i).dot(&likely.row(i));
            for class in 0..self.rows {
                scores[(i, class)] = self.scale[i] * likely[(i, class)] * (scores[(i, class)] - mean);
            }
        }
        self.gathered(direction, &scores)
    }

    /// A step to where the second derivatives say the minimum is, as exactly as `enough` asks.
    fn step(&self, gradient: &DMatrix<f64>, likely: &DMatrix<f64>, enough: f64) -> DMatrix<f64> {
        let mut step = DMatrix::zeros(gradient.nrows(), gradient.ncols());
        let mut rest = -gradient;
        let mut direction = rest.clone();
        let mut size = rest.norm_squared();
        for _ in 0..GRADIENTS {
            if size.sqrt() <= enough {
                break;
            }
            let curved = self.curved(&direction, likely);
            let curvature = direction.dot(&curved);
            // Nothing bends any more in this direction: rounding is all there is.
            if curvature <= f64::EPSILON * size {
                break;
            }
            let length = size / curvature;
            step += &direction * length;
            rest -= curved * length;
            let before = std::mem::replace(&mut size, rest.norm_squared());
            direction = &rest + direction * (size / before);
        }
        step
    }

    fn minimum(&self, tolerance: f64) -> Logistic {
        let count = self.features.ncols();
        let mut point = DMatrix::zeros(count + 1, self.rows);
        let mut scores = self.scores(&point);
        let (mut value, mut slopes, mut likely) = self.value(&point, &scores);
        for _ in 0..STEPS {
            let gradient = self.gathered(&point, &slopes);
            if gradient.amax() <= tolerance * self.scale.sum() {
                break;
            }
            let size = gradient.norm();
            let step = self.step(&gradient, &likely, size * size.sqrt().min(0.1));
            let (moved, slope) = (self.scores(&step), gradient.dot(&step));
            let mut length = 1.0;
            let better = loop {
                let (to, new_scores) = (&point + &step * length, &scores + &moved * length);
                let (lower, by_scores, probabilities) = self.value(&to, &new_scores);
                if lower <= value + 1e-4 * length * slope {
                    break Some((to, new_scores, lower, by_scores, probabilities));
                }
                length *= 0.5;
                if length < 1e-10 {
                    break None;
                }
            };
            // No step is better: the minimum but for rounding.
            let Some(better) = better else { break };
            (point, scores, value, slopes, likely) = better;
        }
        Logistic { weights: point.rows(0, count).transpose(), biases: point.row(count).transpose() }
    }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::covariance::{Estimator, estimate};
    use ptsm_signal::spd::{TangentSpace, karcher_mean};

    use super::super::decoder::rows;
    use super::super::golden::{close, test_trials, train_trials};
    use super::*;

    const PLAIN: Regularisation = Regularisation { inverse_penalty: 1.0, balanced: false, tolerance: 1e-10 };

    /// Even trials are of class 1.
    fn labels(n: u32) -> Vec<u32> {
        (0..n).map(|m| 1 - m % 2).collect()
    }

    fn covariances(trials: &[Vec<f64>]) -> Vec<DMatrix<f64>> {
        trials.iter().map(|x| estimate(x, 3, Estimator::Oas)).collect()
    }

    #[test]
    fn tangent_vectors_are_classified_as_scikit_learn_does() {
        let train = covariances(&train_trials());
        let space = TangentSpace::at(karcher_mean(&train).unwrap()).unwrap();
        let vectors: Vec<_> = train.iter().map(|c| space.vector(c).unwrap()).collect();
        let found = Logistic::fit(&rows(&vectors), &labels(12), 2, PLAIN).unwrap();
        let expected = [1.19669813, 0.03316145, 0.01461381, -1.29894598, 0.04559463, -0.00674624];
        close(found.weights.as_slice(), &expected, 1e-3);
        close(found.biases.as_slice(), &[0.00543532], 1e-3);
        let test = covariances(&test_trials());
        let p = found.probabilities(&space.vector(&test[0]).unwrap()).unwrap();
        close(&[p[1], p.sum()], &[0.79383, 1.0], 1e-4);
    }

    fn examples(n: usize) -> DMatrix<f64> {
        DMatrix::from_fn(n, 3, |i, j| ((i * i * (j + 1)) as f64).sin() + 0.3 * (i * (j + 2)) as f64 % 1.7)
    }

    /// The gradient as its definition has it.
    fn gradient(found: &Logistic, features: &DMatrix<f64>, labels: &[u32], scales: &[f64]) -> DMatrix<f64> {
        let classes = if found.weights.nrows() == 1 { 2 } else { found.weights.nrows() };
        let mut gradient = DMatrix::zeros(classes, features.ncols() + 1);
        for (i, &label) in labels.iter().enumerate() {
            let x: Vec<f64> = features.row(i).iter().copied().collect();
            let p = found.probabilities(&x).unwrap();
            for class in 0..classes {
                let off = scales[i] * (p[class] - f64::from(u8::from(label as usize == class)));
                for (j, x) in x.iter().chain([&1.0]).enumerate() {
                    gradient[(class, j)] += off * x;
                }
            }
        }
        if classes == 2 {
            gradient = gradient.rows(1, 1).into_owned();
        }
        let columns = features.ncols();
        let mut weights = gradient.columns_mut(0, columns);
        weights += &found.weights;
        gradient
    }

    #[test]
    fn nothing_pulls_at_the_minimum() {
        for classes in [2u32, 4] {
            let labels: Vec<u32> = (0..40u32).map(|i| (i * i / 3 + i) % classes).collect();
            let mut counts = vec![0; classes as usize];
            labels.iter().for_each(|&l| counts[l as usize] += 1);
            for balanced in [false, true] {
                let regularisation = Regularisation { inverse_penalty: 2.5, balanced, tolerance: 1e-13 };
                let found = Logistic::fit(&examples(40), &labels, classes as usize, regularisation).unwrap();
                let even = |l: u32| 40.0 / f64::from(classes) / f64::from(counts[l as usize]);
                let scales: Vec<f64> =
                    labels.iter().map(|&l| 2.5 * if balanced { even(l) } else { 1.0 }).collect();
                assert!(gradient(&found, &examples(40), &labels, &scales).amax() < 1e-9);
            }
        }
    }

    #[test]
    fn separable_examples_and_large_features_do_no_harm() {
        let labels: Vec<u32> = (0..20).map(|i| u32::from(i >= 10)).collect();
        let features = DMatrix::from_fn(20, 1, |i, _| 1e5 * (i as f64 - 9.5));
        let regularisation = Regularisation { inverse_penalty: 1e6, ..PLAIN };
        let found = Logistic::fit(&features, &labels, 2, regularisation).unwrap();
        assert!(found.probabilities(&[1e9]).unwrap()[1] > 0.999 && found.weights[0].is_finite());
    }

    #[test]
    fn data_that_cannot_be_fitted_are_refused() {
        let refused = |features: &DMatrix<f64>, labels: &[u32], regularisation| {
            Logistic::fit(features, labels, 2, regularisation).unwrap_err().to_string()
        };
        let labels = labels(8);
        assert!(refused(&examples(7), &labels, PLAIN).contains("7 examples"));
        assert!(refused(&examples(8).map(|_| f64::NAN), &labels, PLAIN).contains("not a number"));
        assert!(
            refused(&examples(8), &labels, Regularisation { inverse_penalty: 0.0, ..PLAIN }).contains("0")
        );
        assert!(
            refused(&examples(8), &labels, Regularisation { tolerance: f64::NAN, ..PLAIN }).contains("NaN")
        );
        let found = Logistic::fit(&examples(8), &labels, 2, PLAIN).unwrap();
        assert!(found.probabilities(&[1.0]).unwrap_err().to_string().contains("3 features"));
    }
}
