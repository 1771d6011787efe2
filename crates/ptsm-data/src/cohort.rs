//! A simulated cohort on disk, and as trials.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ptsm_io::atomic;
use ptsm_signal::{Pipeline, Scaling, SubjectId, Trials, Who};
use rayon::prelude::*;

use crate::arrays::write_trials;
use crate::error::{Error, Result};
use crate::simulate::Cohort;

/// The settings of a cohort in its folder.
pub const COHORT_FILE: &str = "cohort.toml";
/// What is known of a cohort because it was made, in its folder.
pub const TRUTH_FILE: &str = "truth.json";

/// Reads a cohort's settings.
pub fn read_cohort(path: &Path) -> Result<Cohort> {
    let refuse = |message: String, hint: &str| Error::Content {
        path: path.to_path_buf(),
        message,
        hint: Some(hint.to_string()),
    };
    let text = fs::read_to_string(path).map_err(|error| {
        refuse(format!("cannot read: {error}"), "`ptsm data simulate --to DIR` writes one")
    })?;
    let cohort: Cohort = toml::from_str(&text).map_err(|error| {
        let message = format!("is no cohort: {}", error.to_string().trim_end());
        refuse(message, "mend the line; settings that are left out have a default")
    })?;
    cohort.check()?;
    Ok(cohort)
}

/// Writes a cohort to a folder: its settings, what is known of it, and the trials of each person (`S001.npz`, ..) in microvolts,
/// filtered and cut as the cohort's own pipeline says but not scaled. Gives the files of trials.
///
/// A folder that holds another cohort is written over. One that holds anything else is refused.
pub fn save_cohort(cohort: &Cohort, folder: &Path) -> Result<Vec<PathBuf>> {
    cohort.check()?;
    let failed = |error: std::io::Error| Error::Content {
        path: folder.to_path_buf(),
        message: format!("cannot write here: {error}"),
        hint: None,
    };
    fs::create_dir_all(folder).map_err(failed)?;
    clear(folder)?;
    // First the settings: a folder that was left half written is known as a cohort and can be written again.
    let settings = toml::to_string(cohort).map_err(|error| failed(std::io::Error::other(error)))?;
    atomic::replace(&folder.join(COHORT_FILE), settings.as_bytes())?;
    let truth = serde_json::to_vec_pretty(&cohort.truth()).map_err(|error| failed(error.into()))?;
    atomic::replace(&folder.join(TRUTH_FILE), &truth)?;

    let pipeline = Pipeline { scaling: Scaling::None, ..cohort.pipeline() };
    // As wide as the largest number, so that names sort like numbers.
    let width = cohort.subjects.to_string().len().max(3);
    let write = |&subject: &SubjectId| {
        let path = folder.join(format!("S{:0width$}.npz", subject.0));
        let (trials, _) = cut_subject(cohort, &pipeline, subject)?;
        write_trials(&path, &trials)?;
        Ok(path)
    };
    let subjects: Vec<SubjectId> = everybody(cohort).into_iter().collect();
    subjects.par_iter().map(write).collect()
}

/// Takes an earlier cohort's trials away; refuses a folder that holds something else.
fn clear(folder: &Path) -> Result<()> {
    let refuse = |message: String, hint: &str| Error::Content {
        path: folder.to_path_buf(),
        message,
        hint: Some(hint.to_string()),
    };
    let list = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut entries = list()
        .map_err(|error| refuse(format!("cannot list this folder: {error}"), "check who may read it"))?;
    // What a kill at the start leaves.
    entries.retain(|path| path.extension().is_none_or(|e| e != "partial"));
    if entries.is_empty() {
        return Ok(());
    }
    let earlier = folder.join(COHORT_FILE);
    if !earlier.is_file() || read_cohort(&earlier).is_err() {
        return Err(refuse(
            "is not empty and holds no simulated cohort".into(),
            "give a new or an empty folder",
        ));
    }
    for path in entries.iter().filter(|path| of_a_subject(path)) {
        fs::remove_file(path).map_err(|error| {
            refuse(format!("cannot take away {}: {error}", path.display()), "give a new folder")
        })?;
    }
    Ok(())
}

/// Whether a file is called as [`save_cohort`] calls them: `S001.npz`.
fn of_a_subject(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let number = name.strip_prefix('S').and_then(|rest| rest.strip_suffix(".npz"));
    number.is_some_and(|n| n.len() >= 3 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Everybody in a cohort.
pub(crate) fn everybody(cohort: &Cohort) -> BTreeSet<SubjectId> {
    (1..=cohort.subjects).map(SubjectId).collect()
}

/// The trials of some people in the order of their numbers, and how many windows were left out. There is at least one person.
pub(crate) fn cut_subjects(
    cohort: &Cohort,
    pipeline: &Pipeline,
    subjects: &BTreeSet<SubjectId>,
) -> Result<(Trials, usize)> {
    let subjects: Vec<SubjectId> = subjects.iter().copied().collect();
    let parts: Vec<(Trials, usize)> =
        subjects.par_iter().map(|&subject| cut_subject(cohort, pipeline, subject)).collect::<Result<_>>()?;
    join(parts)
}

/// All sessions and runs of one person.
fn cut_subject(cohort: &Cohort, pipeline: &Pipeline, subject: SubjectId) -> Result<(Trials, usize)> {
    let cues = cohort.cues();
    let mut parts = Vec::new();
    for session in 1..=cohort.sessions {
        for run in 1..=cohort.runs {
            let recording = cohort.recording(subject, session, run)?;
            let cut = pipeline.cut(&recording, &cues, Who { subject, session, run }).map_err(|error| {
                Error::Signal { place: format!("simulated {subject}, session {session}, run {run}"), error }
            })?;
            parts.push((cut.trials, cut.short));
        }
    }
    join(parts)
}

fn join(parts: Vec<(Trials, usize)>) -> Result<(Trials, usize)> {
    let mut parts = parts.into_iter();
    let nobody = || Error::Cohort { message: "simulated cohort: nobody was asked for".into(), hint: None };
    let (mut all, mut short) = parts.next().ok_or_else(nobody)?;
    for (trials, left_out) in parts {
        all.append(&trials).map_err(|error| Error::Signal { place: "simulated".into(), error })?;
        short += left_out;
    }
    Ok((all, short))
}
