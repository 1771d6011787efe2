//! Whether a pipeline can work at all, before any recording is seen.

use std::collections::BTreeSet;

use super::{Band, FilterKind, OcularRegression, Pick, Pipeline, Reference, Scaling};
use crate::error::{Error, Result};
use crate::filter::{LARGEST_ORDER, MOST_TAPS};
use crate::montage::normalise;

/// Windows lie within this many seconds of the cue.
const FARTHEST_S: f64 = 1e6;
/// Highest rate to resample to.
const FASTEST_HZ: f64 = 1e5;

impl Pipeline {
    /// Refuses settings no recording could be processed with. Whether edges lie below half the sampling rate shows when a
    /// recording is cut.
    pub fn check(&self) -> Result<()> {
        if let Pick::Names(names) = &self.pick {
            list("pick", names)?;
        }
        if let Reference::Channels(names) = &self.reference {
            list("reference", names)?;
        }
        if let Some(notch) = self.notch_hz {
            positive("`notch_hz`", notch)?;
        }
        for band in [&self.band, &self.epoch_band].into_iter().flatten() {
            check_band(band)?;
        }
        if let Some(OcularRegression::Channels(names)) = &self.ocular {
            list("ocular", names)?;
        }
        if let Some(rate) = self.rate_hz {
            positive("`rate_hz`", rate)?;
            if rate > FASTEST_HZ {
                return Err(Error::pipeline(format!("`rate_hz` {rate} is above {FASTEST_HZ} Hz")));
            }
        }
        window("window_s", self.window_s)?;
        if let Some(baseline) = self.baseline_s {
            window("baseline_s", baseline)?;
        }
        if let Scaling::By(scale) = self.scaling {
            positive("the number to scale by", scale)?;
        }
        Ok(())
    }
}

fn check_band(band: &Band) -> Result<()> {
    for edge in [band.low_hz, band.high_hz].into_iter().flatten() {
        positive("a band edge", edge)?;
    }
    match (band.low_hz, band.high_hz) {
        (None, None) => {
            return Err(Error::pipeline("a band without edges keeps everything")
                .with_hint("give `low_hz`, `high_hz` or both, or leave `band` out"));
        }
        (Some(low), Some(high)) if low >= high => {
            return Err(Error::pipeline(format!("a band from {low} Hz to {high} Hz is empty"))
                .with_hint("`low_hz` must be below `high_hz`"));
        }
        _ => {}
    }
    match band.kind {
        FilterKind::ZeroPhase { order } | FilterKind::Causal { order } => {
            if !(1..=LARGEST_ORDER).contains(&order) {
                return Err(Error::pipeline(format!(
                    "filter order {order} is not from 1 to {LARGEST_ORDER}"
                )));
            }
        }
        FilterKind::Fir { taps } => {
            if taps.is_multiple_of(2) || !(3..=MOST_TAPS).contains(&taps) {
                return Err(Error::pipeline(format!(
                    "{taps} filter coefficients are not an odd number from 3 to {MOST_TAPS}"
                ))
                .with_hint("an odd number has a middle one, so that its delay can be taken out"));
            }
        }
    }
    Ok(())
}

fn positive(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::pipeline(format!("{what} must be a positive number, not {value}")))
}

fn window(what: &str, [start, end]: [f64; 2]) -> Result<()> {
    // Written so that values that are not numbers are refused too.
    if start < end && start >= -FARTHEST_S && end <= FARTHEST_S {
        return Ok(());
    }
    Err(Error::pipeline(format!("`{what}` from {start} s to {end} s is not a window"))
        .with_hint("its start must come before its end, in seconds after the cue"))
}

fn list(what: &str, names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Err(Error::pipeline(format!("the list of channels of `{what}` is empty")));
    }
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(normalise(name))) {
        Some(twice) => Err(Error::pipeline(format!("`{what}` names channel `{twice}` twice"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let good = Pipeline::default();
        good.check().unwrap();
        let band = |low_hz, high_hz, kind| Some(Band { low_hz, high_hz, kind });
        let zero_phase = FilterKind::ZeroPhase { order: 4 };
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        for (bad, part) in [
            (Pipeline { pick: Pick::Names(vec![]), ..good.clone() }, "empty"),
            (Pipeline { pick: Pick::Names(names(&["C3", "c3"])), ..good.clone() }, "twice"),
            (Pipeline { reference: Reference::Channels(vec![]), ..good.clone() }, "empty"),
            (Pipeline { notch_hz: Some(-50.0), ..good.clone() }, "-50"),
            (Pipeline { band: band(None, None, zero_phase), ..good.clone() }, "without edges"),
            (Pipeline { band: band(Some(30.0), Some(8.0), zero_phase), ..good.clone() }, "empty"),
            (Pipeline { band: band(Some(f64::NAN), None, zero_phase), ..good.clone() }, "NaN"),
            (
                Pipeline { band: band(Some(8.0), None, FilterKind::Causal { order: 0 }), ..good.clone() },
                "order 0",
            ),
            (
                Pipeline { band: band(Some(8.0), None, FilterKind::Fir { taps: 100 }), ..good.clone() },
                "100 filter",
            ),
            (Pipeline { rate_hz: Some(0.0), ..good.clone() }, "rate_hz"),
            (Pipeline { rate_hz: Some(1e9), ..good.clone() }, "rate_hz"),
            (Pipeline { window_s: [1.0, 1.0], ..good.clone() }, "window_s"),
            (Pipeline { window_s: [f64::NAN, 1.0], ..good.clone() }, "window_s"),
            (Pipeline { window_s: [0.0, 1e300], ..good.clone() }, "window_s"),
            (Pipeline { baseline_s: Some([0.0, -0.2]), ..good.clone() }, "baseline_s"),
            (Pipeline { scaling: Scaling::By(0.0), ..good.clone() }, "scale by"),
        ] {
            let error = bad.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
