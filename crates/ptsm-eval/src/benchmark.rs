//! Models x folds x seeds, one record per person and seed; started again, it continues.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ptsm_data::{Protocol, Split};
use ptsm_decode::registry::Method;
use ptsm_decode::{Decoder, Fit, Job, Lesson, Run, Watch};
use ptsm_engine::Device;
use ptsm_signal::{SubjectId, TargetAccess, Trials};
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

/// Someone who watches a benchmark.
pub trait Observer: Watch {
    /// A decoder's fits begin: its name, how many fits, and its place among how many decoders.
    fn begins(&mut self, model: &'static str, fits: usize, place: (usize, usize));
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

    /// Does what is not done yet and returns all records. All folds and seeds of a decoder are handed to it at once; how many train together is
    /// its affair and the device's.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Vec<Record>> {
        let seed = *self.seeds.first().ok_or_else(|| Error::plan("there is no seed", "give at least one"))?;
        let splits = self.protocol.splits(&self.trials.subjects(), seed)?;
        let plain = lessons(&splits, self.trials, false)?;
        let with_target = lessons(&splits, self.trials, true)?;
        // Whoever could not be decoded in the end is told before any decoder learns.
        for entry in self.entries {
            let decoder = entry.method.build(entry.settings.clone())?;
            for split in &splits {
                decoder.check_people(&split.test(self.trials), entry.method.target_access)?;
            }
        }
        let mut done: HashSet<_> = self.records()?.iter().map(key).collect();
        for (i, entry) in self.entries.iter().enumerate() {
            let name = entry.method.name;
            let folds = 0..splits.len();
            let all = folds.flat_map(|fold| self.seeds.iter().map(move |&seed| (fold, seed)));
            let (wanted, finished): (Vec<_>, Vec<_>) = all.partition(|&(fold, seed)| {
                let mut tested = splits[fold].test_subjects().iter();
                tested.any(|s| !done.contains(&(name.to_string(), fold, *s, seed)))
            });
            // Left by a process that was killed between its last record and this.
            for (fold, seed) in finished {
                let _ = std::fs::remove_file(self.checkpoint(name, fold, seed));
            }
            if wanted.is_empty() {
                continue;
            }
            observer.begins(name, wanted.len(), (i, self.entries.len()));
            let decoder = entry.method.build(entry.settings.clone())?;
            // The people to be decoded are handed out, without their labels, where the decoder says that it learns from them.
            let lessons = if decoder.learns_from_target() { &with_target } else { &plain };
            self.fit((entry, &*decoder), &splits, lessons, &wanted, &mut done, observer)?;
        }
        self.records()
    }

    fn checkpoint(&self, model: &str, fold: usize, seed: u64) -> PathBuf {
        self.folder.join(format!("checkpoint-{model}-{fold}-{seed}.safetensors"))
    }

    /// Fits a decoder for some folds and seeds, and writes down what comes of each as soon as it is known.
    fn fit(
        &self,
        (entry, decoder): (&Entry, &dyn Decoder),
        splits: &[Split],
        lessons: &[Lesson<'_>],
        wanted: &[(usize, u64)],
        done: &mut HashSet<Key>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let name = entry.method.name;
        let checkpoint = |fold: usize, seed: u64| self.checkpoint(name, fold, seed);
        let job = |&(fold, seed): &(usize, u64)| Job {
            lesson: &lessons[fold],
            seed,
            checkpoint: Some(checkpoint(fold, seed)),
        };
        let jobs: Vec<Job<'_>> = wanted.iter().map(job).collect();
        let run = Run { device: self.device, identity: self.fingerprint };
        let mut failed = None;
        let mut take = |job: usize, fit: Fit| -> Result<()> {
            let (fold, seed) = wanted[job];
            let context = Context {
                data: self.data.into(),
                model: name.into(),
                protocol: self.protocol.to_string(),
                target_access: entry.method.target_access.and(self.trials_access),
                shown: entry.method.target_access,
                fold,
                seed,
                precision: self.device.precision().noted(),
            };
            for record in score(&*fit.fitted, &splits[fold].test(self.trials), &context)? {
                if done.insert(key(&record)) {
                    Records::append(&self.results(), &record)?;
                }
            }
            // Not before the records are there. That there may be none, as with decoders that learn at once, is no matter.
            let _ = std::fs::remove_file(checkpoint(fold, seed));
            Ok(())
        };
        let fitted = decoder.fit(&jobs, &run, observer, &mut |job, fit| {
            take(job, fit).map_err(|error| {
                failed = Some(error);
                ptsm_decode::Error::Stopped
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(fitted?),
        }
    }
}

/// What is learnt in each fold; with the fold's test people as the target, unlabelled, or without anything of them.
fn lessons<'a>(splits: &[Split], trials: &'a Trials, with_target: bool) -> Result<Vec<Lesson<'a>>> {
    let lesson = |split: &Split| -> Result<Lesson<'a>> {
        let lesson = Lesson::new(split.train(trials), split.validation(trials))?;
        Ok(if with_target { lesson.with_target(split.test(trials).unlabelled()) } else { lesson })
    };
    splits.iter().map(lesson).collect()
}

/// Model, fold, person, seed.
type Key = (String, usize, SubjectId, u64);

fn key(r: &Record) -> Key {
    (r.model.clone(), r.fold, r.subject, r.seed)
}
