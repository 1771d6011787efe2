//! What the features of one fit of a benchmark tell about subjects.

use ptsm_decode::FittedDecoder;
use ptsm_eval::{FeatureFindings, Result, mean};
use ptsm_signal::Subset;

use crate::deletion::is_of_signals;
use crate::distance::distance;
use crate::features::{Features, TrialSplit};
use crate::probes::{PermutationSettings, Probe, ProbeInput, probe};

/// What a decoder's features for the task are called; the first that it knows.
pub const TASK_FEATURES: [&str; 3] = ["task_features", "features", "task_latents"];
/// The same of its subject features.
pub const SUBJECT_FEATURES: [&str; 2] = ["subject_features", "subject_latents"];

const DIVISIONS: usize = 5;
/// Each is a handful of fits.
const DRAWS: usize = 20;
const SEED: u64 = 1;

/// How far the task features of the test subjects are from those of the training subjects, and whether a probe tells subjects apart by them. A
/// single subject is divided by runs and compared with no other. Trials that cannot be probed are reported and are no error: the scores of the fit stand.
pub fn read_features(
    fitted: &dyn FittedDecoder,
    train: &Subset<'_>,
    test: &Subset<'_>,
) -> Result<FeatureFindings> {
    match measure(fitted, train, test) {
        Err(error) if is_of_signals(&error) => Ok(FeatureFindings::NotMeasured { why: error.to_string() }),
        other => other,
    }
}

fn measure(fitted: &dyn FittedDecoder, train: &Subset<'_>, test: &Subset<'_>) -> Result<FeatureFindings> {
    let (train, test) = (train.in_time(), test.in_time());
    let of = |trials: &Subset<'_>| Features::of(fitted, trials, &TASK_FEATURES);
    let (Some(source), Some(target)) = (of(&train)?, of(&test)?) else {
        return Ok(FeatureFindings::NotMeasured {
            why:
                "this decoder has no features that can be looked at; classic decoders and ensembles have none"
                    .into(),
        });
    };
    let subjects = |trials: &Subset<'_>| trials.info().map(|t| t.subject.0).collect::<Vec<u32>>();
    let (from, subject_labels) = (subjects(&train), subjects(&test));
    let alone = test.subjects().len() == 1;
    let (groups, draws) = if alone { (runs(&test), 0) } else { (subject_labels.clone(), DRAWS) };
    let distance = distance((&source, &from), (&target, &groups), DIVISIONS, draws, SEED)?;
    let probed = match alone {
        true => None,
        false => {
            let labels = test.labels();
            let question = ProbeInput {
                features: &target,
                labels: &subject_labels,
                groups: &subject_labels,
                blocks: &labels,
            };
            let never = PermutationSettings { draws: 0, seed: SEED };
            Some(probe(&question, &TrialSplit::by_time(&subject_labels, 0.5), Probe::Linear, never)?)
        }
    };
    Ok(FeatureFindings::Measured {
        distance: distance.value,
        exchanged: (!alone).then(|| mean(&distance.draws)),
        p: (!alone).then_some(distance.p),
        subject_accuracy: probed.as_ref().map(|found| found.balanced_accuracy),
        subject_chance: probed.as_ref().map(|found| found.chance),
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
