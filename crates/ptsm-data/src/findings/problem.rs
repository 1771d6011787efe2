//! Kinds of problems, and where each was found.

use ptsm_signal::SubjectId;
use serde::{Deserialize, Serialize};

/// Kinds of things that can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// Files are not there.
    Missing,
    /// A file cannot be read.
    Unreadable,
    /// Samples are not numbers.
    NotNumbers,
    /// Channels hold triggers, whatever they are called.
    Trigger,
    /// The same samples are there twice.
    Doubled,
    /// Samples are too large or too small.
    Scale,
    /// A recording has another rate than most.
    Rate,
    /// Channels stand still in trials.
    Flat,
    /// Channels stay at the ends of their range.
    Clipped,
    /// All channels are nothing for a while.
    Zeros,
    /// A recording has gaps.
    Gaps,
    /// Trials reach past an end or over a gap.
    Short,
    /// Windows hold many events.
    Overlap,
    /// Somebody has no trial of a class.
    NoTrial,
}

/// The same thing wrong in several places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// What kind.
    pub kind: ProblemKind,
    /// Whether something is missing or damaged; otherwise it is worth a look.
    pub damage: bool,
    /// What is wrong, in a few words.
    pub what: String,
    /// What to do about it.
    pub advice: String,
    /// Where.
    pub cases: Vec<Case>,
}

/// One place where something is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Whose it is, where that is known.
    pub subject: Option<SubjectId>,
    /// Whose it is as well, of what is there twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<SubjectId>,
    /// Which recording or file.
    pub place: String,
    /// Which channels, how much.
    pub detail: String,
}
