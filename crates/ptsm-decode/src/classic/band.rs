//! What a trial goes through before a classic method sees it.

use ptsm_signal::Layout;
use ptsm_signal::filter::{Pass, Sections, butterworth, zero_phase_channels};

use crate::error::Result;

/// A band each trial is filtered to by itself, forwards and backwards; or none.
#[derive(Clone, Debug)]
pub(crate) struct Band(Option<Sections>);

impl Band {
    /// A Butterworth filter of some order. `key` is the setting that says which band.
    pub(crate) fn new(band_hz: Option<[f64; 2]>, order: usize, layout: &Layout, key: &str) -> Result<Band> {
        let Some([low, high]) = band_hz else { return Ok(Band(None)) };
        let sections = butterworth(order, Pass::Band(low, high), layout.rate_hz);
        Ok(Band(Some(sections.map_err(|e| {
            e.with_hint(format!(
                "give the trials' true rate, or set `{key}` to a band below half of it or to null"
            ))
        })?)))
    }

    /// A trial `[C, T]` in this band.
    pub(crate) fn apply(&self, signal: &[f32], channels: usize) -> Result<Vec<f64>> {
        Ok(match &self.0 {
            None => signal.iter().map(|v| f64::from(*v)).collect(),
            Some(sections) => zero_phase_channels(sections, signal, channels)?,
        })
    }
}
