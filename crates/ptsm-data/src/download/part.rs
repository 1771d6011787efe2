//! The part of a file that has arrived, and of which file it is a part.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use ptsm_io::atomic;
use serde::{Deserialize, Serialize};

use super::digest::{Digests, Hashes};
use super::plan::Checksum;
use super::trouble::DownloadFailure;

/// What a server says of a file, to know it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) url: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    /// How many bytes it has.
    pub(super) size: Option<u64>,
}

impl Identity {
    /// What to ask with that only this file be continued. A weak ETag may not be used for that (RFC 9110, section 13.1.5).
    pub(super) fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|tag| !tag.starts_with("W/"));
        strong.or(self.last_modified.as_deref())
    }
}

/// A file that is being downloaded.
pub(super) struct Part {
    path: PathBuf,
    file: File,
    /// None before a server has answered.
    identity: Option<Identity>,
    length: u64,
    checksum: Checksum,
    hashes: Hashes,
}

impl Part {
    /// The part of a file, empty where none is there that came from this address.
    pub(super) fn open(
        target: &Path,
        url: &str,
        checksum: &Checksum,
        stop: &dyn Fn() -> bool,
    ) -> Result<Part, DownloadFailure> {
        let path = part_path(target);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|e| DownloadFailure::system(&path, "write", e))?;
        let identity = fs::read(identity_path(target)).ok();
        let identity: Option<Identity> = identity.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut part = Part {
            identity: identity.filter(|identity| identity.url == url),
            length: 0,
            hashes: Hashes::new(checksum),
            checksum: checksum.clone(),
            path,
            file,
        };
        match &part.identity {
            None => part.clear()?,
            Some(identity) => {
                let size = identity.size;
                part.length = part.hashes.read(&mut part.file, &part.path, stop)?;
                if size.is_some_and(|size| size < part.length) {
                    part.clear()?;
                }
            }
        }
        Ok(part)
    }

    pub(super) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether everything has arrived.
    pub(super) fn is_whole(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.size == Some(self.length))
    }

    /// Throws away what has arrived.
    pub(super) fn clear(&mut self) -> Result<(), DownloadFailure> {
        self.identity = None;
        self.length = 0;
        self.hashes = Hashes::new(&self.checksum);
        self.file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .map_err(|e| DownloadFailure::system(&self.path, "write", e))
    }

    /// Throws away what has arrived and begins this file. In this order: bytes never lie beside the name of another file.
    pub(super) fn begin(&mut self, identity: Identity) -> Result<(), DownloadFailure> {
        self.clear()?;
        let text = serde_json::to_vec_pretty(&identity).expect("text and numbers can be written as JSON");
        atomic::replace(&self.path.with_added_extension("json"), &text).map_err(DownloadFailure::file)?;
        self.identity = Some(identity);
        Ok(())
    }

    /// Adds what has arrived.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), DownloadFailure> {
        self.file.write_all(bytes).map_err(|e| DownloadFailure::system(&self.path, "write", e))?;
        self.hashes.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// The checksums of what has arrived.
    pub(super) fn digests(&self) -> Digests {
        self.hashes.digests()
    }

    /// Gives the file its name.
    pub(super) fn finish(self, target: &Path) -> Result<(), DownloadFailure> {
        // Without this a power cut could leave the name on empty contents.
        self.file.sync_all().map_err(|e| DownloadFailure::system(&self.path, "write", e))?;
        drop(self.file);
        fs::rename(&self.path, target).map_err(|e| DownloadFailure::system(target, "write", e))?;
        fs::remove_file(identity_path(target)).ok();
        Ok(())
    }
}

/// Takes away the part of a file that is there whole.
pub(super) fn discard(target: &Path) {
    fs::remove_file(part_path(target)).ok();
    fs::remove_file(identity_path(target)).ok();
}

/// How many bytes of a file have arrived.
pub(crate) fn arrived(target: &Path) -> u64 {
    fs::metadata(part_path(target)).map_or(0, |metadata| metadata.len())
}

/// Whether anything is left of downloading a file.
pub(super) fn remains(target: &Path) -> bool {
    [part_path(target), identity_path(target), guard_path(target)].iter().any(|path| path.exists())
}

pub(super) fn part_path(target: &Path) -> PathBuf {
    target.with_added_extension("part")
}

fn identity_path(target: &Path) -> PathBuf {
    target.with_added_extension("part.json")
}

pub(super) fn guard_path(target: &Path) -> PathBuf {
    target.with_added_extension("part.lock")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const URL: &str = "https://example.org/a";

    fn open(target: &Path, url: &str) -> Part {
        Part::open(target, url, &Checksum::Unpublished, &|| false).unwrap()
    }

    fn identity() -> Identity {
        Identity { url: URL.into(), etag: Some("\"1\"".into()), size: Some(8), ..Identity::default() }
    }

    #[test]
    fn a_part_is_continued_when_it_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.edf");
        let mut part = open(&target, URL);
        part.begin(identity()).unwrap();
        part.append(b"half").unwrap();
        drop(part);
        assert_eq!(arrived(&target), 4);
        let mut part = open(&target, URL);
        assert_eq!((part.length(), part.is_whole(), part.identity()), (4, false, Some(&identity())));
        part.append(b"half").unwrap();
        assert!(part.is_whole());
        let digests = part.digests();
        part.finish(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"halfhalf");
        assert_eq!(digests, Digests::of(&target, &Checksum::Unpublished, &|| false).unwrap());
        assert!(!remains(&target));
    }

    #[test]
    fn a_part_of_something_else_is_not_continued() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.edf");
        let spoilt: [&dyn Fn(); 4] = [
            &|| fs::write(identity_path(&target), "{").unwrap(),
            &|| fs::remove_file(identity_path(&target)).unwrap(),
            &|| fs::write(part_path(&target), "more than eight bytes").unwrap(),
            &|| {
                let other = Identity { url: "https://example.org/b".into(), ..identity() };
                fs::write(identity_path(&target), serde_json::to_string(&other).unwrap()).unwrap();
            },
        ];
        for spoil in spoilt {
            let mut part = open(&target, URL);
            part.begin(identity()).unwrap();
            part.append(b"half").unwrap();
            drop(part);
            spoil();
            let part = open(&target, URL);
            assert_eq!((part.length(), part.identity()), (0, None));
            assert_eq!(arrived(&target), 0);
        }
    }

    #[test]
    fn a_weak_tag_does_not_continue_anything() {
        let mut identity = Identity { etag: Some("W/\"1\"".into()), ..identity() };
        assert_eq!(identity.validator(), None);
        identity.last_modified = Some("Wed, 21 Oct 2015 07:28:00 GMT".into());
        assert_eq!(identity.validator(), identity.last_modified.as_deref());
        identity.etag = Some("\"1\"".into());
        assert_eq!(identity.validator(), Some("\"1\""));
    }
}
