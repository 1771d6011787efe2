//! Linear discriminant analysis: classes as normal clouds of one shape.
//!
//! Paper: Friedman 1989, doi:10.1080/01621459.1989.10478752; shrinkage: Ledoit & Wolf 2004, doi:10.1016/S0047-259X(03)00096-4
//! The discriminant of class k is `d_k(x) = x^T Sw^-1 m_k - m_k^T Sw^-1 m_k / 2 + ln pi_k`, with Sw the covariance inside the
//! classes (1/n each, weighted by the priors) and the priors from counts: scikit-learn's `lsqr` solver. Probabilities are
//! the softmax of the discriminants. With two classes the decision is `d_1 - d_0`.

use nalgebra::{DMatrix, DVector};
use ptsm_signal::covariance::{Estimator, estimate};
use serde::{Deserialize, Serialize};

use super::cholesky::Cholesky;
use super::linear::{RANK_TOLERANCE, class_counts, eigen};
use super::matrices::{Matrices, NamedMatrices, column};
use crate::error::{Error, Result};
use crate::probabilities::softmax;

/// How the covariance inside a class is pulled towards `mu I`, mu being its mean variance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shrinkage {
    /// Not at all.
    #[default]
    None,
    /// By this weight between 0 and 1.
    Fixed(f64),
    /// By Ledoit and Wolf's weight, of features standardised inside the class; sizes are put back afterwards.
    Auto,
}

impl Shrinkage {
    /// Refuses a weight that is none.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Shrinkage::Fixed(weight) if !(0.0..=1.0).contains(&weight) => {
                Err(Error::Configuration(format!("a shrinkage of {weight} is not between 0 and 1")))
            }
            _ => Ok(()),
        }
    }
}

/// A linear classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Lda {
    /// `[K, F]`, a class a row.
    pub weights: DMatrix<f64>,
    /// `[K]`.
    pub biases: DVector<f64>,
}

impl Lda {
    /// Learns from features `[n, F]`, an example a row.
    pub fn fit(features: &DMatrix<f64>, labels: &[u32], classes: usize, shrinkage: Shrinkage) -> Result<Lda> {
        shrinkage.check()?;
        let counts = class_counts(features.nrows(), labels, classes)?;
        if features.ncols() == 0 {
            return Err(Error::Configuration("there is no feature to learn from".into()));
        }
        let mut means = DMatrix::zeros(features.ncols(), classes);
        let mut inside = DMatrix::zeros(features.ncols(), features.ncols());
        let priors: Vec<f64> = counts.iter().map(|&n| n as f64 / labels.len() as f64).collect();
        for (class, prior) in priors.iter().enumerate() {
            let rows: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] as usize == class).collect();
            let own = features.select_rows(&rows);
            means.set_column(class, &own.row_mean().transpose());
            inside += class_covariance(own, shrinkage) * *prior;
        }
        let weights = solve(&inside, &means)?.transpose();
        let biases = DVector::from_iterator(
            classes,
            (0..classes).map(|k| -0.5 * (weights.row(k) * means.column(k))[0] + priors[k].ln()),
        );
        Ok(Lda { weights, biases })
    }

    /// `d_k` of every class, `[K]`.
    pub fn discriminants(&self, features: &[f64]) -> Result<DVector<f64>> {
        if features.len() != self.weights.ncols() {
            let (needed, given) = (self.weights.ncols(), features.len());
            return Err(Error::Configuration(format!("{needed} features are needed, {given} are given")));
        }
        Ok(&self.weights * DVector::from_column_slice(features) + &self.biases)
    }

    /// The probability of every class, `[K]`.
    pub fn probabilities(&self, features: &[f64]) -> Result<DVector<f64>> {
        Ok(softmax(self.discriminants(features)?.as_slice()).into())
    }

    /// What goes into a file.
    pub(crate) fn matrices(&self) -> NamedMatrices {
        vec![("lda.weights", self.weights.clone()), ("lda.biases", column(&self.biases))]
    }

    /// From a file, for so many classes and features.
    pub(crate) fn restore(file: &Matrices, classes: usize, features: usize) -> Result<Lda> {
        let weights = file.sized("lda.weights", classes, features)?;
        Ok(Lda { weights, biases: file.vector("lda.biases", classes)? })
    }
}

/// The covariance of one class's examples `[n, F]`.
fn class_covariance(mut own: DMatrix<f64>, shrinkage: Shrinkage) -> DMatrix<f64> {
    // A matrix of examples by rows has its features one after the other in memory, as channels of a signal are.
    let covariance = |own: &DMatrix<f64>, estimator| estimate(own.as_slice(), own.ncols(), estimator);
    match shrinkage {
        Shrinkage::None => covariance(&own, Estimator::Scm),
        Shrinkage::Fixed(weight) => {
            let plain = covariance(&own, Estimator::Scm);
            let mean = plain.trace() / plain.nrows() as f64;
            let size = plain.nrows();
            plain * (1.0 - weight) + DMatrix::identity(size, size) * (weight * mean)
        }
        Shrinkage::Auto => {
            let mut sizes = DVector::zeros(own.ncols());
            for (mut feature, size) in own.column_iter_mut().zip(sizes.iter_mut()) {
                let deviation = feature.variance().sqrt();
                // A feature that does not vary cannot be scaled.
                *size = if deviation > 0.0 { deviation } else { 1.0 };
                feature /= *size;
            }
            let mut shrunk = covariance(&own, Estimator::LedoitWolf);
            for (mut column, size) in shrunk.column_iter_mut().zip(sizes.iter()) {
                column.zip_apply(&sizes, |value, other| *value *= size * other);
            }
            shrunk
        }
    }
}

/// The least pivot of factors that have certainly lost no rank.
const CERTAIN: f64 = 1e-2;

/// `inside^-1 means` through correlations, so that features of different size do no harm.
fn solve(inside: &DMatrix<f64>, means: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    let what = "the covariance inside the classes";
    let hint = "use shrinkage, fewer features or more trials";
    if let Some(feature) = inside.diagonal().iter().position(|&v| v == 0.0) {
        return Err(Error::trials(format!("feature {feature} does not vary inside any class"), hint));
    }
    let sizes = inside.diagonal().map(|v| 1.0 / v.sqrt());
    let mut correlations = inside.clone();
    for (mut column, size) in correlations.column_iter_mut().zip(sizes.iter()) {
        column.zip_apply(&sizes, |value, other| *value *= size * other);
    }
    let mut scaled = means.clone();
    scaled.column_iter_mut().for_each(|mut column| column.component_mul_assign(&sizes));
    // Far from losing rank the factors are good enough, and much faster with many features.
    if let Some(factors) = Cholesky::new(correlations.clone()).filter(|f| f.least_pivot() > CERTAIN) {
        let columns: Vec<_> =
            scaled.column_iter().map(|mean| factors.solve(&mean.into()).component_mul(&sizes)).collect();
        return Ok(DMatrix::from_columns(&columns));
    }
    let (values, vectors) = eigen(&correlations, what)?;
    let floor = RANK_TOLERANCE * values.max();
    let rank = values.iter().filter(|&&v| v > floor).count();
    if rank < values.len() {
        let size = values.len();
        return Err(Error::trials(
            format!("{what} has rank {rank} of {size}, so it cannot be inverted"),
            hint,
        ));
    }
    let half =
        DMatrix::from_diagonal(&sizes) * vectors * DMatrix::from_diagonal(&values.map(|v| 1.0 / v.sqrt()));
    Ok(&half * half.transpose() * means)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::golden::{close, file, numbers};
    use super::*;

    const EXAMPLES: [[f64; 2]; 8] =
        [[0.0, 0.0], [1.0, 0.5], [0.5, 1.0], [1.0, 1.5], [2.0, 1.0], [3.0, 2.0], [2.5, 3.0], [3.5, 2.5]];
    const LABELS: [u32; 8] = [0, 0, 0, 0, 1, 1, 1, 1];

    fn examples() -> DMatrix<f64> {
        DMatrix::from_row_slice(8, 2, EXAMPLES.as_flattened())
    }

    /// Weights and bias of `d_1 - d_0`.
    fn difference(lda: &Lda) -> Vec<f64> {
        let weights = lda.weights.row(1) - lda.weights.row(0);
        weights.iter().copied().chain([lda.biases[1] - lda.biases[0]]).collect()
    }

    #[test]
    fn two_classes_are_those_of_scikit_learn() {
        let lda = Lda::fit(&examples(), &LABELS, 2, Shrinkage::None).unwrap();
        close(&difference(&lda), &[9.50930026572, -0.94951284322, -14.68201948627], 1e-10);
        let d = lda.discriminants(&[1.5, 1.5]).unwrap();
        close(&[d[1] - d[0]], &[-1.84233835252], 1e-10);
        let p = lda.probabilities(&[1.5, 1.5]).unwrap();
        close(&[p[1], p.sum()], &[1.0 / (1.0 + 1.84233835252f64.exp()), 1.0], 1e-10);
        let fixed = Lda::fit(&examples(), &LABELS, 2, Shrinkage::Fixed(0.1)).unwrap();
        close(&difference(&fixed), &[8.55743403381, -0.16432295781, -14.20445568020], 1e-10);
        let auto = Lda::fit(&examples(), &LABELS, 2, Shrinkage::Auto).unwrap();
        close(&difference(&auto), &[8.66562430885, 3.02468224539, -18.97122174892], 1e-10);
    }

    #[test]
    fn three_uneven_classes_are_those_of_scikit_learn() {
        let golden = &file()["lda_three_classes"];
        let labels: Vec<u32> = numbers(&golden["labels"]).iter().map(|&l| l as u32).collect();
        let features = DMatrix::from_row_slice(labels.len(), 4, &numbers(&golden["features"]));
        let probe = numbers(&golden["probe"]);
        for (name, shrinkage) in
            [("none", Shrinkage::None), ("fixed", Shrinkage::Fixed(0.3)), ("auto", Shrinkage::Auto)]
        {
            let lda = Lda::fit(&features, &labels, 3, shrinkage).unwrap();
            let expected = &golden[name];
            close(lda.weights.transpose().as_slice(), &numbers(&expected["weights"]), 1e-10);
            close(lda.biases.as_slice(), &numbers(&expected["biases"]), 1e-10);
            close(lda.probabilities(&probe).unwrap().as_slice(), &numbers(&expected["probabilities"]), 1e-11);
        }
    }

    #[test]
    fn far_away_is_certain_and_not_undefined() {
        let lda = Lda::fit(&examples(), &LABELS, 2, Shrinkage::None).unwrap();
        assert_eq!(lda.probabilities(&[1e6, 0.0]).unwrap().as_slice(), [0.0, 1.0]);
    }

    #[test]
    fn features_that_repeat_need_shrinkage() {
        let twice = DMatrix::from_fn(8, 2, |i, _| EXAMPLES[i][0]);
        let error = Lda::fit(&twice, &LABELS, 2, Shrinkage::None).unwrap_err();
        assert!(error.to_string().contains("rank 1 of 2") && error.hint().unwrap().contains("shrinkage"));
        for shrinkage in [Shrinkage::Fixed(0.1), Shrinkage::Auto] {
            assert!(Lda::fit(&twice, &LABELS, 2, shrinkage).is_ok(), "{shrinkage:?}");
        }
        let flat = DMatrix::from_fn(8, 2, |i, j| if j == 0 { EXAMPLES[i][0] } else { 1.0 });
        assert!(Lda::fit(&flat, &LABELS, 2, Shrinkage::None).unwrap_err().to_string().contains("feature 1"));
    }

    #[test]
    fn data_that_cannot_be_fitted_are_refused() {
        let refused = |features: &DMatrix<f64>, labels: &[u32], k, shrinkage| {
            Lda::fit(features, labels, k, shrinkage).unwrap_err().to_string()
        };
        assert!(refused(&examples(), &LABELS[1..], 2, Shrinkage::None).contains("8 examples"));
        assert!(refused(&examples(), &LABELS, 1, Shrinkage::None).contains("1 classes"));
        assert!(refused(&examples(), &[7; 8], 2, Shrinkage::None).contains("label 7"));
        assert!(refused(&examples(), &[0; 8], 2, Shrinkage::None).contains("class 1 of 2"));
        assert!(refused(&examples(), &LABELS, 2, Shrinkage::Fixed(f64::NAN)).contains("NaN"));
        assert!(refused(&examples().map(|_| f64::NAN), &LABELS, 2, Shrinkage::Auto).contains("not a number"));
        assert!(refused(&DMatrix::zeros(8, 0), &LABELS, 2, Shrinkage::None).contains("no feature"));
        let lda = Lda::fit(&examples(), &LABELS, 2, Shrinkage::None).unwrap();
        assert!(lda.probabilities(&[1.0]).unwrap_err().to_string().contains("2 features"));
    }
}
