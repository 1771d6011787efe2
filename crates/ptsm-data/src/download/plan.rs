//! Which files are wanted, and which of them are there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

use super::part;
use crate::catalogue::{Remote, UNPUBLISHED};
use crate::error::{Error, Result};
use crate::recordings::Recordings;
use crate::subjects::SubjectList;

/// A file that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where it is published.
    pub remote: Remote,
    /// Where it goes.
    pub path: PathBuf,
    /// Where it is, where it is there: in its place, or where the data set finds it in a layout of the user's own.
    pub found: Option<PathBuf>,
    /// How many bytes of it have arrived, where it is not there.
    pub arrived: u64,
}

impl Wanted {
    /// Whether it is there, but not in its place.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.found.as_ref().is_some_and(|found| *found != self.path)
    }
}

/// A data set about to be downloaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Download {
    folder: PathBuf,
    files: Vec<Wanted>,
    left_out: Vec<(SubjectId, String)>,
}

impl Download {
    /// Finds out what is wanted, for some people or all, and what of it is there. Looks at names only and asks nobody.
    pub fn plan(recordings: &Recordings, subjects: Option<&SubjectList>) -> Result<Download> {
        let (set, folder) = (recordings.set(), recordings.root());
        let remotes = set.remote(recordings.options())?;
        let id = set.about().id;
        if remotes.is_empty() {
            return Err(Error::Source {
                hint: Some(match set.about().home {
                    home if home.is_empty() => format!("`ptsm data show {id}` says what is there"),
                    home => format!("get it by hand: {home}"),
                }),
                message: "it cannot be downloaded".into(),
                id,
            });
        }
        let people: BTreeSet<_> = remotes.iter().filter_map(|remote| remote.subject).collect();
        let excluded = set.excluded(recordings.options())?;
        let asked = |subject: SubjectId| subjects.is_some_and(|list| list.contains(subject));
        let left_out = excluded.iter().filter(|(subject, _)| asked(*subject)).cloned().collect();
        let subjects = subjects.map(|list| list.skipping(&excluded)).transpose()?;
        let chosen = subjects.map(|list| list.choose(&people)).transpose()?;
        let elsewhere = Elsewhere::new(recordings, &remotes);
        let is_chosen = |remote: &Remote| match (remote.subject, &chosen) {
            (Some(subject), Some(chosen)) => chosen.contains(&subject),
            _ => true,
        };
        let files = remotes.into_iter().filter(is_chosen).map(|remote| {
            let path = folder.join(&remote.path);
            let found = if path.exists() { Some(path.clone()) } else { elsewhere.find(&remote) };
            let arrived = if found.is_none() { part::arrived(&path) } else { 0 };
            Wanted { remote, path, found, arrived }
        });
        Ok(Download { files: files.collect(), folder: folder.to_path_buf(), left_out })
    }

    /// The files, in the order of the data set.
    pub fn files(&self) -> &[Wanted] {
        &self.files
    }

    /// People asked for whom the data set leaves out on purpose, with the reason.
    pub fn left_out(&self) -> &[(SubjectId, String)] {
        &self.left_out
    }

    /// Where they go.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Files that the data set finds in whatever layout, by name.
struct Elsewhere {
    files: BTreeMap<String, PathBuf>,
}

impl Elsewhere {
    fn new(recordings: &Recordings, remotes: &[Remote]) -> Elsewhere {
        // A folder in which the data set finds nothing is where a download begins, so that is no error here.
        let found = recordings.set().find(recordings.root(), recordings.options()).unwrap_or_default();
        let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
        let published = |file: &PathBuf| !file.iter().any(|part| part == UNPUBLISHED);
        for file in found.items.into_iter().flat_map(|item| item.files).filter(published) {
            if let Some(name) = file.file_name().map(lower) {
                files.entry(name).or_insert(file);
            }
        }
        // Names that several files of the data set have say nothing.
        let mut names = BTreeSet::new();
        for name in remotes.iter().filter_map(|remote| remote.path.file_name()).map(lower) {
            if !names.insert(name.clone()) {
                files.remove(&name);
            }
        }
        Elsewhere { files }
    }

    fn find(&self, remote: &Remote) -> Option<PathBuf> {
        let file = self.files.get(&lower(remote.path.file_name()?))?;
        file.exists().then(|| file.clone())
    }
}

fn lower(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}
