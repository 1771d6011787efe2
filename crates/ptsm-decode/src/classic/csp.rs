//! Common spatial patterns: channels weighted so that one class has much power and the other little.
//!
//! Papers: Ramoser et al. 2000, doi:10.1109/86.895946; Blankertz et al. 2008, doi:10.1109/MSP.2008.4408441
//! With class means C0 and C1 of the trials' covariances, filters solve `C1 w = e (C0 + C1) w`; those whose e is
//! furthest from 0.5 are kept, scaled to `w^T (C0 + C1) w = 1`. The feature of a trial with covariance S is `log(w^T S w)`.
//!
//! More than two classes: one against the rest. Each class in turn is C1, the mean of the other classes' means is C0, and each
//! turn gives its own filters, one turn after the other.

use nalgebra::{DMatrix, DVector};

use super::linear::{GeneralisedEigen, class_counts, enough, positive};
use crate::error::{Error, Result};

/// Spatial filters.
#[derive(Clone, Debug, PartialEq)]
pub struct Csp {
    /// `[F, C]`, a filter a row, the most telling first (inside its turn). The weight of largest size is positive: a filter is
    /// defined up to its sign.
    pub filters: DMatrix<f64>,
    /// `[F]`, between 0 and 1: the share that class 1 (with more than two classes: the turn's class) has in the sum of both
    /// sides' power behind the filter.
    pub eigenvalues: DVector<f64>,
}

impl Csp {
    /// Learns `filters` filters (with K > 2 classes K times as many) from covariances of trials, each C x C.
    ///
    /// Directions without signal, as an average reference leaves one, are left out; fewer directions than filters are
    /// an error.
    pub fn fit(covariances: &[DMatrix<f64>], labels: &[u32], classes: usize, filters: usize) -> Result<Csp> {
        let counts = class_counts(covariances.len(), labels, classes)?;
        let channels = covariances[0].nrows();
        let mut means = vec![DMatrix::zeros(channels, channels); classes];
        for (trial, (covariance, &label)) in covariances.iter().zip(labels).enumerate() {
            if covariance.shape() != (channels, channels) {
                let (rows, columns) = covariance.shape();
                return Err(Error::Configuration(format!(
                    "the covariance of trial {trial} is {rows} x {columns}, that of trial 0 is {channels} x {channels}"
                )));
            }
            means[label as usize] += covariance / counts[label as usize] as f64;
        }
        if classes == 2 {
            return one_turn(&means[0], &means[1], filters);
        }
        let sum: DMatrix<f64> = means.iter().sum();
        let turns = means
            .iter()
            .map(|mean| one_turn(&((&sum - mean) / (classes - 1) as f64), mean, filters))
            .collect::<Result<Vec<_>>>()?;
        let rows: Vec<_> = turns.iter().flat_map(|turn| turn.filters.row_iter()).collect();
        let eigenvalues: Vec<f64> = turns.iter().flat_map(|turn| turn.eigenvalues.iter().copied()).collect();
        Ok(Csp { filters: DMatrix::from_rows(&rows), eigenvalues: DVector::from_vec(eigenvalues) })
    }

    /// `log(w^T S w)` for every filter: `[F]` from a trial's covariance S, C x C.
    pub fn features(&self, covariance: &DMatrix<f64>) -> Result<DVector<f64>> {
        let channels = self.filters.ncols();
        if covariance.shape() != (channels, channels) {
            let (rows, columns) = covariance.shape();
            return Err(Error::Configuration(format!(
                "filters of {channels} channels do not fit a covariance of {rows} x {columns}"
            )));
        }
        let powers = (&self.filters * covariance).component_mul(&self.filters).column_sum();
        if let Some(filter) = powers.iter().position(|&p| !(p.is_finite() && p > 0.0)) {
            return Err(Error::trials(
                format!("a trial has no power behind spatial filter {filter}"),
                "look for trials in which channels are flat, and leave them out",
            ));
        }
        Ok(powers.map(f64::ln))
    }
}

/// Filters between two class means.
fn one_turn(zero: &DMatrix<f64>, one: &DMatrix<f64>, filters: usize) -> Result<Csp> {
    let names = ["the whitened class mean", "the mean covariance"];
    let GeneralisedEigen { values: shares, vectors: all } = GeneralisedEigen::new(one, &(zero + one), names)?;
    let rank = shares.len();
    enough(filters, rank, one.nrows())?;
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by(|&a, &b| (shares[b] - 0.5).abs().total_cmp(&(shares[a] - 0.5).abs()));
    order.truncate(filters);
    let mut kept = all.select_columns(&order);
    for mut filter in kept.column_iter_mut() {
        positive(&mut filter);
    }
    Ok(Csp {
        filters: kept.transpose(),
        eigenvalues: DVector::from_iterator(filters, order.iter().map(|&i| shares[i])),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ptsm_signal::covariance::{Estimator, estimate};

    use super::super::golden::{close, file, matrices, numbers, test_trials, train_trials};
    use super::super::{Lda, Shrinkage};
    use super::*;

    fn covariances(trials: &[Vec<f64>], estimator: Estimator) -> Vec<DMatrix<f64>> {
        trials.iter().map(|x| estimate(x, 3, estimator)).collect()
    }

    /// Even trials are of class 1.
    fn labels(n: u32) -> Vec<u32> {
        (0..n).map(|m| 1 - m % 2).collect()
    }

    /// Class means of two classes.
    fn means(covariances: &[DMatrix<f64>], labels: &[u32]) -> [DMatrix<f64>; 2] {
        [0, 1].map(|k| {
            let of: Vec<_> =
                covariances.iter().zip(labels).filter(|(_, l)| **l == k).map(|(c, _)| c).collect();
            let n = of.len() as f64;
            of.into_iter().sum::<DMatrix<f64>>() / n
        })
    }

    #[test]
    fn filters_and_features_are_those_of_pyriemann() {
        let train = covariances(&train_trials(), Estimator::Oas);
        let all = Csp::fit(&train, &labels(12), 2, 3).unwrap();
        close(all.eigenvalues.as_slice(), &[0.20817882735, 0.79026865855, 0.49966853696], 1e-10);
        let two = Csp::fit(&train, &labels(12), 2, 2).unwrap();
        assert_eq!(two.filters, all.filters.rows(0, 2).into_owned());
        close(two.features(&train[0]).unwrap().as_slice(), &[-1.51391206784, -0.61394625809], 1e-10);
        close(two.features(&train[1]).unwrap().as_slice(), &[-0.23900586015, -1.96020319281], 1e-10);
    }

    #[test]
    fn filters_make_both_class_means_diagonal() {
        let train = covariances(&train_trials(), Estimator::Oas);
        let csp = Csp::fit(&train, &labels(12), 2, 3).unwrap();
        let w = &csp.filters;
        let [zero, one] = means(&train, &labels(12));
        let shares = DMatrix::from_diagonal(&csp.eigenvalues);
        close((w * &one * w.transpose()).as_slice(), shares.as_slice(), 1e-12);
        let rest = DMatrix::identity(3, 3) - shares;
        close((w * &zero * w.transpose()).as_slice(), rest.as_slice(), 1e-12);
    }

    #[test]
    fn the_size_of_a_channel_does_not_matter() {
        // Without shrinkage, which is not blind to sizes.
        let scaled = |trials: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let grow =
                |x: Vec<f64>| x.iter().enumerate().map(|(i, v)| if i < 60 { 40.0 * v } else { *v }).collect();
            trials.into_iter().map(grow).collect()
        };
        let decide = |train: Vec<Vec<f64>>, test: Vec<Vec<f64>>| -> (Vec<f64>, Vec<f64>) {
            let train = covariances(&train, Estimator::Scm);
            let csp = Csp::fit(&train, &labels(12), 2, 3).unwrap();
            let rows: Vec<_> = train.iter().map(|c| csp.features(c).unwrap().transpose()).collect();
            let lda = Lda::fit(&DMatrix::from_rows(&rows), &labels(12), 2, Shrinkage::None).unwrap();
            let test: Vec<_> = covariances(&test, Estimator::Scm)
                .iter()
                .map(|c| lda.probabilities(csp.features(c).unwrap().as_slice()).unwrap()[1])
                .collect();
            (rows.iter().flat_map(|r| r.iter().copied()).collect(), test)
        };
        let (features, decisions) = decide(train_trials(), test_trials());
        let (again, decisions_again) = decide(scaled(train_trials()), scaled(test_trials()));
        close(&again, &features, 1e-10);
        close(&decisions_again, &decisions, 1e-9);
        let right = decisions.iter().zip(labels(8)).filter(|(p, l)| (**p > 0.5) == (*l == 1)).count();
        assert_eq!(right, 8);
    }

    #[test]
    fn more_classes_are_taken_one_against_the_rest() {
        let golden = &file()["csp_three_classes"];
        let covariances = matrices(&golden["covariances"]);
        let labels: Vec<u32> = numbers(&golden["labels"]).iter().map(|&l| l as u32).collect();
        let csp = Csp::fit(&covariances, &labels, 3, 2).unwrap();
        close(csp.eigenvalues.as_slice(), &numbers(&golden["eigenvalues"]), 1e-12);
        for (covariance, expected) in covariances.iter().zip(golden["features"].as_array().unwrap()) {
            close(csp.features(covariance).unwrap().as_slice(), &numbers(expected), 1e-11);
        }
    }

    #[test]
    fn an_average_reference_leaves_fewer_filters() {
        let referenced: Vec<Vec<f64>> = train_trials()
            .into_iter()
            .map(|x| {
                let mean: Vec<f64> = (0..60).map(|t| (x[t] + x[60 + t] + x[120 + t]) / 3.0).collect();
                // In single precision, as signals come.
                x.iter().enumerate().map(|(i, v)| f64::from((v - mean[i % 60]) as f32)).collect()
            })
            .collect();
        let plain = covariances(&referenced, Estimator::Scm);
        let csp = Csp::fit(&plain, &labels(12), 2, 2).unwrap();
        assert!(csp.features(&plain[0]).unwrap().iter().all(|f| f.is_finite()));
        let error = Csp::fit(&plain, &labels(12), 2, 3).unwrap_err();
        assert!(error.to_string().contains("3 spatial filters") && error.to_string().contains("rank 2 of 3"));
        assert!(error.hint().unwrap().contains("between 1 and 2"));
        assert!(Csp::fit(&covariances(&referenced, Estimator::Oas), &labels(12), 2, 3).is_ok());
    }

    #[test]
    fn data_that_cannot_be_fitted_are_refused() {
        let train = covariances(&train_trials(), Estimator::Oas);
        assert!(Csp::fit(&[], &[], 2, 2).is_err());
        assert!(Csp::fit(&train, &labels(11), 2, 2).is_err());
        assert!(Csp::fit(&train, &labels(12), 1, 2).is_err());
        assert!(Csp::fit(&train, &labels(12), 3, 2).unwrap_err().to_string().contains("class 2 of 3"));
        assert!(Csp::fit(&train, &labels(12), 2, 0).is_err());
        let mut other = train.clone();
        other[4] = DMatrix::identity(2, 2);
        assert!(Csp::fit(&other, &labels(12), 2, 2).unwrap_err().to_string().contains("trial 4"));
        other[4] = DMatrix::from_element(3, 3, f64::NAN);
        assert!(Csp::fit(&other, &labels(12), 2, 2).is_err());
        let flat = vec![DMatrix::zeros(3, 3); 12];
        assert!(Csp::fit(&flat, &labels(12), 2, 1).unwrap_err().hint().unwrap().contains("flat"));
        let csp = Csp::fit(&train, &labels(12), 2, 2).unwrap();
        assert!(
            csp.features(&DMatrix::zeros(3, 3)).is_err() && csp.features(&DMatrix::identity(2, 2)).is_err()
        );
    }
}
