//! Filters and resampling, equal to SciPy's to rounding.
//!
//! Recursive filters are cascades of second-order [`Sections`], designed by [`butterworth`] and [`notch`], and run either
//! over a whole signal with zero phase ([`zero_phase`]) or sample by sample with a state that is carried on ([`CausalFilter`]).
//! [`firwin`] designs windowed sincs, [`fir`] applies them with zero phase. [`Resampler`] changes the rate by a ratio of small
//! whole numbers. One signal is a slice of `f64`; a filter is designed once and used for every channel. A pipeline filters eight
//! channels at once (`lanes`), by the same code and to the same bytes.

mod butterworth;
mod causal;
mod fir;
mod notch;
mod resample;
mod rows;
mod sections;
mod versions;
mod window;
mod zero_phase;

pub(crate) use butterworth::LARGEST_ORDER;
pub use butterworth::butterworth;
pub(crate) use causal::forwards;
pub use causal::{CausalFilter, FilterStart};
pub(crate) use fir::{MOST_TAPS, zero_phase_fir};
pub use fir::{fir, firwin};
pub use notch::notch;
pub use resample::Resampler;
pub(crate) use rows::Rows;
pub use sections::{SecondOrderSection, Sections};
pub(crate) use versions::resample;
pub use window::WindowFunction;
pub(crate) use zero_phase::both_ways;
pub use zero_phase::{zero_phase, zero_phase_channels};

use std::array::from_fn;

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

/// Refuses a signal that cannot be extended by so many samples.
pub(crate) fn long_enough(samples: usize, by: usize, needed_for: &str) -> Result<()> {
    if samples == 0 {
        return Err(Error::data("signal", "has no samples"));
    }
    if samples > by {
        return Ok(());
    }
    let least = by + 1;
    Err(Error::data(
        "signal",
        format!("{samples} samples are too few for {needed_for}, which needs at least {least}"),
    )
    .with_hint("use longer recordings, or a filter of lower order or fewer coefficients"))
}

/// The signal with `by` samples added at each end. The signal must be longer than `by`.
fn extended(signal: &[f64], by: usize, needed_for: &str) -> Result<Vec<f64>> {
    long_enough(signal.len(), by, needed_for)?;
    let mut extended = vec![0.0; signal.len() + 2 * by];
    extended[by..][..signal.len()].copy_from_slice(signal);
    extend(extended.as_chunks_mut::<1>().0, by);
    Ok(extended)
}

/// Fills `by` samples at each end: the signal between them turned by half a turn about its first and last sample, which keeps
/// level and slope. It must be longer than `by`.
fn extend<const L: usize>(signal: &mut [[f64; L]], by: usize) {
    if signal.len() <= 3 * by {
        return;
    }
    let (first, last) = (by, signal.len() - 1 - by);
    let turned = |about: [f64; L], x: [f64; L]| from_fn(|l| 2.0 * about[l] - x[l]);
    for i in 1..=by {
        signal[first - i] = turned(signal[first], signal[first + i]);
        signal[last + i] = turned(signal[last], signal[last - i]);
    }
}
