//! Files of a data set under a folder, by their names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
pub(super) use crate::walk::name as file_name;
use crate::walk::{WalkOrder, walk};

/// Folders inside folders that are looked into: enough for what other programs download to.
const DEEPEST: usize = 10;
/// Files and folders that are looked at: more are no data set but somebody's whole disk.
const MOST: usize = 500_000;

/// Every file under a folder whose name ends so (`.mat`; upper case too), those near the top first. Folders whose name begins
/// with a dot are left alone, links are followed.
pub(super) fn files(id: &str, root: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let refuse =
        |message: String, hint: &str| Error::Source { id: id.into(), message, hint: Some(hint.into()) };
    if !root.is_dir() {
        return Err(refuse(format!("there is no folder {}", root.display()), "check `--root`"));
    }
    let walked = walk(root, DEEPEST, WalkOrder::BreadthFirst, MOST);
    if let Some((_, error)) = walked.closed.iter().find(|(folder, _)| folder == root) {
        return Err(refuse(format!("cannot read {}: {error}", root.display()), "check `--root`"));
    }
    if walked.entries > MOST {
        let message = format!("{} holds more than {MOST} files", root.display());
        return Err(refuse(message, "give the data set's own folder with `--root`"));
    }
    let mut found = walked.files;
    found.retain(|path| endings.iter().any(|ending| ends_with(&file_name(path), ending)) && path.is_file());
    found.sort_by_cached_key(|path| (path.components().count(), path.clone()));
    Ok(found)
}

fn ends_with(name: &str, ending: &str) -> bool {
    let at = name.len().checked_sub(ending.len());
    at.and_then(|at| name.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

/// The numbers in a name that looks like a pattern, upper or lower case. In a pattern `#` is a digit, `+` one or more of them.
pub(super) fn numbers(pattern: &str, name: &str) -> Option<Vec<u32>> {
    let (mut rest, mut pattern) = (name.as_bytes(), pattern.as_bytes());
    let mut numbers = vec![];
    while let Some(&first) = pattern.first() {
        let length = match first {
            b'#' => pattern.iter().take_while(|&&c| c == b'#').count(),
            b'+' => rest.iter().take_while(|c| c.is_ascii_digit()).count(),
            _ => {
                if !rest.first()?.eq_ignore_ascii_case(&first) {
                    return None;
                }
                (rest, pattern) = (&rest[1..], &pattern[1..]);
                continue;
            }
        };
        let digits = rest.get(..length).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        numbers.push(std::str::from_utf8(digits).ok()?.parse().ok()?);
        rest = &rest[length..];
        pattern = &pattern[if first == b'+' { 1 } else { length }..];
    }
    rest.is_empty().then_some(numbers)
}

/// Files by what they are, each once: the first counts. Gives also those of which there are more, once for each that is not read.
pub(super) fn once<K: Ord + Clone>(
    files: impl IntoIterator<Item = (K, PathBuf)>,
) -> (BTreeMap<K, PathBuf>, Vec<(K, PathBuf)>) {
    let mut all = BTreeMap::new();
    let mut doubled = vec![];
    for (key, path) in files {
        match all.entry(key) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(path);
            }
            std::collections::btree_map::Entry::Occupied(entry) => {
                doubled.push((entry.key().clone(), entry.get().clone()));
            }
        }
    }
    (all, doubled)
}

/// A path as it is under a folder.
pub(super) fn under(root: &Path, path: PathBuf) -> PathBuf {
    path.strip_prefix(root).map(Path::to_path_buf).unwrap_or(path)
}

/// How many bytes a file has; 0 where nobody can tell.
pub(super) fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_taken_apart_whatever_their_case() {
        assert_eq!(numbers("S###R##.edf", "S001R14.edf"), Some(vec![1, 14]));
        assert_eq!(numbers("S###R##.edf", "s001r14.EDF"), Some(vec![1, 14]));
        assert_eq!(numbers("S+.mat", "S16.mat"), Some(vec![16]));
        assert_eq!(numbers("sess##_subj##_EEG_MI.mat", "sess02_subj07_EEG_MI.mat"), Some(vec![2, 7]));
        for other in ["S001R14.edf.event", "S01R14.edf", "S001R1.edf", "xS001R14.edf", "", "S001R14.edg"] {
            assert_eq!(numbers("S###R##.edf", other), None, "{other}");
        }
        assert_eq!(numbers("S+.mat", "S.mat"), None);
        assert_eq!(numbers("S+.mat", "S99999999999.mat"), None);
    }

    #[test]
    fn files_are_found_below_and_links_in_a_circle_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let deep = root.join("a/b/c/d/e/f/g/h/i/j");
        std::fs::create_dir_all(deep.join("too deep")).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        for path in [root.join("x.MAT"), root.join("x.edf"), deep.join("y.mat"), root.join(".git/z.mat")] {
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(deep.join("too deep/z.mat"), "").unwrap();
        #[cfg(unix)]
        for name in ["up", "again", "once more"] {
            std::os::unix::fs::symlink(root, root.join("a").join(name)).unwrap();
        }
        assert_eq!(files("some", root, &[".mat"]).unwrap(), [root.join("x.MAT"), deep.join("y.mat")]);
        let error = files("some", &root.join("absent"), &[".mat"]).unwrap_err();
        assert!(error.to_string().contains("there is no folder") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn the_first_of_several_counts() {
        let pairs = [(1, "a/x"), (2, "a/y"), (1, "b/x")].map(|(key, path)| (key, PathBuf::from(path)));
        let (all, doubled) = once(pairs);
        assert_eq!(all.into_values().collect::<Vec<_>>(), [PathBuf::from("a/x"), PathBuf::from("a/y")]);
        assert_eq!(doubled, [(1, PathBuf::from("a/x"))]);
        assert!(once([(1, PathBuf::new())]).1.is_empty());
    }
}
