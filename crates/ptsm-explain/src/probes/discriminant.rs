//! Linear discriminant analysis that is refitted in no time when only the labels change.

use nalgebra::{Cholesky, DMatrix, DVector};

/// How much of the covariance is spread evenly over all directions.
const SHRINKAGE: f64 = 0.1;

/// Trials whose scatter is known, so that labels need no second look at them. All classes count as equally likely.
pub(super) struct Discriminant {
    train: DMatrix<f64>,
    test: DMatrix<f64>,
    /// `[F, F]`, around the mean of all.
    scatter: DMatrix<f64>,
}

impl Discriminant {
    /// From rows to learn from and rows to be asked about.
    pub(super) fn new(mut train: DMatrix<f64>, mut test: DMatrix<f64>) -> Discriminant {
        let mean = train.row_mean();
        for mut row in train.row_iter_mut() {
            row -= &mean;
        }
        for mut row in test.row_iter_mut() {
            row -= &mean;
        }
        let scatter = train.transpose() * &train;
        Discriminant { train, test, scatter }
    }

    /// The decoded classes of the test trials when the training trials have these labels. Every class has a trial.
    pub(super) fn answers(&self, labels: &[usize], classes: usize) -> Vec<usize> {
        let width = self.train.ncols();
        let mut counts = vec![0.0; classes];
        labels.iter().for_each(|&label| counts[label] += 1.0);
        let mut means = DMatrix::<f64>::zeros(width, classes);
        for (feature, column) in self.train.column_iter().enumerate() {
            for (value, &label) in column.iter().zip(labels) {
                means[(feature, label)] += value / counts[label];
            }
        }
        // What is inside classes is what is around the mean of all less what is between them.
        let mut weighted = means.clone();
        for (mut column, count) in weighted.column_iter_mut().zip(&counts) {
            column *= *count;
        }
        let mut within = &self.scatter - weighted * means.transpose();
        let even = within.trace().max(f64::MIN_POSITIVE) / width as f64;
        within *= 1.0 - SHRINKAGE;
        for i in 0..width {
            within[(i, i)] += SHRINKAGE * even;
        }
        within /= labels.len() as f64;
        // Shrunk, it is positive definite; where nothing differs inside classes but by rounding, all directions are the same.
        let weights = match Cholesky::new(within) {
            Some(root) => root.solve(&means),
            None => means.clone(),
        };
        let offsets = DVector::from_iterator(
            classes,
            means.column_iter().zip(weights.column_iter()).map(|(m, w)| 0.5 * m.dot(&w)),
        );
        largest(&(&self.test * weights), |score, class| score - offsets[class])
    }
}

/// In every row, the class with the largest score.
pub(super) fn largest(scores: &DMatrix<f64>, of: impl Fn(f64, usize) -> f64) -> Vec<usize> {
    let mut best = vec![(f64::NEG_INFINITY, 0); scores.nrows()];
    for (class, column) in scores.column_iter().enumerate() {
        for (best, score) in best.iter_mut().zip(column.iter()) {
            let score = of(*score, class);
            if score > best.0 {
                *best = (score, class);
            }
        }
    }
    best.into_iter().map(|(_, class)| class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_without_spread_counts_most() {
        // The classes differ in the first feature by little and in nothing else; the second is loud.
        let value = |i: usize, j: usize| match j {
            0 => 0.1 * (i % 2) as f64,
            _ => (7.0 * i as f64).sin(),
        };
        let train = DMatrix::from_fn(40, 2, value);
        let labels: Vec<usize> = (0..40).map(|i| i % 2).collect();
        let test = DMatrix::from_row_slice(2, 2, &[0.1, -1.0, 0.0, 1.0]);
        assert_eq!(Discriminant::new(train, test).answers(&labels, 2), [1, 0]);
    }

    #[test]
    fn nothing_at_all_does_no_harm() {
        let zeros = DMatrix::zeros(4, 2);
        assert_eq!(Discriminant::new(zeros.clone(), zeros).answers(&[0, 1, 0, 1], 2), [0; 4]);
    }
}
