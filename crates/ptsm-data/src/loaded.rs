//! Trials of a source, with what should be known of them.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_signal::{Paradigm, Pipeline, SubjectId, Symmetry, TaskDeclaration, Trial, Trials};
use ptsm_simulate::Truth;

use crate::error::{Error, Result};
use crate::findings::{Duplicate, Problem, Sketch, between};
use crate::fingerprint::Fingerprint;
use crate::identity::{LabelHash, SubjectIdentity};

/// Trials, how they came about and what should be known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedData {
    /// The trials, before alignment.
    pub trials: Trials,
    /// What was applied to them; only its alignment is left to do, unless it is done.
    pub pipeline: Pipeline,
    /// Whether alignment is done too, as in files of trials that a decoder saw.
    pub aligned: bool,
    /// What was missing or left out, for the user.
    pub notes: Vec<String>,
    /// What is wrong or odd in recordings or epochs, as `ptsm data check` tells it, but for what notes tell.
    pub findings: Vec<Problem>,
    /// Subjects with a recording in common: nobody may learn from one of them and be tested on the other.
    pub duplicates: Vec<Duplicate>,
    /// What tells epochs that are there twice.
    pub(crate) sketches: Vec<Sketch>,
    /// What tells whether subjects are called alike in other data: hashes of their labels, or of their numbers where they have none.
    pub(crate) labels: BTreeMap<SubjectId, LabelHash>,
    /// A short name of the source.
    pub name: String,
    /// A hash of the data and the pipeline, in hexadecimal: of all files where they are arrays, of the recordings of the chosen subjects
    /// where they are recordings, of the settings where they are simulated.
    pub fingerprint: String,
    /// What everybody is recognised by under another number, file name, folder or choice.
    pub identities: BTreeMap<SubjectId, SubjectIdentity>,
    /// Subjects that the data leave out on purpose, with the reason: ranges skip them.
    pub excluded: Vec<(SubjectId, String)>,
    /// What is known because it was made, for the channels and samples of these trials.
    pub truth: Option<Truth>,
}

impl LoadedData {
    /// Aligns each subject's epochs, which is all that is left of the pipeline, unless that was done before.
    pub fn align(&mut self) -> Result<()> {
        if self.aligned {
            return Ok(());
        }
        let place = self.name.clone();
        self.pipeline.align(&mut self.trials).map_err(|error| Error::Signal { place, error })?;
        self.aligned = true;
        Ok(())
    }

    /// The same with what a user declares about the task in place of what the data say. The fingerprint changes with it.
    pub fn declare(mut self, paradigm: Option<Paradigm>, symmetry: Option<Symmetry>) -> Result<LoadedData> {
        let own = self.trials.layout().task.clone();
        let task = TaskDeclaration {
            paradigm: paradigm.or(own.paradigm),
            symmetry: symmetry.unwrap_or_else(|| own.symmetry.clone()),
        };
        if task == own {
            return Ok(self);
        }
        self.fingerprint = Fingerprint::default().text(&self.fingerprint).value(&task)?.hex();
        let place = self.name.clone();
        self.trials = self.trials.with_task(task).map_err(|error| Error::Signal { place, error })?;
        Ok(self)
    }

    /// The same with only those trials that meet a condition; what is known of subjects and recordings stays as it was. For trials that
    /// are not aligned yet: those of a session are aligned by each other.
    pub fn only(&self, keep: impl Fn(&Trial) -> bool) -> Result<LoadedData> {
        let kept = self.trials.all().only(keep);
        if kept.len() == self.trials.len() {
            return Ok(self.clone());
        }
        let place = || self.name.clone();
        let trials = kept
            .with_samples(kept.signals().flatten().copied().collect())
            .map_err(|error| Error::Signal { place: place(), error })?;
        let sketches = kept.rows().iter().map(|&row| self.sketches[row]).collect();
        Ok(LoadedData { trials, sketches, ..self.clone() })
    }

    /// For each subject of others the subject of these data who is called the same; those whom nobody here is called like are left out.
    /// Numbers are compared without leading zeros, `01` with `1`, unless that makes two subjects one.
    pub fn called_alike(&self, others: &LoadedData) -> BTreeMap<SubjectId, SubjectId> {
        let is_unique = |data: &LoadedData| {
            let numbers: BTreeSet<&String> = data.labels.values().map(LabelHash::as_number).collect();
            numbers.len() == data.labels.len()
        };
        let unique = is_unique(self) && is_unique(others);
        let key =
            |label: &'_ LabelHash| if unique { label.as_number().clone() } else { label.exact().clone() };
        let own: BTreeMap<String, SubjectId> =
            self.labels.iter().map(|(subject, label)| (key(label), *subject)).collect();
        let there = others.labels.iter();
        there.filter_map(|(subject, label)| Some((*subject, *own.get(&key(label))?))).collect()
    }

    /// Subjects of these data who have a recording in common with subjects of others, which have the same channels, samples and rate.
    pub fn duplicates_in(&self, others: &LoadedData) -> Vec<Duplicate> {
        between((&self.trials, &self.sketches), (&others.trials, &others.sketches))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Source;
    use ptsm_simulate::Cohort;

    fn loaded() -> LoadedData {
        let cohort = Cohort { subjects: 3, sessions: 2, runs: 1, trials: 4, seed: 5, ..Cohort::default() };
        Source::Simulated { cohort: Box::new(cohort), note: None }.load(None, None).unwrap()
    }

    fn called(labels: &[(u32, &str)]) -> LoadedData {
        let labels = labels.iter().map(|(n, label)| (SubjectId(*n), LabelHash::of(label))).collect();
        LoadedData { labels, ..loaded() }
    }

    #[test]
    fn some_trials_are_compared_as_all_were() {
        let whole = loaded();
        let second = whole.only(|trial| trial.session == 2).unwrap();
        assert_eq!(second.trials.len(), 12);
        assert_eq!(second.trials.signal(0), whole.trials.signal(4));
        assert_eq!(second.identities, whole.identities);
        assert!(whole.only(|trial| trial.session == 1).unwrap().duplicates_in(&second).is_empty());
        let again: Vec<SubjectId> = whole.duplicates_in(&second).iter().map(|d| d.second).collect();
        assert_eq!(again, [1, 2, 3].map(SubjectId));
    }

    #[test]
    fn subjects_are_matched_by_what_they_are_called() {
        let alike = |own: &[(u32, &str)], others: &[(u32, &str)]| -> Vec<(u32, u32)> {
            called(own).called_alike(&called(others)).into_iter().map(|(a, b)| (a.0, b.0)).collect()
        };
        // Numbers of names are places in a sorted list.
        assert_eq!(alike(&[(1, "anna"), (2, "bert")], &[(1, "bert"), (2, "carl")]), [(1, 2)]);
        assert_eq!(alike(&[(1, "1"), (2, "2")], &[(1, "02"), (2, "01")]), [(1, 2), (2, 1)]);
        // Two subjects are told apart by the zero.
        assert_eq!(alike(&[(1, "01"), (2, "1")], &[(1, "1"), (2, "2")]), [(1, 2)]);
        assert_eq!(alike(&[(1, "0")], &[(1, "00"), (2, "")]), [(1, 1)]);
    }
}
