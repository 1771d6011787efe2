//! PhysioNet EEG Motor Movement/Imagery: 109 subjects open and close a fist, both fists or both feet, or imagine it.
//!
//! Data: doi:10.13026/C28G6P. What `T1` and `T2` mean depends on the run.

mod chosen;
mod find;
mod read;
mod remote;

use std::path::Path;

use ptsm_signal::{Paradigm, Pipeline, Reference, SubjectId, TaskDeclaration};

use super::channels::{MOTOR, pick};
use super::signal::zero_phase;
use super::{DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart};
use crate::download::RemoteFile;
use crate::error::Result;
use chosen::RunSelection;

/// What is typed.
const ID: &str = "physionet-mi";
/// Subjects, S001 to S109.
const SUBJECT_COUNT: u32 = 109;

/// The data set.
#[derive(Debug)]
pub(super) struct PhysionetMi;

const CHOICES: &[DataSetChoice] = &[
    DataSetChoice {
        name: "classes",
        default: "2",
        values: "2|4",
        about: "2: left and right fist; 4: both fists and both feet besides",
    },
    DataSetChoice {
        name: "task",
        default: "imagery",
        values: "imagery|execution",
        about: "movements that are imagined or made",
    },
    DataSetChoice {
        name: "exclude",
        default: "default",
        // Written without bars: a list of subjects is taken too.
        values: "default, none, 105, 103 or LIST",
        about: "subjects to leave out: `default` and `105` leave 105 (not 88, 92, 100, 104), `103` leaves 103 (not 38 and 89 \
                either), LIST names them (S105 for the subject of that number)",
    },
    DataSetChoice {
        name: "pipeline",
        default: "broadband",
        values: "broadband|motor",
        about: "broadband: 64 channels, 0.5-45 Hz; motor: 20 channels in average reference, 4-40 Hz",
    },
];

impl DataSet for PhysionetMi {
    fn about(&self) -> DataSetInfo {
        let event = |code: &str, meaning: &str| (code.to_string(), meaning.to_string());
        DataSetInfo {
            id: ID.into(),
            title: "PhysioNet EEG Motor Movement/Imagery: left or right fist, both fists or both feet".into(),
            subject_count: SUBJECT_COUNT,
            licence: "Open Data Commons Attribution 1.0 (ODC-By)".into(),
            citation: "Schalk et al. 2004, BCI2000, doi:10.1109/TBME.2004.827072; Goldberger et al. 2000, PhysioNet, \
                       doi:10.1161/01.CIR.101.23.e215; data doi:10.13026/C28G6P"
                .into(),
            home: "https://physionet.org/content/eegmmidb/1.0.0/".into(),
            events: vec![
                event("T0", "rest"),
                event("T1", "left fist in runs 3, 4, 7, 8, 11, 12; both fists in runs 5, 6, 9, 10, 13, 14"),
                event("T2", "right fist in runs 3, 4, 7, 8, 11, 12; both feet in runs 5, 6, 9, 10, 13, 14"),
            ],
            pipeline: "broadband: 64 channels, 0.5-45 Hz, 100 Hz, 0-4 s, each trial divided by its own standard deviation: about five \
                       points above 4-38 Hz with an average reference for every network tried; motor: the 20 channels of Lee \
                       et al. 2019 against their mean, 4-40 Hz, to tell how much of a score comes from elsewhere"
                .into(),
            cautions: vec![
                "the target is at the left or right (top or bottom) of the screen during the whole trial, so gaze and saccades \
                 may tell the class: report `pipeline=motor` beside `broadband`"
                    .into(),
                "S088, S092 and S100 were recorded at 128 Hz with other timing, S104 has wrong annotations: they are left out by \
                 default; S038 and S089 are said to be annotated wrongly (`exclude=103`)"
                    .into(),
                "each subject has 45 trials: up to 62 % of them right is within chance (p = 0.05)".into(),
            ],
        }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        CHOICES
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        let common = Pipeline { rate_hz: Some(100.0), window_s: [0.0, 4.0], ..Pipeline::default() };
        Ok(match options.get("pipeline") {
            "motor" => Pipeline {
                pick: pick(&MOTOR),
                reference: Reference::Average,
                band: zero_phase(4.0, 40.0),
                ..common
            },
            _ => Pipeline { band: zero_phase(0.5, 45.0), ..common },
        })
    }

    fn task(&self, options: &Options) -> TaskDeclaration {
        let paradigm = match options.get("task") {
            "execution" => Paradigm::MotorExecution,
            _ => Paradigm::MotorImagery,
        };
        TaskDeclaration::of(paradigm).swapping("left_hand", "right_hand")
    }

    fn find(&self, root: &Path, options: &Options) -> Result<DataSetFiles> {
        find::find(root, &RunSelection::new(options)?)
    }

    fn read(&self, item: &RecordingItem, _: &Options, pipeline: &Pipeline) -> Result<Vec<RecordingPart>> {
        Ok(vec![read::read(item, pipeline)?])
    }

    fn excluded(&self, options: &Options) -> Result<Vec<(SubjectId, String)>> {
        let chosen = RunSelection::new(options)?;
        let known = (1..=SUBJECT_COUNT)
            .filter_map(|subject| Some((SubjectId(subject), chosen.excluded(subject)?.into())));
        Ok(known.collect())
    }

    fn remote(&self, options: &Options) -> Result<Vec<RemoteFile>> {
        Ok(remote::remote(&RunSelection::new(options)?))
    }
}
