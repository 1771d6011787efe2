//! The sides of a split, for splits and for errors that name them.

use std::fmt;

/// A side of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Training subjects.
    Train,
    /// Validation subjects, who decide on early stopping.
    Validation,
    /// Scored, and never seen before.
    Test,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Side::Train => "training",
            Side::Validation => "validation",
            Side::Test => "test",
        })
    }
}
