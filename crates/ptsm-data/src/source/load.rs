//! From a source to trials.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ptsm_signal::{Pipeline, RecordingId, SubjectId, Trials};

use super::Source;
use crate::arrays::{self, Arrays, LabelHandling};
use crate::catalogue::{RecordingItem, RecordingPart, SignalData};
use crate::cohort::{epoch_subjects, everybody, unfinished};
use crate::error::{Error, Result};
use crate::findings::{Duplicate, Problem, RecordingMeasures, measure_with, same_samples, sketches, within};
use crate::fingerprint::Fingerprint;
use crate::identity::{LabelHash, places, subject_identities};
use crate::loaded::LoadedData;
use crate::recordings::LoadOptions;
use crate::recordings::load::findings;
use crate::subjects::{SubjectList, choose};
use ptsm_simulate::Cohort;

impl Source {
    /// The source's own pipeline: the one that suits a data set or a cohort's task; for arrays, which are trials already, their own
    /// window and scaling alone. Samples are not read for it.
    pub fn pipeline(&self) -> Result<Pipeline> {
        let files = match self {
            Source::Simulated { cohort, .. } => return Ok(cohort.pipeline()),
            Source::Recordings(recordings) => return recordings.set().pipeline(recordings.options()),
            Source::File(path) => vec![path.clone()],
            Source::Folder(path) => arrays::files(path)?,
        };
        if let Some(prepared) = arrays::prepared(&files[0])? {
            return Ok(prepared);
        }
        // Trials of all files are of one length, or refused when they are read.
        Ok(Pipeline { window_s: arrays::window_s(&files[0])?, ..Pipeline::default() })
    }

    /// Reads or simulates the trials of all or some subjects. Without a pipeline the source's own is used.
    pub fn load(&self, pipeline: Option<&Pipeline>, subjects: Option<&SubjectList>) -> Result<LoadedData> {
        self.load_as(pipeline, subjects, LabelHandling::Own)
    }

    /// The same for a decoder that exists: its classes, and where nothing is to be scored, no labels.
    pub fn load_as(
        &self,
        pipeline: Option<&Pipeline>,
        subjects: Option<&SubjectList>,
        label_handling: LabelHandling<'_>,
    ) -> Result<LoadedData> {
        self.load_with(pipeline, subjects, label_handling, &LoadOptions::default())
    }

    /// The same with what loading may use, and somebody who watches it.
    pub fn load_with(
        &self,
        pipeline: Option<&Pipeline>,
        subjects: Option<&SubjectList>,
        label_handling: LabelHandling<'_>,
        options: &LoadOptions<'_>,
    ) -> Result<LoadedData> {
        options.work(|| self.load_here(pipeline, subjects, label_handling, options))
    }

    fn load_here(
        &self,
        pipeline: Option<&Pipeline>,
        subjects: Option<&SubjectList>,
        label_handling: LabelHandling<'_>,
        options: &LoadOptions<'_>,
    ) -> Result<LoadedData> {
        let files = match self {
            Source::Simulated { cohort, note } => {
                return self.simulate(cohort, note.as_ref(), pipeline, subjects);
            }
            Source::Recordings(recordings) => {
                return recordings.load(pipeline, subjects, label_handling, options);
            }
            Source::File(path) => vec![path.clone()],
            Source::Folder(path) => arrays::files(path)?,
        };
        let place = files[0].parent().filter(|_| files.len() > 1).unwrap_or(&files[0]);
        let mut arrays = arrays::read(&files, label_handling)?;
        if let Source::Folder(path) = self {
            arrays.notes.extend(unfinished(path));
        }
        self.arrays(place, &files, arrays, pipeline, subjects, label_handling)
    }

    fn simulate(
        &self,
        cohort: &Cohort,
        note: Option<&String>,
        pipeline: Option<&Pipeline>,
        subjects: Option<&SubjectList>,
    ) -> Result<LoadedData> {
        cohort.check()?;
        let pipeline = pipeline.cloned().unwrap_or_else(|| cohort.pipeline());
        let chosen = choose(everybody(cohort), subjects)?;
        let (trials, short) = epoch_subjects(cohort, &pipeline, &chosen)?;
        let mut notes: Vec<String> = note.cloned().into_iter().collect();
        if short > 0 {
            notes.push(format!("{short} trials reach past the end of their recording and were left out"));
        }
        let fingerprint = Fingerprint::default()
            // Another version may simulate other subjects from the same settings.
            .text(concat!("simulated ", env!("CARGO_PKG_VERSION")))
            .value(cohort)?
            .value(&pipeline)?
            .hex();
        let mut identities = subject_identities(trials.info(), &places(&trials));
        // Whoever has the same number in a cohort of the same seed has the same head, whatever the other settings are.
        for (subject, identity) in &mut identities {
            identity.is_called(&subject.0.to_string(), &format!("simulated {}", cohort.seed));
        }
        let truth = Some(cohort.truth_in(trials.layout()));
        let sketches = sketches(&trials);
        let labels = chosen.iter().map(|subject| (*subject, LabelHash::of(&subject.0.to_string()))).collect();
        Ok(LoadedData {
            labels,
            trials,
            pipeline,
            notes,
            // Simulated subjects are who they are.
            findings: vec![],
            duplicates: vec![],
            sketches,
            name: self.name(),
            fingerprint,
            identities,
            excluded: vec![],
            truth,
            aligned: false,
        })
    }

    fn arrays(
        &self,
        place: &Path,
        files: &[PathBuf],
        arrays: Arrays,
        pipeline: Option<&Pipeline>,
        subjects: Option<&SubjectList>,
        label_handling: LabelHandling<'_>,
    ) -> Result<LoadedData> {
        let refuse = |error| Error::Signal { place: place.display().to_string(), error };
        let Arrays { trials, mut notes, labels, prepared, made_from } = arrays;
        if let (Some(done), Some(expected)) = (&prepared, pipeline) {
            same_pipeline(place, done, expected)?;
        }
        let aligned = prepared.is_some();
        let given = pipeline
            .cloned()
            .unwrap_or_else(|| Pipeline { window_s: window_s(&trials), ..Pipeline::default() });
        if let Some(given) = pipeline
            && !aligned
            && !given.window_inside(trials.layout()).map_err(refuse)?
        {
            let ([from, to], [start, end]) = (given.window_s, window_s(&trials));
            notes.push(format!(
                "the window from {from} s to {to} s is not inside the trials, which keep their own, {start} s to {end} s"
            ));
        }
        let chosen = choose(trials.subjects(), subjects)?;
        let trials = keep(trials, &chosen).map_err(refuse)?;
        let (findings, exact) =
            self.measured(&trials, files, &given, label_handling).map_err(|error| match error {
                Error::Signal { error, .. } => refuse(error),
                other => other,
            })?;
        let (trials, pipeline) = match prepared {
            Some(done) => (trials, done),
            None => {
                let trials = given.finish(trials).map_err(refuse)?;
                // A window outside of the trials is not applied, so what is told is the one they have.
                let window_s = window_s(&trials);
                (trials, Pipeline { window_s, ..given })
            }
        };
        let mut fingerprint = Fingerprint::default().text("arrays");
        for file in files {
            fingerprint = fingerprint.file(file)?;
        }
        let fingerprint = fingerprint.value(&pipeline)?.hex();
        let (mut identities, name) = (subject_identities(trials.info(), &places(&trials)), self.name());
        for (subject, label) in &labels {
            identities.entry(*subject).and_modify(|identity| identity.is_called(label, &name));
        }
        for (subject, hashes) in made_from {
            identities.entry(subject).and_modify(|identity| identity.hashes.extend(hashes));
        }
        let labels = labels.into_iter().map(|(subject, label)| (subject, LabelHash::of(&label))).collect();
        let sketches = sketches(&trials);
        let duplicates = Duplicate::together(within(&trials, &sketches), exact);
        Ok(LoadedData {
            labels,
            trials,
            pipeline,
            aligned,
            notes,
            findings,
            duplicates,
            sketches,
            name,
            fingerprint,
            identities,
            excluded: vec![],
            truth: None,
        })
    }

    /// What is wrong with epochs as they were given, and subjects whose epochs are the same to the bit.
    fn measured(
        &self,
        trials: &Trials,
        files: &[PathBuf],
        pipeline: &Pipeline,
        label_handling: LabelHandling<'_>,
    ) -> Result<(Vec<Problem>, Vec<Duplicate>)> {
        let layout = trials.layout();
        let mut runs: BTreeMap<(SubjectId, u32, u32), Vec<usize>> = BTreeMap::new();
        for (row, trial) in trials.info().iter().enumerate() {
            runs.entry((trial.subject, trial.session, trial.run)).or_default().push(row);
        }
        let mut measured: Vec<(RecordingItem, RecordingMeasures)> = vec![];
        for ((subject, session, run), rows) in runs {
            let signal = SignalData::Epochs {
                channels: layout.channels.clone(),
                rate_hz: layout.rate_hz,
                start_s: layout.start_s,
                samples: layout.samples,
                x: rows.iter().flat_map(|&row| trials.signal(row)).copied().collect(),
                codes: rows
                    .iter()
                    .map(|&row| layout.classes[trials.info()[row].label as usize].clone())
                    .collect(),
            };
            let part = RecordingPart { id: RecordingId { subject, session, run }, signal, notes: vec![] };
            let item = RecordingItem {
                subject,
                session,
                run,
                files: files.to_vec(),
                part: String::new(),
                memory: 0,
            };
            let of = measure_with(&part, &layout.classes, pipeline, None)
                .map_err(|error| Error::Signal { place: item.place(), error })?;
            measured.push((item, of));
        }
        let parts: Vec<(&RecordingItem, &RecordingMeasures)> =
            measured.iter().map(|(item, of)| (item, of)).collect();
        let findings = findings(&layout.classes, &parts, &self.name(), true, label_handling)?;
        Ok((findings, same_samples(&parts)))
    }
}

/// From when to when trials reach, in seconds after the cue.
fn window_s(trials: &Trials) -> [f64; 2] {
    let layout = trials.layout();
    [layout.start_s, layout.start_s + layout.samples as f64 / layout.rate_hz]
}

/// Refuses to prepare trials in another way than they were prepared before: what was taken off them is not there any more.
fn same_pipeline(place: &Path, done: &Pipeline, expected: &Pipeline) -> Result<()> {
    if done == expected {
        return Ok(());
    }
    let table = |pipeline: &Pipeline| serde_json::to_value(pipeline).unwrap_or_default();
    let (done, expected) = (table(done), table(expected));
    let keys = done.as_object().into_iter().flatten().filter(|(key, value)| expected.get(key) != Some(value));
    let each: Vec<String> =
        keys.map(|(key, value)| format!("`{key}` was {value}, {} is expected", expected[key])).collect();
    Err(Error::Content {
        path: place.to_path_buf(),
        message: format!("its trials are prepared already: {}", each.join("; ")),
        hint: Some(
            "export them again as expected, with `ptsm data export`, or with `--run` for a decoder".into(),
        ),
    })
}

/// The trials of some subjects, as a set of their own.
fn keep(trials: Trials, subjects: &BTreeSet<SubjectId>) -> ptsm_signal::Result<Trials> {
    if trials.subjects() == *subjects {
        return Ok(trials);
    }
    let subset = trials.of(subjects);
    let x = subset.signals().flatten().copied().collect();
    Trials::new(trials.layout().clone(), x, subset.info().copied().collect())
}
