//! Checksums, computed and compared.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use md5::Md5;
use sha2::{Digest, Sha256};

use super::plan::Checksum;
use super::trouble::DownloadFailure;

/// Bytes that are read at once.
pub(super) const CHUNK: usize = 1 << 17;

/// Checksums of bytes that come one after another.
pub(super) struct Hashes {
    sha256: Sha256,
    /// Slower than the other one, so only where it is published.
    md5: Option<Md5>,
}

impl Hashes {
    pub(super) fn new(checksum: &Checksum) -> Hashes {
        Hashes { sha256: Sha256::new(), md5: matches!(checksum, Checksum::Md5(_)).then(Md5::new) }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
    }

    /// Takes in what is left of a file and gives how many bytes that were.
    pub(super) fn read(
        &mut self,
        file: &mut File,
        path: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<u64, DownloadFailure> {
        let mut chunk = vec![0; CHUNK];
        let mut length = 0;
        loop {
            if stop() {
                return Err(DownloadFailure::Stopped);
            }
            let n = file.read(&mut chunk).map_err(|e| DownloadFailure::system(path, "read", e))?;
            if n == 0 {
                return Ok(length);
            }
            self.update(&chunk[..n]);
            length += n as u64;
        }
    }

    /// Checksums of all bytes so far.
    pub(super) fn digests(&self) -> Digests {
        Digests {
            sha256: hexadecimal(&self.sha256.clone().finalize()),
            md5: self.md5.clone().map(|md5| hexadecimal(&md5.finalize())),
        }
    }
}

/// Checksums in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digests {
    pub(super) sha256: String,
    pub(super) md5: Option<String>,
}

impl Digests {
    /// Of a whole file.
    pub(super) fn of(
        path: &Path,
        checksum: &Checksum,
        stop: &dyn Fn() -> bool,
    ) -> Result<Digests, DownloadFailure> {
        let mut file = File::open(path).map_err(|e| DownloadFailure::system(path, "open", e))?;
        let mut hashes = Hashes::new(checksum);
        hashes.read(&mut file, path, stop)?;
        Ok(hashes.digests())
    }

    /// In which way they are not those that are published.
    pub(super) fn difference(&self, checksum: &Checksum) -> Option<String> {
        let (name, published, own) = match checksum {
            Checksum::Sha256(published) => ("SHA-256", published, Some(&self.sha256)),
            Checksum::Md5(published) => ("MD5", published, self.md5.as_ref()),
            Checksum::Unpublished => return None,
        };
        let own = own.map_or("", String::as_str);
        (!own.eq_ignore_ascii_case(published))
            .then(|| format!("its {name} is {own}, published is {published}"))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_checksums_are_those_of_the_standards() {
        // FIPS 180-2, appendix B.1, and RFC 1321, appendix A.5.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let md5 = "900150983cd24fb0d6963f7d28e17f72";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let published = Checksum::Md5(md5.to_uppercase());
        let digests = Digests::of(&path, &published, &|| false).unwrap();
        assert_eq!(digests, Digests { sha256: sha256.into(), md5: Some(md5.into()) });
        assert_eq!(digests.difference(&published), None);
        assert_eq!(digests.difference(&Checksum::Sha256(sha256.into())), None);
        assert_eq!(digests.difference(&Checksum::Unpublished), None);
        let other = digests.difference(&Checksum::Sha256("00".into())).unwrap();
        assert_eq!(other, format!("its SHA-256 is {sha256}, published is 00"));
        assert!(matches!(Digests::of(&path, &published, &|| true), Err(DownloadFailure::Stopped)));
    }
}
