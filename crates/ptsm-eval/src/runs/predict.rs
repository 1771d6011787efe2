//! Class probabilities of trials.

use std::path::Path;

use ptsm_decode::ensemble;
use ptsm_decode::registry::find;
use ptsm_signal::{TargetAccess, Trial};

use super::trained::TrainedRun;
use crate::env::Env;
use crate::error::Result;
use crate::input::DataRequest;

/// What a run says of trials: the mean over its seeds.
pub struct Prediction {
    /// The decoder's name.
    pub model: String,
    /// What the data are called.
    pub data: String,
    /// The target access: the most that was seen of any of the subjects.
    pub target_access: TargetAccess,
    /// The classes, in the order of the probabilities.
    pub classes: Vec<String>,
    /// How many members each decoder has: more than 1 where they are ensembles.
    pub ensemble: usize,
    /// The seeds of the decoders.
    pub seeds: Vec<u64>,
    /// Whose trial each is, and when.
    pub trials: Vec<Trial>,
    /// Class probabilities, one row per trial.
    pub probabilities: Vec<Vec<f32>>,
}

impl Prediction {
    /// The most probable class of a trial, the first of those that are equally so.
    pub fn class(&self, trial: usize) -> usize {
        let p = &self.probabilities[trial];
        (1..p.len()).fold(0, |best, i| if p[i] > p[best] { i } else { best })
    }
}

/// Decodes trials with all decoders of a run; labels in the data are not read.
pub fn predict(run: &Path, data: &DataRequest, env: &Env) -> Result<Prediction> {
    let run = TrainedRun::load(run, &env.device)?;
    let data = run.prepare(data, false, env)?;
    let trials = data.trials.all();
    let classes = run.card.layout.classes.clone();
    let mut mean = vec![0.0; trials.len() * classes.len()];
    let shown = find(&run.card.decoder)?.target_access_with(&run.card.settings)?;
    for (_, fitted) in &run.decoders {
        let share = 1.0 / run.decoders.len() as f32;
        let adapted = fitted.with_target_access(&trials, shown)?;
        let fitted = adapted.as_ref().unwrap_or(fitted);
        mean.iter_mut().zip(fitted.probabilities(&trials)?).for_each(|(m, p)| *m += share * p);
    }
    let access = run.file.access(&run.card, &data, &trials);
    let access = access.iter().map(|(access, _)| *access).reduce(TargetAccess::and);
    Ok(Prediction {
        target_access: access.unwrap_or(run.card.target_access),
        ensemble: ensemble::size(&run.card.settings)?,
        seeds: run.decoders.iter().map(|(seed, _)| *seed).collect(),
        trials: trials.info().copied().collect(),
        probabilities: mean.chunks(classes.len()).map(<[f32]>::to_vec).collect(),
        classes,
        data: data.name.clone(),
        model: run.card.decoder,
    })
}
