//! Trials as logarithms of whitened covariances.

use nalgebra::DMatrix;
use ptsm_signal::spd;

use super::super::linear::{RANK_TOLERANCE, eigen};
use crate::error::{Error, Result};

/// From a trial to a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseFeatures {
    /// Copies of each channel, the first without a delay.
    pub taps: usize,
    /// Samples between one copy and the next.
    pub delay: usize,
    /// `[n, rank]`: makes the mean covariance of the training trials the identity, on the directions it has something in.
    pub whitening: DMatrix<f64>,
}

/// `x x^T` of channels and their delayed copies, divided by its trace: n x n, n being taps times channels. Before the
/// first sample there is 0. A trial is `[C, T]`.
pub fn normalised(signal: &[f64], channels: usize, taps: usize, delay: usize) -> Result<DMatrix<f64>> {
    let samples = signal.len() / channels.max(1);
    let mut copies = DMatrix::zeros(samples, taps * channels);
    for tap in 0..taps {
        let late = (tap * delay).min(samples);
        for channel in 0..channels {
            let row = &signal[channel * samples..][..samples - late];
            copies.view_mut((late, tap * channels + channel), (samples - late, 1)).copy_from_slice(row);
        }
    }
    let moment = copies.transpose() * copies;
    let trace = moment.trace();
    if !(trace.is_finite() && trace > 0.0) {
        return Err(Error::trials(
            "a trial has no power",
            "look for trials in which all channels are flat, and leave them out",
        ));
    }
    Ok(moment / trace)
}

impl SparseFeatures {
    /// Whitens by the mean of what [`normalised`] gives. A mean that has lost rank, as an average reference leaves it, is
    /// taken on the directions that are left.
    pub fn fit(moments: &[&DMatrix<f64>], taps: usize, delay: usize) -> Result<SparseFeatures> {
        let Some(first) = moments.first() else {
            return Err(Error::Configuration("there is no trial to learn from".into()));
        };
        let mut mean = DMatrix::zeros(first.nrows(), first.ncols());
        moments.iter().for_each(|moment| mean += *moment);
        mean /= moments.len() as f64;
        let (values, vectors) = eigen(&mean, "the mean covariance")?;
        let floor = RANK_TOLERANCE * values.max();
        let lost = values.iter().filter(|&&v| v <= floor).count();
        let mut whitening = vectors.columns(lost, values.len() - lost).into_owned();
        for (mut column, value) in whitening.column_iter_mut().zip(values.iter().skip(lost)) {
            column /= value.sqrt();
        }
        if lost == 0 {
            // The symmetric root, which keeps channels in their places.
            whitening *= vectors.transpose();
        }
        Ok(SparseFeatures { taps, delay, whitening })
    }

    /// Rows of the logarithm.
    pub fn size(&self) -> usize {
        self.whitening.ncols()
    }

    /// Length of a vector.
    pub fn length(&self) -> usize {
        self.size() * (self.size() + 1) / 2
    }

    /// The whitened logarithm of what [`normalised`] gives, as [`spd::upper`] orders it.
    pub fn vector(&self, moment: &DMatrix<f64>) -> Result<Vec<f64>> {
        if moment.nrows() != self.whitening.nrows() {
            let (needed, given) = (self.whitening.nrows(), moment.nrows());
            return Err(Error::Configuration(format!("{needed} rows are needed, {given} are given")));
        }
        Ok(spd::upper(&spd::log(&(self.whitening.transpose() * moment * &self.whitening))?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::golden::{close, train_trials};
    use super::*;

    fn moments(trials: &[Vec<f64>], taps: usize, delay: usize) -> Vec<DMatrix<f64>> {
        trials.iter().map(|x| normalised(x, 3, taps, delay).unwrap()).collect()
    }

    #[test]
    fn whitening_and_features_are_those_of_the_authors() {
        let plain = moments(&train_trials(), 1, 0);
        let mean = spd::mean_euclid(&plain).unwrap();
        let first: Vec<f64> = mean.row(0).iter().copied().collect();
        close(&first, &[0.3667333393, 0.002490427126, -0.01530633345], 1e-9);
        close(&[mean.trace()], &[1.0], 1e-14);
        let features = SparseFeatures::fit(&plain.iter().collect::<Vec<_>>(), 1, 0).unwrap();
        let vector = features.vector(&plain[0]).unwrap();
        let half = 0.5f64.sqrt();
        close(
            &[vector[0], half * vector[1], half * vector[2]],
            &[0.3691749333, 0.02072998707, 0.003032299324],
            1e-9,
        );
        let delayed = spd::mean_euclid(&moments(&train_trials(), 2, 1)).unwrap();
        let first: Vec<f64> = delayed.row(0).iter().copied().collect();
        let expected =
            [0.1847297381, 0.001245446738, -0.007721728588, 0.1574669314, 0.003866267965, 0.008153986743];
        close(&first, &expected, 1e-9);
    }

    #[test]
    fn the_whitened_mean_is_the_identity() {
        for (taps, delay) in [(1, 0), (2, 1), (3, 2)] {
            let all = moments(&train_trials(), taps, delay);
            let features = SparseFeatures::fit(&all.iter().collect::<Vec<_>>(), taps, delay).unwrap();
            let mean = spd::mean_euclid(&all).unwrap();
            let white = features.whitening.transpose() * mean * &features.whitening;
            close(white.as_slice(), DMatrix::identity(3 * taps, 3 * taps).as_slice(), 1e-11);
        }
    }

    #[test]
    fn the_size_of_a_trial_does_not_matter() {
        let trials = train_trials();
        let larger: Vec<Vec<f64>> = trials
            .iter()
            .enumerate()
            .map(|(i, x)| x.iter().map(|v| v * (1.0 + i as f64)).collect())
            .collect();
        for (a, b) in moments(&trials, 2, 1).iter().zip(&moments(&larger, 2, 1)) {
            close(a.as_slice(), b.as_slice(), 1e-14);
        }
    }

    #[test]
    fn an_average_reference_leaves_one_direction_less() {
        let referenced: Vec<Vec<f64>> = train_trials()
            .into_iter()
            .map(|x| {
                let mean: Vec<f64> = (0..60).map(|t| (x[t] + x[60 + t] + x[120 + t]) / 3.0).collect();
                // In single precision, as signals come.
                x.iter().enumerate().map(|(i, v)| f64::from((v - mean[i % 60]) as f32)).collect()
            })
            .collect();
        let all = moments(&referenced, 1, 0);
        let features = SparseFeatures::fit(&all.iter().collect::<Vec<_>>(), 1, 0).unwrap();
        assert_eq!((features.size(), features.length()), (2, 3));
        assert!(features.vector(&all[0]).unwrap().iter().all(|v| v.is_finite()));
    }

    #[test]
    fn what_has_no_power_is_refused() {
        assert!(normalised(&[0.0; 30], 3, 1, 0).is_err());
        // A delay beyond the trial leaves nothing of the second copy.
        let all: Vec<_> = train_trials().iter().map(|x| normalised(x, 3, 2, 1000).unwrap()).collect();
        assert_eq!(SparseFeatures::fit(&all.iter().collect::<Vec<_>>(), 2, 1000).unwrap().size(), 3);
        assert!(SparseFeatures::fit(&[], 1, 0).is_err());
        let features =
            SparseFeatures::fit(&moments(&train_trials(), 1, 0).iter().collect::<Vec<_>>(), 1, 0).unwrap();
        assert!(features.vector(&all[0]).unwrap_err().to_string().contains("3 rows"));
    }
}
