//! What can go wrong with scores and records.

use std::io;
use std::path::{Path, PathBuf};

use ptsm_data::Duplicate;
use ptsm_signal::SubjectId;

use crate::side::Side;

/// Everything this crate refuses to do, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Labels and probabilities that cannot be scored.
    #[error("scores: {message}")]
    Scores {
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// Records that cannot be summed up.
    #[error("summary of `{model}`: {message}")]
    Summary {
        /// Whose records.
        model: String,
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// A subject on two sides of a split.
    #[error("subject {subject} is in the {first} set and in the {second} set")]
    TwoSides {
        /// The subject.
        subject: SubjectId,
        /// One side.
        first: Side,
        /// The other side.
        second: Side,
    },
    /// A recording on two sides of a split, under two subjects.
    #[error(
        "{duplicate}; {} is in the {first} set and {} in the {second} set",
        duplicate.first,
        duplicate.second
    )]
    SharedRecording {
        /// Who shares it.
        duplicate: Duplicate,
        /// The side of the first of them.
        first: Side,
        /// The side of the second.
        second: Side,
    },
    /// A side of a split without subjects.
    #[error("the {side} set has no subject")]
    EmptySide {
        /// Which side.
        side: Side,
    },
    /// Fewer subjects than a protocol needs.
    #[error("`{protocol}` needs at least {needed} subjects, the data have {found}")]
    TooFewSubjects {
        /// What was asked for.
        protocol: String,
        /// How many it takes.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// Text that names no protocol.
    #[error("protocol `{text}`: {message}")]
    Protocol {
        /// What was given.
        text: String,
        /// What does not fit.
        message: String,
    },
    /// Text that names no sessions and runs.
    #[error("`{text}` names no sessions and runs")]
    Units {
        /// What was given.
        text: String,
    },
    /// Text that does not name units to train on and units to test.
    #[error(
        "`{text}` does not say what is trained on and what is tested: write TRAIN:TEST, such as `s1:s2` or `all:all`"
    )]
    Transfer {
        /// What was given.
        text: String,
    },
    /// A benchmark that cannot be run.
    #[error("benchmark: {message}")]
    Plan {
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: String,
    },
    /// A search for settings that makes no sense.
    #[error("tuning: {message}")]
    Tuning {
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: String,
    },
    /// A decoder that could not be fitted or applied.
    #[error(transparent)]
    Decode(#[from] ptsm_decode::Error),
    /// Data that are not as asked for, such as subjects they do not have.
    #[error(transparent)]
    Data(#[from] ptsm_data::Error),
    /// A signal or a pipeline that does not fit.
    #[error(transparent)]
    Signal(#[from] ptsm_signal::Error),
    /// A file that could not be read or written.
    #[error("`{path}` cannot be {doing}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A file that could not be written as a whole.
    #[error(transparent)]
    Io(#[from] ptsm_io::Error),
    /// A list of work that is not understood.
    #[error("`{path}` is no list of work: {source}", path = path.display())]
    Work {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: serde_json::Error,
    },
    /// Something that cannot be done as asked for.
    #[error("{message}")]
    Request {
        /// What is wrong, and where.
        message: String,
        /// One thing to do.
        hint: String,
    },
    /// What was being done when something else went wrong.
    #[error("{message}")]
    While {
        /// What could not be done.
        message: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A line of a results file that is no record.
    #[error("`{path}`, line {line}: not a record: {source}", path = path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What does not fit.
        source: serde_json::Error,
    },
}

impl Error {
    /// One thing to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Scores { hint, .. } | Error::Summary { hint, .. } => hint.clone(),
            Error::Plan { hint, .. } | Error::Tuning { hint, .. } | Error::Request { hint, .. } => {
                Some(hint.clone())
            }
            Error::TwoSides { .. } => {
                Some("a test subject must not be trained on; put each subject on one side only".into())
            }
            Error::SharedRecording { .. } => Some("leave one of them out with `--subjects`; `ptsm data check` reports which recordings are the same".into()),
            Error::EmptySide { .. } => Some("give this side at least one subject".into()),
            Error::TooFewSubjects { .. } => {
                Some("add subjects; training, validation and test each need subjects of their own".into())
            }
            Error::Protocol { .. } => Some("protocols are `loso`, `kfold:5` and `fixed:1-70/71-89/90-109` (training, validation, test)".into()),
            Error::Units { .. } | Error::Transfer { .. } => Some("write `all`, `s1` (a session), `r2` (a run), `s1r2` or `s1+s2`; `s1:s2` trains on session 1 and tests session 2".into()),
            Error::Decode(e) => e.hint(),
            Error::Data(e) => e.hint().map(str::to_string),
            Error::Signal(e) => e.hint().map(str::to_string),
            Error::Io(e) => e.hint().map(str::to_string),
            Error::Work { .. } => {
                Some("run the benchmark again; it writes the list anew and keeps what is done".into())
            }
            Error::File { .. } | Error::While { .. } => None,
            Error::Record { .. } => Some("run the benchmark again; it writes the file anew".into()),
        }
    }

    /// A request that cannot be carried out: what is wrong, and one thing to do.
    pub fn request(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Request { message: message.into(), hint: hint.into() }
    }

    /// Whether it is no failure but the end of work that was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Error::Decode(ptsm_decode::Error::Stopped) | Error::Data(ptsm_data::Error::Stopped))
    }

    pub(crate) fn plan(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Plan { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn tuning(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Tuning { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn scores(message: impl Into<String>) -> Error {
        Error::Scores { message: message.into(), hint: None }
    }

    pub(crate) fn summary(model: &str, message: impl Into<String>) -> Error {
        Error::Summary { model: model.into(), message: message.into(), hint: None }
    }

    pub(crate) fn file(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { path, doing, source }
    }

    pub(crate) fn with_hint(mut self, text: impl Into<String>) -> Error {
        if let Error::Scores { hint, .. } | Error::Summary { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }
}

/// Says what was being done when something went wrong.
pub trait ErrorContext<T> {
    /// What could not be done.
    fn while_doing(self, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: std::error::Error + Send + Sync + 'static> ErrorContext<T> for std::result::Result<T, E> {
    fn while_doing(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::While { message: message(), source: Box::new(source) })
    }
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
