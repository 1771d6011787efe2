//! Relevance by what is lost without a part of the trial.

use ptsm_decode::{Error, FittedDecoder};
use ptsm_eval::Result;
use ptsm_signal::Subset;

use super::relevance::Relevance;
use crate::removal::{Fill, RemovedPart, own_probabilities};

/// What is occluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occlusion {
    /// Samples of a window that is occluded in all channels.
    pub window_samples: usize,
    /// What stands in the place of what is occluded.
    pub fill: Fill,
}

/// How much less probable each trial's own class is without each channel, and without each window of time, which tells of all its samples.
/// For any decoder. The last window may be shorter.
pub fn occlusion(fitted: &dyn FittedDecoder, trials: &Subset<'_>, method: &Occlusion) -> Result<Relevance> {
    if method.window_samples == 0 {
        return Err(Error::Configuration("a window has at least 1 sample, got 0".into()).into());
    }
    let (channels, samples) = (trials.layout().channels.len(), trials.layout().samples);
    let whole = own_probabilities(fitted, trials, &|_| vec![], method.fill)?;
    let lost = |parts: Vec<RemovedPart>| -> Result<Vec<f64>> {
        let left = own_probabilities(fitted, trials, &|_| parts.clone(), method.fill)?;
        Ok(whole.iter().zip(left).map(|(whole, left)| whole - left).collect())
    };
    let [mut space, mut time] = [0, 1].map(|_| vec![vec![]; trials.len()]);
    for channel in 0..channels {
        let lost = lost(vec![RemovedPart::Channel(channel)])?;
        space.iter_mut().zip(lost).for_each(|(row, lost)| row.push(lost));
    }
    for from in (0..samples).step_by(method.window_samples) {
        let to = (from + method.window_samples).min(samples);
        let lost = lost((from..to).map(RemovedPart::Sample).collect())?;
        time.iter_mut().zip(lost).for_each(|(row, lost)| row.resize(to, lost));
    }
    let mut relevance = Relevance::default();
    for (space, time) in space.into_iter().zip(time) {
        let size = |values: &[f64]| values.iter().map(|v| v.abs()).collect();
        relevance.push([size(&space), size(&time), space, time], f64::NAN);
    }
    Ok(relevance)
}
