//! Tuning: candidates for some settings, tried on subjects who are kept out of the fits, the better ones with more effort.
//!
//! Nothing here knows any subject but those of the stage it is given: a development set that is never tested, or the source
//! subjects of one fold ([`Division::inside`](crate::Division::inside)), whose test subjects are no part of it.

mod halving;
mod space;
mod trial;

use std::path::Path;

use ptsm_engine::Device;
use serde_json::Value;

use crate::benchmark::{Benchmark, DecoderEntry, FitItem, Observer, Stage, StageTrials};
use crate::error::{Error, Result};
use crate::metrics::Metric;

pub use halving::{Budget, Rung, best_trial, rank_trials, search};
pub use space::{Dimension, SearchStrategy, SettingValues, draw_candidates};
pub use trial::{TrialScores, TuningTrial};

/// Where candidates are tried.
pub struct SearchSetup<'a> {
    /// The subjects, their folds, the seeds. Whatever entries it has are not looked at.
    pub stage: &'a Stage,
    /// The trials.
    pub sets: StageTrials<'a>,
    /// Where to work.
    pub device: &'a Device,
    /// Where outcomes and checkpoints are.
    pub folder: &'a Path,
    /// What is compared.
    pub metric: &'a Metric,
}

impl SearchSetup<'_> {
    /// Tries some candidates with the budget of a round: each is called something and has all its settings. What was done before is read.
    pub fn test(
        &self,
        rung: &Rung,
        model: &str,
        candidates: &[(String, &Value)],
        observer: &mut dyn Observer,
    ) -> Result<Vec<TrialScores>> {
        let entry = |(called, settings): &(String, &Value)| DecoderEntry {
            model: model.into(),
            variant: Some(called.clone()),
            settings: rung.settings(settings),
        };
        let stage = Stage { entries: candidates.iter().map(entry).collect(), ..self.stage.clone() };
        let items = stage.items(self.sets)?;
        let folds = items.iter().map(|item| item.fold + 1).max().unwrap_or(0);
        // All folds of a seed before the next seed.
        let place = |item: &FitItem| {
            let seed = stage.seeds.iter().position(|seed| *seed == item.seed).unwrap_or(0);
            seed * folds + item.fold
        };
        let taken = |item: &FitItem| rung.fits().is_none_or(|fits| place(item) < fits);
        let benchmark =
            Benchmark { stage: &stage, sets: self.sets, device: self.device, folder: self.folder, ask: None };
        benchmark.run(&taken, observer)?;
        let tested = |i: usize| {
            let own = items.iter().filter(|item| item.entry == i && taken(item));
            let outcome = |item| match FitItem::outcome(item, self.folder) {
                Some(outcome) => Ok((item, outcome)),
                None => {
                    let path = item.file(self.folder);
                    Err(Error::file(&path, "read")(std::io::ErrorKind::NotFound.into()))
                }
            };
            let outcomes = own.map(outcome).collect::<Result<Vec<_>>>()?;
            Ok(TrialScores::of(&outcomes, self.metric))
        };
        (0..candidates.len()).map(tested).collect()
    }
}
