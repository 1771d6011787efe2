//! How a file looks from outside: whether it may have changed.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file that was changed so recently may change once more without looking different: clocks of file systems are coarse.
const SETTLES_IN: Duration = Duration::from_secs(2);

/// Bytes of a stamp.
pub(super) const BYTES: usize = 40;

/// Size, time of the last change and place on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    changed_s: u64,
    changed_ns: u64,
    inode: u64,
    device: u64,
}

impl Stamp {
    /// The stamp of a file as it is now, and whether a later change is sure to show in it.
    pub(super) fn of(path: &Path) -> io::Result<(Stamp, bool)> {
        let about = fs::metadata(path)?;
        let now = SystemTime::now();
        let changed = about.modified()?;
        let settled = now.duration_since(changed).is_ok_and(|age| age >= SETTLES_IN);
        let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (inode, device) = place(&about);
        let stamp = Stamp {
            size: about.len(),
            changed_s: since.as_secs(),
            changed_ns: u64::from(since.subsec_nanos()),
            inode,
            device,
        };
        Ok((stamp, settled))
    }

    pub(super) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let all = [self.size, self.changed_s, self.changed_ns, self.inode, self.device];
        for (to, value) in bytes.as_chunks_mut().0.iter_mut().zip(all) {
            *to = value.to_le_bytes();
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; BYTES]) -> Stamp {
        let mut all = bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
        let mut next = || all.next().unwrap_or_default();
        Stamp { size: next(), changed_s: next(), changed_ns: next(), inode: next(), device: next() }
    }
}

#[cfg(unix)]
fn place(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.ino(), about.dev())
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_stamp_changes_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let (fresh, settled) = Stamp::of(&path).unwrap();
        assert!(!settled);
        let set = |age: u64| {
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            Stamp::of(&path).unwrap()
        };
        let (old, settled) = set(60);
        assert!(settled && old != fresh);
        assert_eq!(Stamp::from_bytes(&old.to_bytes()), old);
        // Times to come are a clock that was set back.
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
        assert!(!Stamp::of(&path).unwrap().1);
    }
}
