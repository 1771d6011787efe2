//! What can go wrong with data, and one thing to do about it.

use std::path::PathBuf;

use ptsm_signal::SubjectId;

use ptsm_simulate::SimulateError;

/// Everything this crate refuses to do, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Text that names no subjects.
    #[error("subjects `{text}`: {message}")]
    Subjects {
        /// What was given.
        text: String,
        /// What does not fit.
        message: String,
    },
    /// Subjects that were asked for and are not there.
    #[error("there is no subject {missing}; the data have {present}")]
    UnknownSubjects {
        /// Those that are not there.
        missing: String,
        /// Those that are.
        present: String,
    },
    /// Subjects that were named and that the data leave out on purpose.
    #[error("the data leave out {}", reasons(excluded))]
    ExcludedSubjects {
        /// Who, and why.
        excluded: Vec<(SubjectId, String)>,
    },
    /// A name or folder that is no source of data.
    #[error("data `{id}`: {message}")]
    Source {
        /// What was given.
        id: String,
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// A cohort that cannot be simulated.
    #[error("{message}")]
    Cohort {
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// A file whose contents are not what they should be.
    #[error("{}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// A signal that is refused.
    #[error("{place}: {error}")]
    Signal {
        /// The file or data set.
        place: String,
        /// What is wrong with the signal.
        error: ptsm_signal::Error,
    },
    /// The user asked to stop.
    #[error("stopped while data were read")]
    Stopped,
    /// A file that cannot be downloaded.
    #[error("{}: {message}", path.display())]
    Download {
        /// Where it should be.
        path: PathBuf,
        /// What went wrong.
        message: String,
        /// One thing to do.
        hint: String,
    },
    /// Text that is no address of a mirror.
    #[error("the mirror `{text}` is no address")]
    Mirror {
        /// What was given.
        text: String,
    },
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] ptsm_io::Error),
}

impl Error {
    /// One thing to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Subjects { .. } => Some("give numbers and ranges, such as `1-30,35`"),
            Error::UnknownSubjects { .. } => Some("choose among the subjects the data have"),
            Error::ExcludedSubjects { .. } => Some(
                "leave them out of the list; a range skips them; `ptsm data show` lists the choices (`--with`) that keep them",
            ),
            Error::Source { hint, .. } | Error::Cohort { hint, .. } | Error::Content { hint, .. } => {
                hint.as_deref()
            }
            Error::Download { hint, .. } => Some(hint),
            Error::Mirror { .. } => {
                Some("give what stands before the path, such as `https://mirror.example.org`")
            }
            Error::Signal { error, .. } => error.hint(),
            Error::Stopped => Some("start it again"),
            Error::File(error) => error.hint(),
        }
    }
}

/// Subjects with the reasons why they are left out: `S88 (slow), S92 (odd)`.
pub fn reasons(excluded: &[(SubjectId, String)]) -> String {
    excluded.iter().map(|(subject, why)| format!("{subject} ({why})")).collect::<Vec<_>>().join(", ")
}

impl From<SimulateError> for Error {
    fn from(error: SimulateError) -> Error {
        Error::Cohort { message: error.to_string(), hint: error.hint() }
    }
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
