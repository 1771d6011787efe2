//! What is in a BIDS folder: recordings, and the tables that are about them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::super::table::TextTable;
use super::entities::Entities;
use crate::walk::{FolderWalk, WalkOrder, name, walk};

/// Endings of recordings, in lower case.
const RECORDINGS: [&str; 4] = ["edf", "bdf", "vhdr", "set"];
/// What belongs to recordings of these endings.
const BESIDE: [&str; 4] = ["eeg", "vmrk", "dat", "fdt"];
/// Folders whose files are not as they were recorded.
const NOT_RAW: [&str; 3] = ["derivatives", "sourcedata", "code"];
/// How deep recordings lie below a subject's folder at most.
const DEEP: usize = 4;
/// Pointers of git-annex are no longer than this.
const POINTER: u64 = 32 << 10;

/// A file with its name taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BidsFile {
    pub(super) path: PathBuf,
    /// The label of the subject in whose folder it is; empty above all of them.
    pub(super) subject_label: String,
    pub(super) entities: Entities,
}

/// A folder that was looked through.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Recordings whose content is there.
    pub(super) recordings: Vec<BidsFile>,
    /// Recordings that git-annex knows of and whose content is not there.
    pub(super) not_fetched: Vec<PathBuf>,
    /// Files called like recordings, of a kind that is not read.
    pub(super) unsupported: Vec<PathBuf>,
    /// Recordings a `scans.tsv` lists and nobody has.
    pub(super) listed: Vec<PathBuf>,
    /// Folders that cannot be looked into.
    pub(super) closed: Vec<PathBuf>,
    /// Labels of subjects, as their folders have them.
    pub(super) subject_labels: Vec<String>,
    root: PathBuf,
    /// What belongs to recordings.
    beside: Vec<PathBuf>,
    /// Tables and descriptions, also those whose content is not there: whoever needs one says so.
    sidecars: Vec<BidsFile>,
}

impl Tree {
    /// Looks through a folder.
    pub(super) fn new(root: &Path) -> Tree {
        let mut tree = Tree { root: root.to_path_buf(), ..Tree::default() };
        let within = |folder: &Path, deep| walk(folder, deep, WalkOrder::DepthFirst, usize::MAX);
        let FolderWalk { files, below: mut folders, .. } = within(root, 0);
        tree.sort(files, "");
        folders.sort();
        for folder in folders {
            let Some(label) = name(&folder).strip_prefix("sub-").map(str::to_string) else { continue };
            let walked = within(&folder, DEEP);
            tree.closed.extend(walked.closed.into_iter().map(|(path, _)| path));
            let raw = |path: &PathBuf| {
                path.strip_prefix(root)
                    .is_ok_and(|inner| !inner.iter().any(|part| NOT_RAW.iter().any(|not| part == *not)))
            };
            tree.sort(walked.files.into_iter().filter(raw).collect(), &label);
            tree.subject_labels.push(label);
        }
        tree.unsupported.extend(tree.headless());
        tree.listed = tree.absent();
        tree
    }

    fn sort(&mut self, files: Vec<PathBuf>, subject_label: &str) {
        for path in files {
            let (entities, subject_label) = (Entities::parse(&name(&path)), subject_label.to_string());
            let recording = RECORDINGS.contains(&&*entities.extension);
            let in_place = path.parent().is_some_and(|folder| name(folder) == "eeg");
            if entities.suffix == "eeg" && in_place && recording {
                match whole(&path) {
                    true => self.recordings.push(BidsFile { path, subject_label, entities }),
                    false => self.not_fetched.push(path),
                }
            } else if ["tsv", "json"].contains(&&*entities.extension) {
                self.sidecars.push(BidsFile { path, subject_label, entities });
            } else if entities.suffix == "eeg" && in_place {
                match BESIDE.contains(&&*entities.extension) {
                    true => self.beside.push(path),
                    false => self.unsupported.push(path),
                }
            }
        }
    }

    /// Every description of this suffix that applies to a recording, from the root down.
    pub(super) fn descriptions(&self, recording: &BidsFile, suffix: &str) -> Vec<&Path> {
        self.applicable(recording, suffix, "json")
            .into_iter()
            .map(|(_, named)| named.path.as_path())
            .collect()
    }

    /// The deepest table of this suffix that applies to a recording; of several in one folder the one that says most.
    pub(super) fn table(&self, recording: &BidsFile, suffix: &str) -> Option<&Path> {
        let all = self.applicable(recording, suffix, "tsv");
        let best = all.into_iter().max_by_key(|(depth, named)| (*depth, named.entities.len()));
        best.map(|(_, named)| named.path.as_path())
    }

    /// With how deep each lies, the deepest last.
    fn applicable(&self, recording: &BidsFile, suffix: &str, extension: &str) -> Vec<(usize, &BidsFile)> {
        let above = |named: &BidsFile| {
            let folder = named.path.parent()?;
            recording.path.starts_with(folder).then(|| folder.components().count())
        };
        let fits = |named: &&BidsFile| {
            named.entities.suffix == suffix
                && named.entities.extension == extension
                && named.entities.applies_to(&recording.entities)
        };
        let mut all: Vec<(usize, &BidsFile)> =
            self.sidecars.iter().filter(fits).filter_map(|named| Some((above(named)?, named))).collect();
        all.sort_by_key(|(depth, named)| (*depth, named.entities.len()));
        all
    }

    /// Samples without a header.
    fn headless(&self) -> Vec<PathBuf> {
        let known = self.recordings.iter().map(|named| &named.path).chain(&self.not_fetched);
        let known: BTreeSet<PathBuf> = known.map(|path| stem(path)).collect();
        let samples =
            |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "eeg" || ending == "fdt");
        self.beside.iter().filter(samples).filter(|path| !known.contains(&stem(path))).cloned().collect()
    }

    /// Recordings that lists of scans name and that are not there under any of their endings.
    fn absent(&self) -> Vec<PathBuf> {
        let known =
            self.recordings.iter().map(|named| &named.path).chain(&self.not_fetched).chain(&self.unsupported);
        let known: BTreeSet<PathBuf> = known.map(|path| stem(path)).collect();
        let mut absent = vec![];
        for list in self.sidecars.iter().filter(|named| named.entities.suffix == "scans") {
            let Ok(table) = TextTable::read_bids(&list.path) else { continue };
            let folder = list.path.parent().unwrap_or(&self.root);
            for path in table.rows().filter_map(|row| row.get("filename")).map(|file| folder.join(file)) {
                let of_eeg = Entities::parse(&name(&path)).suffix == "eeg";
                if of_eeg && !known.contains(&stem(&path)) {
                    absent.push(path);
                }
            }
        }
        absent
    }
}

/// A path without what follows the first dot of its name.
fn stem(path: &Path) -> PathBuf {
    path.with_file_name(name(path).split('.').next().unwrap_or_default())
}

/// Whether the content of a recording is there, and that of files which belong to it by their names.
fn whole(path: &Path) -> bool {
    let beside = BESIDE.map(|ending| path.with_extension(ending));
    fetched(path) && beside.iter().all(|path| path.symlink_metadata().is_err() || fetched(path))
}

/// What to do where content is not there.
pub(super) const FETCH: &str = "`datalad get` or `git annex get` in the folder fetches it";

/// Whether a file's content is there: git-annex leaves links that lead nowhere, or short texts in the place of the content.
pub(super) fn fetched(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else { return false };
    if about.len() == 0 || about.len() > POINTER {
        return true;
    }
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(1024).read_to_end(&mut start));
    let text = String::from_utf8_lossy(&start);
    read.is_err()
        || !(text.starts_with("/annex/objects/")
            || (text.starts_with("../") && text.contains(".git/annex/objects/")))
}
