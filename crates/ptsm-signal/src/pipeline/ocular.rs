//! Ocular regression: what frontal channels explain of the others is taken off them.
//!
//! Gratton et al. 1983, doi:10.1016/0013-4694(83)90135-9, with frontal EEG channels in place of an electrooculogram. Of the same
//! samples of regressors r and a channel y, least squares with an intercept gives b; left is y - b (r - mean r).

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use crate::eigen;
use crate::error::{Error, Result};

/// The channels that ocular regression regresses on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OcularRegression {
    /// The frontal region, by where electrodes are; see [`frontal`](crate::frontal).
    Frontal,
    /// These, which need not be among the picked ones.
    Channels(Vec<String>),
}

/// Directions of the regressors with a smaller share of their greatest power explain nothing: NumPy's limit for singular values in
/// double precision is of this order.
const SMALLEST: f64 = 1e-12;

/// Takes off each channel what the regressors explain of it, over all of some epochs together, and drops the regressors.
///
/// # Shapes
/// `epochs` are `[C + R, T]` each, the regressors last; each becomes `[C, T]` in the first part of its slice.
pub(super) fn regress(epochs: &mut [&mut [f32]], channels: usize, regressors: usize) -> Result<()> {
    let all = channels + regressors;
    let samples = epochs.first().map_or(0, |epoch| epoch.len() / all);
    let count = epochs.len() * samples;
    if count <= regressors {
        return Err(Error::pipeline(format!(
            "ocular regression on {regressors} channels has {count} samples to learn from"
        ))
        .with_hint("it needs more samples than channels to regress on: longer epochs, more of them or fewer channels"));
    }
    let mut means = vec![0.0; all];
    for epoch in epochs.iter() {
        for (mean, row) in means.iter_mut().zip(epoch.chunks_exact(samples)) {
            *mean += row.iter().map(|&x| f64::from(x)).sum::<f64>();
        }
    }
    means.iter_mut().for_each(|mean| *mean /= count as f64);

    // `among` is [R, R], `across` [R, C].
    let mut among = DMatrix::zeros(regressors, regressors);
    let mut across = DMatrix::zeros(regressors, channels);
    for epoch in epochs.iter() {
        let columns = |from: usize, n: usize| {
            let centred = |(x, mean): (&f32, &f64)| f64::from(*x) - mean;
            let rows = epoch[from * samples..].chunks_exact(samples).zip(&means[from..]).take(n);
            let values = rows.flat_map(|(row, mean)| row.iter().map(move |x| centred((x, mean))));
            DMatrix::from_iterator(samples, n, values)
        };
        let (y, r) = (columns(0, channels), columns(channels, regressors));
        among += r.tr_mul(&r);
        across += r.tr_mul(&y);
    }
    let coefficients = pseudo_inverse(&among)? * across;

    for epoch in epochs.iter_mut() {
        let (kept, rows) = epoch.split_at_mut(channels * samples);
        for (c, row) in kept.chunks_exact_mut(samples).enumerate() {
            for (t, x) in row.iter_mut().enumerate() {
                let explained: f64 = (0..regressors)
                    .map(|r| coefficients[(r, c)] * (f64::from(rows[r * samples + t]) - means[channels + r]))
                    .sum();
                *x = (f64::from(*x) - explained) as f32;
            }
        }
    }
    Ok(())
}

/// The inverse of a symmetric matrix without negative eigenvalues, in the directions that have power: least squares of the smallest
/// coefficients where regressors say the same, as after an average reference.
fn pseudo_inverse(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    let found = eigen::symmetric(matrix).ok_or_else(|| {
        Error::data("ocular regression", "has values that are not numbers or too large to square")
    })?;
    let greatest = found.values.iter().copied().fold(0.0, f64::max);
    let inverse = found.values.map(|value| if value > SMALLEST * greatest { value.recip() } else { 0.0 });
    Ok(&found.vectors * DMatrix::from_diagonal(&DVector::from(inverse)) * found.vectors.transpose())
}
