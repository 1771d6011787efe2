//! The files under a folder.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::numbers::natural;

/// What is under a folder.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    /// Files, and links that lead nowhere, folder by folder in the order of their names.
    pub(super) files: Vec<PathBuf>,
    /// Folders that cannot be looked into.
    pub(super) closed: Vec<(PathBuf, io::Error)>,
}

/// All files down to so many folders deep. Hidden ones are left out, and no folder is seen twice, whatever links lead to it.
pub(super) fn walk(folder: &Path, deep: usize) -> FolderListing {
    let mut walked = FolderListing::default();
    let mut seen = BTreeSet::new();
    into(folder, deep, &mut seen, &mut walked);
    walked
}

fn into(folder: &Path, deep: usize, seen: &mut BTreeSet<PathBuf>, walked: &mut FolderListing) {
    let listed = folder.canonicalize().and_then(|real| {
        if !seen.insert(real) {
            return Ok(vec![]);
        }
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()
    });
    let mut entries = match listed {
        Ok(entries) => entries,
        Err(error) => {
            walked.closed.push((folder.to_path_buf(), error));
            return;
        }
    };
    entries.retain(|path| !name(path).starts_with('.'));
    entries.sort_by(|a, b| natural(&name(a), &name(b)));
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
    walked.files.extend(files);
    if deep > 0 {
        folders.iter().for_each(|folder| into(folder, deep - 1, seen, walked));
    }
}

/// The last part of a path as text.
pub(super) fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn hidden_files_and_loops_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("b/c/d")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        for file in ["s10.edf", "s2.edf", ".hidden", "b/x.edf", "b/c/y.edf", "b/c/d/z.edf", ".git/a.edf"] {
            fs::write(root.join(file), "").unwrap();
        }
        #[cfg(unix)]
        for (from, to) in [(".", "b/loop"), ("nowhere", "t.edf")] {
            std::os::unix::fs::symlink(root.join(from), root.join(to)).unwrap();
        }
        let names = |walked: FolderListing| walked.files.iter().map(|path| name(path)).collect::<Vec<_>>();
        let all = names(walk(root, 8));
        let expected = ["s2.edf", "s10.edf", "t.edf", "x.edf", "y.edf", "z.edf"];
        assert_eq!(all, expected.into_iter().filter(|n| cfg!(unix) || *n != "t.edf").collect::<Vec<_>>());
        assert!(!names(walk(root, 2)).contains(&"z.edf".to_string()));
        assert_eq!(walk(&root.join("absent"), 2).closed.len(), 1);
    }
}
