//! Networks that standardise each (channel, sample) themselves: by what, the training trials say.

use ptsm_engine::Parameters;
use ptsm_signal::Subset;

use crate::error::Result;
use crate::network::{DEVIATION, MEAN};

/// Sets mean and deviation of a network that has them to those over the training trials. What never changes is left as it is, less its mean.
pub(super) fn set(parameters: &mut Parameters<f32>, train: &Subset<'_>) -> Result<()> {
    if !parameters.tensors().iter().any(|tensor| tensor.name == MEAN) {
        return Ok(());
    }
    let one = train.layout().channels.len() * train.layout().samples;
    let (mut means, mut squares) = (vec![0.0f64; one], vec![0.0f64; one]);
    for (before, signal) in train.signals().enumerate() {
        // Welford's rule: exact where sums of squares would cancel.
        for ((x, mean), square) in signal.iter().zip(&mut means).zip(&mut squares) {
            let off = f64::from(*x) - *mean;
            *mean += off / (before + 1) as f64;
            *square += off * (f64::from(*x) - *mean);
        }
    }
    let n = train.len() as f64;
    let deviations = squares.iter().map(|s| (s / n).sqrt() as f32).map(|d| if d > 0.0 { d } else { 1.0 });
    parameters.set(0, DEVIATION, &deviations.collect::<Vec<f32>>())?;
    parameters.set(0, MEAN, &means.iter().map(|m| *m as f32).collect::<Vec<f32>>())?;
    Ok(())
}
