//! The bytes of a file, mapped into memory: what is not looked at is not read.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use crate::error::{Error, Place, Result};

/// The bytes of a file, or bytes from elsewhere.
///
/// A mapped file that another process shortens while it is read ends this process with a bus error; that is the price of not
/// copying. Files that merely change give other values, which the readers check like any foreign bytes.
#[derive(Debug)]
pub struct Bytes(ByteStorage);

#[derive(Debug)]
enum ByteStorage {
    Mapped(memmap2::Mmap),
    Own(Vec<u8>),
}

impl Bytes {
    /// Maps a file.
    #[allow(unsafe_code)] // the one place where files are mapped
    pub fn open(path: &Path) -> Result<Bytes> {
        let refuse = |error| Error::system(path, "open", error);
        let file = File::open(path).map_err(refuse)?;
        let about = file.metadata().map_err(refuse)?;
        if !about.is_file() {
            return Err(Error::format(&path.into(), "is not a file")
                .with_hint("give the path of a file, not of a folder"));
        }
        // An empty file cannot be mapped.
        if about.len() == 0 {
            return Ok(Bytes(ByteStorage::Own(Vec::new())));
        }
        // SAFETY: the map is read only and is seen as plain bytes, for which every bit pattern is valid. That another process changes
        // the file meanwhile is outside what Rust can promise for any map; readers check every value they use when they use it.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(refuse)?;
        Ok(Bytes(ByteStorage::Mapped(map)))
    }

    /// Maps a file that cannot be empty.
    pub(crate) fn open_filled(path: &Path) -> Result<Bytes> {
        let bytes = Bytes::open(path)?;
        if bytes.is_empty() {
            return Err(Bytes::empty(&path.into()));
        }
        Ok(bytes)
    }

    /// What is wrong with a file that has nothing in it.
    pub(crate) fn empty(place: &Place) -> Error {
        Error::format(place, "is empty: 0 bytes")
            .with_hint("a copy or a download may have failed; copy or download it again")
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(ByteStorage::Own(bytes))
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            ByteStorage::Mapped(map) => map,
            ByteStorage::Own(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_seen_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(&*Bytes::open(&path).unwrap(), b"abc");
        std::fs::write(&path, b"").unwrap();
        assert!(Bytes::open(&path).unwrap().is_empty());
        assert!(Bytes::open(folder.path()).unwrap_err().to_string().contains("is not a file"));
        let error = Bytes::open(&folder.path().join("b")).unwrap_err();
        assert!(error.to_string().contains("cannot open") && error.hint().is_some());
    }
}
