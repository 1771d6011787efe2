//! Target access: what a method may see of the test subject.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Target access: what was seen of the test subject before that subject was scored. It stands beside every score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetAccess {
    /// None (zero-shot): each trial is decoded alone.
    #[default]
    Nothing,
    /// Streaming: trials come one by one in time order, and earlier ones may be used without labels.
    Stream,
    /// Transductive: trials were seen without labels.
    Unlabelled {
        /// Share of the recording, from its start.
        fraction: f64,
    },
    /// Few-shot: a few labelled trials of each class, which are not scored.
    Labelled {
        /// Trials per class.
        per_class: usize,
        /// Share of the recording seen without labels besides.
        unlabelled: f64,
    },
}

impl TargetAccess {
    /// The whole recording without labels.
    pub const WHOLE: TargetAccess = TargetAccess::Unlabelled { fraction: 1.0 };

    /// What two parts of one method see together. Beside anything else a stream counts as the whole recording without labels:
    /// by the last trial it has seen all of them.
    pub fn and(self, other: TargetAccess) -> TargetAccess {
        use TargetAccess::*;
        match (self, other) {
            (Nothing, x) | (x, Nothing) => x,
            (Stream, Stream) => Stream,
            (Stream, x) | (x, Stream) => TargetAccess::WHOLE.and(x),
            (Unlabelled { fraction: a }, Unlabelled { fraction: b }) => Unlabelled { fraction: a.max(b) },
            (Labelled { per_class, unlabelled }, Unlabelled { fraction })
            | (Unlabelled { fraction }, Labelled { per_class, unlabelled }) => {
                Labelled { per_class, unlabelled: unlabelled.max(fraction) }
            }
            (Labelled { per_class: a, unlabelled: x }, Labelled { per_class: b, unlabelled: y }) => {
                Labelled { per_class: a.max(b), unlabelled: x.max(y) }
            }
        }
    }

    /// MOABB's name of the same level (its `CrossSubjectMode`), where it has one.
    pub fn moabb(self) -> Option<&'static str> {
        match self {
            TargetAccess::Nothing => Some("train"),
            TargetAccess::Unlabelled { fraction: 1.0 } => Some("train_unlabeled_full"),
            TargetAccess::Unlabelled { fraction: 0.5 } => Some("train_unlabeled_50p"),
            TargetAccess::Unlabelled { fraction: 0.2 } => Some("train_unlabeled_20p"),
            _ => None,
        }
    }
}

impl fmt::Display for TargetAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            TargetAccess::Nothing => "none".to_string(),
            TargetAccess::Stream => "streaming".to_string(),
            TargetAccess::Unlabelled { fraction: 1.0 } => "transductive".to_string(),
            TargetAccess::Unlabelled { fraction } => {
                format!("transductive ({:.0} % of trials)", 100.0 * fraction)
            }
            TargetAccess::Labelled { per_class, unlabelled: 0.0 } => {
                format!("{per_class} labelled per class")
            }
            TargetAccess::Labelled { per_class, unlabelled } => {
                format!("{per_class} labelled per class, {:.0} % unlabelled", 100.0 * unlabelled)
            }
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::TargetAccess::{self, *};

    #[test]
    fn together_they_see_what_either_sees() {
        let few = Labelled { per_class: 5, unlabelled: 0.0 };
        assert_eq!(few.and(TargetAccess::WHOLE), Labelled { per_class: 5, unlabelled: 1.0 });
        assert_eq!(Nothing.and(Stream), Stream);
        assert_eq!(Stream.and(Stream), Stream);
        assert_eq!(Stream.and(few), Labelled { per_class: 5, unlabelled: 1.0 });
        assert_eq!(few.and(Stream), Stream.and(few));
        assert_eq!(Unlabelled { fraction: 0.2 }.and(Stream), TargetAccess::WHOLE);
        assert_eq!(few.and(Nothing).to_string(), "5 labelled per class");
        assert_eq!(
            TargetAccess::WHOLE.and(Unlabelled { fraction: 0.2 }).moabb(),
            Some("train_unlabeled_full")
        );
    }
}
