//! Models x folds x seeds, one record per person and seed; started again, it continues.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ptsm_data::{Protocol, Split};
use ptsm_decode::registry::Method;
use ptsm_decode::{Lesson, Run, Watch};
use ptsm_engine::Device;
use ptsm_signal::{TargetAccess, Trials};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::record::{Record, Records};
use crate::score::{Context, score};

/// A decoder that takes part.
pub struct Entry {
    /// The decoder.
    pub method: &'static Method,
    /// All its settings.
    pub settings: Value,
}

/// A benchmark and where it is kept.
pub struct Benchmark<'a> {
    /// Name of the data.
    pub data: &'a str,
    /// Everybody's trials, aligned where that was asked for.
    pub trials: &'a Trials,
    /// What preparing the trials saw of each person.
    pub trials_access: TargetAccess,
    /// Fingerprint of the data and its preparation.
    pub fingerprint: &'a str,
    /// How people are divided.
    pub protocol: &'a Protocol,
    /// Who takes part.
    pub entries: &'a [Entry],
    /// The seeds of every fit. The first one also draws the validation subjects, so that all seeds of a fold train at once.
    pub seeds: &'a [u64],
    /// Where to work.
    pub device: &'a Device,
    /// Where `results.jsonl` and checkpoints are.
    pub folder: &'a Path,
}

/// One fit: a decoder and a fold, with all seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The decoder's name.
    pub model: &'static str,
    /// The fold, counted from 0.
    pub fold: usize,
    /// Folds in all.
    pub folds: usize,
}

/// Someone who watches a benchmark.
pub trait Observer: Watch {
    /// A fit begins, after so many of so many.
    fn begins(&mut self, unit: &Unit, done: usize, all: usize);
}

impl Benchmark<'_> {
    /// The file of results.
    pub fn results(&self) -> PathBuf {
        self.folder.join("results.jsonl")
    }

    /// The records there are.
    pub fn records(&self) -> Result<Vec<Record>> {
        let path = self.results();
        if path.exists() { Ok(Records::read(&path)?.records) } else { Ok(vec![]) }
    }

    /// Does what is not done yet and returns all records.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Vec<Record>> {
        let seed = *self.seeds.first().ok_or_else(|| Error::plan("there is no seed", "give at least one"))?;
        let splits = self.protocol.splits(&self.trials.subjects(), seed)?;
        let plan: Vec<(&Entry, usize)> =
            self.entries.iter().flat_map(|e| (0..splits.len()).map(move |fold| (e, fold))).collect();
        let key = |r: &Record| (r.model.clone(), r.fold, r.subject, r.seed);
        let mut done: HashSet<_> = self.records()?.iter().map(key).collect();
        for (i, &(entry, fold)) in plan.iter().enumerate() {
            let split = &splits[fold];
            let name = entry.method.name;
            let missing = |seed: &u64| {
                split.test_subjects().iter().any(|s| !done.contains(&(name.to_string(), fold, *s, *seed)))
            };
            if !self.seeds.iter().any(missing) {
                continue;
            }
            let unit = Unit { model: name, fold, folds: splits.len() };
            observer.begins(&unit, i, plan.len());
            let checkpoint = self.folder.join(format!("checkpoint-{name}-{fold}.safetensors"));
            for record in self.fit(entry, split, &unit, &checkpoint, observer)? {
                if done.insert(key(&record)) {
                    Records::append(&self.results(), &record)?;
                }
            }
            // Not before the records are there. That there may be none, as with decoders that learn at once, is no matter.
            let _ = std::fs::remove_file(&checkpoint);
        }
        self.records()
    }

    fn fit(
        &self,
        entry: &Entry,
        split: &Split,
        unit: &Unit,
        checkpoint: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Record>> {
        let lesson = Lesson::new(split.train(self.trials), split.validation(self.trials))?;
        let run = Run {
            seeds: self.seeds,
            device: self.device,
            checkpoint: Some(checkpoint.to_path_buf()),
            identity: self.fingerprint,
        };
        let decoder = entry.method.build(entry.settings.clone())?;
        let fits = decoder.fit(&lesson, &run, observer)?;
        let mut records = vec![];
        for fit in fits {
            let context = Context {
                data: self.data.into(),
                model: unit.model.into(),
                protocol: self.protocol.to_string(),
                target_access: entry.method.target_access.and(self.trials_access),
                fold: unit.fold,
                seed: fit.seed,
                precision: self.device.precision().noted(),
            };
            records.extend(score(&*fit.fitted, &split.test(self.trials), &context)?);
        }
        Ok(records)
    }
}
