//! How many channels, samples and trials there are, and when.

use crate::error::{Error, Place, Result};
use crate::limit::few_enough;
use crate::mat::Value;

/// More than any amplifier has.
const MOST_CHANNELS: usize = 1 << 16;

pub(super) struct Sizes {
    pub(super) channels: usize,
    /// Samples of one trial, or of all where there are no trials.
    pub(super) points: usize,
    pub(super) trials: usize,
    pub(super) rate_hz: f64,
    /// When a trial begins, in seconds after its cue.
    pub(super) start_s: f64,
}

impl Sizes {
    /// Samples of all trials.
    pub(super) fn samples(&self) -> usize {
        self.points.saturating_mul(self.trials)
    }

    pub(super) fn is_epoched(&self) -> bool {
        self.trials > 1
    }
}

/// Sizes from the fields or, where the samples are in the file, from the samples.
pub(super) fn read(
    record: &Value,
    dims: Option<&[usize]>,
    place: &Place,
    notes: &mut Vec<String>,
) -> Result<Sizes> {
    let refuse = |message: String| {
        Err(Error::format(place, message)
            .with_hint("open it in EEGLAB, check it with `eeg_checkset` and save it again"))
    };
    let number = |name: &str| record.field(name).and_then(Value::number);
    let whole =
        |name: &str| number(name).filter(|n| n.fract() == 0.0 && (1.0..1e15).contains(n)).map(|n| n as usize);
    let said = [whole("nbchan"), whole("pnts"), Some(whole("trials").unwrap_or(1))];
    let [channels, points, trials] = match dims {
        None => said,
        Some(&[channels, points, trials]) => [Some(channels), Some(points), Some(trials)],
        Some(&[channels, all]) => {
            // Trials may lie side by side.
            let fits = |&trials: &usize| {
                trials > 1 && said[1].and_then(|points| points.checked_mul(trials)) == Some(all)
            };
            let trials = said[2].filter(fits).unwrap_or(1);
            [Some(channels), Some(all / trials), Some(trials)]
        }
        Some(dims) => return refuse(format!("`data` has the sizes {dims:?}; two or three are expected")),
    };
    let (Some(channels), Some(points), Some(trials)) = (channels, points, trials) else {
        return refuse("does not say how many channels and samples there are".into());
    };
    if dims.is_some() && said[..2] != [Some(channels), Some(points)] {
        notes.push(format!(
            "`nbchan` and `pnts` do not fit the data, which have {channels} channels of {points} samples"
        ));
    }
    if channels.checked_mul(points).and_then(|n| n.checked_mul(trials)).unwrap_or(0) == 0 {
        return refuse(format!("holds {trials} trials of {points} samples of {channels} channels"));
    }
    if channels > MOST_CHANNELS {
        return refuse(format!("claims {channels} channels"));
    }
    few_enough(trials, "trials", place)?;
    let Some(rate_hz) = number("srate").filter(|rate| rate.is_finite() && *rate > 0.0) else {
        return refuse("does not say how many samples a second has: `srate`".into());
    };
    let start_s = number("xmin").filter(|start| start.is_finite()).unwrap_or(0.0);
    Ok(Sizes { channels, points, trials, rate_hz, start_s })
}
