//! A network tuned to one subject by a few labelled trials: only the parameters move that its method names as adaptable.
//!
//! The trials are the first of each class in time. Whether tuning helps is asked of them alone: each is decoded by a network
//! tuned on all others (leave-one-out, the copies being replicas of one program), and where that does not decode more of them
//! right than the network as it was, the network stays as it was.

use ptsm_engine::{Adam, Feed, Step};
use ptsm_signal::Subset;

use super::FittedNetwork;
use crate::decoder::{Adaptation, AdaptationGuard, AdaptedDecoder, FittedDecoder};
use crate::error::{Error, Result};
use crate::probabilities::largest;
use crate::training::signals;

pub(super) fn adapt(
    network: &FittedNetwork,
    trials: &Subset<'_>,
    adaptation: &Adaptation,
) -> Result<AdaptedDecoder> {
    if trials.len() < 2 {
        return Err(Error::trials(
            format!("{} trial is too few to adapt to", trials.len()),
            "give at least one of each class",
        ));
    }
    if adaptation.steps == 0 || !(adaptation.rate.is_finite() && adaptation.rate > 0.0) {
        let (steps, rate) = (adaptation.steps, adaptation.rate);
        return Err(Error::Configuration(format!(
            "adaptation needs at least 1 step and a rate above 0, got {steps} and {rate}"
        )));
    }
    let everything: Vec<usize> = (0..trials.len()).collect();
    let guard = adaptation.guard.then(|| judge(network, trials, adaptation)).transpose()?;
    let fitted = if guard.is_none_or(|g| g.kept) {
        tune(network, trials, &[everything], adaptation)?.remove(0)
    } else {
        network.clone()
    };
    Ok(AdaptedDecoder { fitted: Box::new(fitted), trials: trials.len(), guard })
}

/// Networks tuned at once; more would only take memory.
const AT_ONCE: usize = 8;

/// Leave-one-out over the calibration trials.
fn judge(network: &FittedNetwork, trials: &Subset<'_>, adaptation: &Adaptation) -> Result<AdaptationGuard> {
    let labels = trials.labels();
    let (n, classes) = (trials.len(), trials.layout().classes.len());
    let before = network.probabilities(trials)?;
    let mut tuned = vec![];
    let others: Vec<Vec<usize>> = (0..n).map(|i| (0..n).filter(|&j| j != i).collect()).collect();
    for (g, group) in others.chunks(AT_ONCE).enumerate() {
        for (i, network) in tune(network, trials, group, adaptation)?.iter().enumerate() {
            tuned.extend(network.probabilities(&trials.at(&[g * AT_ONCE + i]))?);
        }
    }
    let score = |p: &[f32]| {
        let each = p.chunks(classes).zip(&labels);
        let right = each.clone().filter(|(p, label)| largest(p) == **label as usize).count();
        let loss = each.map(|(p, label)| -f64::from(p[*label as usize].max(f32::MIN_POSITIVE)).ln());
        (right as f64 / n as f64, loss.sum::<f64>() / n as f64)
    };
    Ok(AdaptationGuard::weigh(score(&before), score(&tuned)))
}

/// One tuned copy of the network per group of calibration trials; groups are of one size.
fn tune(
    network: &FittedNetwork,
    trials: &Subset<'_>,
    groups: &[Vec<usize>],
    adaptation: &Adaptation,
) -> Result<Vec<FittedNetwork>> {
    let batch = groups[0].len();
    let built = network.build(batch)?;
    let spec = built.adaptation_step(Adam::default())?;
    let seeds = vec![0; groups.len()];
    let mut parameters = network.parameters.spread(0, &seeds)?;
    let mut step = Step::new(&built.graph, &spec, groups.len(), &network.device)?;
    let rows: Vec<u32> = groups.iter().flatten().map(|&place| trials.rows()[place] as u32).collect();
    let labels = trials.labels();
    let task: Vec<u32> = groups.iter().flatten().map(|&place| labels[place]).collect();
    let slices = signals(trials.set(), &rows);
    let feeds = [("x", Feed::Slices(&slices)), ("task", Feed::Labels(&task))];
    let (rates, active) = (vec![adaptation.rate; groups.len()], vec![true; groups.len()]);
    for _ in 0..adaptation.steps {
        step.run(&mut parameters, &feeds, &rates, &active)?;
    }
    (0..groups.len()).map(|r| Ok(network.with(parameters.spread(r, &[0])?))).collect()
}
