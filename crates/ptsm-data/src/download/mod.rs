//! Downloading files, of whatever data set: what is there stays, what has begun goes on, what arrives is checked.
//!
//! [`Download::plan`] says which files are wanted and which of them are there; [`Download::run`] gets the others. Besides `NAME`
//! there may be
//!
//! | file | what it is |
//! | --- | --- |
//! | `NAME.part` | what has arrived of it |
//! | `NAME.part.json` | of which file it is a part: address, ETag, date, size |
//! | `NAME.part.lock` | held by the process that downloads it |
//! | [`LOCK_FILE`] | size, time and SHA-256 of each file that was checked, so that it is not read again to check it again |
//!
//! `NAME` itself is there whole and checked, or not at all. A process that was stopped or killed leaves parts, and the next one
//! goes on with them.

mod attempt;
mod client;
mod digest;
mod guard;
mod lock;
mod obtain;
mod part;
mod patience;
mod plan;
mod run;
mod shared;
mod trouble;
mod zenodo;

use std::path::PathBuf;
use std::time::Duration;

pub use lock::LOCK_FILE;
pub(crate) use part::arrived;
pub use plan::{Checksum, Download, PlannedFile, RemoteFile};

use crate::error::Error;

/// How to download.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many files at once.
    pub connections: usize,
    /// What stands in place of `https://host` in all addresses.
    pub mirror: Option<String>,
    /// How long a server may take to be reached.
    pub connect: Duration,
    /// How long nothing may arrive. A whole file may take as long as it takes.
    pub stall: Duration,
    /// The pause before the second try; each further one is twice as long.
    pub pause: Duration,
    /// No pause is longer, unless a server asks for it.
    pub longest_pause: Duration,
    /// How many tries in a row may bring nothing.
    pub tries: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            connections: 4,
            mirror: None,
            connect: Duration::from_secs(30),
            stall: Duration::from_secs(60),
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(60),
            tries: 8,
        }
    }
}

/// How far a download is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DownloadProgress {
    /// Files that are wanted.
    pub files: usize,
    /// Files that are there or have failed.
    pub done: usize,
    /// Bytes that are there of the files that were not.
    pub bytes: u64,
    /// How many bytes that will be; partly guessed from the files whose size is known. None where no size is known.
    pub size: Option<u64>,
    /// Bytes that have come over the network.
    pub received: u64,
    /// Files that something went wrong with and that will be tried again.
    pub waiting: usize,
}

/// Sees how far a download is, and says when to stop.
pub trait DownloadObserver {
    /// Called several times a second.
    fn progress(&mut self, progress: &DownloadProgress);

    /// Whether to stop.
    fn stop(&self) -> bool;
}

/// What came of a file.
#[derive(Debug)]
pub enum FileStatus {
    /// It was there.
    Present,
    /// It is there now.
    Downloaded,
    /// It could not be had.
    Failed(Error),
    /// It was stopped before it was there.
    Unfinished,
}

/// A file and what came of it.
#[derive(Debug)]
pub struct DownloadedFile {
    /// Where it is or should be.
    pub path: PathBuf,
    /// Where it is published.
    pub url: String,
    /// How many bytes of it are there.
    pub bytes: u64,
    /// What came of it.
    pub status: FileStatus,
}

/// What came of a download.
#[derive(Debug, Default)]
pub struct DownloadReport {
    /// Every file, in the order of the plan.
    pub files: Vec<DownloadedFile>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl DownloadReport {
    /// The files that could not be had, and why.
    pub fn failed(&self) -> impl Iterator<Item = (&DownloadedFile, &Error)> {
        self.files.iter().filter_map(|file| match &file.status {
            FileStatus::Failed(error) => Some((file, error)),
            _ => None,
        })
    }
}
