//! Trials kept between runs, by the contents of the files they were made of and by what was done to them.
//!
//! The folder holds `trials/KEY.trials`, one file per item, mapped into memory when it is used, and `hashes`, what is known of the
//! contents of recordings. Everything in it can be deleted at any time, also while it is in use; nothing in it is believed before
//! it is checked.

mod entry;
mod hashes;
mod room;
mod stamp;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};
use ptsm_signal::{Pipeline, Trials};

pub(super) use hashes::{Contents, Hashes};

use super::Recordings;
use super::prepare::{EpochedItem, Labels};
use crate::catalogue::RecordingItem;
use crate::error::{Error, Result};

/// To be raised when the same recordings give other trials or findings than before: readers, filters, cutting, measures.
const MEANING: u32 = 3;
/// Bytes that entries may take together, where nobody says otherwise.
const USUAL_LIMIT: u64 = 20 << 30;

/// A folder with trials of recordings that were cut before.
#[derive(Debug)]
pub struct Cache {
    trials: PathBuf,
    limit: u64,
    pub(super) hashes: Hashes,
}

impl Cache {
    /// Opens a folder, or makes it: for this user only, for trials are somebody's EEG.
    pub fn open(folder: &Path) -> Result<Cache> {
        let trials = folder.join("trials");
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&trials).map_err(|error| Error::Content {
            path: folder.to_path_buf(),
            message: format!("cannot be a folder of kept trials: {error}"),
            hint: Some("give another folder with `--cache DIR`, or `--cache none`".into()),
        })?;
        let hashes = Hashes::open(folder.join("hashes"));
        Ok(Cache { trials, limit: USUAL_LIMIT, hashes })
    }

    /// The same with another limit on the bytes that entries take together; those used longest ago go first.
    pub fn with_limit(self, bytes: u64) -> Cache {
        Cache { limit: bytes, ..self }
    }

    /// The folder users of this system expect; none where the system does not know of one.
    pub fn default_folder() -> Option<PathBuf> {
        let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || {
            named("HOME")
                .map(|home| home.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
        };
        let caches = if cfg!(windows) {
            named("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            home()
        } else {
            named("XDG_CACHE_HOME").or_else(home)
        };
        Some(caches?.join("ptsm"))
    }

    /// What became of an item the last time; none where it is not kept, or damaged.
    pub(super) fn get(&self, key: &Hash, verify: bool) -> Option<EpochedItem> {
        // Samples lie in files as they do in memory.
        if cfg!(target_endian = "big") {
            return None;
        }
        let path = self.path(key);
        let Some(prepared) = entry::read(&path, key, verify) else {
            tracing::debug!(entry = %path.display(), "not in the cache");
            return None;
        };
        tracing::debug!(entry = %path.display(), "read from the cache");
        room::touch(&path);
        Some(prepared)
    }

    /// Keeps what became of an item and gives it back as kept, so that it takes no memory of its own.
    pub(super) fn put(&self, key: &Hash, prepared: EpochedItem) -> (EpochedItem, Result<()>) {
        if cfg!(target_endian = "big") {
            return (prepared, Ok(()));
        }
        let path = self.path(key);
        match entry::write(&path, key, &prepared) {
            Ok(()) => (entry::read(&path, key, false).unwrap_or(prepared), Ok(())),
            Err(error) => {
                tracing::warn!(entry = %path.display(), %error, "the cache cannot be written");
                (prepared, Err(error))
            }
        }
    }

    /// Ends a load: what is known of files is written, and entries used longest ago make room.
    pub(super) fn settle(&self, added: bool) -> Result<()> {
        if added {
            room::make(&self.trials, self.limit);
        }
        self.hashes.save()
    }

    fn path(&self, key: &Hash) -> PathBuf {
        self.trials.join(format!("{}.{}", key.to_hex(), room::ENDING))
    }
}

/// Writes trials to one file, whole or not at all, for [`map_stored_trials`]. The name says what they are and must be given again.
pub fn store_trials(path: &Path, name: &str, trials: &Trials) -> Result<()> {
    let prepared = EpochedItem {
        places: vec![0; trials.len()],
        sketches: vec![[0; 2]; trials.len()],
        trials: Some(trials.clone()),
        ..EpochedItem::default()
    };
    entry::write(path, &blake3::hash(name.as_bytes()), &prepared)
}

/// Maps trials that were kept into memory: as many processes as like share one copy. None where the file is not there, not whole, or
/// kept under another name.
pub fn map_stored_trials(path: &Path, name: &str) -> Option<Trials> {
    entry::read(path, &blake3::hash(name.as_bytes()), false)?.trials
}

/// What the items of one load have in common: all that trials depend on beside the item itself.
pub(super) struct Key(Hasher);

impl Key {
    pub(super) fn new(
        recordings: &Recordings,
        present: &[String],
        labels: &Labels,
        pipeline: &Pipeline,
    ) -> Result<Key> {
        let id = recordings.set.about().id;
        let version = env!("CARGO_PKG_VERSION");
        let about =
            (MEANING, version, id, &recordings.options, pipeline, present, &labels.classes, labels.blind);
        let text = serde_json::to_vec(&about).map_err(|error| Error::Cohort {
            message: format!("settings cannot be hashed: {error}"),
            hint: None,
        })?;
        let mut hasher = Hasher::new();
        hasher.update(blake3::hash(&text).as_bytes());
        Ok(Key(hasher))
    }

    /// The key of an item whose files have these contents.
    pub(super) fn of(&self, item: &RecordingItem, contents: &[Contents]) -> Hash {
        let mut hasher = self.0.clone();
        let mut part = |bytes: &[u8]| {
            hasher.update(blake3::hash(bytes).as_bytes());
        };
        part(item.part.as_bytes());
        for number in [item.subject.0, item.session, item.run] {
            part(&number.to_le_bytes());
        }
        for (file, contents) in item.files.iter().zip(contents) {
            // Names tell formats.
            part(file.file_name().unwrap_or_default().as_encoded_bytes());
            part(contents.hash.as_bytes());
        }
        hasher.finalize()
    }
}
