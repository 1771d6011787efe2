//! Files to download: where each is published, where it goes, what of it is there.

use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

/// How a downloaded file is known to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// In hexadecimal.
    Sha256(String),
    /// In hexadecimal.
    Md5(String),
    /// Nobody publishes one: size and hash of the first download are kept in a lock file.
    Unpublished,
}

/// A file to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Whose it is; none for files that are everybody's.
    pub subject: Option<SubjectId>,
    /// Where it is.
    pub url: String,
    /// Where it goes, under the data set's folder.
    pub path: PathBuf,
    /// How it is checked.
    pub checksum: Checksum,
}

/// A file of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Where it is published.
    pub remote: RemoteFile,
    /// Where it goes.
    pub path: PathBuf,
    /// Where it is, where it is there: in its place, or where the data set finds it in a layout of the user's own.
    pub found: Option<PathBuf>,
    /// How many bytes of it have arrived, where it is not there.
    pub arrived: u64,
}

impl PlannedFile {
    /// Whether it is there, but not in its place.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.found.as_ref().is_some_and(|found| *found != self.path)
    }
}

/// Files about to be downloaded to one folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Download {
    folder: PathBuf,
    files: Vec<PlannedFile>,
    left_out: Vec<(SubjectId, String)>,
}

impl Download {
    /// Files to download to a folder, and subjects who are left out on purpose, with the reason.
    pub(crate) fn new(
        folder: &Path,
        files: Vec<PlannedFile>,
        left_out: Vec<(SubjectId, String)>,
    ) -> Download {
        Download { folder: folder.to_path_buf(), files, left_out }
    }

    /// The files, in the order of the data set.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// Subjects asked for whom the data set leaves out on purpose, with the reason.
    pub fn left_out(&self) -> &[(SubjectId, String)] {
        &self.left_out
    }

    /// Where they go.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
