//! Filters and resampling, equal to SciPy's to rounding.
//!
//! Recursive filters are cascades of second-order [`Sections`], designed by [`butterworth`] and [`notch`], and run either
//! over a whole signal without delay ([`zero_phase`]) or sample by sample with a state that is carried on ([`Causal`]).
//! [`firwin`] designs windowed sincs, [`fir`] applies them without delay. [`Resampler`] changes the rate by a ratio of small
//! whole numbers. One signal is a slice of `f64`; a filter is designed once and used for every channel.

mod butterworth;
mod causal;
mod fir;
mod notch;
mod resample;
mod sections;
mod window;
mod zero_phase;

pub(crate) use butterworth::LARGEST_ORDER;
pub use butterworth::butterworth;
pub use causal::{Causal, Start};
pub(crate) use fir::MOST_TAPS;
pub use fir::{fir, firwin};
pub use notch::notch;
pub use resample::Resampler;
pub use sections::{Section, Sections};
pub use window::Window;
pub use zero_phase::zero_phase;

use crate::error::{Error, Result};

/// What a filter lets through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pass {
    /// Everything below an edge, in Hz.
    Low(f64),
    /// Everything above an edge, in Hz.
    High(f64),
    /// Everything between two edges, in Hz.
    Band(f64, f64),
}

impl Pass {
    /// The edges as shares of half the sampling rate, checked to lie between 0 and 1 and in order.
    fn normalised(self, rate_hz: f64) -> Result<Pass> {
        let edge = |hz: f64| {
            if hz > 0.0 && 2.0 * hz < rate_hz {
                return Ok(2.0 * hz / rate_hz);
            }
            let half = rate_hz / 2.0;
            Err(Error::pipeline(format!("a filter edge at {hz} Hz does not lie between 0 and {half} Hz"))
                .with_hint(format!("edges must be below half the sampling rate of {rate_hz} Hz")))
        };
        Ok(match self {
            Pass::Low(hz) => Pass::Low(edge(hz)?),
            Pass::High(hz) => Pass::High(edge(hz)?),
            Pass::Band(low, high) if low >= high => {
                return Err(Error::pipeline(format!("a band from {low} Hz to {high} Hz is empty")));
            }
            Pass::Band(low, high) => Pass::Band(edge(low)?, edge(high)?),
        })
    }
}

/// The signal with `by` samples added at each end: the signal turned by half a turn about its first and last sample, which
/// keeps level and slope. The signal must be longer than `by`.
fn odd_extension(signal: &[f64], by: usize, needed_for: &str) -> Result<Vec<f64>> {
    let (Some(first), Some(last)) = (signal.first(), signal.last()) else {
        return Err(Error::data("signal", "has no samples"));
    };
    let n = signal.len();
    if n <= by {
        let least = by + 1;
        return Err(Error::data(
            "signal",
            format!("{n} samples are too few for {needed_for}, which needs at least {least}"),
        )
        .with_hint("use longer recordings, or a filter of lower order or fewer coefficients"));
    }
    let before = signal[1..=by].iter().rev().map(|x| 2.0 * first - x);
    let after = signal[n - 1 - by..n - 1].iter().rev().map(|x| 2.0 * last - x);
    Ok(before.chain(signal.iter().copied()).chain(after).collect())
}
