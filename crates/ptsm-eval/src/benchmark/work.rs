//! The list of all that a benchmark has to do, in its folder: whoever works there reads it, and whoever asks how far it has come.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ptsm_decode::distillation::checkpoints;
use serde::{Deserialize, Serialize};

use super::item::{FitItem, FitOutcome, FitScores, ValidationScore};
use super::reading::FoldFeatureFindings;
use super::stage::Stage;
use crate::error::{Error, Result};
use crate::record::Record;
use crate::reliability::DecisionBins;

const WORK: &str = "work.json";
/// The folder of those who are working.
const WORKING: &str = "working";

/// Everything a benchmark has to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkList {
    /// One stage after the other, each with its fits.
    pub stages: Vec<(Stage, Vec<FitItem>)>,
}

/// How far a fit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FitStatus {
    /// Scored.
    Done,
    /// A process works at it.
    Running,
    /// It could not be done.
    Failed,
    /// Nobody works at it.
    Missing,
}

/// A fit that could not be done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitFailure {
    /// What it is called.
    pub model: String,
    /// The data.
    pub data: String,
    /// The fold.
    pub fold: usize,
    /// The seed.
    pub seed: u64,
    /// Why.
    pub error: String,
    /// One thing to do.
    pub hint: Option<String>,
}

/// A fit that has an outcome: its part of the records, what it took and what made it.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectedFit {
    /// Its records among those of [`CollectedResults`]; none where it failed.
    pub records: Range<usize>,
    /// Its decisions for the test subjects by their probability.
    pub decisions: Option<DecisionBins>,
    /// How well it decodes its validation subjects.
    pub validation: Option<ValidationScore>,
    /// Seconds from the beginning of the fits that were done together until this one was ready.
    pub elapsed_s: f64,
    /// How many fits were done together.
    pub together: usize,
    /// How many of those it is made of.
    pub made_of: usize,
    /// Trials that were trained on, without those of validation.
    pub trials: usize,
    /// How many of them are source-only.
    pub source_only: usize,
    /// Version of the program, device and threads.
    pub made_by: String,
}

/// What there is of a benchmark's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectedResults {
    /// All records, in the order of the work list.
    pub records: Vec<Record>,
    /// Every fit that has an outcome, scored or failed, by its key.
    pub fits: BTreeMap<String, CollectedFit>,
    /// What features tell of subjects, where that was measured.
    pub readings: Vec<FoldFeatureFindings>,
    /// What could not be done.
    pub failures: Vec<FitFailure>,
    /// Fits that are still to be done.
    pub missing: usize,
}

impl WorkList {
    /// Reads the list of a folder.
    pub fn read(folder: &Path) -> Result<WorkList> {
        let path = folder.join(WORK);
        let bytes = std::fs::read(&path).map_err(Error::file(&path, "read"))?;
        let list: WorkList = serde_json::from_slice(&bytes).map_err(|source| Error::Work { path, source })?;
        if list.items().any(|(stage, item)| item.entry >= stage.entries.len()) {
            return Err(Error::plan(
                "the list of work names a decoder it does not have",
                "run the benchmark again; it writes the list anew and keeps what is done",
            ));
        }
        Ok(list)
    }

    /// Whether a folder has one.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(WORK).is_file()
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(WORK);
        let text = serde_json::to_vec(self).map_err(|e| Error::file(&path, "written")(e.into()))?;
        Ok(ptsm_io::atomic::replace(&path, &text)?)
    }

    /// All fits with their stages.
    pub fn items(&self) -> impl Iterator<Item = (&Stage, &FitItem)> {
        self.stages.iter().flat_map(|(stage, items)| items.iter().map(move |item| (stage, item)))
    }

    /// What there is. Names of variants are those of the list: they are no part of what is computed.
    pub fn collect(&self, folder: &Path) -> CollectedResults {
        let mut collected = CollectedResults::default();
        for (stage, item) in self.items() {
            let entry = &stage.entries[item.entry];
            let Some(outcome) = item.outcome(folder) else {
                collected.missing += 1;
                continue;
            };
            collected.readings.extend(outcome.features.map(|reading| FoldFeatureFindings {
                model: entry.display_name(),
                data: stage.data.clone(),
                protocol: stage.division.name(),
                trained_on: (!item.trained_on.is_all()).then(|| item.trained_on.to_string()),
                fold: item.fold,
                seed: item.seed,
                subject_count: item.test.len(),
                reading,
            }));
            let first = collected.records.len();
            match outcome.scores {
                FitScores::Scored { records } => collected.records.extend(
                    records.into_iter().map(|record| Record { variant: entry.variant.clone(), ..record }),
                ),
                FitScores::Failed { error, hint } => collected.failures.push(FitFailure {
                    model: entry.display_name(),
                    data: stage.data.clone(),
                    fold: item.fold,
                    seed: item.seed,
                    error,
                    hint,
                }),
            }
            let fit = CollectedFit {
                records: first..collected.records.len(),
                decisions: outcome.decisions,
                validation: outcome.validation,
                elapsed_s: outcome.elapsed_s,
                together: outcome.together,
                made_of: outcome.made_of,
                trials: outcome.trials,
                source_only: outcome.source_only,
                made_by: outcome.made_by,
            };
            collected.fits.insert(item.key.clone(), fit);
        }
        collected
    }

    /// Takes away what fits that are done might have continued from: a process can be killed between writing an outcome and that.
    pub fn tidy(&self, folder: &Path) {
        for (stage, item) in self.items() {
            let settings = &stage.entries[item.entry].settings;
            let is_left = checkpoints(&item.checkpoint(folder), settings).iter().any(|path| path.exists());
            if is_left && item.is_scored(folder) {
                item.remove_checkpoints(folder, settings);
            }
        }
    }

    /// How far each fit has come, in the order of the list.
    pub fn fit_statuses(&self, folder: &Path) -> Vec<FitStatus> {
        let running = running(folder);
        let of = |item: &FitItem| match item.outcome(folder) {
            Some(FitOutcome { scores: FitScores::Scored { .. }, .. }) => FitStatus::Done,
            // Whoever works at it again may mend it.
            _ if running.contains(&item.key) => FitStatus::Running,
            Some(_) => FitStatus::Failed,
            None => FitStatus::Missing,
        };
        self.items().map(|(_, item)| of(item)).collect()
    }
}

/// Tells others what this process works at, as long as it is kept. A killed process tells nothing any more.
pub struct WorkMarker {
    path: PathBuf,
    // The lock is what tells.
    _file: File,
}

impl WorkMarker {
    /// Begins to tell.
    pub(super) fn at(folder: &Path, items: &[&FitItem]) -> Result<WorkMarker> {
        // Of this work alone: the first fit is nobody else's, and should it be after all, not the process.
        let key = items.first().map_or("", |item| &item.key);
        let path = folder.join(WORKING).join(format!("{key}-{}", std::process::id()));
        let begin = || {
            // Whoever ends just now may take the empty folder away.
            let mut file = (0..100)
                .find_map(|_| {
                    let made =
                        std::fs::create_dir_all(folder.join(WORKING)).and_then(|()| File::create(&path));
                    match made {
                        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                        other => Some(other),
                    }
                })
                .unwrap_or_else(|| File::create(&path))?;
            // Where a file system has no locks, nobody learns of the work; whoever took up the folder was told so.
            let _ = file.try_lock();
            items.iter().try_for_each(|item| writeln!(file, "{}", item.key))?;
            Ok(file)
        };
        let file = begin().map_err(Error::file(&path, "written"))?;
        Ok(WorkMarker { path, _file: file })
    }
}

impl WorkMarker {
    /// Takes away what processes left behind that were killed.
    pub fn clear(folder: &Path) {
        for entry in std::fs::read_dir(folder.join(WORKING)).into_iter().flatten().flatten() {
            if !is_held(&entry.path()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let _ = std::fs::remove_dir(folder.join(WORKING));
    }
}

impl Drop for WorkMarker {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        // Gone with the last of them.
        let _ = self.path.parent().map(std::fs::remove_dir);
    }
}

/// Keys of all that somebody works at.
fn running(folder: &Path) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for entry in std::fs::read_dir(folder.join(WORKING)).into_iter().flatten().flatten() {
        if is_held(&entry.path()) {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            keys.extend(text.lines().map(String::from));
        }
    }
    keys
}

/// Whether the process that wrote it still lives.
fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
