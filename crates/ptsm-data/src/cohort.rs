//! A simulated cohort on disk, and as trials.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ptsm_io::{atomic, edf};
use ptsm_signal::{Pipeline, RecordingId, Scaling, SubjectId, Trials};
use rayon::prelude::*;

use crate::arrays::write_trials;
use crate::error::{Error, Result};
use ptsm_simulate::Cohort;

/// The settings of a cohort in its folder.
pub const COHORT_FILE: &str = "cohort.toml";
/// What is known of a cohort because it was made, in its folder.
pub const TRUTH_FILE: &str = "truth.json";
/// The list of a cohort's recordings, in its folder.
pub const MANIFEST_FILE: &str = "recordings.toml";

/// Reads a cohort's settings.
pub fn read_cohort(path: &Path) -> Result<Cohort> {
    let refuse = |message: String, hint: &str| Error::Content {
        path: path.to_path_buf(),
        message,
        hint: Some(hint.to_string()),
    };
    let text = ptsm_io::read_text(path).map_err(|error| match error {
        ptsm_io::Error::System { error, .. } => {
            refuse(format!("cannot read: {error}"), "`ptsm data simulate --out DIR` writes one")
        }
        other => Error::from(other),
    })?;
    let wrong = |error: toml::de::Error| {
        let message = format!("is no cohort: {}", error.to_string().trim_end());
        refuse(message, "mend the line; settings that are left out have a default")
    };
    let mut cohort: Cohort = toml::from_str(&text).map_err(wrong)?;
    // The default number of trials depends on the task.
    if !toml::from_str::<toml::Table>(&text).map_err(wrong)?.contains_key("trials") {
        cohort.trials = Cohort::of(cohort.task).trials;
    }
    cohort.check()?;
    Ok(cohort)
}

/// Writes a cohort to a folder: its settings, what is known of it, and the trials of each subject (`S001.npz`, ..) in microvolts,
/// filtered and cut as the cohort's own pipeline says but not scaled. Gives the files of trials.
///
/// A folder that holds another cohort is written over. One that holds anything else is refused.
pub fn save_cohort(cohort: &Cohort, folder: &Path) -> Result<Vec<PathBuf>> {
    begin(cohort, folder)?;
    let pipeline = Pipeline { scaling: Scaling::None, ..cohort.pipeline() };
    let write = |&subject: &SubjectId| {
        let path = folder.join(file_name(cohort, subject));
        let (trials, _) = epoch_subject(cohort, &pipeline, subject)?;
        write_trials(&path, &trials)?;
        Ok(path)
    };
    let subjects: Vec<SubjectId> = everybody(cohort).into_iter().collect();
    subjects.par_iter().map(write).collect()
}

/// The same as recordings: an EDF file per subject, session and run, in microvolts as recorded, and a manifest of them for
/// `files:MANIFEST`. Gives the manifest and the recordings.
pub fn save_recordings(cohort: &Cohort, folder: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
    begin(cohort, folder)?;
    let mut plan = Vec::new();
    for subject in everybody(cohort) {
        for session in 1..=cohort.sessions {
            plan.extend((1..=cohort.runs).map(|run| RecordingId { subject, session, run }));
        }
    }
    let write = |&id: &RecordingId| {
        let path = folder.join(recording_name(cohort, id));
        edf::write(&path, &cohort.recording(id.subject, id.session, id.run)?)?;
        Ok(path)
    };
    let files = plan.par_iter().map(write).collect::<Result<Vec<PathBuf>>>()?;
    // Last: a manifest lists what is there.
    let manifest = folder.join(MANIFEST_FILE);
    atomic::replace(&manifest, manifest_text(cohort, &plan)?.as_bytes())?;
    Ok((manifest, files))
}

/// The manifest of a cohort's recordings.
fn manifest_text(cohort: &Cohort, plan: &[RecordingId]) -> Result<String> {
    let failed = |error: toml::ser::Error| Error::Cohort { message: error.to_string(), hint: None };
    let list = |class: &String, codes: Vec<String>| (class.clone(), toml::Value::from(codes));
    let mut events: Vec<(String, Vec<String>)> = Vec::new();
    for (code, class) in cohort.cues() {
        match events.iter_mut().find(|(known, _)| *known == class) {
            Some((_, codes)) => codes.push(code),
            None => events.push((class, vec![code])),
        }
    }
    let events: toml::Table = events.iter().map(|(class, codes)| list(class, codes.clone())).collect();
    let mut pipeline = toml::Table::try_from(cohort.pipeline()).map_err(failed)?;
    // What is absent is said: a manifest has defaults of its own.
    for key in ["notch_hz", "band", "rate_hz", "baseline_s"] {
        pipeline.entry(key).or_insert("none".into());
    }
    let recordings = plan.iter().map(|&id| {
        let mut entry = toml::Table::new();
        entry.insert("file".into(), recording_name(cohort, id).into());
        entry.insert("subject".into(), i64::from(id.subject.0).into());
        entry.insert("session".into(), i64::from(id.session).into());
        entry.insert("run".into(), i64::from(id.run).into());
        toml::Value::from(entry)
    });
    let mut all = toml::Table::new();
    all.insert("title".into(), "simulated subjects".into());
    let declared = toml::Table::try_from(cohort.declared()).map_err(failed)?;
    all.extend(declared);
    all.insert("events".into(), events.into());
    all.insert("pipeline".into(), pipeline.into());
    all.insert("recording".into(), recordings.collect::<Vec<_>>().into());
    toml::to_string(&all).map_err(failed)
}

/// Writes what every folder of a cohort has, after taking an earlier cohort away.
fn begin(cohort: &Cohort, folder: &Path) -> Result<()> {
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
    Ok(())
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
    let entries = list()
        .map_err(|error| refuse(format!("cannot list this folder: {error}"), "check who may read it"))?;
    let earlier = folder.join(COHORT_FILE);
    let known = earlier.is_file() && read_cohort(&earlier).is_ok();
    if !known && !entries.iter().all(|path| left_over(path)) {
        return Err(refuse(
            "is not empty and holds no simulated cohort".into(),
            "give a new or an empty folder",
        ));
    }
    for path in entries.iter().filter(|path| of_a_subject(path) || left_over(path)) {
        fs::remove_file(path).map_err(|error| {
            refuse(format!("cannot take away {}: {error}", path.display()), "give a new folder")
        })?;
    }
    Ok(())
}

/// What a user should know of a folder whose cohort was not written to its end; nothing of other folders.
pub(crate) fn unfinished(folder: &Path) -> Option<String> {
    let settings = folder.join(COHORT_FILE);
    let cohort =
        read_cohort(&settings).ok().filter(|_| settings.is_file() && !folder.join(MANIFEST_FILE).exists())?;
    let missing = everybody(&cohort).into_iter().filter(|&s| !folder.join(file_name(&cohort, s)).is_file());
    let missing: Vec<SubjectId> = missing.collect();
    let first = missing.first()?;
    let (absent, all) = (missing.len(), cohort.subjects);
    Some(format!(
        "`{COHORT_FILE}` in {} tells of {all} subjects, but {absent} have no file ({first} is the first): simulate it again for all of them",
        folder.display()
    ))
}

/// The file of one subject, its number as wide as the largest one, so that names sort like numbers.
fn file_name(cohort: &Cohort, subject: SubjectId) -> String {
    let width = cohort.subjects.to_string().len().max(3);
    format!("S{:0width$}.npz", subject.0)
}

/// The file of one recording: `S001-1-02.edf`.
fn recording_name(cohort: &Cohort, id: RecordingId) -> String {
    let width = cohort.subjects.to_string().len().max(3);
    format!("S{:0width$}-{}-{:02}.edf", id.subject.0, id.session, id.run)
}

/// Whether a file is what a kill left of one that [`save_cohort`] was writing: `.S001.npz.123-4.partial`.
fn left_over(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    atomic::unfinished_target(&name)
        .is_some_and(|t| [COHORT_FILE, TRUTH_FILE].contains(&t) || of_a_subject(Path::new(t)))
}

/// Whether a file is called as [`save_cohort`] and [`save_recordings`] call them: `S001.npz`, `S001-1-02.edf`, the manifest.
fn of_a_subject(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let number = |text: &str, least: usize| text.len() >= least && text.bytes().all(|b| b.is_ascii_digit());
    let Some((stem, ending)) = name.strip_prefix('S').and_then(|rest| rest.rsplit_once('.')) else {
        return name == MANIFEST_FILE;
    };
    match (&stem.split('-').collect::<Vec<_>>()[..], ending) {
        ([subject], "npz") => number(subject, 3),
        ([subject, session, run], "edf") => number(subject, 3) && number(session, 1) && number(run, 2),
        _ => false,
    }
}

/// Everybody in a cohort.
pub(crate) fn everybody(cohort: &Cohort) -> BTreeSet<SubjectId> {
    (1..=cohort.subjects).map(SubjectId).collect()
}

/// The trials of some subjects in the order of their numbers, and how many windows were left out. There is at least one subject.
pub(crate) fn epoch_subjects(
    cohort: &Cohort,
    pipeline: &Pipeline,
    subjects: &BTreeSet<SubjectId>,
) -> Result<(Trials, usize)> {
    let subjects: Vec<SubjectId> = subjects.iter().copied().collect();
    let parts: Vec<(Trials, usize)> = subjects
        .par_iter()
        .map(|&subject| epoch_subject(cohort, pipeline, subject))
        .collect::<Result<_>>()?;
    join(parts)
}

/// All sessions and runs of one subject.
fn epoch_subject(cohort: &Cohort, pipeline: &Pipeline, subject: SubjectId) -> Result<(Trials, usize)> {
    let cues = cohort.cues();
    let mut parts = Vec::new();
    for session in 1..=cohort.sessions {
        for run in 1..=cohort.runs {
            let recording = cohort.recording(subject, session, run)?;
            let cut = pipeline.epoch(&recording, &cues, RecordingId { subject, session, run }).map_err(
                |error| Error::Signal {
                    place: format!("simulated {subject}, session {session}, run {run}"),
                    error,
                },
            )?;
            parts.push((cut.trials, cut.short));
        }
    }
    let (trials, short) = join(parts)?;
    let declared = trials
        .with_task(cohort.declared())
        .map_err(|error| Error::Signal { place: format!("simulated {subject}"), error })?;
    Ok((declared, short))
}

fn join(parts: Vec<(Trials, usize)>) -> Result<(Trials, usize)> {
    let mut parts = parts.into_iter();
    let nobody =
        || Error::Cohort { message: "simulated cohort: no subject was asked for".into(), hint: None };
    let (mut all, mut short) = parts.next().ok_or_else(nobody)?;
    for (trials, left_out) in parts {
        all.append(&trials).map_err(|error| Error::Signal { place: "simulated".into(), error })?;
        short += left_out;
    }
    Ok((all, short))
}
