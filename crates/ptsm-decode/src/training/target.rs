//! The unlabelled trials that some networks learn from.

use std::collections::BTreeSet;

use ptsm_signal::{SubjectId, Subset};
use rand::seq::SliceRandom;

use crate::decoder::Job;
use crate::error::{Error, Result};
use crate::network::Batches;
use crate::random::{Purpose, stream};

/// What a job learns from with labels, and what without.
pub(super) fn parts<'a>(kind: Batches, job: &Job<'a>) -> Result<(Subset<'a>, Vec<&'a [f32]>)> {
    let train = job.data.train();
    match kind {
        Batches::Subjects | Batches::Pairs { .. } => Ok((train.clone(), vec![])),
        Batches::WithTarget => Ok((train.clone(), target_signals(job)?)),
        Batches::WithPseudoTarget => pretended(train, job.seed),
    }
}

/// The target that a job must have.
fn target_signals<'a>(job: &Job<'a>) -> Result<Vec<&'a [f32]>> {
    let Some(target) = job.data.target().filter(|target| !target.is_empty()) else {
        return Err(Error::trials(
            "this decoder trains on unlabelled trials of the target subjects, and got none",
            "name the target subjects, or take a decoder whose target access is none",
        ));
    };
    job.data.train().layout().expect(target.layout())?;
    Ok(target.signals().collect())
}

/// A third of the subjects, whose labels are put aside.
fn pretended<'a>(train: &Subset<'a>, seed: u64) -> Result<(Subset<'a>, Vec<&'a [f32]>)> {
    let mut subjects: Vec<SubjectId> = train.subjects().into_iter().collect();
    if subjects.len() < 2 {
        return Err(Error::trials(
            "one training subject cannot play both sides",
            "give at least 2, or a decoder that trains on target subjects",
        ));
    }
    subjects.shuffle(&mut stream(seed, Purpose::Pretence, 0, 0));
    let away: BTreeSet<SubjectId> = subjects.iter().take((subjects.len() / 3).max(1)).copied().collect();
    let labelled = train.only(|t| !away.contains(&t.subject));
    if let Some(absent) = labelled.class_counts().iter().position(|&n| n == 0) {
        let class = &train.layout().classes[absent];
        return Err(Error::trials(
            format!("with a third of the subjects put aside, no training trial is of class `{class}`"),
            "give more subjects whose trials have all classes",
        ));
    }
    Ok((labelled, train.only(|t| away.contains(&t.subject)).signals().collect()))
}

/// A number that differs where trials do: FNV-1a over the first samples of each.
pub(super) fn fingerprint(trials: &[&[f32]]) -> u64 {
    let samples = trials.iter().flat_map(|trial| trial.iter().take(16));
    let next = |hash: u64, x: &f32| (hash ^ u64::from(x.to_bits())).wrapping_mul(0x0100_0000_01b3);
    samples.fold(0xcbf2_9ce4_8422_2325, next)
}
