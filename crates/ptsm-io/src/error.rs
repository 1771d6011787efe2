//! What can go wrong with a file, and one thing to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Everything this crate refuses to do, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refuses to read or write.
    #[error("{place}: cannot {action}: {error}")]
    System {
        /// Which file.
        place: Place,
        /// What was tried: `open`, `read`, `write`.
        action: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// Bytes that are not what the format says.
    #[error("{place}: {message}")]
    Format {
        /// Which file, and which array in it.
        place: Place,
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// A shape that does not hold the values given.
    #[error("an array of shape {shape:?} does not hold {values} values")]
    Shape {
        /// The shape.
        shape: Vec<usize>,
        /// How many values there are.
        values: usize,
    },
}

impl Error {
    /// One thing to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::System { error, .. } => match error.kind() {
                io::ErrorKind::NotFound => {
                    Some("check the path; a relative one starts at the working folder")
                }
                io::ErrorKind::PermissionDenied => Some("check who may read and write there"),
                io::ErrorKind::StorageFull => Some("make room on the disk"),
                _ => None,
            },
            Error::Format { hint, .. } => hint.as_deref(),
            Error::Shape { .. } => None,
        }
    }

    pub(crate) fn system(path: &Path, action: &'static str, error: io::Error) -> Error {
        Error::system_at(&Place::from(path), action, error)
    }

    pub(crate) fn system_at(place: &Place, action: &'static str, error: io::Error) -> Error {
        Error::System { place: place.clone(), action, error }
    }

    pub(crate) fn format(place: &Place, message: impl Into<String>) -> Error {
        Error::Format { place: place.clone(), message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, text: impl Into<String>) -> Error {
        if let Error::Format { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }
}

/// A file, or one array in it, or one of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The array or variable in it.
    pub member: Option<String>,
    /// The byte, counted from 0.
    pub byte: Option<u64>,
}

impl Place {
    /// A byte of this file.
    pub(crate) fn at(&self, byte: u64) -> Place {
        Place { byte: Some(byte), ..self.clone() }
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Place {
        Place { path: path.to_path_buf(), member: None, byte: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(member) = &self.member {
            write!(f, ", array `{member}`")?;
        }
        if let Some(byte) = self.byte {
            write!(f, ", byte {byte}")?;
        }
        Ok(())
    }
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
