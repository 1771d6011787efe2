//! The files under a folder: the one walk of BIDS folders, of `data add` and of data sets of the catalogue.
//!
//! It is written by hand because links need care that no library takes: a folder is seen once, whatever links lead to it (`walkdir` only
//! ends circles), and a link that leads nowhere is a file whose content git-annex has not fetched, not an error.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is under a folder.
#[derive(Debug, Default)]
pub(crate) struct FolderWalk {
    /// Files, and links that lead nowhere, folder by folder in the order of their names.
    pub(crate) files: Vec<PathBuf>,
    /// Folders that lie too deep to be looked into.
    pub(crate) below: Vec<PathBuf>,
    /// Folders that cannot be looked into.
    pub(crate) closed: Vec<(PathBuf, io::Error)>,
    /// Files and folders that were looked at.
    pub(crate) entries: usize,
}

/// Which folders come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkOrder {
    /// Those inside the first folder, then the second folder.
    DepthFirst,
    /// Those near the top.
    BreadthFirst,
}

/// All files down to so many folders deep. Hidden ones are left out, and no folder is seen twice, whatever links lead to it. It ends after
/// the folder in which there are more than `most` entries in all.
pub(crate) fn walk(folder: &Path, deep: usize, order: WalkOrder, most: usize) -> FolderWalk {
    let (mut walk, mut seen) = (FolderWalk::default(), BTreeSet::new());
    let mut pending = VecDeque::from([(folder.to_path_buf(), 0)]);
    while let Some((folder, depth)) = pending.pop_front().filter(|_| walk.entries <= most) {
        if depth > deep {
            walk.below.push(folder);
            continue;
        }
        let listed =
            folder.canonicalize().and_then(|real| if seen.insert(real) { list(&folder) } else { Ok(vec![]) });
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                walk.closed.push((folder, error));
                continue;
            }
        };
        walk.entries += entries.len();
        entries.retain(|(name, ..)| !name.starts_with('.'));
        entries.sort_by(|a, b| natural(&a.0, &b.0));
        let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(_, _, is_dir)| *is_dir);
        walk.files.extend(files.into_iter().map(|(_, path, _)| path));
        let folders = folders.into_iter().map(|(_, path, _)| (path, depth + 1));
        match order {
            WalkOrder::DepthFirst => folders.rev().for_each(|folder| pending.push_front(folder)),
            WalkOrder::BreadthFirst => pending.extend(folders),
        }
    }
    walk
}

/// Name, path and whether it is a folder, or a link to one, of all that is in a folder.
fn list(folder: &Path) -> io::Result<Vec<(String, PathBuf, bool)>> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type().ok().filter(|kind| !kind.is_symlink()));
        let is_dir = kind.map_or_else(|| path.is_dir(), |kind| kind.is_dir());
        Ok((name(&path), path, is_dir))
    };
    fs::read_dir(folder)?.map(entry).collect()
}

/// The last part of a path as text.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Which comes first when digits are read as numbers: `run-2` before `run-10`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        match (left.chars().next(), right.chars().next()) {
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let (first, second) = (digits(&mut left), digits(&mut right));
                // Without leading zeros the longer number is the larger one.
                let order = first.len().cmp(&second.len()).then_with(|| first.cmp(second));
                if order.is_ne() {
                    return order;
                }
            }
            (Some(x), Some(y)) if x == y => {
                (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
            }
            // Names that differ in leading zeros alone are still two names.
            (None, None) => return a.cmp(b),
            (x, y) => return x.cmp(&y),
        }
    }
}

/// Takes the digits off the front of a text; gives them without leading zeros.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    number.trim_start_matches('0')
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
        let names = |walked: FolderWalk| walked.files.iter().map(|path| name(path)).collect::<Vec<_>>();
        let all = names(walk(root, 8, WalkOrder::DepthFirst, usize::MAX));
        let expected = ["s2.edf", "s10.edf", "t.edf", "x.edf", "y.edf", "z.edf"];
        assert_eq!(all, expected.into_iter().filter(|n| cfg!(unix) || *n != "t.edf").collect::<Vec<_>>());
        assert!(!names(walk(root, 2, WalkOrder::DepthFirst, usize::MAX)).contains(&"z.edf".to_string()));
        assert_eq!(walk(&root.join("absent"), 2, WalkOrder::DepthFirst, usize::MAX).closed.len(), 1);
    }

    #[test]
    fn a_folder_two_links_lead_to_is_seen_once_and_first_near_the_top() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir_all(root.join("z/deep")).unwrap();
        fs::write(root.join("z/x.edf"), "").unwrap();
        fs::write(root.join("z/deep/y.edf"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("z"), root.join("a/z")).unwrap();
        let found = |order, deep| walk(root, deep, order, usize::MAX);
        let near = found(WalkOrder::BreadthFirst, 8);
        assert_eq!(near.files, ["z/x.edf", "z/deep/y.edf"].map(|file| root.join(file)));
        assert!(near.closed.is_empty() && near.below.is_empty());
        let first = if cfg!(unix) { "a/z" } else { "z" };
        assert_eq!(found(WalkOrder::DepthFirst, 8).files[0], root.join(first).join("x.edf"));
        assert_eq!(found(WalkOrder::DepthFirst, 0).below, ["a", "z"].map(|name| root.join(name)));
        assert_eq!(walk(root, 8, WalkOrder::DepthFirst, 1).entries, 2);
    }

    #[test]
    fn digits_sort_as_numbers() {
        let mut names = ["b", "run-10", "run-2", "run-02", "a", "run", "9", "10", "ü"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["9", "10", "a", "b", "run", "run-02", "run-2", "run-10", "ü"]);
    }
}
