//! The frequency branch: spectra of segments, channels mixed at each frequency, amplitudes, two linear layers.

use ptsm_engine::{Graph, Id, Init};

use super::{Acon, layer};
use crate::error::Result;

/// Its tensors: both domains go through them.
pub(super) struct Frequency {
    /// Samples to spectra `[P, 2m]`, which nothing moves.
    transform: Id,
    /// Real and imaginary parts of the mixing, `[C, C, m]` from channel to channel.
    mix: [Id; 2],
    /// A full layer, or two narrow ones.
    first: FirstLayer,
    second: [Id; 2],
}

enum FirstLayer {
    Full([Id; 2]),
    /// Down to the rank, and up with a bias.
    Narrow(Id, [Id; 2]),
}

impl Frequency {
    pub(super) fn new(g: &mut Graph, acon: &Acon, channels: usize, classes: usize) -> Result<Frequency> {
        let (period, bins) = (acon.period, acon.period / 2 + 1);
        let init = Init::Fourier { samples: period };
        let transform = g.statistic("transform", &[period, 2 * bins], init)?;
        let n = channels * bins;
        let first = g.scoped("0", |g| -> Result<FirstLayer> {
            let Some(rank) = acon.rank.filter(|rank| *rank < n) else {
                return Ok(FirstLayer::Full(layer(g, n, n)?));
            };
            let down = g.parameter("down", &[rank, n], Init::fan_in(n))?;
            Ok(FirstLayer::Narrow(down, layer(g, rank, n)?))
        })?;
        let second = g.scoped("1", |g| layer(g, n, classes))?;
        let init = Init::Positive(1.0 / (channels * channels) as f64);
        let mut mixing =
            |part: &str| g.scoped("mix", |g| g.parameter(part, &[channels, channels, bins], init));
        Ok(Frequency { transform, mix: [mixing("real")?, mixing("imaginary")?], first, second })
    }

    /// Mean amplitudes `[B, C*m]`, features `[B, C*m]` and logits `[B, K]`.
    pub(super) fn apply(&self, g: &mut Graph, acon: &Acon, x: Id) -> Result<(Id, Id, Id)> {
        let [batch, channels, time] = *g.shape(x) else { unreachable!("made with three axes") };
        let (period, bins) = (acon.period, acon.period / 2 + 1);
        let segments = time.div_ceil(period);
        let x = g.pad(x, 2, 0, segments * period - time)?;
        let x = g.reshape(x, &[batch * channels * segments, period])?;
        let mut spectra = g.matmul(x, self.transform, false, false)?;
        if acon.fft_normalize {
            spectra = normalized(g, spectra)?;
        }
        // [B, C, n, (re, im), m] -> [m, B * n, (re, im) * C]
        let spectra = g.reshape(spectra, &[batch, channels, segments, 2, bins])?;
        let spectra = g.transpose(spectra, &[4, 0, 2, 3, 1])?;
        let spectra = g.reshape(spectra, &[bins, batch * segments, 2 * channels])?;
        let mixing = self.mixing(g)?;
        let mixed = g.matmul(spectra, mixing, false, false)?;
        let mixed = g.reshape(mixed, &[bins, batch, segments, 2, channels])?;
        let square = g.square(mixed)?;
        let square = g.sum_axes(square, &[3])?;
        // Its derivative at 0 is 0.
        let square = g.affine(square, 1.0, 1e-24)?;
        let amplitude = g.sqrt(square)?;
        let amplitude = g.mean_axes(amplitude, &[2])?;
        let amplitude = g.transpose(amplitude, &[1, 2, 0])?;
        let amplitude = g.reshape(amplitude, &[batch, channels * bins])?;
        let features = g.scoped("0", |g| -> Result<Id> {
            let (x, [weight, bias]) = match self.first {
                FirstLayer::Full(full) => (amplitude, full),
                FirstLayer::Narrow(down, up) => (g.linear(amplitude, down, None)?, up),
            };
            Ok(g.linear(x, weight, Some(bias))?)
        })?;
        let [weight, bias] = self.second;
        Ok((amplitude, features, g.linear(features, weight, Some(bias))?))
    }

    /// `[[re, im], [-im, re]]` at each frequency: `[m, 2C, 2C]`.
    fn mixing(&self, g: &mut Graph) -> Result<Id> {
        let [real, imaginary] = self.mix.map(|part| g.transpose(part, &[2, 0, 1]));
        let (real, imaginary) = (real?, imaginary?);
        let negative = g.negate(imaginary)?;
        let upper = g.concat(real, imaginary, 2)?;
        let lower = g.concat(negative, real, 2)?;
        Ok(g.concat(upper, lower, 1)?)
    }
}

/// Each spectrum divided by its norm.
fn normalized(g: &mut Graph, spectra: Id) -> Result<Id> {
    let rows = g.shape(spectra)[0];
    let square = g.square(spectra)?;
    let sum = g.sum_axes(square, &[1])?;
    let sum = g.affine(sum, 1.0, 1e-24)?;
    let norm = g.sqrt(sum)?;
    let norm = g.reshape(norm, &[rows, 1])?;
    Ok(g.div(spectra, norm)?)
}
