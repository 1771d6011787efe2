//! The lock file: what is known of the files that were checked.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use ptsm_io::atomic;
use serde::{Deserialize, Serialize};

use super::digest::Digests;
use super::guard::Guard;
use super::plan::Checksum;
use super::trouble::system;
use crate::error::Result;
use crate::stamp::{changed, place};

/// The lock file's name, in the data set's folder.
pub const LOCK_FILE: &str = ".ptsm-lock.json";

/// How long another process may take to write it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file as it was when it was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub(super) mtime_ns: u64,
    /// When it was last changed in any way, which nobody can set back; 0 where the system does not tell.
    #[serde(default)]
    pub(super) ctime_ns: u64,
    /// Its place on the disk; 0 where the system does not tell.
    #[serde(default)]
    pub(super) inode: u64,
    pub(super) sha256: String,
    /// Only where the publisher's checksum is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) md5: Option<String>,
    /// Where it is published.
    pub(super) url: String,
}

impl Entry {
    pub(super) fn new(metadata: &Metadata, digests: Digests, url: &str) -> Entry {
        let (size, mtime_ns, ctime_ns, inode) = signature(metadata);
        Entry {
            size,
            mtime_ns,
            ctime_ns,
            inode,
            sha256: digests.sha256,
            md5: digests.md5,
            url: url.to_string(),
        }
    }

    /// Whether a file is the one that was checked, and was checked by this checksum.
    pub(super) fn vouches(&self, metadata: &Metadata, checksum: &Checksum) -> bool {
        let checked = match checksum {
            Checksum::Sha256(published) => self.sha256.eq_ignore_ascii_case(published),
            Checksum::Md5(published) => {
                self.md5.as_ref().is_some_and(|md5| md5.eq_ignore_ascii_case(published))
            }
            Checksum::Unpublished => true,
        };
        checked && (self.size, self.mtime_ns, self.ctime_ns, self.inode) == signature(metadata)
    }
}

/// What changes when a file does: its size, when it was written, when it was changed in any way, its place on the disk.
fn signature(metadata: &Metadata) -> (u64, u64, u64, u64) {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let written = since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    let (seconds, nanoseconds) = changed(metadata);
    let changed = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    (metadata.len(), written, changed, place(metadata).0)
}

/// What the file holds.
#[derive(Default, Serialize, Deserialize)]
struct Contents {
    /// By path under the folder, with `/` between folders.
    files: BTreeMap<String, Entry>,
}

/// The lock file of a folder.
pub(super) struct Lock {
    path: PathBuf,
    known: Contents,
    /// What is known since it was last written.
    new: BTreeMap<String, Entry>,
}

impl Lock {
    /// Reads it. One that cannot be read counts as none, with what to tell the user.
    pub(super) fn read(folder: &Path) -> (Lock, Option<String>) {
        let path = folder.join(LOCK_FILE);
        let (known, note) = contents(&path);
        (Lock { path, known, new: BTreeMap::new() }, note)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.new.get(name).or_else(|| self.known.files.get(name))
    }

    pub(super) fn put(&mut self, name: String, entry: Entry) {
        self.new.insert(name, entry);
    }

    /// Adds what is new to the file, and takes over what other processes have added.
    pub(super) fn write(&mut self) -> Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        let _guard = self.guard()?;
        let (mut contents, _) = contents(&self.path);
        contents.files.extend(self.new.clone());
        let mut text = serde_json::to_vec_pretty(&contents).expect("text and numbers can be written as JSON");
        text.push(b'\n');
        atomic::replace(&self.path, &text)?;
        self.known = contents;
        self.new.clear();
        Ok(())
    }

    /// None where another process keeps it: then the file is replaced as a whole all the same, and at worst it lacks what the
    /// other one knew.
    fn guard(&self) -> Result<Option<Guard>> {
        let path = self.path.with_added_extension("lock");
        let began = Instant::now();
        loop {
            match Guard::try_take(&path).map_err(|e| system(&path, "write", e))? {
                None if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
                taken => return Ok(taken),
            }
        }
    }
}

fn contents(path: &Path) -> (Contents, Option<String>) {
    let note = |e: &dyn std::fmt::Display| {
        format!("{} cannot be read and is begun anew: {e}; all files are checked again", path.display())
    };
    match fs::read(path) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(contents) => (contents, None),
            Err(e) => (Contents::default(), Some(note(&e))),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => (Contents::default(), None),
        Err(e) => (Contents::default(), Some(note(&e))),
    }
}

/// A file's name in the lock file.
pub(super) fn name(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let parts: Vec<_> = below.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entry(folder: &Path, name: &str) -> Entry {
        let path = folder.join(name);
        fs::write(&path, name).unwrap();
        let digests = Digests { sha256: "0a".into(), md5: Some("0b".into()) };
        Entry::new(&path.metadata().unwrap(), digests, "https://example.org")
    }

    #[test]
    fn what_two_processes_know_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, _) = Lock::read(folder.path());
        let (mut two, _) = Lock::read(folder.path());
        let entry = entry(folder.path(), "a");
        one.put("a".into(), entry.clone());
        two.put("b".into(), entry.clone());
        one.write().unwrap();
        two.write().unwrap();
        let (read, note) = Lock::read(folder.path());
        assert_eq!((read.get("a"), read.get("b"), note), (Some(&entry), Some(&entry), None));
        assert_eq!(two.get("a"), Some(&entry));
    }

    #[test]
    fn a_damaged_one_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["{", "[]", "{\"files\": {\"a\": 3}}"] {
            fs::write(folder.path().join(LOCK_FILE), text).unwrap();
            let (mut lock, note) = Lock::read(folder.path());
            assert!(note.unwrap().contains("begun anew"));
            lock.put("a".into(), entry(folder.path(), "a"));
            lock.write().unwrap();
            assert!(Lock::read(folder.path()).0.get("a").is_some());
        }
    }

    #[test]
    fn it_vouches_for_the_file_and_checksum_that_were_checked() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(folder.path(), "a");
        let metadata = folder.path().join("a").metadata().unwrap();
        assert!(entry.vouches(&metadata, &Checksum::Unpublished));
        assert!(entry.vouches(&metadata, &Checksum::Sha256("0A".into())));
        assert!(entry.vouches(&metadata, &Checksum::Md5("0b".into())));
        assert!(!entry.vouches(&metadata, &Checksum::Sha256("0b".into())));
        assert!(!Entry { md5: None, ..entry.clone() }.vouches(&metadata, &Checksum::Md5("0b".into())));
        assert!(!Entry { size: 7, ..entry.clone() }.vouches(&metadata, &Checksum::Unpublished));
        assert!(!Entry { ctime_ns: 7, ..entry.clone() }.vouches(&metadata, &Checksum::Unpublished));
        assert!(!Entry { inode: u64::MAX, ..entry.clone() }.vouches(&metadata, &Checksum::Unpublished));
        assert!(!Entry { mtime_ns: 7, ..entry }.vouches(&metadata, &Checksum::Unpublished));
    }
}
