//! KU Leuven auditory attention detection: 16 subjects listen to one of two stories, left or right.
//!
//! Data: doi:10.5281/zenodo.4004271. Attention stays on one side during a trial of two to six minutes, which is divided into windows; all
//! windows of a trial are one run.

mod find;
mod read;
mod trial;

use std::path::Path;

use ptsm_signal::{Paradigm, Pipeline, Reference, TaskDeclaration};

use super::channels::{BIOSEMI, pick};
use super::signal::zero_phase;
use super::{DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart};
use crate::download::RemoteFile;
use crate::error::Result;

/// What is typed.
const ID: &str = "kul-aad";
/// Subjects, S1 to S16.
const SUBJECT_COUNT: u32 = 16;
/// The side that is listened to.
const CLASSES: [&str; 2] = ["left", "right"];

/// The data set.
#[derive(Debug)]
pub(super) struct KulAad;

const CHOICES: &[DataSetChoice] = &[
    DataSetChoice {
        name: "window",
        default: "1",
        values: "1|2|5",
        about: "seconds of a window; windows follow one another without overlap",
    },
    DataSetChoice {
        name: "experiments",
        default: "12",
        values: "12|all",
        about: "12: eight trials of about six minutes; all: twelve repeated ones of about two minutes besides",
    },
    DataSetChoice {
        name: "channels",
        default: "all",
        values: "all|no-frontal",
        about: "no-frontal leaves out Fp, AF, F and FT, where eye movements are strongest",
    },
    DataSetChoice {
        name: "pipeline",
        default: "direction",
        values: "direction|preprocessed",
        about: "direction: average reference, 1-32 Hz, 128 Hz; preprocessed: nothing but windows, for files the authors' \
                script wrote",
    },
];

impl DataSet for KulAad {
    fn about(&self) -> DataSetInfo {
        DataSetInfo {
            id: ID.into(),
            title: "KU Leuven auditory attention: which of two stories, left or right, is listened to".into(),
            subject_count: SUBJECT_COUNT,
            licence: "CC BY-NC 4.0 (check the record)".into(),
            citation: "Das, Francart and Bertrand, Auditory Attention Detection Dataset KULeuven, doi:10.5281/zenodo.4004271; \
                       Biesmans et al. 2017, doi:10.1109/TNSRE.2016.2571900; Das et al. 2016, \
                       doi:10.1088/1741-2560/13/5/056014"
                .into(),
            home: "https://zenodo.org/records/4004271".into(),
            events: vec![
                ("L".into(), "the story at the left ear is listened to".into()),
                ("R".into(), "the story at the right ear is listened to".into()),
            ],
            pipeline: "average reference, 1-32 Hz zero-phase, 128 Hz, as Vandecappelle et al. 2021 (doi:10.7554/eLife.56481); \
                       each window is divided by its own standard deviation"
                .into(),
            cautions: vec![
                "gaze was not controlled: subjects may look to the side they listen to, and eye movements reveal it; compare with \
                 `channels=no-frontal`"
                    .into(),
                "attention does not change within a trial, so a decoder that recognises the trial knows the class: keep all windows \
                 of a trial (a run) on one side of every split"
                    .into(),
                "each subject has about 2880 windows of 1 s but only 8 trials: count subjects or trials, not windows, when \
                 judging chance"
                    .into(),
                "cross-subject scores above 80 % should be taken for a mistake until proven otherwise".into(),
            ],
        }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        CHOICES
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        let pick = match options.get("channels") {
            "no-frontal" => {
                let kept: Vec<&str> = BIOSEMI.into_iter().filter(|name| !frontal(name)).collect();
                pick(&kept)
            }
            _ => ptsm_signal::Pick::All,
        };
        let bare = Pipeline { pick, window_s: [0.0, window_s(options)], ..Pipeline::default() };
        Ok(match options.get("pipeline") {
            "preprocessed" => bare,
            _ => Pipeline {
                reference: Reference::Average,
                band: zero_phase(1.0, 32.0),
                rate_hz: Some(128.0),
                ..bare
            },
        })
    }

    fn task(&self, _: &Options) -> TaskDeclaration {
        // Attention is directed to a side of the head.
        TaskDeclaration::of(Paradigm::AuditoryAttention).swapping(CLASSES[0], CLASSES[1])
    }

    fn find(&self, root: &Path, _: &Options) -> Result<DataSetFiles> {
        find::find(root)
    }

    fn read(
        &self,
        item: &RecordingItem,
        options: &Options,
        pipeline: &Pipeline,
    ) -> Result<Vec<RecordingPart>> {
        read::read(item, options, pipeline)
    }

    fn remote(&self, _: &Options) -> Result<Vec<RemoteFile>> {
        Ok(find::remote())
    }
}

/// Seconds of a window.
fn window_s(options: &Options) -> f64 {
    match options.get("window") {
        "5" => 5.0,
        "2" => 2.0,
        _ => 1.0,
    }
}

/// Whether an electrode is near the eyes.
fn frontal(name: &str) -> bool {
    let row = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'z');
    matches!(row, "Fp" | "AF" | "F" | "FT")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn frontal_electrodes_can_be_left_out() {
        let with = [("channels".to_string(), "no-frontal".to_string())];
        let options = Options::new(ID, CHOICES, &with).unwrap();
        let ptsm_signal::Pick::Names(names) = KulAad.pipeline(&options).unwrap().pick else {
            panic!("all channels");
        };
        assert_eq!(names.len(), 64 - 3 - 5 - 9 - 2);
        assert!(names.iter().all(|name| !name.starts_with('F') || name.starts_with("FC")), "{names:?}");
        assert!(names.contains(&"FCz".to_string()) && names.contains(&"T7".to_string()));
    }
}
