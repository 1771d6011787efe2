//! All chosen subjects of a data set.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use blake3::Hash;
use ptsm_signal::{Pipeline, SubjectId, TaskDeclaration};

use super::cache::Contents;
use super::prepare::{EpochedItem, Labels};
use super::work::Work;
use super::{LoadOptions, Recordings};
use crate::arrays::LabelHandling;
use crate::catalogue::{DataSetFiles, RecordingItem};
use crate::error::{Error, Result, reasons};
use crate::findings::{
    Duplicate, Parts, Problem, ProblemKind, RecordingMeasures, ReportScope, Sketch, problems, same_samples,
    within,
};
use crate::fingerprint::Fingerprint;
use crate::identity::{LabelHash, subject_identities};
use crate::loaded::LoadedData;
use crate::subjects::{SubjectList, choose};

impl Recordings {
    /// What of it is there. Nothing at all is an error.
    pub fn find(&self) -> Result<DataSetFiles> {
        let found = self.set.find(&self.root, &self.options)?;
        if !found.items.is_empty() {
            return Ok(found);
        }
        let id = self.set.about().id;
        let hint = match found.missing.first() {
            Some((_, first)) => format!(
                "its first file would be {}; `ptsm data get {id} --out {}` downloads it",
                self.root.join(first).display(),
                self.root.display()
            ),
            None => "check `--root`".into(),
        };
        let message = format!("there is no recording of it in {}", self.root.display());
        Err(Error::Source { id, message, hint: Some(hint) })
    }

    /// What the data set declares about its task, for some of its classes.
    pub fn task(&self, classes: &[String]) -> TaskDeclaration {
        let declared = self.set.task(&self.options);
        TaskDeclaration { symmetry: declared.symmetry.among(classes), ..declared }
    }

    /// Trials of all or some subjects.
    pub(crate) fn load(
        &self,
        pipeline: Option<&Pipeline>,
        subjects: Option<&SubjectList>,
        label_handling: LabelHandling<'_>,
        options: &LoadOptions<'_>,
    ) -> Result<LoadedData> {
        let about = self.set.about();
        let found = self.find()?;
        let pipeline = match pipeline {
            Some(pipeline) => pipeline.clone(),
            None => self.set.pipeline(&self.options)?,
        };
        let excluded = self.excluded(&found)?;
        let items = self.items(&found, &excluded, subjects)?;
        let labels = Labels::new(&found.classes, label_handling, &about.id)?;
        let work = Work::new(self, &found.classes, &labels, &pipeline, options)?;
        let (done, lost) = work.all(&items)?;

        let mut fingerprint =
            Fingerprint::default().text("recordings").text(&about.id).value(&self.options)?;
        for contents in done.iter().flat_map(|done| &done.contents) {
            fingerprint = fingerprint.hash(contents.hash);
        }
        let fingerprint = fingerprint.value(&pipeline)?.hex();
        let samples: Vec<Option<Hash>> =
            items.iter().zip(&done).map(|(item, done)| samples(item, &done.contents)).collect();
        let prepared: Vec<EpochedItem> = done.into_iter().map(|done| done.prepared).collect();
        let labels: BTreeMap<SubjectId, String> = self.set.labels(&self.options)?.into_iter().collect();
        let mut notes = notes(
            &found,
            &requested_exclusions(&excluded, &found, subjects),
            subjects,
            &items,
            &prepared,
            self.set.names_subjects(),
        );
        notes.extend(lost);
        let parts: Vec<(&RecordingItem, &RecordingMeasures)> = items
            .iter()
            .zip(&prepared)
            .flat_map(|(item, prepared)| prepared.measured.iter().map(|measured| (*item, measured)))
            .collect();
        let findings =
            findings(&found.classes, &parts, &about.id, self.set.names_subjects(), label_handling)?;
        let exact = same_samples(&parts);
        let places: Vec<u64> = prepared.iter().flat_map(|p| &p.places).copied().collect();
        let sketches: Vec<Sketch> = prepared.iter().flat_map(|p| &p.sketches).copied().collect();
        let trials = join(&about.id, &items, prepared)?;
        let task = self.task(&trials.layout().classes);
        let trials =
            trials.with_task(task).map_err(|error| Error::Signal { place: about.id.clone(), error })?;
        let mut identities = subject_identities(trials.info(), &places);
        for (item, contents) in items.iter().zip(samples) {
            identities
                .entry(item.subject)
                .and_modify(|identity| contents.into_iter().for_each(|c| identity.is_in(c)));
        }
        let label = |subject: &SubjectId| labels.get(subject).cloned().unwrap_or(subject.0.to_string());
        let labels: BTreeMap<SubjectId, String> =
            trials.subjects().into_iter().map(|subject| (subject, label(&subject))).collect();
        for (subject, identity) in &mut identities {
            identity.is_called(&labels[subject], &self.set.study());
        }
        let labels = labels.into_iter().map(|(subject, label)| (subject, LabelHash::of(&label))).collect();
        let duplicates = Duplicate::together(within(&trials, &sketches), exact);
        Ok(LoadedData {
            labels,
            trials,
            pipeline,
            notes,
            findings,
            duplicates,
            sketches,
            name: about.id,
            fingerprint,
            identities,
            excluded,
            truth: None,
            aligned: false,
        })
    }

    /// Everybody who is left out on purpose, with the reason: those the data set knows, and those it came upon.
    pub(crate) fn excluded(&self, found: &DataSetFiles) -> Result<Vec<(SubjectId, String)>> {
        let mut all: BTreeMap<SubjectId, String> = self.set.excluded(&self.options)?.into_iter().collect();
        all.extend(found.excluded.iter().cloned());
        Ok(all.into_iter().collect())
    }

    /// What there is of the subjects asked for.
    pub(crate) fn items<'a>(
        &self,
        found: &'a DataSetFiles,
        excluded: &[(SubjectId, String)],
        subjects: Option<&SubjectList>,
    ) -> Result<Vec<&'a RecordingItem>> {
        let present: BTreeSet<SubjectId> = found.items.iter().map(|item| item.subject).collect();
        let subjects = subjects.map(|list| list.skipping(excluded)).transpose()?;
        let chosen = choose(present, subjects.as_ref())?;
        Ok(found.items.iter().filter(|item| chosen.contains(&item.subject)).collect())
    }
}

/// Subjects of a data set who have a recording in common, found in its epochs, as loading finds them. What keeps epochs from being
/// loaded together is an error.
pub(crate) fn duplicates(
    id: &str,
    classes: &[String],
    named: bool,
    items: &[(&RecordingItem, &[RecordingMeasures])],
    epoched: Vec<EpochedItem>,
) -> Result<Vec<Duplicate>> {
    let parts: Vec<(&RecordingItem, &RecordingMeasures)> =
        items.iter().flat_map(|(item, measured)| measured.iter().map(|measured| (*item, measured))).collect();
    findings(classes, &parts, id, named, LabelHandling::Own)?;
    let sketches: Vec<Sketch> = epoched.iter().flat_map(|item| &item.sketches).copied().collect();
    let items: Vec<&RecordingItem> = items.iter().map(|(item, _)| *item).collect();
    let trials = join(id, &items, epoched)?;
    Ok(Duplicate::together(within(&trials, &sketches), same_samples(&parts)))
}

/// What is wrong with recordings, without what is told in notes. A channel of triggers is refused: nothing learnt with it is true.
pub(crate) fn findings(
    classes: &[String],
    parts: &Parts<'_>,
    id: &str,
    named: bool,
    label_handling: LabelHandling<'_>,
) -> Result<Vec<Problem>> {
    let scope = ReportScope { files: false, paths: !named, remote: false };
    let mut problems = problems(classes, &[], &[], parts, &scope);
    problems.retain(|problem| match problem.kind {
        // Told in a note, or of no consequence: an epoch in which channels are zero has channels that stand still.
        ProblemKind::Short | ProblemKind::Gaps | ProblemKind::Zeros => false,
        ProblemKind::NoTrial => matches!(label_handling, LabelHandling::Own),
        _ => true,
    });
    match problems.iter().find(|problem| problem.kind == ProblemKind::Trigger) {
        None => Ok(problems),
        Some(Problem { what, advice, cases, .. }) => {
            let cases: Vec<String> =
                cases.iter().map(|case| format!("{} of {}", case.detail, case.place)).collect();
            let message = format!("{what} ({})", cases.join(", "));
            Err(Error::Source { id: id.to_string(), message, hint: Some(advice.clone()) })
        }
    }
}

/// The subjects left out among those requested; where none is named, all that would be read were they not left out.
pub(crate) fn requested_exclusions(
    excluded: &[(SubjectId, String)],
    found: &DataSetFiles,
    subjects: Option<&SubjectList>,
) -> Vec<(SubjectId, String)> {
    match subjects {
        Some(list) => excluded.iter().filter(|(subject, _)| list.contains(*subject)).cloned().collect(),
        None => found.excluded.clone(),
    }
}

/// The hash of the file that holds an item's samples, which is the largest. Headers, tables and manifests may be the same for several
/// subjects.
fn samples(item: &RecordingItem, contents: &[Contents]) -> Option<Hash> {
    let table = |file: &Path| {
        file.extension().is_some_and(|e| ["toml", "tsv", "json", "csv", "eve"].iter().any(|t| e == *t))
    };
    let files = item.files.iter().zip(contents).filter(|(file, _)| !table(file));
    files.max_by_key(|(_, contents)| contents.bytes()).map(|(_, contents)| contents.hash)
}

fn join(id: &str, items: &[&RecordingItem], prepared: Vec<EpochedItem>) -> Result<ptsm_signal::Trials> {
    let mut all: Option<ptsm_signal::Trials> = None;
    for (item, prepared) in items.iter().zip(prepared) {
        let Some(trials) = prepared.trials else { continue };
        match &mut all {
            None => all = Some(trials),
            Some(all) => {
                all.append(&trials).map_err(|error| Error::Signal { place: item.place(), error })?;
            }
        }
    }
    let (message, hint) = match all {
        Some(all) if !all.is_empty() => return Ok(all),
        Some(_) => (
            "no trial's window lies inside its recording".to_string(),
            "choose another `window_s` or `baseline_s` in `[pipeline]`".to_string(),
        ),
        None => (
            "no recording has a trial of its classes".into(),
            "`ptsm data check` with the same data tells what is in them".into(),
        ),
    };
    Err(Error::Source { id: id.to_string(), message, hint: Some(hint) })
}

/// Files that are missing of the subjects asked for.
pub(crate) fn missing<'a>(
    found: &'a DataSetFiles,
    subjects: Option<&SubjectList>,
) -> Vec<&'a (SubjectId, PathBuf)> {
    let is_requested =
        |(subject, _): &&(SubjectId, PathBuf)| subjects.is_none_or(|list| list.contains(*subject));
    found.missing.iter().filter(is_requested).collect()
}

/// What the user should know, the same things together; without names of files where subjects are `named` in them.
fn notes(
    found: &DataSetFiles,
    excluded: &[(SubjectId, String)],
    subjects: Option<&SubjectList>,
    items: &[&RecordingItem],
    prepared: &[EpochedItem],
    named: bool,
) -> Vec<String> {
    let first = |place: String| if named { String::new() } else { format!("; the first is {place}") };
    let mut notes = found.notes_of(|subject| subjects.is_none_or(|list| list.contains(subject)));
    if !excluded.is_empty() {
        notes.push(format!("left out: {}", reasons(excluded)));
    }
    let missing = missing(found, subjects);
    if let Some((_, path)) = missing.first() {
        let (n, first) = (missing.len(), first(path.display().to_string()));
        notes.push(format!("{n} files of subjects who are there are missing{first}"));
    }
    let (short, unknown): (usize, usize) =
        prepared.iter().fold((0, 0), |(short, unknown), p| (short + p.short, unknown + p.unknown));
    if short > 0 {
        notes.push(format!(
            "{short} trials reach past the end of their recording or over a gap and were left out"
        ));
    }
    if unknown > 0 {
        notes.push(format!("{unknown} trials have no known class and were left out"));
    }
    let bad: usize = prepared.iter().map(|p| p.bad).sum();
    if bad > 0 {
        notes.push(format!("{bad} trials overlap annotations that begin with `BAD`: they are kept"));
    }
    let empty: Vec<&&RecordingItem> =
        items.iter().zip(prepared).filter(|(_, p)| p.trials.is_none()).map(|(item, _)| item).collect();
    if let Some(item) = empty.first() {
        notes.push(format!("{} recordings have no trial{}", empty.len(), first(item.place())));
    }
    for note in prepared.iter().flat_map(|p| &p.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}
