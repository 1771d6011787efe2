//! How the channels of one trial vary together, C x C, in double precision.

use nalgebra::{DMatrix, DMatrixViewMut, Dyn};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How a covariance is estimated from few samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// The covariance of the sample itself, divided by T. It loses rank where samples are few.
    Scm,
    /// Oracle approximating shrinkage (Chen et al. 2010) in scikit-learn's form: of full rank unless the signal is flat.
    #[default]
    Oas,
    /// Ledoit and Wolf's shrinkage (2004): of full rank unless the signal is flat or repeats itself.
    LedoitWolf,
}

/// The covariance of one trial's channels, each centred over the trial.
///
/// Samples beyond a whole number per channel are left out; without channels or samples the result is all zero.
///
/// # Shapes
/// `signal` is `[C, T]`, one channel after the other; the result is C x C.
pub fn estimate<S: Copy + Into<f64>>(signal: &[S], channels: usize, estimator: Estimator) -> DMatrix<f64> {
    let mut columns = columns(signal, channels);
    for mut channel in columns.column_iter_mut() {
        let mean = mean(channel.as_slice());
        channel.add_scalar_mut(-mean);
    }
    let plain = moment(&columns);
    let shrinkage = match estimator {
        Estimator::Scm => return plain,
        Estimator::Oas => oas(&plain, columns.nrows()),
        Estimator::LedoitWolf => ledoit_wolf(&plain, &columns),
    };
    shrunk(plain, shrinkage)
}

/// `x x^T / T` without centring, as alignment uses it.
///
/// # Shapes
/// As [`estimate`].
pub fn second_moment<S: Copy + Into<f64>>(signal: &[S], channels: usize) -> DMatrix<f64> {
    moment(&columns(signal, channels))
}

/// The mean, from several sums at once: one sum waits for itself.
fn mean(values: &[f64]) -> f64 {
    let (whole, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for values in whole {
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().chain(rest).sum::<f64>() / values.len().max(1) as f64
}

/// The signal as T x C, so that a channel is a column.
fn columns<S: Copy + Into<f64>>(signal: &[S], channels: usize) -> DMatrix<f64> {
    let samples = signal.len().checked_div(channels).unwrap_or(0);
    DMatrix::from_vec(samples, channels, signal[..samples * channels].iter().map(|&s| s.into()).collect())
}

/// Columns of the product that are made together.
const BLOCK: usize = 32;
/// Channels from which on several threads are worth it.
const MANY: usize = 256;

/// `columns^T columns / T`. What is above the diagonal is a copy of what is below.
fn moment(columns: &DMatrix<f64>) -> DMatrix<f64> {
    let (samples, channels) = columns.shape();
    let mut product = DMatrix::zeros(channels, channels);
    if samples == 0 || channels == 0 {
        return product;
    }
    // A copy: nalgebra's small products read and write beyond a view whose rows are not side by side in memory.
    let across = columns.transpose();
    let block = |(i, some): (usize, &mut [f64])| {
        let (start, width) = (i * BLOCK, some.len() / channels);
        let mut some = DMatrixViewMut::from_slice_generic(some, Dyn(channels), Dyn(width));
        let rows = channels - start;
        let share = 1.0 / samples as f64;
        some.rows_mut(start, rows).gemm(
            share,
            &across.rows(start, rows),
            &columns.columns(start, width),
            0.0,
        );
    };
    let blocks = product.as_mut_slice();
    if channels < MANY {
        blocks.chunks_mut(BLOCK * channels).enumerate().for_each(block);
    } else {
        blocks.par_chunks_mut(BLOCK * channels).enumerate().for_each(block);
    }
    product.fill_upper_triangle_with_lower_triangle();
    product
}

/// Weight of the target `mu I`, scikit-learn's `oas`.
fn oas(plain: &DMatrix<f64>, samples: usize) -> f64 {
    let channels = plain.nrows() as f64;
    let alpha = plain.norm_squared() / (channels * channels);
    let mu = plain.trace() / channels;
    let numerator = alpha + mu * mu;
    let denominator = (samples as f64 + 1.0) * (alpha - mu * mu / channels);
    // Never negative but for rounding, where the covariance is `mu I` already.
    if denominator <= 0.0 { 1.0 } else { (numerator / denominator).min(1.0) }
}

/// Weight of the target `mu I`, scikit-learn's `ledoit_wolf_shrinkage`.
fn ledoit_wolf(plain: &DMatrix<f64>, centred: &DMatrix<f64>) -> f64 {
    let (samples, channels) = (centred.nrows() as f64, plain.nrows() as f64);
    let mu = plain.trace() / channels;
    // The sum over all entries of `(X^2)^T X^2` is the sum over time of the squared power of all channels.
    let fourth: f64 = centred.row_iter().map(|row| row.norm_squared().powi(2)).sum();
    let squared = plain.norm_squared();
    let beta = (fourth / samples - squared) / (channels * samples);
    let delta = (squared - channels * mu * mu) / channels;
    // Rounding must not turn shrinkage by nothing into its opposite.
    let beta = beta.min(delta);
    if beta <= 0.0 { 0.0 } else { beta / delta }
}

fn shrunk(plain: DMatrix<f64>, weight: f64) -> DMatrix<f64> {
    let mu = plain.trace() / plain.nrows().max(1) as f64;
    let mut result = plain * (1.0 - weight);
    for i in 0..result.nrows() {
        result[(i, i)] += weight * mu;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{close, train};

    #[test]
    fn trial_0_is_as_pyriemann_has_it() {
        let x = &train()[0];
        let scm = estimate(x, 3, Estimator::Scm);
        close(scm.diagonal().as_slice(), &[1.07753907229, 0.24787230021, 0.70662253389], 1e-11);
        close(
            &[scm[(0, 1)], scm[(0, 2)], scm[(1, 2)]],
            &[0.01605666511, -0.03966034502, 0.01077039138],
            1e-11,
        );
        let oas = estimate(x, 3, Estimator::Oas);
        close(oas.diagonal().as_slice(), &[0.96758872276, 0.36586652759, 0.69857865605], 1e-11);
        close(&[oas[(0, 1)]], &[0.01164521962], 1e-11);
        let lwf = estimate(x, 3, Estimator::LedoitWolf);
        close(lwf.diagonal().as_slice(), &[1.01095627307, 0.31932624268, 0.70175139064], 1e-11);
    }

    /// Blocks of every width: one, several, a narrow last one, and several threads.
    #[test]
    fn blocks_are_put_together_rightly() {
        for channels in [1, 5, 31, 32, 33, 34, 70, 257] {
            let x: Vec<f64> = (0..channels * 9).map(|i| (i as f64 * 0.7).sin() + i as f64 * 1e-3).collect();
            let found = second_moment(&x, channels);
            for a in 0..channels {
                for b in 0..channels {
                    let plain: f64 = (0..9).map(|t| x[9 * a + t] * x[9 * b + t]).sum::<f64>() / 9.0;
                    assert!((found[(a, b)] - plain).abs() < 1e-12, "{channels} channels");
                }
            }
        }
    }

    #[test]
    fn odd_shapes_give_numbers_or_nothing() {
        assert_eq!(estimate::<f32>(&[], 0, Estimator::Oas).len(), 0);
        for estimator in [Estimator::Scm, Estimator::Oas, Estimator::LedoitWolf] {
            assert_eq!(estimate::<f32>(&[], 2, estimator), DMatrix::zeros(2, 2));
            assert_eq!(estimate(&[5f32; 9], 2, estimator), DMatrix::zeros(2, 2));
        }
    }

    /// One channel is `mu I` already; rounding must not make the shrinkage negative.
    #[test]
    fn one_channel_stays_as_it_is() {
        for scale in (1..200).map(|i| 0.37 * f64::from(i)) {
            let x = [0.1, -0.7, 0.3, 0.9].map(|v| v * scale);
            let (plain, oas) = (estimate(&x, 1, Estimator::Scm), estimate(&x, 1, Estimator::Oas));
            close(oas.as_slice(), plain.as_slice(), 1e-14 * plain[0]);
            assert_eq!(super::oas(&plain, 4), 1.0);
        }
        // As rounding can leave it.
        assert_eq!(super::oas(&DMatrix::identity(3, 3).scale(0.1), 5), 1.0);
    }

    #[test]
    fn shrinkage_gives_full_rank_to_few_samples() {
        let x = [1.0f32, -1.0, 0.3, 2.0, -2.0, 0.7, 0.5, 3.0, -1.0, 2.0, 0.1, 0.2];
        for estimator in [Estimator::Oas, Estimator::LedoitWolf] {
            assert!(estimate(&x, 4, estimator).cholesky().is_some());
        }
    }
}
