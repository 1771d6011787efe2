//! BCI Competition IV, data sets 2a and 2b: nine subjects each imagine movements.
//!
//! Description: doi:10.3389/fnins.2012.00055. There are two distributions: MATLAB files of BNCI Horizon 2020, which hold all labels, and
//! the competition's GDF files, whose evaluation sessions have their labels in files of their own.

mod bnci;
mod cues;
mod find;
mod gdf;
mod graz;
mod remote;

use std::path::Path;

use ptsm_signal::{Paradigm, Pipeline, TaskDeclaration};

use super::disk::file_name;
use super::signal::zero_phase;
use super::{DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart};
use crate::download::RemoteFile;
use crate::error::Result;
use graz::Graz;
pub(super) use graz::{A, B};

/// Subjects of each set, numbered from 1.
const SUBJECT_COUNT: u32 = 9;
/// The rate of all files.
const RATE_HZ: f64 = 250.0;

impl DataSet for Graz {
    fn about(&self) -> DataSetInfo {
        let meaning = |(code, class): (usize, &(&str, &str))| ((code + 1).to_string(), class.0.to_string());
        DataSetInfo {
            id: self.id.into(),
            title: self.title.into(),
            subject_count: SUBJECT_COUNT,
            licence: "CC BY-ND 4.0 (BNCI Horizon 2020)".into(),
            citation: self.citation.into(),
            home: "https://bnci-horizon-2020.eu/database/data-sets".into(),
            events: self
                .classes
                .iter()
                .enumerate()
                .map(meaning)
                .chain([("783".into(), "a cue whose class is in a file of labels (GDF, evaluation)".into())])
                .collect(),
            pipeline: "motor: all electrodes, 4-38 Hz, 0-4 s after the cue, as most deep networks are trained; broadband: 0.5-45 Hz; \
                       each trial is divided by its own standard deviation"
                .into(),
            cautions: self.cautions.iter().map(|caution| caution.to_string()).collect(),
        }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        self.choices
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        let band = match options.get("pipeline") {
            "broadband" => zero_phase(0.5, 45.0),
            _ => zero_phase(4.0, 38.0),
        };
        Ok(Pipeline { band, rate_hz: Some(RATE_HZ), window_s: [0.0, 4.0], ..Pipeline::default() })
    }

    fn task(&self, _: &Options) -> TaskDeclaration {
        TaskDeclaration::of(Paradigm::MotorImagery).swapping("left_hand", "right_hand")
    }

    fn find(&self, root: &Path, options: &Options) -> Result<DataSetFiles> {
        find::find(self, root, options)
    }

    fn read(
        &self,
        item: &RecordingItem,
        options: &Options,
        pipeline: &Pipeline,
    ) -> Result<Vec<RecordingPart>> {
        if file_name(item.file()).to_lowercase().ends_with(".gdf") {
            return gdf::read(self, item, options, pipeline);
        }
        bnci::read(self, item, options, pipeline)
    }

    fn remote(&self, options: &Options) -> Result<Vec<RemoteFile>> {
        Ok(remote::remote(self, options))
    }
}

/// Whether trials that an expert annotated as artefacts are left out.
fn drops(options: &Options) -> bool {
    options.get("artifacts") == "drop"
}
