//! Which files of a data set to download, and which of them are there: what the download itself need not know.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;

use ptsm_signal::SubjectId;

use crate::catalogue::UNPUBLISHED;
use crate::download::{Download, PlannedFile, RemoteFile, arrived};
use crate::error::{Error, Result};
use crate::recordings::Recordings;
use crate::subjects::SubjectList;

impl Download {
    /// Finds out what is wanted, for some subjects or all, and what of it is there. Looks at names only and asks nobody.
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
        let published: BTreeSet<_> = remotes.iter().filter_map(|remote| remote.subject).collect();
        let excluded = set.excluded(recordings.options())?;
        let is_requested = |subject: SubjectId| subjects.is_some_and(|list| list.contains(subject));
        let left_out = excluded.iter().filter(|(subject, _)| is_requested(*subject)).cloned().collect();
        let subjects = subjects.map(|list| list.skipping(&excluded)).transpose()?;
        let chosen = subjects.map(|list| list.choose(&published)).transpose()?;
        let elsewhere = FoundLayout::new(recordings, &remotes);
        let is_chosen = |remote: &RemoteFile| match (remote.subject, &chosen) {
            (Some(subject), Some(chosen)) => chosen.contains(&subject),
            _ => true,
        };
        let files = remotes.into_iter().filter(is_chosen).map(|remote| {
            let path = folder.join(&remote.path);
            let found = if path.exists() { Some(path.clone()) } else { elsewhere.find(&remote) };
            let arrived = if found.is_none() { arrived(&path) } else { 0 };
            PlannedFile { remote, path, found, arrived }
        });
        Ok(Download::new(folder, files.collect(), left_out))
    }
}

/// Files that the data set finds in whatever layout, by name.
struct FoundLayout {
    files: BTreeMap<String, PathBuf>,
}

impl FoundLayout {
    fn new(recordings: &Recordings, remotes: &[RemoteFile]) -> FoundLayout {
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
        FoundLayout { files }
    }

    fn find(&self, remote: &RemoteFile) -> Option<PathBuf> {
        let file = self.files.get(&lower(remote.path.file_name()?))?;
        file.exists().then(|| file.clone())
    }
}

fn lower(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}
