//! The cohort a user asks for.

use nalgebra::Vector3;
use ptsm_signal::{Band, FilterKind, Paradigm, Pipeline, Scaling, TaskDeclaration, position};
use serde::{Deserialize, Serialize};

use crate::error::SimulateError;

/// What the subjects do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SimulatedTask {
    /// They imagine moving the left or the right hand.
    #[default]
    Imagery,
    /// They count rare targets in a fast train of stimuli.
    Erp,
    /// They listen to one of two talkers, left and right.
    Attention,
}

impl SimulatedTask {
    /// The classes, in the order of their labels.
    pub fn classes(self) -> [&'static str; 2] {
        match self {
            SimulatedTask::Imagery => ["left_hand", "right_hand"],
            SimulatedTask::Erp => ["nontarget", "target"],
            SimulatedTask::Attention => ["left", "right"],
        }
    }
}

/// A simulated cohort: who, what, how many, how long, how hard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cohort {
    /// What the subjects do.
    pub task: SimulatedTask,
    /// How many subjects; they are numbered from 1.
    pub subjects: u32,
    /// Sessions of each subject, numbered from 1. The cap is put on anew for each.
    pub sessions: u32,
    /// Runs of each session, numbered from 1.
    pub runs: u32,
    /// Trials of each run; where a file leaves them out, as many as [`Cohort::of`] the task.
    pub trials: u32,
    /// Electrodes by name.
    pub channels: Vec<String>,
    /// Samples per second.
    pub rate_hz: f64,
    /// The same seed makes the same cohort: byte for byte on one platform, to rounding elsewhere.
    pub seed: u64,
    /// Size of the effect; 1 is about what people show, 0 leaves no trace of the class.
    pub strength: f64,
    /// Share of subjects without the effect.
    pub absent: f64,
    /// How much subjects and sessions differ; 1 is about what is found. With 0 all subjects have the same rhythms, task dipoles, cap
    /// and effect (or none, see `absent`); where the background comes from, blinks, muscles and how electrodes sit still differ.
    pub variability: f64,
    /// Size of the background and of the rhythms that have nothing to do with the task; 1 is about what is found.
    pub background: f64,
    /// How frequent artefacts of eyes, muscles and electrodes are; 1 is about what is found, 0 is never.
    pub artifacts: f64,
    /// Frequency of the mains.
    pub line_hz: f64,
    /// Size of the mains in the recording, in microvolts, on average over channels.
    pub line_uv: f64,
}

/// A common cap of 32 electrodes, mirror-symmetric.
const CAP: [&str; 32] = [
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "FC5", "FC1", "FCz", "FC2", "FC6", "T7", "C3", "C1", "Cz",
    "C2", "C4", "T8", "CP5", "CP1", "CPz", "CP2", "CP6", "P7", "P3", "Pz", "P4", "P8", "O1", "Oz", "O2",
];

impl Default for Cohort {
    fn default() -> Cohort {
        Cohort {
            task: SimulatedTask::Imagery,
            subjects: 20,
            sessions: 2,
            runs: 2,
            trials: 20,
            channels: CAP.map(String::from).to_vec(),
            rate_hz: 128.0,
            seed: 0,
            strength: 1.0,
            absent: 0.15,
            variability: 1.0,
            background: 1.0,
            artifacts: 1.0,
            line_hz: 50.0,
            line_uv: 2.0,
        }
    }
}

impl Cohort {
    /// The default cohort for a task. Stimuli of `Erp` are fast, so a run has more of them.
    pub fn of(task: SimulatedTask) -> Cohort {
        let trials = if task == SimulatedTask::Erp { 120 } else { 20 };
        Cohort { task, trials, ..Cohort::default() }
    }

    /// Which event means which class, in the order of labels: pairs of code and class.
    pub fn cues(&self) -> Vec<(String, String)> {
        self.task.classes().map(|class| (class.to_string(), class.to_string())).to_vec()
    }

    /// A pipeline that suits the task.
    pub fn pipeline(&self) -> Pipeline {
        let band = |low, high| {
            let kind = FilterKind::ZeroPhase { order: 4 };
            Some(Band { low_hz: Some(low), high_hz: Some(high), kind })
        };
        let plain = Pipeline { window_s: self.window_s(), ..Pipeline::default() };
        match self.task {
            SimulatedTask::Imagery => Pipeline { band: band(8.0, 30.0), ..plain },
            // Amplitudes are the message here, so the trial is not divided by its own.
            SimulatedTask::Erp => Pipeline { band: band(0.5, 20.0), scaling: Scaling::By(10.0), ..plain },
            SimulatedTask::Attention => Pipeline { band: band(1.0, 30.0), ..plain },
        }
    }

    /// What is declared about the task.
    pub fn declared(&self) -> TaskDeclaration {
        match self.task {
            SimulatedTask::Imagery => {
                TaskDeclaration::of(Paradigm::MotorImagery).swapping("left_hand", "right_hand")
            }
            SimulatedTask::Erp => TaskDeclaration::of(Paradigm::Erp),
            SimulatedTask::Attention => {
                TaskDeclaration::of(Paradigm::AuditoryAttention).swapping("left", "right")
            }
        }
    }

    /// The window of a trial, in seconds after its cue.
    pub(crate) fn window_s(&self) -> [f64; 2] {
        match self.task {
            SimulatedTask::Imagery => [0.0, 4.0],
            SimulatedTask::Erp => [0.0, 0.8],
            SimulatedTask::Attention => [0.0, 5.0],
        }
    }

    /// Where the cap is meant to put the electrodes.
    pub(crate) fn electrodes(&self) -> Result<Vec<Vector3<f64>>, SimulateError> {
        self.channels
            .iter()
            .map(|name| match position(name) {
                Some(p) => Ok(Vector3::new(p.x, p.y, p.z).normalize()),
                None => Err(SimulateError::UnknownChannel { name: name.clone() }),
            })
            .collect()
    }
}
