//! A hash that tells whether data are the same as last time.

use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result};

/// Takes in parts one after the other.
#[derive(Default)]
pub(crate) struct Fingerprint {
    hasher: blake3::Hasher,
}

impl Fingerprint {
    /// Takes in text.
    pub(crate) fn text(mut self, text: &str) -> Fingerprint {
        self.part(blake3::hash(text.as_bytes()));
        self
    }

    /// Takes in settings.
    pub(crate) fn value(self, value: &impl Serialize) -> Result<Fingerprint> {
        let text = serde_json::to_string(value).map_err(|error| Error::Cohort {
            message: format!("settings cannot be hashed: {error}"),
            hint: None,
        })?;
        Ok(self.text(&text))
    }

    /// Takes in a file's contents, not its name.
    pub(crate) fn file(mut self, path: &Path) -> Result<Fingerprint> {
        self.part(contents(path)?);
        Ok(self)
    }

    /// Takes in a file by the hash of its contents.
    pub(crate) fn hash(mut self, contents: blake3::Hash) -> Fingerprint {
        self.part(contents);
        self
    }

    /// In hexadecimal.
    pub(crate) fn hex(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// Parts go in as hashes of one length, so that they cannot run into each other.
    fn part(&mut self, hash: blake3::Hash) {
        self.hasher.update(hash.as_bytes());
    }
}

/// The hash of a file's contents.
pub(crate) fn contents(path: &Path) -> Result<blake3::Hash> {
    let hash = std::fs::File::open(path).and_then(|file| {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        Ok(hasher.finalize())
    });
    hash.map_err(|error| Error::Content {
        path: path.to_path_buf(),
        message: format!("cannot read: {error}"),
        hint: None,
    })
}
