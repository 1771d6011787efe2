//! Trials of a source, with what should be known of them.

use std::collections::BTreeMap;

use ptsm_signal::{Paradigm, Pipeline, SubjectId, Symmetry, TaskDeclaration, Trials};
use ptsm_simulate::Truth;

use crate::error::{Error, Result};
use crate::findings::{Duplicate, Problem, Sketch, between};
use crate::fingerprint::Fingerprint;
use crate::identity::SubjectIdentity;

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

    /// Subjects of these data who have a recording in common with subjects of others, which have the same channels, samples and rate.
    pub fn duplicates_in(&self, others: &LoadedData) -> Vec<Duplicate> {
        between((&self.trials, &self.sketches), (&others.trials, &others.sketches))
    }
}
