//! A decoder tuned to one person by a few labelled trials: only the personal mask generators move.
//!
//! The trials are the first of each class in time. Whether tuning helps is asked of them alone: each is decoded by a network
//! tuned on all others (leave-one-out, the copies being replicas of one program), and where that does not decode more of them
//! right than the network as it was, the network stays as it was.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_engine::{Adam, Feed, Step};
use ptsm_signal::{Subset, Trial};
use serde::{Deserialize, Serialize};

use crate::decoder::Fitted;
use crate::deep::FittedNetwork;
use crate::error::{Error, Result};
use crate::ptsm;
use crate::training::{largest, signals};

/// How a decoder is tuned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Adaptation {
    /// Steps over all calibration trials at once.
    pub steps: usize,
    /// Learning rate, constant.
    pub rate: f64,
    /// Keep the decoder as it was where leave-one-out finds no gain.
    pub guard: bool,
}

impl Default for Adaptation {
    fn default() -> Adaptation {
        Adaptation { steps: 50, rate: 1e-3, guard: true }
    }
}

/// What leave-one-out on the calibration trials found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guard {
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

impl Guard {
    /// Weighs accuracy and cross-entropy as it was against those of tuned networks. Only more trials decoded right are a gain: networks
    /// grow more certain with nearly every tuning, so that cross-entropy falls also where nothing is decoded better.
    fn weigh(before: (f64, f64), tuned: (f64, f64)) -> Guard {
        let ((before_accuracy, before_loss), (tuned_accuracy, tuned_loss)) = (before, tuned);
        let kept = tuned_accuracy > before_accuracy;
        Guard { before_accuracy, tuned_accuracy, before_loss, tuned_loss, kept }
    }
}

/// A decoder after tuning, or as it was.
pub struct Adapted {
    /// The decoder.
    pub fitted: Box<dyn Fitted>,
    /// Calibration trials.
    pub trials: usize,
    /// What the guard found; none where it was switched off.
    pub guard: Option<Guard>,
}

/// The first `per_class` trials of each class in time order, and all trials later than the last of them that share nothing with them: no
/// sample, and no long trial that both are windows of (a run of one class, as of attended speech).
///
/// The later trials depend on `per_class` alone. To compare several numbers of shots on the same trials, take the later trials of the
/// largest.
pub fn calibration<'a>(trials: &Subset<'a>, per_class: usize) -> Result<(Subset<'a>, Subset<'a>)> {
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

pub(crate) fn adapt(network: &FittedNetwork, trials: &Subset<'_>, how: &Adaptation) -> Result<Adapted> {
    if trials.len() < 2 {
        return Err(Error::trials(
            format!("{} trial is too few to adapt to", trials.len()),
            "give at least one of each class",
        ));
    }
    if how.steps == 0 || !(how.rate.is_finite() && how.rate > 0.0) {
        let (steps, rate) = (how.steps, how.rate);
        return Err(Error::Configuration(format!(
            "adaptation needs at least 1 step and a rate above 0, got {steps} and {rate}"
        )));
    }
    let everything: Vec<usize> = (0..trials.len()).collect();
    let guard = how.guard.then(|| judge(network, trials, how)).transpose()?;
    let fitted = if guard.is_none_or(|g| g.kept) {
        tune(network, trials, &[everything], how)?.remove(0)
    } else {
        network.clone()
    };
    Ok(Adapted { fitted: Box::new(fitted), trials: trials.len(), guard })
}

/// Networks tuned at once; more would only take memory.
const AT_ONCE: usize = 8;

/// Leave-one-out over the calibration trials.
fn judge(network: &FittedNetwork, trials: &Subset<'_>, how: &Adaptation) -> Result<Guard> {
    let labels = trials.labels();
    let (n, classes) = (trials.len(), trials.layout().classes.len());
    let before = network.probabilities(trials)?;
    let mut tuned = vec![];
    let others: Vec<Vec<usize>> = (0..n).map(|i| (0..n).filter(|&j| j != i).collect()).collect();
    for (g, group) in others.chunks(AT_ONCE).enumerate() {
        for (i, network) in tune(network, trials, group, how)?.iter().enumerate() {
            tuned.extend(network.probabilities(&trials.at(&[g * AT_ONCE + i]))?);
        }
    }
    let score = |p: &[f32]| {
        let each = p.chunks(classes).zip(&labels);
        let right = each.clone().filter(|(p, label)| largest(p) == **label as usize).count();
        let loss = each.map(|(p, label)| -f64::from(p[*label as usize].max(f32::MIN_POSITIVE)).ln());
        (right as f64 / n as f64, loss.sum::<f64>() / n as f64)
    };
    Ok(Guard::weigh(score(&before), score(&tuned)))
}

/// One tuned copy of the network per group of calibration trials; groups are of one size.
fn tune(
    network: &FittedNetwork,
    trials: &Subset<'_>,
    groups: &[Vec<usize>],
    how: &Adaptation,
) -> Result<Vec<FittedNetwork>> {
    let batch = groups[0].len();
    let built = network.build(batch)?;
    let spec = ptsm::few_shot(&built, Adam::default())?;
    let seeds = vec![0; groups.len()];
    let mut parameters = network.parameters.spread(0, &seeds)?;
    let mut step = Step::new(&built.graph, &spec, groups.len(), &network.device)?;
    let rows: Vec<u32> = groups.iter().flatten().map(|&place| trials.rows()[place] as u32).collect();
    let labels = trials.labels();
    let task: Vec<u32> = groups.iter().flatten().map(|&place| labels[place]).collect();
    let slices = signals(trials.set(), &rows);
    let feeds = [("x", Feed::Slices(&slices)), ("task", Feed::Labels(&task))];
    let (rates, active) = (vec![how.rate; groups.len()], vec![true; groups.len()]);
    for _ in 0..how.steps {
        step.run(&mut parameters, &feeds, &rates, &active)?;
    }
    (0..groups.len()).map(|r| Ok(network.with(parameters.spread(r, &[0])?))).collect()
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
        calibration(&trials(of).all(), 1).unwrap().1.rows().to_vec()
    }

    #[test]
    fn a_tie_is_no_gain() {
        assert!(!Guard::weigh((0.6, 0.7), (0.6, 0.4)).kept, "only more certain");
        assert!(!Guard::weigh((0.6, 0.7), (0.6, 0.7)).kept);
        assert!(!Guard::weigh((0.6, 0.7), (0.5, 0.4)).kept);
        assert!(Guard::weigh((0.6, 0.7), (0.7, 0.9)).kept);
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
        // Runs 1 and 2 are of one class each: what is left of run 2 is part of the trial that was learnt from.
        assert_eq!(
            later(&[(0, 1, 0.0), (0, 1, 1.0), (1, 2, 0.0), (1, 2, 5.0), (0, 3, 0.0), (1, 4, 0.0)]),
            [4, 5]
        );
    }
}
