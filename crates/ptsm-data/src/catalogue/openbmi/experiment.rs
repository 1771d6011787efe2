//! What differs between the three experiments.

use ptsm_signal::{Paradigm, Pipeline};

use super::Phase;
use crate::catalogue::DataSetChoice;
use crate::catalogue::channels::{MOTOR, OPENBMI, pick};
use crate::catalogue::signal::zero_phase;

/// One of the three experiments.
pub(in crate::catalogue) struct Experiment {
    /// What is typed.
    pub(super) id: &'static str,
    /// How files and variables call it.
    pub(super) tag: &'static str,
    pub(super) title: &'static str,
    /// Classes by the numbers files give them, from 1 on: the name in the file and ours.
    pub(super) codes: &'static [(&'static str, &'static str)],
    /// Ours in the order of labels.
    pub(super) classes: &'static [&'static str],
    pub(super) paradigm: Paradigm,
    /// Classes that become each other when left and right are exchanged.
    pub(super) swaps: &'static [(&'static str, &'static str)],
    /// Trials of each class (by the numbers of files) in the offline and the online phase.
    pub(super) trials: [&'static [usize]; 2],
    /// About how many bytes of memory reading a phase takes for each byte of its file.
    pub(super) memory: u64,
    pub(super) events: &'static [(&'static str, &'static str)],
    pub(super) choices: &'static [DataSetChoice],
    pub(super) pipeline: fn(&str) -> Pipeline,
    pub(super) pipeline_about: &'static str,
    pub(super) cautions: &'static [&'static str],
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

impl Experiment {
    /// What the variable of a phase is called.
    pub(super) fn variable(&self, phase: Phase) -> String {
        format!("EEG_{}_{}", self.tag, phase.ending())
    }

    /// What a file is called.
    pub(super) fn file(&self, session: u32, subject: u32) -> String {
        format!("sess{session:02}_subj{subject:02}_EEG_{}.mat", self.tag)
    }
}

const PHASE: DataSetChoice = DataSetChoice {
    name: "phase",
    default: "both",
    values: "both|offline|online",
    about: "offline: training without feedback; online: test with feedback",
};
const SESSION: DataSetChoice =
    DataSetChoice { name: "session", default: "both", values: "both|1|2", about: "the two days" };

const ONLINE: &str = "in the online phase a cross moves with the decoder's output: feedback may move the eyes (`phase=offline` is without)";

/// Imagined movement of the left or right hand.
pub(in crate::catalogue) const IMAGERY: Experiment = Experiment {
    id: "openbmi-mi",
    tag: "MI",
    title: "OpenBMI (Lee et al. 2019), imagined movement of the left or right hand, two sessions",
    codes: &[("right", "right_hand"), ("left", "left_hand")],
    classes: &["left_hand", "right_hand"],
    paradigm: Paradigm::MotorImagery,
    swaps: &[("left_hand", "right_hand")],
    trials: [&[50, 50], &[50, 50]],
    memory: 3,
    events: &[("1", "right hand"), ("2", "left hand")],
    choices: &[
        PHASE,
        SESSION,
        DataSetChoice {
            name: "pipeline",
            default: "motor",
            values: "motor|broadband",
            about: "motor: 20 channels, 4-38 Hz, 0.5-4 s; broadband: 62 channels, 0.5-40 Hz, 0-4 s",
        },
    ],
    pipeline: |name| {
        let common = Pipeline { rate_hz: Some(250.0), ..Pipeline::default() };
        match name {
            "broadband" => Pipeline { band: zero_phase(0.5, 40.0), window_s: [0.0, 4.0], ..common },
            _ => Pipeline { pick: pick(&MOTOR), band: zero_phase(4.0, 38.0), window_s: [0.5, 4.0], ..common },
        }
    },
    pipeline_about: "motor: the authors' 20 channels over the motor cortex, the band and rate of later cross-subject studies \
                     (TSMNet 2022); broadband: all 62 channels, to compare with Zhang 2021 (doi:10.1016/j.neunet.2020.12.013)",
    cautions: &[
        ONLINE,
        "with all 62 channels and a wide band eyes and muscles may tell the class: report `pipeline=motor` beside it",
    ],
};

/// A speller whose letters flash.
pub(in crate::catalogue) const ERP: Experiment = Experiment {
    id: "openbmi-erp",
    tag: "ERP",
    title: "OpenBMI (Lee et al. 2019), a speller: flashes of the target letter and of others, two sessions",
    codes: &[("target", "target"), ("nontarget", "nontarget")],
    classes: &["target", "nontarget"],
    paradigm: Paradigm::Erp,
    swaps: &[],
    trials: [&[330, 1650], &[360, 1800]],
    memory: 4,
    events: &[("1", "target: the flash holds the target letter"), ("2", "nontarget: it does not")],
    choices: &[
        PHASE,
        SESSION,
        DataSetChoice {
            name: "pipeline",
            default: "authors",
            values: "authors|moabb",
            about: "authors: 32 channels, 0.5-40 Hz, -0.2-0.8 s with baseline; moabb: 62 channels, 1-24 Hz, 0-1 s",
        },
    ],
    pipeline: |name| {
        let common = Pipeline { rate_hz: Some(100.0), ..Pipeline::default() };
        match name {
            "moabb" => Pipeline { band: zero_phase(1.0, 24.0), window_s: [0.0, 1.0], ..common },
            _ => Pipeline {
                pick: pick(&OPENBMI[..32]),
                band: zero_phase(0.5, 40.0),
                window_s: [-0.2, 0.8],
                baseline_s: Some([-0.2, 0.0]),
                ..common
            },
        }
    },
    pipeline_about: "authors: the first 32 channels, band, rate, window and baseline of Lee et al. 2019; moabb: channels, band and \
                     window of MOABB's P300 benchmark, at 100 Hz",
    cautions: &[
        "one flash in six is a target: always answering `nontarget` is right in 83.3 % of trials, so look at AUC and balanced \
         accuracy, never at accuracy",
        "flashes come every 0.215 s, so responses overlap and neighbouring trials share samples",
    ],
};

/// Flickering targets.
pub(in crate::catalogue) const SSVEP: Experiment = Experiment {
    id: "openbmi-ssvep",
    tag: "SSVEP",
    title: "OpenBMI (Lee et al. 2019), four flickering targets, two sessions",
    codes: &[("up", "up"), ("left", "left"), ("right", "right"), ("down", "down")],
    classes: &["up", "left", "right", "down"],
    paradigm: Paradigm::Ssvep,
    // `left` and `right` are frequencies of flicker: a mirrored head sees the same ones.
    swaps: &[],
    trials: [&[25; 4], &[25; 4]],
    memory: 3,
    events: &[("1", "up, 12 Hz"), ("2", "left, 8.57 Hz"), ("3", "right, 6.67 Hz"), ("4", "down, 5.45 Hz")],
    choices: &[
        PHASE,
        SESSION,
        DataSetChoice {
            name: "pipeline",
            default: "occipital",
            values: "occipital|broadband",
            about: "occipital: 10 channels, 4-40 Hz; broadband: 62 channels, 0.5-40 Hz; both 0-4 s",
        },
    ],
    pipeline: |name| {
        let common = Pipeline { rate_hz: Some(100.0), window_s: [0.0, 4.0], ..Pipeline::default() };
        let occipital = ["P7", "P3", "Pz", "P4", "P8", "PO9", "O1", "Oz", "O2", "PO10"];
        match name {
            "broadband" => Pipeline { band: zero_phase(0.5, 40.0), ..common },
            _ => Pipeline { pick: pick(&occipital), band: zero_phase(4.0, 40.0), ..common },
        }
    },
    pipeline_about: "occipital: ten channels over the visual cortex and a band with three harmonics of every target; broadband: all \
                     62 channels. Both are choices of this program",
    cautions: &["subjects look at the target they choose: gaze is the task here, not a confound"],
};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_three_experiments_fit_together() {
        for set in [&IMAGERY, &ERP, &SSVEP] {
            assert_eq!(set.codes.len(), set.classes.len());
            assert!(set.codes.iter().all(|(_, ours)| set.classes.contains(ours)));
            assert!(set.trials.iter().all(|counts| counts.len() == set.codes.len()));
            let choice = set.choices.iter().find(|choice| choice.name == "pipeline").unwrap();
            let pipelines: Vec<_> = choice.values.split('|').map(set.pipeline).collect();
            pipelines.iter().for_each(|pipeline| pipeline.check().unwrap());
            assert_ne!(pipelines[0], pipelines[1]);
        }
        assert_eq!(ERP.trials.map(|counts| counts.iter().sum::<usize>()), [1980, 2160]);
        assert_eq!(IMAGERY.variable(Phase::Online), "EEG_MI_test");
        assert_eq!(IMAGERY.file(2, 7), "sess02_subj07_EEG_MI.mat");
    }
}
