//! What differs between the two sets.

use crate::catalogue::{DataSetChoice, Options};

/// One of the two sets, recorded in Graz.
pub(in crate::catalogue) struct Graz {
    /// What is typed.
    pub(super) id: &'static str,
    /// How names of files begin.
    pub(super) letter: char,
    pub(super) title: &'static str,
    pub(super) citation: &'static str,
    /// Electrodes by their places in a file. Three of the eyes follow, which are never used.
    pub(super) channels: &'static [&'static str],
    /// By their numbers from 1 on: what it is, and its name.
    pub(super) classes: &'static [(&'static str, &'static str)],
    /// From the start of a trial to its cue.
    pub(super) cue_s: f64,
    /// Whether other sources say another time.
    pub(super) cue_unsure: bool,
    /// Sessions of training files and of evaluation files.
    pub(super) sessions: [&'static [u32]; 2],
    /// Where BNCI Horizon 2020 keeps them.
    pub(super) folder: &'static str,
    pub(super) choices: &'static [DataSetChoice],
    pub(super) cautions: &'static [&'static str],
}

/// Signals of the eyes that each file has besides.
pub(super) const EYES: usize = 3;

impl std::fmt::Debug for Graz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// Training or evaluation files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SessionHalf {
    Training,
    Evaluation,
}

impl SessionHalf {
    pub(super) const ALL: [SessionHalf; 2] = [SessionHalf::Training, SessionHalf::Evaluation];

    /// As names of files tell it.
    pub(super) fn letter(self) -> char {
        match self {
            SessionHalf::Training => 'T',
            SessionHalf::Evaluation => 'E',
        }
    }
}

impl Graz {
    /// Sessions of one kind of file that were chosen.
    pub(super) fn chosen(&self, half: SessionHalf, options: &Options) -> Vec<u32> {
        let session = options.get("session");
        let all = self.sessions[half as usize].iter().copied();
        all.filter(|number| match session {
            "T" => half == SessionHalf::Training,
            "E" => half == SessionHalf::Evaluation,
            _ => session.parse().map_or(true, |chosen: u32| chosen == *number),
        })
        .collect()
    }

    /// What a file of BNCI Horizon 2020 is called.
    pub(super) fn mat(&self, subject: u32, half: SessionHalf) -> String {
        format!("{}{subject:02}{}.mat", self.letter, half.letter())
    }

    /// What a file of the competition is called, without its ending.
    pub(super) fn gdf(&self, subject: u32, session: u32, half: SessionHalf) -> String {
        match self.sessions[0].len() + self.sessions[1].len() {
            2 => format!("{}{subject:02}{}", self.letter, half.letter()),
            _ => format!("{}{subject:02}{session:02}{}", self.letter, half.letter()),
        }
    }
}

const ARTIFACTS: DataSetChoice = DataSetChoice {
    name: "artifacts",
    default: "keep",
    values: "keep|drop",
    about: "trials that an expert annotated as artefacts; most papers keep them",
};
const PIPELINE: DataSetChoice = DataSetChoice {
    name: "pipeline",
    default: "motor",
    values: "motor|broadband",
    about: "motor: 4-38 Hz; broadband: 0.5-45 Hz; both all electrodes, 0-4 s after the cue",
};

/// Set 2a.
pub(in crate::catalogue) const A: Graz = Graz {
    id: "bci-iv-2a",
    letter: 'A',
    title: "BCI Competition IV 2a: imagined movement of the left hand, right hand, feet or tongue, two sessions",
    citation: "Tangermann et al. 2012, doi:10.3389/fnins.2012.00055",
    channels: &[
        "Fz", "FC3", "FC1", "FCz", "FC2", "FC4", "C5", "C3", "C1", "Cz", "C2", "C4", "C6", "CP3", "CP1",
        "CPz", "CP2", "CP4", "P1", "Pz", "P2", "POz",
    ],
    classes: &[
        ("left hand", "left_hand"),
        ("right hand", "right_hand"),
        ("feet", "feet"),
        ("tongue", "tongue"),
    ],
    cue_s: 2.0,
    cue_unsure: false,
    sessions: [&[1], &[2]],
    folder: "001-2014",
    choices: &[
        DataSetChoice {
            name: "session",
            default: "both",
            values: "both|T|E",
            about: "T: training, the first day; E: evaluation, the second",
        },
        ARTIFACTS,
        PIPELINE,
    ],
    cautions: &[
        "the set has nine subjects: a cross-subject score says little about the next subject",
        "trials that an expert annotated as artefacts are kept by default, as in most papers; `artifacts=drop` changes the number of trials",
    ],
};

/// Set 2b.
pub(in crate::catalogue) const B: Graz = Graz {
    id: "bci-iv-2b",
    letter: 'B',
    title: "BCI Competition IV 2b: imagined movement of the left or right hand, three bipolar channels, five sessions",
    citation: "Tangermann et al. 2012, doi:10.3389/fnins.2012.00055; Leeb et al. 2007, doi:10.1109/TNSRE.2007.906956",
    channels: &["C3", "Cz", "C4"],
    classes: &[("left hand", "left_hand"), ("right hand", "right_hand")],
    cue_s: 3.0,
    cue_unsure: true,
    sessions: [&[1, 2, 3], &[4, 5]],
    folder: "004-2014",
    choices: &[
        DataSetChoice {
            name: "session",
            default: "all",
            values: "all|T|E|1|2|3|4|5",
            about: "1 and 2: without feedback; 3, 4 and 5: with; T: 1 to 3, E: 4 and 5",
        },
        ARTIFACTS,
        PIPELINE,
    ],
    cautions: &[
        "the set has nine subjects: a cross-subject score says little about the next subject",
        "channels are bipolar: an average reference or positions on a scalp map mean nothing here",
        "sessions 3 to 5 have feedback (a smiley that moves), which may move the eyes",
        "MATLAB files do not say when the cue comes: 3 s after the start of a trial is taken, as the competition describes it",
    ],
};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sessions_and_names_of_files() {
        let options = |set: &Graz, session: &str| {
            Options::new(set.id, set.choices, &[("session".into(), session.into())]).unwrap()
        };
        let of =
            |set: &Graz, session: &str| SessionHalf::ALL.map(|half| set.chosen(half, &options(set, session)));
        assert_eq!(of(&A, "both"), [vec![1], vec![2]]);
        assert_eq!(of(&A, "E"), [vec![], vec![2]]);
        assert_eq!(of(&B, "all"), [vec![1, 2, 3], vec![4, 5]]);
        assert_eq!(of(&B, "T"), [vec![1, 2, 3], vec![]]);
        assert_eq!(of(&B, "4"), [vec![], vec![4]]);
        assert_eq!(A.mat(1, SessionHalf::Training), "A01T.mat");
        assert_eq!(A.gdf(9, 2, SessionHalf::Evaluation), "A09E");
        assert_eq!(B.gdf(9, 5, SessionHalf::Evaluation), "B0905E");
    }
}
