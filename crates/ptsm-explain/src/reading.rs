//! What the features of one fit of a benchmark say of people.

use ptsm_decode::FittedDecoder;
use ptsm_eval::{FeatureFindings, Result, mean};
use ptsm_signal::Subset;

use crate::deletion::is_of_signals;
use crate::distance::distance;
use crate::features::{Features, TrialSplit};
use crate::probes::{PermutationSettings, Probe, ProbeInput, probe};

/// What a decoder's features for the task are called; the first that it knows.
pub const TASK_FEATURES: [&str; 3] = ["task_features", "features", "task_latents"];
/// The same of its features for the person.
pub const SUBJECT_FEATURES: [&str; 2] = ["subject_features", "subject_latents"];

const DIVISIONS: usize = 5;
/// Each is a handful of fits.
const DRAWS: usize = 20;
const SEED: u64 = 1;

/// How far the task features of the people tested are from those of the people learnt from, and whether they tell who somebody is. One person
/// alone is divided by runs and compared with nobody else. Trials that cannot be asked about are told and are no error: the scores of the fit stand.
pub fn read_features(
    fitted: &dyn FittedDecoder,
    learnt: &Subset<'_>,
    tested: &Subset<'_>,
) -> Result<FeatureFindings> {
    match found(fitted, learnt, tested) {
        Err(error) if is_of_signals(&error) => Ok(FeatureFindings::Not { why: error.to_string() }),
        other => other,
    }
}

fn found(fitted: &dyn FittedDecoder, learnt: &Subset<'_>, tested: &Subset<'_>) -> Result<FeatureFindings> {
    let (learnt, tested) = (learnt.in_time(), tested.in_time());
    let of = |trials: &Subset<'_>| Features::of(fitted, trials, &TASK_FEATURES);
    let (Some(source), Some(target)) = (of(&learnt)?, of(&tested)?) else {
        return Ok(FeatureFindings::Not { why: "this decoder has no features that can be looked at".into() });
    };
    let subjects = |trials: &Subset<'_>| trials.info().map(|t| t.subject.0).collect::<Vec<u32>>();
    let (from, who) = (subjects(&learnt), subjects(&tested));
    let alone = tested.subjects().len() == 1;
    let (groups, draws) = if alone { (runs(&tested), 0) } else { (who.clone(), DRAWS) };
    let distance = distance((&source, &from), (&target, &groups), DIVISIONS, draws, SEED)?;
    let person = match alone {
        true => None,
        false => {
            let labels = tested.labels();
            let question = ProbeInput { features: &target, labels: &who, groups: &who, blocks: &labels };
            let never = PermutationSettings { draws: 0, seed: SEED };
            Some(probe(&question, &TrialSplit::by_time(&who, 0.5), Probe::Linear, never)?)
        }
    };
    Ok(FeatureFindings::Made {
        distance: distance.value,
        exchanged: (!alone).then(|| mean(&distance.draws)),
        p: (!alone).then_some(distance.p),
        person: person.as_ref().map(|found| found.balanced_accuracy),
        person_chance: person.as_ref().map(|found| found.chance),
    })
}

/// The run of each trial, runs of different sessions apart.
fn runs(trials: &Subset<'_>) -> Vec<u32> {
    let mut known = vec![];
    trials
        .info()
        .map(|t| {
            let own = (t.session, t.run);
            let place = known.iter().position(|run| *run == own).unwrap_or_else(|| {
                known.push(own);
                known.len() - 1
            });
            place as u32
        })
        .collect()
}
