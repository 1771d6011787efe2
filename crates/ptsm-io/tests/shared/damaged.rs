//! What every reader of records owes damaged and lying files.

use super::{Numbers, expected, nowhere, read_all};
use ptsm_io::{Bytes, Place, RecordingFile, Result};

/// A reader of one format, and the folder of its fixtures.
pub struct Reader {
    pub folder: &'static str,
    pub parse: fn(Bytes, &Place) -> Result<RecordingFile>,
}

impl Reader {
    /// Reads all there is; whether the file opens.
    pub fn reads(&self, bytes: Vec<u8>) -> bool {
        read_all((self.parse)(Bytes::from(bytes), &nowhere()))
    }

    /// The fixtures, each whole and with the lengths it can be read at when it is cut short.
    pub fn cut_short(&self) -> Vec<(Vec<u8>, Vec<usize>)> {
        let lengths =
            |bytes: &[u8]| (0..bytes.len()).filter(|&length| self.reads(bytes[..length].to_vec())).collect();
        self.fixtures().map(|bytes| (bytes.clone(), lengths(&bytes))).collect()
    }

    /// Changes some bytes of each fixture 4000 times.
    pub fn harmed(&self) {
        for whole in self.fixtures() {
            let mut numbers = Numbers(1);
            let mut read = 0;
            for _ in 0..4000 {
                let mut bytes = whole.clone();
                numbers.harm(&mut bytes, 1024);
                read += usize::from(self.reads(bytes));
            }
            assert!(read > 400, "only {read} of 4000 could be read: the harm is too great to test anything");
        }
    }

    /// A file with some bytes changed is refused in these words.
    pub fn refuses(&self, whole: &[u8], at: usize, bytes: &[u8], says: &str) {
        let mut harmed = whole.to_vec();
        harmed[at..at + bytes.len()].copy_from_slice(bytes);
        let error = (self.parse)(Bytes::from(harmed), &nowhere()).unwrap_err();
        assert!(error.to_string().contains(says), "{bytes:?} at {at}: {error}");
        assert!(error.to_string().starts_with("made.bin, byte ") && error.hint().is_some(), "{error}");
    }

    pub fn fixtures(&self) -> impl Iterator<Item = Vec<u8>> {
        expected(self.folder).into_iter().map(|(path, _)| std::fs::read(path).unwrap())
    }
}
