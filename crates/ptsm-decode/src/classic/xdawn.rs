//! xDAWN: channels weighted so that the mean response of a class stands out of everything else.
//!
//! Paper: Rivet et al. 2009, doi:10.1109/TBME.2009.2012869; pyRiemann's form. For each class, with P its mean trial and Cx the
//! covariance of all trials one after the other, filters solve `Cov(P) w = e Cx w`; those of largest e are kept, scaled to
//! length 1. The filters applied to P are the class's templates. A trial becomes the covariance of templates and filtered
//! channels together, in which the response shows as what both have in common.

use nalgebra::DMatrix;
use ptsm_signal::covariance::{Estimator, estimate};

use super::linear::{GeneralisedEigen, enough, positive};
use crate::error::{Error, Result};

/// Sums over the trials that filters are fitted to. Trials are added one by one, so that they need not be in memory together.
#[derive(Clone, Debug)]
pub struct TrialMoments {
    channels: usize,
    counts: Vec<usize>,
    /// For each class the sum of its trials, `[C, T]`.
    sums: Vec<Vec<f64>>,
    /// `sum x x^T`.
    squares: DMatrix<f64>,
}

impl TrialMoments {
    /// Of no trial yet.
    pub fn new(classes: usize, channels: usize, samples: usize) -> TrialMoments {
        TrialMoments {
            channels,
            counts: vec![0; classes],
            sums: vec![vec![0.0; channels * samples]; classes],
            squares: DMatrix::zeros(channels, channels),
        }
    }

    /// Adds a trial `[C, T]`.
    pub fn add(&mut self, signal: &[f64], label: u32) -> Result<()> {
        let class = label as usize;
        if class >= self.counts.len() || signal.len() != self.sums[class].len() {
            return Err(Error::Configuration(format!(
                "a trial of class {label} with {} samples is none of {} classes with {} samples",
                signal.len(),
                self.counts.len(),
                self.sums.first().map_or(0, Vec::len)
            )));
        }
        self.counts[class] += 1;
        self.sums[class].iter_mut().zip(signal).for_each(|(sum, v)| *sum += v);
        let columns = DMatrix::from_column_slice(signal.len() / self.channels, self.channels, signal);
        self.squares += columns.transpose() * columns;
        Ok(())
    }

    /// The covariance of all trials one after the other, C x C.
    pub fn covariance(&self) -> DMatrix<f64> {
        let samples = self.sums.first().map_or(0, Vec::len) / self.channels;
        let total = (self.counts.iter().sum::<usize>() * samples) as f64;
        let mean = |c: usize| {
            let rows = self.sums.iter().flat_map(|sum| &sum[c * samples..(c + 1) * samples]);
            rows.sum::<f64>() / total
        };
        let means = nalgebra::DVector::from_fn(self.channels, |c, _| mean(c));
        &self.squares / total - &means * means.transpose()
    }

    /// Adds the trials of others.
    pub fn join(&mut self, other: &TrialMoments) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        for (own, other) in self.sums.iter_mut().zip(&other.sums) {
            own.iter_mut().zip(other).for_each(|(a, b)| *a += b);
        }
        self.squares += &other.squares;
    }
}

/// Filters and templates of every class.
#[derive(Clone, Debug, PartialEq)]
pub struct Xdawn {
    /// `[K filters, C]`, a class after the other, the most telling first. The weight of largest size is positive.
    pub filters: DMatrix<f64>,
    /// `[K filters, T]`: each filter applied to the mean trial of its class.
    pub templates: DMatrix<f64>,
}

impl Xdawn {
    /// Learns `filters` filters of each class.
    pub fn fit(moments: &TrialMoments, filters: usize) -> Result<Xdawn> {
        let channels = moments.channels;
        if let Some(class) = moments.counts.iter().position(|&n| n == 0) {
            return Err(Error::trials(
                format!("class {class} of {} has no trial to learn from", moments.counts.len()),
                "train on more subjects or leave the class out",
            ));
        }
        let samples = moments.sums[0].len() / channels;
        let everything = moments.covariance();
        let (mut all, mut templates) = (vec![], vec![]);
        for (sum, &count) in moments.sums.iter().zip(&moments.counts) {
            let evoked: Vec<f64> = sum.iter().map(|v| v / count as f64).collect();
            let signal = estimate(&evoked, channels, Estimator::Scm);
            let names = ["the whitened response", "the covariance of all trials"];
            let found = GeneralisedEigen::new(&signal, &everything, names)?;
            enough(filters, found.values.len(), channels)?;
            let evoked = DMatrix::from_row_slice(channels, samples, &evoked);
            for mut filter in found.vectors.column_iter().rev().take(filters).map(|f| f.normalize()) {
                positive(&mut filter);
                templates.push(filter.tr_mul(&evoked));
                all.push(filter.transpose());
            }
        }
        Ok(Xdawn { filters: DMatrix::from_rows(&all), templates: DMatrix::from_rows(&templates) })
    }

    /// Templates and the trial `[C, T]` below each other, each row one after the other: the trial behind all filters, or as it is
    /// (which takes more room but does not lean on where the filters' subjects had their sources).
    pub fn stacked(&self, signal: &[f64], filtered: bool) -> Vec<f64> {
        let samples = self.templates.ncols();
        // A row of the result is a column here.
        let mut stacked = self.templates.transpose().as_slice().to_vec();
        if filtered {
            let channels = DMatrix::from_column_slice(samples, self.filters.ncols(), signal);
            stacked.extend((channels * self.filters.transpose()).iter());
        } else {
            stacked.extend(signal);
        }
        stacked
    }

    /// The covariance of what [`Xdawn::stacked`] gives.
    pub fn covariance(&self, signal: &[f64], filtered: bool, estimator: Estimator) -> DMatrix<f64> {
        estimate(&self.stacked(signal, filtered), self.rows(filtered), estimator)
    }

    /// Rows of what [`Xdawn::stacked`] gives.
    pub fn rows(&self, filtered: bool) -> usize {
        let (filters, channels) = self.filters.shape();
        filters + if filtered { filters } else { channels }
    }
}

#[cfg(test)]
mod tests {
    use super::super::golden::{close, train_trials};
    use super::*;

    /// Even trials are of class 1.
    fn moments(trials: &[Vec<f64>]) -> TrialMoments {
        let mut moments = TrialMoments::new(2, 3, 60);
        for (i, trial) in trials.iter().enumerate() {
            moments.add(trial, 1 - i as u32 % 2).unwrap();
        }
        moments
    }

    #[test]
    fn filters_and_covariances_are_those_of_pyriemann() {
        let xdawn = Xdawn::fit(&moments(&train_trials()), 1).unwrap();
        let expected = [[0.02890938, 0.04012634, 0.99877631], [0.03549422, -0.01369508, 0.99927604]];
        close(xdawn.filters.transpose().as_slice(), expected.as_flattened(), 1e-7);
        let covariance = xdawn.covariance(&train_trials()[0], true, Estimator::Scm);
        let first: Vec<f64> = covariance.row(0).iter().copied().collect();
        close(&first, &[0.11438994163, -0.07521839724, -0.01881163471, -0.01951732486], 1e-9);
    }

    #[test]
    fn trials_may_be_added_in_parts() {
        let trials = train_trials();
        let whole = moments(&trials);
        let mut parts = moments(&trials[..6]);
        parts.join(&moments(&trials[6..]));
        let (a, b) = (Xdawn::fit(&whole, 3).unwrap(), Xdawn::fit(&parts, 3).unwrap());
        close(a.filters.as_slice(), b.filters.as_slice(), 1e-12);
        close(a.templates.as_slice(), b.templates.as_slice(), 1e-12);
    }

    #[test]
    fn trials_can_stay_unfiltered() {
        let xdawn = Xdawn::fit(&moments(&train_trials()), 2).unwrap();
        assert_eq!((xdawn.rows(true), xdawn.rows(false)), (8, 7));
        let signal = &train_trials()[3];
        let covariance = xdawn.covariance(signal, false, Estimator::Scm);
        let own = estimate(signal, 3, Estimator::Scm);
        close(covariance.view((4, 4), (3, 3)).into_owned().as_slice(), own.as_slice(), 1e-15);
        let turned = xdawn.covariance(signal, true, Estimator::Scm);
        let expected = &xdawn.filters * own * xdawn.filters.transpose();
        close(turned.view((4, 4), (4, 4)).into_owned().as_slice(), expected.as_slice(), 1e-12);
    }

    #[test]
    fn data_that_cannot_be_fitted_are_refused() {
        let mut one = TrialMoments::new(2, 3, 60);
        one.add(&train_trials()[0], 1).unwrap();
        assert!(Xdawn::fit(&one, 1).unwrap_err().to_string().contains("class 0 of 2"));
        assert!(one.add(&[1.0; 10], 0).is_err() && one.add(&train_trials()[0], 2).is_err());
        let error = Xdawn::fit(&moments(&train_trials()), 4).unwrap_err();
        assert!(error.to_string().contains("4 spatial filters") && error.hint().unwrap().contains("1 and 3"));
        let flat = vec![vec![0.0; 180]; 4];
        assert!(Xdawn::fit(&moments(&flat), 1).unwrap_err().hint().unwrap().contains("flat"));
    }
}
