//! OpenBMI (Lee et al. 2019): 54 subjects, two sessions, imagined movement, a speller and flickering targets.
//!
//! Data: doi:10.5524/100542, paper: doi:10.1093/gigascience/giz002. Each file holds the offline and the online phase of a session; both have
//! labels.

mod experiment;
mod find;
mod labels;
mod onsets;
mod read;

use std::path::Path;

use ptsm_signal::{Pipeline, TaskDeclaration};

use super::{DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart};
use crate::download::RemoteFile;
use crate::error::Result;
use experiment::Experiment;
pub(super) use experiment::{ERP, IMAGERY, SSVEP};

/// Subjects, numbered from 1.
const SUBJECT_COUNT: u32 = 54;

/// One half of a session's recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Training, without feedback.
    Offline,
    /// Test, with feedback.
    Online,
}

impl Phase {
    const ALL: [Phase; 2] = [Phase::Offline, Phase::Online];

    /// As the run of a trial.
    fn run(self) -> u32 {
        match self {
            Phase::Offline => 1,
            Phase::Online => 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Phase::Offline => "offline",
            Phase::Online => "online",
        }
    }

    /// How variables of it end.
    fn ending(self) -> &'static str {
        match self {
            Phase::Offline => "train",
            Phase::Online => "test",
        }
    }
}

impl DataSet for Experiment {
    fn about(&self) -> DataSetInfo {
        DataSetInfo {
            id: self.id.into(),
            title: self.title.into(),
            subject_count: SUBJECT_COUNT,
            licence: "GigaDB publishes data as CC0, catalogues say GPL-3.0 (the toolbox's licence): do not pass it on".into(),
            citation: "Lee et al. 2019, GigaScience 8(5) giz002, doi:10.1093/gigascience/giz002; data doi:10.5524/100542"
                .into(),
            home: "https://doi.org/10.5524/100542".into(),
            events: self.events.iter().map(|(code, meaning)| (code.to_string(), meaning.to_string())).collect(),
            pipeline: self.pipeline_about.into(),
            cautions: self.cautions.iter().map(|caution| caution.to_string()).collect(),
        }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        self.choices
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        Ok((self.pipeline)(options.get("pipeline")))
    }

    fn task(&self, _: &Options) -> TaskDeclaration {
        let declared = TaskDeclaration::of(self.paradigm);
        self.swaps.iter().fold(declared, |declared, (one, other)| declared.swapping(one, other))
    }

    fn find(&self, root: &Path, options: &Options) -> Result<DataSetFiles> {
        find::find(self, root, options)
    }

    fn read(&self, item: &RecordingItem, _: &Options, pipeline: &Pipeline) -> Result<Vec<RecordingPart>> {
        Ok(vec![read::read(self, item, pipeline)?])
    }

    fn remote(&self, options: &Options) -> Result<Vec<RemoteFile>> {
        Ok(find::remote(self, options))
    }

    fn study(&self) -> String {
        "openbmi".into()
    }
}
