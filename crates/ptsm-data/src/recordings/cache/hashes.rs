//! Hashes of files, remembered as long as the files look the same, so that they are read only once.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use blake3::Hash;

use super::stamp::{self, Stamp};
use crate::error::{Error, Result};
use crate::fingerprint::contents;

/// What the file of remembered hashes begins with; the last byte is its version.
const MAGIC: &[u8; 8] = b"ptsmhsh\x02";
/// Which file, its stamp, its hash, when it was asked for last.
const RECORD: usize = 16 + stamp::BYTES + 32 + 8;
/// More are not remembered: the list is read whole at every start.
const MOST: usize = 50_000;
/// A use is noted when the last noted one is as many seconds ago.
const NOTED_AFTER_S: u64 = 24 * 60 * 60;

/// A file by the hash of its path: names of folders are nobody else's business.
type Id = [u8; 16];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownHash {
    stamp: Stamp,
    hash: Hash,
    used_s: u64,
}

/// Contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) hash: Hash,
    stamp: Stamp,
    /// Whether a later change is sure to show in the stamp.
    settled: bool,
}

impl Contents {
    /// How many there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.stamp.size
    }

    /// Whether a file still is what it was.
    pub(crate) fn still(&self, file: &Path) -> bool {
        let same = Stamp::of(file).is_ok_and(|(stamp, _)| stamp == self.stamp);
        same && (self.settled || contents(file).is_ok_and(|hash| hash == self.hash))
    }
}

/// Hashes that are known, and the file they are remembered in.
#[derive(Debug, Default)]
pub(crate) struct Hashes {
    /// None where they are forgotten in the end.
    file: Option<PathBuf>,
    known: Mutex<HashMap<Id, KnownHash>>,
    /// Those that are not in the file yet.
    news: Mutex<HashMap<Id, KnownHash>>,
}

impl Hashes {
    /// Those that are remembered in a file; a damaged file is as good as none.
    pub(super) fn open(file: PathBuf) -> Hashes {
        let known = Mutex::new(read(&file).unwrap_or_default());
        Hashes { file: Some(file), known, news: Mutex::default() }
    }

    /// The hash of a file, remembered or made.
    pub(crate) fn of(&self, file: &Path) -> Result<Contents> {
        let refuse = |error: std::io::Error| {
            // As git-annex leaves files whose content is elsewhere.
            let nowhere = file.is_symlink() && !file.exists();
            Error::Content {
                path: file.to_path_buf(),
                message: if nowhere { "content not fetched".into() } else { format!("cannot read: {error}") },
                hint: nowhere.then(|| "`datalad get` or `git annex get` fetches it".into()),
            }
        };
        let absolute = std::path::absolute(file).map_err(refuse)?;
        let (stamp, settled) = Stamp::of(file).map_err(refuse)?;
        let whole = blake3::hash(absolute.as_os_str().as_encoded_bytes());
        let id: Id = whole.as_bytes().first_chunk().copied().unwrap_or_default();
        let used_s = now_s();
        let known = held(&self.known).get(&id).copied().filter(|known| known.stamp == stamp);
        let hash = match known {
            Some(known) if used_s.saturating_sub(known.used_s) < NOTED_AFTER_S => known.hash,
            Some(known) => {
                self.remember(id, KnownHash { used_s, ..known });
                known.hash
            }
            None => {
                let hash = contents(file)?;
                if settled && Stamp::of(file).is_ok_and(|(after, _)| after == stamp) {
                    self.remember(id, KnownHash { stamp, hash, used_s });
                }
                hash
            }
        };
        Ok(Contents { hash, stamp, settled })
    }

    fn remember(&self, id: Id, known: KnownHash) {
        held(&self.known).insert(id, known);
        held(&self.news).insert(id, known);
    }

    /// Writes what is new to the file, together with what others wrote meanwhile. Of two processes that do this at the same moment
    /// one may lose what it knew; it will read those files once more.
    pub(super) fn save(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut news = held(&self.news);
        if news.is_empty() {
            return Ok(());
        }
        let mut all = read(file).unwrap_or_default();
        all.extend(news.iter());
        let mut all: Vec<(Id, KnownHash)> = all.into_iter().collect();
        all.sort_by_key(|&(id, known)| (std::cmp::Reverse(known.used_s), id));
        all.truncate(MOST);
        let mut body = Vec::with_capacity(all.len() * RECORD);
        for (id, KnownHash { stamp, hash, used_s }) in all {
            body.extend_from_slice(&id);
            body.extend_from_slice(&stamp.to_bytes());
            body.extend_from_slice(hash.as_bytes());
            body.extend_from_slice(&used_s.to_le_bytes());
        }
        ptsm_io::atomic::write_renamed(file, |writer| {
            writer.write_all(MAGIC)?;
            writer.write_all(blake3::hash(&body).as_bytes())?;
            writer.write_all(&body)
        })?;
        news.clear();
        Ok(())
    }
}

/// What a file of hashes holds; none where it is not one, or damaged.
fn read(file: &Path) -> Option<HashMap<Id, KnownHash>> {
    let bytes = fs::read(file).ok()?;
    let (checksum, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
    let (records, rest) = body.as_chunks::<RECORD>();
    if blake3::hash(body) != *checksum || !rest.is_empty() {
        return None;
    }
    records.iter().map(|record| parse(record)).collect()
}

fn parse(record: &[u8]) -> Option<(Id, KnownHash)> {
    let (id, rest) = record.split_first_chunk::<16>()?;
    let (stamp, rest) = rest.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk::<32>()?;
    let used_s = u64::from_le_bytes(*rest.first_chunk()?);
    Some((*id, KnownHash { stamp: Stamp::from_bytes(stamp), hash: Hash::from_bytes(*hash), used_s }))
}

/// Nothing that is done while it is held can leave it half done.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    fn age(file: &Path, seconds: u64) {
        let open = fs::File::options().write(true).open(file).unwrap();
        open.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        // That it was made older is a change too.
        std::thread::sleep(Duration::from_millis(200));
    }

    /// What is known of a file without reading it.
    fn remembered(list: &Path, file: &Path) -> Option<Hash> {
        let hashes = Hashes::open(list.to_path_buf());
        let known = held(&hashes.known).len();
        let hash = hashes.of(file).unwrap().hash;
        (known > 0 && held(&hashes.news).is_empty()).then_some(hash)
    }

    #[test]
    fn hashes_are_remembered_while_files_look_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (list, file) = (folder.path().join("hashes"), folder.path().join("a.edf"));
        fs::write(&file, "contents").unwrap();
        age(&file, 100);
        let hashes = Hashes::open(list.clone());
        assert_eq!(hashes.of(&file).unwrap().hash, blake3::hash(b"contents"));
        hashes.save().unwrap();
        assert_eq!(remembered(&list, &file), Some(blake3::hash(b"contents")));
        // The same length, another time.
        fs::write(&file, "CONTENTS").unwrap();
        age(&file, 50);
        assert_eq!(Hashes::open(list.clone()).of(&file).unwrap().hash, blake3::hash(b"CONTENTS"));
        assert_eq!(remembered(&list, &file), None);
    }

    #[test]
    fn a_file_that_was_just_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let (list, file) = (folder.path().join("hashes"), folder.path().join("a.edf"));
        fs::write(&file, "first").unwrap();
        let hashes = Hashes::open(list.clone());
        let first = hashes.of(&file).unwrap();
        assert!(first.still(&file));
        hashes.save().unwrap();
        assert!(!list.exists());
        // The same length and time, as within one tick of the clock.
        let changed = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "later").unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(changed).unwrap();
        assert_eq!(hashes.of(&file).unwrap().hash, blake3::hash(b"later"));
        assert!(!first.still(&file));
    }

    #[test]
    fn lists_of_several_are_joined_and_damaged_ones_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("hashes");
        let files: Vec<PathBuf> = ["a", "b", "c"].map(|name| folder.path().join(name)).to_vec();
        for file in &files {
            fs::write(file, file.to_str().unwrap()).unwrap();
            age(file, 100);
        }
        let (one, other) = (Hashes::open(list.clone()), Hashes::open(list.clone()));
        one.of(&files[0]).unwrap();
        other.of(&files[1]).unwrap();
        one.save().unwrap();
        other.save().unwrap();
        assert!(remembered(&list, &files[0]).is_some() && remembered(&list, &files[1]).is_some());
        assert_eq!(remembered(&list, &files[2]), None);
        let whole = fs::read(&list).unwrap();
        for at in [0, 7, 8, 40, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&list, damaged).unwrap();
            assert_eq!(remembered(&list, &files[0]), None, "byte {at}");
        }
        for length in [0, 5, 39, whole.len() - 1] {
            fs::write(&list, &whole[..length]).unwrap();
            assert_eq!(remembered(&list, &files[0]), None, "{length} bytes");
        }
        // What is damaged is written anew.
        one.of(&files[2]).unwrap();
        one.save().unwrap();
        assert!(remembered(&list, &files[2]).is_some());
    }
}
