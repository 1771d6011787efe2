//! Few-shot adaptation: what is asked for, what comes of it, and which trials it may use.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_signal::{Subset, Trial};
use serde::{Deserialize, Serialize};

use super::FittedDecoder;
use crate::error::{Error, Result};

/// What few-shot adaptation changes of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdaptationWay {
    /// What stands behind the network: the scale and offset of its logits, and weights of its features, with a prior that was chosen on
    /// source subjects. The network stays as it is.
    #[default]
    Head,
    /// The personal mask generators, as in the PTSM paper.
    Masks,
    /// Every parameter.
    All,
}

impl AdaptationWay {
    /// What a user types.
    pub fn name(self) -> &'static str {
        match self {
            AdaptationWay::Head => "head",
            AdaptationWay::Masks => "masks",
            AdaptationWay::All => "all",
        }
    }

    /// Of files that do not say: they are of a program that knew no other way.
    fn earlier() -> AdaptationWay {
        AdaptationWay::Masks
    }
}

impl std::fmt::Display for AdaptationWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// How a decoder is adapted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adaptation {
    /// What changes.
    #[serde(default = "AdaptationWay::earlier")]
    pub how: AdaptationWay,
    /// Steps over all calibration trials at once; the head needs none.
    pub steps: usize,
    /// Learning rate, constant.
    pub rate: f64,
    /// How strongly what moves is drawn back to where it was: the part of the way that it goes back in a step is this times the rate. 0
    /// for not at all.
    #[serde(default)]
    pub prior: f64,
    /// Keep the decoder as it was where trials that are left out in turn show no gain. The head is not judged: without evidence its prior
    /// keeps it.
    pub guard: bool,
}

impl Default for Adaptation {
    fn default() -> Adaptation {
        Adaptation { how: AdaptationWay::Head, steps: 50, rate: 1e-3, prior: 30.0, guard: true }
    }
}

impl Adaptation {
    /// Refuses numbers that no adaptation can go by, whatever it changes.
    pub(crate) fn check(&self) -> Result<()> {
        let Adaptation { steps, rate, prior, .. } = *self;
        if steps == 0 || !(rate.is_finite() && rate > 0.0) {
            return Err(Error::Configuration(format!(
                "adaptation needs at least 1 step and a rate above 0, got {steps} and {rate}"
            )));
        }
        if !(prior >= 0.0 && prior * rate < 1.0) {
            return Err(Error::Configuration(format!(
                "the prior of an adaptation must be at least 0 and below 1 / rate, {}, got {prior}",
                1.0 / rate
            )));
        }
        Ok(())
    }
}

/// What came of the calibration trials that were left out in turn, one of each class at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptationGuard {
    /// Accuracy as it was.
    pub before_accuracy: f64,
    /// Accuracy of trials decoded by a network tuned on the others.
    pub tuned_accuracy: f64,
    /// Cross-entropy as it was.
    pub before_loss: f64,
    /// The same of trials decoded by a network tuned on the others.
    pub tuned_loss: f64,
    /// Whether the tuned decoder was kept: it decodes more trials right.
    pub kept: bool,
}

impl AdaptationGuard {
    /// Weighs accuracy and cross-entropy as it was against those of tuned networks. Only more trials decoded right are a gain: networks
    /// grow more certain with nearly every tuning, so that cross-entropy falls also where nothing is decoded better.
    pub(crate) fn weigh(before: (f64, f64), tuned: (f64, f64)) -> AdaptationGuard {
        let ((before_accuracy, before_loss), (tuned_accuracy, tuned_loss)) = (before, tuned);
        let kept = tuned_accuracy > before_accuracy;
        AdaptationGuard { before_accuracy, tuned_accuracy, before_loss, tuned_loss, kept }
    }
}

/// A decoder after tuning, or as it was.
pub struct AdaptedDecoder {
    /// The decoder.
    pub fitted: Box<dyn FittedDecoder>,
    /// Calibration trials.
    pub trials: usize,
    /// What the guard found; none where it was switched off, and of an adapted head.
    pub guard: Option<AdaptationGuard>,
}

/// The first `per_class` trials of each class in time order, and all trials later than the last of them that share nothing with them: no
/// sample, and no long trial that both are windows of (a run of one class, as of attended speech).
///
/// The later trials depend on `per_class` alone. To compare several numbers of shots on the same trials, take the later trials of the
/// largest.
pub fn calibration_split<'a>(trials: &Subset<'a>, per_class: usize) -> Result<(Subset<'a>, Subset<'a>)> {
    let ordered = trials.in_time();
    let labels = ordered.labels();
    let mut counts = vec![0; trials.layout().classes.len()];
    let mut chosen = vec![];
    let mut end = 0;
    for (i, &label) in labels.iter().enumerate() {
        if counts[label as usize] < per_class {
            counts[label as usize] += 1;
            chosen.push(i);
            end = i + 1;
        }
    }
    if let Some(class) = counts.iter().position(|&n| n < per_class) {
        return Err(Error::trials(
            format!(
                "{per_class} trials of each class are asked for, but only {} are of class `{}`",
                counts[class],
                trials.layout().classes[class]
            ),
            "ask for fewer shots",
        ));
    }
    let info: Vec<&Trial> = ordered.info().collect();
    let length_s = trials.layout().samples as f64 / trials.layout().rate_hz;
    let near_s = length_s - 0.5 / trials.layout().rate_hz;
    let run = |i: usize| (info[i].subject, info[i].session, info[i].run);
    let mut classes: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for (i, &label) in labels.iter().enumerate() {
        classes.entry(run(i)).or_default().insert(label);
    }
    // Where no run has two classes, a run is one long trial that was cut into windows.
    let long = classes.len() > 1 && classes.values().all(|own| own.len() == 1);
    let shares =
        |i: usize, j: usize| run(i) == run(j) && (long || (info[i].cue_s - info[j].cue_s).abs() < near_s);
    let later: Vec<usize> = (end..labels.len()).filter(|&i| !chosen.iter().any(|&j| shares(i, j))).collect();
    Ok((ordered.at(&chosen), ordered.at(&later)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::{Channel, Layout, SubjectId, Trials};

    use super::*;

    /// Trials of 4 samples at 4 Hz: label, run and cue of each.
    fn trials(of: &[(u32, u32, f64)]) -> Trials {
        let layout = Layout {
            channels: vec![Channel::named("Cz")],
            samples: 4,
            rate_hz: 4.0,
            start_s: 0.0,
            classes: vec!["left".into(), "right".into()],
            task: Default::default(),
        };
        let trial = |&(label, run, cue_s): &(u32, u32, f64)| Trial {
            label,
            subject: SubjectId(1),
            session: 1,
            run,
            cue_s,
        };
        Trials::new(layout, vec![0.0; 4 * of.len()], of.iter().map(trial).collect()).unwrap()
    }

    fn later(of: &[(u32, u32, f64)]) -> Vec<usize> {
        calibration_split(&trials(of).all(), 1).unwrap().1.rows().to_vec()
    }

    #[test]
    fn a_tie_is_no_gain() {
        assert!(!AdaptationGuard::weigh((0.6, 0.7), (0.6, 0.4)).kept, "only more certain");
        assert!(!AdaptationGuard::weigh((0.6, 0.7), (0.6, 0.7)).kept);
        assert!(!AdaptationGuard::weigh((0.6, 0.7), (0.5, 0.4)).kept);
        assert!(AdaptationGuard::weigh((0.6, 0.7), (0.7, 0.9)).kept);
    }

    #[test]
    fn later_trials_are_all_after_the_last() {
        assert_eq!(later(&[(0, 1, 0.0), (0, 1, 1.0), (1, 1, 2.0), (0, 1, 3.0), (1, 1, 4.0)]), [3, 4]);
    }

    #[test]
    fn windows_that_overlap_are_not_scored() {
        assert_eq!(later(&[(0, 1, 0.0), (1, 1, 2.0), (0, 1, 2.5), (1, 1, 2.75), (0, 1, 3.0)]), [4]);
        // Another run has a time of its own.
        assert_eq!(later(&[(0, 1, 0.0), (1, 1, 2.0), (0, 2, 2.5), (1, 2, 2.9)]), [2, 3]);
    }

    #[test]
    fn windows_of_one_long_trial_stay_on_one_side() {
        // Runs 1 and 2 are of one class each: what is left of run 2 is part of the trial that was trained on.
        assert_eq!(
            later(&[(0, 1, 0.0), (0, 1, 1.0), (1, 2, 0.0), (1, 2, 5.0), (0, 3, 0.0), (1, 4, 0.0)]),
            [4, 5]
        );
    }
}
