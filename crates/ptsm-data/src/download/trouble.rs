//! Why a try did not bring a file.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;

/// What to do about nearly all of them.
pub(super) const AGAIN: &str =
    "check the connection, then give the same command again: it goes on where it was";

/// Why a try did not bring a file.
#[derive(Debug)]
pub(super) enum DownloadFailure {
    /// May be over at the next try.
    Passing {
        message: String,
        /// How long to wait, where the server says so.
        wait: Option<Duration>,
    },
    /// Would be the same again.
    Lasting { message: String, hint: String },
    /// Was met too often, or would take too long to wait for. It may not be this file's own.
    Exhausted { message: String, hint: &'static str },
    /// The disk has no room; no other file would do better.
    DiskFull(String),
    /// The file cannot be read or written.
    Here(Error),
    /// The user wants to stop.
    Stopped,
}

impl DownloadFailure {
    pub(super) fn passing(message: impl Into<String>) -> DownloadFailure {
        DownloadFailure::Passing { message: message.into(), wait: None }
    }

    pub(super) fn lasting(message: impl Into<String>, hint: impl Into<String>) -> DownloadFailure {
        DownloadFailure::Lasting { message: message.into(), hint: hint.into() }
    }

    /// What the system says about a file of ours.
    pub(super) fn system(path: &Path, action: &'static str, error: io::Error) -> DownloadFailure {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                DownloadFailure::DiskFull(format!("the disk is full: {error}"))
            }
            _ => DownloadFailure::Here(system(path, action, error)),
        }
    }

    /// What a library of ours says about a file of ours.
    pub(super) fn file(error: ptsm_io::Error) -> DownloadFailure {
        match error {
            ptsm_io::Error::System { place, action, error } => {
                DownloadFailure::system(&place.path, action, error)
            }
            other => DownloadFailure::Here(other.into()),
        }
    }
}

/// What the system says about a file.
pub(super) fn system(path: &Path, action: &'static str, error: io::Error) -> Error {
    Error::File(ptsm_io::Error::System { place: path.into(), action, error })
}
