//! Arrays of the user's own: `.npz` files to trials and back.
//!
//! | key | shape | values | without it |
//! | --- | --- | --- | --- |
//! | `X` | trials, channels, samples | numbers | error |
//! | `y` | trials | integers, booleans or text; with `classes` indices into it, or its names | error, unless labels are not wanted |
//! | `subject` | trials | integers, or text, which is replaced by numbers and never kept | error |
//! | `session` | trials | integers or text | 1 |
//! | `run` | trials | integers or text | each file is one run, in the order of the files |
//! | `cue_s` | trials | seconds since the run began | trials follow one another |
//! | `channels` (`ch_names`) | channels | text | `ch1`, `ch2`, ..; a note |
//! | `rate_hz` (`sfreq`, `fs`) | one number | samples per second | 1; a note |
//! | `start_s` | one number | first sample, in seconds after the cue | 0 |
//! | `classes` | classes | text | the distinct values of `y`, sorted |
//! | `unit` | one text | `V`, `mV`, `uV`, `nV`; kept as microvolts; `arbitrary` where epochs were scaled | not known |
//! | `pipeline` | one text | JSON: what was done to these trials (`ptsm data export`), of which nothing is done again | nothing was done |
//! | `recognised_by` | any, 2 | text: a subject's number and a hash that they are recognised by (`ptsm data export`) | by the trials alone |
//! | `made_from` | any | text: hashes of subjects whose trials these were made from (`ptsm convert`) | nobody else's |
//! | `positions` | channels, 3 | places on the unit sphere; NaN where not known | by the channels' names |

mod combine;
mod file;
mod names;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ptsm_signal::{Pipeline, SubjectId, Trials};

pub use write::{write_made_trials, write_prepared_trials, write_trials};

use crate::error::{Error, Result};

/// Trials from files, with what the user should know about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrays {
    /// The trials.
    pub trials: Trials,
    /// What was missing and what is assumed instead.
    pub notes: Vec<String>,
    /// The subjects' names in the files.
    pub(crate) labels: BTreeMap<SubjectId, String>,
    /// What was done to the trials already; none where nobody says.
    pub(crate) prepared: Option<Pipeline>,
    /// Hashes of the subjects from whose trials others were made, by subject.
    pub(crate) made_from: BTreeMap<SubjectId, BTreeSet<String>>,
}

/// Which classes the trials are of.
#[derive(Clone, Copy, Debug)]
pub enum LabelHandling<'a> {
    /// Those the files have.
    Own,
    /// A decoder's. The files need not have all of them, and none besides.
    Classes(&'a [String]),
    /// A decoder's, and `y` is not read: nobody knows the class yet. Every trial is labelled as the first, which means nothing.
    Unlabelled(&'a [String]),
}

/// Reads one `.npz` file.
pub fn read_trials(path: &Path) -> Result<Arrays> {
    read(&[path.to_path_buf()], LabelHandling::Own)
}

/// Reads all `.npz` files of a folder, in the order of their names, as one set.
pub fn read_folder(folder: &Path) -> Result<Arrays> {
    read(&files(folder)?, LabelHandling::Own)
}

/// Reads files as one set. Names of subjects, sessions and classes are numbered over all files together: the same name is the
/// same subject in every file.
pub fn read(files: &[PathBuf], label_handling: LabelHandling<'_>) -> Result<Arrays> {
    let labelled = !matches!(label_handling, LabelHandling::Unlabelled(_));
    let files = files.iter().map(|path| file::File::read(path, labelled)).collect::<Result<Vec<_>>>()?;
    combine::combine(files, label_handling)
}

/// From when to when the trials of a file reach, in seconds after the cue. Their samples are not read.
pub(crate) fn window_s(path: &Path) -> Result<[f64; 2]> {
    file::File::window_s(path)
}

/// What was done to the trials of a file already; none where it does not say. Their samples are not read.
pub(crate) fn prepared(path: &Path) -> Result<Option<Pipeline>> {
    file::File::prepared(path)
}

/// The `.npz` files of a folder, in the order of their names.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let refuse = |message: String| Error::Content {
        path: folder.to_path_buf(),
        message,
        hint: Some("give a folder with one `.npz` file per subject, or a single `.npz` file".into()),
    };
    let entries =
        fs::read_dir(folder).map_err(|error| refuse(format!("cannot list this folder: {error}")))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| refuse(format!("cannot list this folder: {error}")))?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.extension().is_some_and(|e| e == "npz") && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(refuse("has no `.npz` file".into()));
    }
    files.sort();
    Ok(files)
}
