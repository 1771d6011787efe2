//! Batch-norm statistics of a subject, without labels: the source's, mixed with those of the subject's own trials.
//!
//! A network that was trained on some subjects normalises a new one by theirs: what its batch norms make of them is shifted and too wide or too
//! narrow. With `n` trials of the subject's session, each batch norm takes the moments that `n0` trials of the source and those `n` would have
//! together, `w = n / (n0 + n)`:
//!
//! ```text
//! mean     = (1 - w) m_source + w m_subject
//! variance = (1 - w) v_source + w v_subject + w (1 - w) (m_source - m_subject)^2
//! ```
//!
//! The last term is the variance between the two parts of a mixture: with it, this is also what the normal-inverse-gamma prior of `n0`
//! observations makes of `n` more, and adding trials one after the other or all at once is the same. Variances are biased. The moments are over
//! all rows of a trial, both views of a network that sees trials in the mirror, too. What a norm further down meets depends on those above it
//! being adapted: they are adapted in the order of the network.
//!
//! The setting `norms` of every network that has batch norms is `"whole"`, by all trials of a session (transductive), or `"stream"`, by
//! those up to and including each. As a stream, a trial goes through the network once: every norm takes the source, what it has kept of the trials before,
//! and what it meets of this one; of this one it keeps what it has met. Earlier trials are not sent through the network again as norms
//! above become better known, so that `n` trials cost `n` passes; that is the definition of the stream, not an approximation that is corrected later.
//!
//! `n0` is chosen when the decoder is fitted, on its validation subjects, each of whom plays the new one: that of [`SOURCE_TRIALS`] with the
//! lowest mean log loss after calibration, and infinity (the network stays as it was) unless it is better by more than the standard error of the difference over
//! subjects. Temperature and offsets are fitted to the logits of the validation subjects adapted in the same way, since how sure a decoder
//! should be depends on how it is normalised; they stand behind all norms, so that nothing depends on them in turn. The epoch that is kept is chosen before, by the network
//! as it is.

use ptsm_signal::TargetAccess;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::probabilities::log_sum_exp;

/// The setting that says which trials batch norms are adapted by.
pub const KEY: &str = "norms";

/// What `n0` is chosen among, besides infinity: a session has a few dozen to a few hundred trials.
pub const SOURCE_TRIALS: [f64; 4] = [5.0, 20.0, 80.0, 320.0];

/// Which trials of a session batch norms are adapted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormTrials {
    /// All of them.
    Whole,
    /// Those up to and including each.
    Stream,
}

impl NormTrials {
    /// What settings say; none of a decoder whose norms stay as they are.
    pub fn of(settings: &Value) -> Result<Option<NormTrials>> {
        match settings.get(KEY) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text == "none" => Ok(None),
            Some(value) => serde_json::from_value(value.clone()).map(Some).map_err(|_| {
                Error::Configuration(format!(
                    "`{KEY}` is {value}; it is \"whole\" (all trials of a session), \"stream\" (those so far) or \"none\""
                ))
            }),
        }
    }

    /// What it sees of a subject.
    pub fn target_access(self) -> TargetAccess {
        match self {
            NormTrials::Whole => TargetAccess::WHOLE,
            NormTrials::Stream => TargetAccess::Stream,
        }
    }

    /// As the setting has it.
    pub fn name(self) -> &'static str {
        match self {
            NormTrials::Whole => "whole",
            NormTrials::Stream => "stream",
        }
    }
}

/// The same, and the settings without it.
pub(crate) fn take(mut settings: Value) -> Result<(Option<NormTrials>, Value)> {
    let trials = NormTrials::of(&settings)?;
    settings.as_object_mut().map(|settings| settings.remove(KEY));
    Ok((trials, settings))
}

/// Settings of a decoder as those of one whose norms are adapted.
pub(crate) fn with(mut settings: Value, trials: Option<NormTrials>) -> Value {
    if let (Value::Object(settings), Some(trials)) = (&mut settings, trials) {
        settings.insert(KEY.into(), trials.name().into());
    }
    settings
}

/// Moments of each channel, and of how many trials they count as.
#[derive(Clone, Debug)]
pub(crate) struct NormMoments {
    pub(crate) trials: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl NormMoments {
    /// Of `[2, C]`, means and variances.
    pub(crate) fn new(values: &[f32], trials: f64) -> NormMoments {
        let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect();
        let (mean, variance) = values.split_at(values.len() / 2);
        NormMoments { trials, mean: wide(mean), variance: wide(variance) }
    }

    /// Joins them with those of more trials.
    pub(crate) fn add(&mut self, more: &NormMoments) {
        let w = more.trials / (self.trials + more.trials);
        let own = self.mean.iter_mut().zip(&mut self.variance);
        for ((mean, variance), (m, v)) in own.zip(more.mean.iter().zip(&more.variance)) {
            let distance = m - *mean;
            *mean += w * distance;
            *variance = (1.0 - w) * *variance + w * v + w * (1.0 - w) * distance * distance;
        }
        self.trials += more.trials;
    }

    /// As `[2, C]`.
    pub(crate) fn values(&self) -> Vec<f32> {
        self.mean.iter().chain(&self.variance).map(|&v| v as f32).collect()
    }
}

/// Cross-entropy of one subject's trials by their scores `[n, K]`, every class that is there weighing the same, as in the calibration.
pub(crate) fn balanced_loss(scores: &[f64], labels: &[u32], classes: usize) -> f64 {
    let mut sums = vec![(0.0, 0usize); classes];
    for (scores, &label) in scores.chunks_exact(classes).zip(labels) {
        let (sum, n) = &mut sums[label as usize];
        *sum += log_sum_exp(scores) - scores[label as usize];
        *n += 1;
    }
    let present: Vec<f64> = sums.iter().filter(|(_, n)| *n > 0).map(|(sum, n)| sum / *n as f64).collect();
    present.iter().sum::<f64>() / present.len() as f64
}

/// Which of some ways is taken by the losses of at least two subjects, one list for each way: that with the lowest mean, or the first where no other one
/// is better than it by more than the standard error of the difference.
pub(crate) fn best_way(losses: &[Vec<f64>]) -> usize {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let best = (0..losses.len()).min_by(|&a, &b| mean(&losses[a]).total_cmp(&mean(&losses[b]))).unwrap_or(0);
    let gains: Vec<f64> = losses[0].iter().zip(&losses[best]).map(|(first, own)| first - own).collect();
    let gain = mean(&gains);
    let n = gains.len() as f64;
    let error = (gains.iter().map(|g| (g - gain).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    if gain > error { best } else { 0 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Joined one by one, moments are those of all values together.
    #[test]
    fn moments_are_those_of_a_mixture() {
        let values: Vec<Vec<f64>> =
            (0..5).map(|i| (0..3).map(|t| f64::from(i * i) - 0.7 * f64::from(t)).collect()).collect();
        let of = |values: &[f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            [mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n]
        };
        let narrow = |values: [f64; 2]| values.map(|v| v as f32);
        let mut joined = NormMoments::new(&narrow(of(&values[0])), 1.0);
        values[1..].iter().for_each(|own| joined.add(&NormMoments::new(&narrow(of(own)), 1.0)));
        for (found, all) in joined.values().iter().zip(of(&values.concat())) {
            assert!((f64::from(*found) - all).abs() < 1e-4, "{found} {all}");
        }
        // A source that counts for nothing leaves no trace.
        let mut alone = NormMoments::new(&[50.0, 9.0], 0.0);
        alone.add(&NormMoments::new(&[2.0, 3.0], 7.0));
        assert_eq!((alone.values(), alone.trials), (vec![2.0, 3.0], 7.0));
    }

    #[test]
    fn a_gain_within_its_error_is_none() {
        assert_eq!(best_way(&[vec![0.7, 0.6, 0.8], vec![0.6, 0.5, 0.68], vec![0.65, 0.5, 0.75]]), 1);
        assert_eq!(best_way(&[vec![0.7, 0.6, 0.8], vec![0.2, 0.9, 0.9]]), 0);
        assert_eq!(best_way(&[vec![0.7, 0.6], vec![0.7, 0.6]]), 0);
    }

    #[test]
    fn every_class_weighs_the_same() {
        let sure = balanced_loss(&[9.0, 0.0, 9.0, 0.0, 9.0, 0.0, 0.0, 0.0], &[0, 0, 0, 1], 2);
        assert!((sure - 0.5 * 2f64.ln()).abs() < 1e-3, "{sure}");
        assert!((balanced_loss(&[0.0, 0.0], &[1], 2) - 2f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn settings_are_read_and_refused() {
        let of = |settings: Value| NormTrials::of(&settings).map_err(|e| e.to_string());
        assert_eq!(of(json!({})).unwrap(), None);
        assert_eq!(of(json!({ "norms": "none" })).unwrap(), None);
        let (stream, rest) = take(json!({ "norms": "stream", "a": 1 })).unwrap();
        assert_eq!(stream.unwrap().target_access(), TargetAccess::Stream);
        assert_eq!(rest, json!({ "a": 1 }));
        assert_eq!(with(rest, stream), json!({ "a": 1, "norms": "stream" }));
        for wrong in [json!("all"), json!(3), json!(true)] {
            let error = of(json!({ "norms": wrong })).unwrap_err();
            assert!(error.contains("\"whole\""), "{error}");
        }
    }
}
