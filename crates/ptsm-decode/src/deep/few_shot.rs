//! A network tuned to one subject by a few labelled trials: its personal mask generators, or all of it.
//!
//! Trials go through the whole prediction graph, both views and calibration, and what moves is drawn back to where it was. Whether tuning helps is
//! asked of the labelled trials alone: one of each class at a time is decoded by a network tuned on all others, the copies being replicas of one
//! program, and where that does not decode more of them right than the network as it was, the network stays as it was.

use ptsm_engine::{Adam, Feed, Parameters, Step};
use ptsm_signal::Subset;

use super::FittedNetwork;
use crate::decoder::{Adaptation, AdaptationGuard, AdaptationWay, AdaptedDecoder, FittedDecoder};
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

/// The places of trials that are left out together: the first of each class, the second, and so on as far as every class has one.
fn rounds(labels: &[u32], classes: usize) -> Vec<Vec<usize>> {
    let of = |class: u32| -> Vec<usize> { (0..labels.len()).filter(|&i| labels[i] == class).collect() };
    let present: Vec<Vec<usize>> = (0..classes as u32).map(of).filter(|own| !own.is_empty()).collect();
    let shots = present.iter().map(Vec::len).min().unwrap_or(0);
    (0..shots).map(|round| present.iter().map(|own| own[round]).collect()).collect()
}

/// Trials left out in turn, one of each class at a time. With a single one of each class nothing can be left out, and nothing is a gain.
fn judge(network: &FittedNetwork, trials: &Subset<'_>, adaptation: &Adaptation) -> Result<AdaptationGuard> {
    let labels = trials.labels();
    let classes = trials.layout().classes.len();
    let before = network.probabilities(trials)?;
    let out = rounds(&labels, classes);
    let mut tuned = vec![];
    let mut judged: Vec<usize> = vec![];
    if out.len() > 1 {
        let others: Vec<Vec<usize>> =
            out.iter().map(|out| (0..trials.len()).filter(|i| !out.contains(i)).collect()).collect();
        for (out, others) in out.chunks(AT_ONCE).zip(others.chunks(AT_ONCE)) {
            for (out, network) in out.iter().zip(tune(network, trials, others, adaptation)?) {
                tuned.extend(network.probabilities(&trials.at(out))?);
                judged.extend(out);
            }
        }
    } else {
        tuned.clone_from(&before);
        judged.extend(0..trials.len());
    }
    let before: Vec<f32> =
        judged.iter().flat_map(|&i| before[i * classes..(i + 1) * classes].iter().copied()).collect();
    let labels: Vec<u32> = judged.iter().map(|&i| labels[i]).collect();
    let score = |p: &[f32]| {
        let each = p.chunks(classes).zip(&labels);
        let right = each.clone().filter(|(p, label)| largest(p) == **label as usize).count();
        let loss = each.map(|(p, label)| -f64::from(p[*label as usize].max(f32::MIN_POSITIVE)).ln());
        let n = labels.len() as f64;
        (right as f64 / n, loss.sum::<f64>() / n)
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
    let mut built = network.build(batch)?;
    let (spec, moved) = built.adaptation_step(Adam::default(), adaptation.how == AdaptationWay::All)?;
    let seeds = vec![0; groups.len()];
    let mut parameters = network.parameters.spread(0, &seeds)?;
    let mut step = Step::new(&built.graph, &spec, groups.len(), &network.device)?;
    let rows: Vec<u32> = groups.iter().flatten().map(|&place| trials.rows()[place] as u32).collect();
    let labels = trials.labels();
    let task: Vec<u32> = groups.iter().flatten().map(|&place| labels[place]).collect();
    let slices = signals(trials.set(), &rows);
    let feeds = [("x", Feed::Slices(&slices)), ("shots", Feed::Labels(&task))];
    let (rates, active) = (vec![adaptation.rate; groups.len()], vec![true; groups.len()]);
    for _ in 0..adaptation.steps {
        step.run(&mut parameters, &feeds, &rates, &active)?;
        if adaptation.prior > 0.0 {
            draw_back(&mut parameters, &network.parameters, &moved, adaptation.prior * adaptation.rate)?;
        }
    }
    (0..groups.len()).map(|r| Ok(network.with(parameters.spread(r, &[0])?))).collect()
}

/// Brings what has moved a part of the way back to where it was.
fn draw_back(
    parameters: &mut Parameters<f32>,
    source: &Parameters<f32>,
    moved: &[String],
    part: f64,
) -> Result<()> {
    for name in moved {
        let home = source.get(0, name)?;
        for replica in 0..parameters.replicas() {
            let back = |(now, home): (&f32, &f32)| now - part as f32 * (now - home);
            let values: Vec<f32> = parameters.get(replica, name)?.iter().zip(home).map(back).collect();
            parameters.set(replica, name, &values)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trial_of_each_class_is_left_out_at_a_time() {
        assert_eq!(rounds(&[0, 1, 1, 0, 1], 2), [vec![0, 1], vec![3, 2]]);
        assert_eq!(rounds(&[1, 1, 1], 2), [[0], [1], [2]]);
        assert!(rounds(&[], 2).is_empty());
    }
}
