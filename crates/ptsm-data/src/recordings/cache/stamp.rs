//! How a file looks from outside: whether it may have changed.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::stamp::{changed, place};

/// A file that was changed so recently may change once more without looking different: clocks of file systems are coarse.
const SETTLES_IN: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 2000 });

/// Bytes of a stamp.
pub(super) const BYTES: usize = 56;

/// Size, when it was written and when it was changed in any way, which nobody can set back, and place on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    written_s: u64,
    written_ns: u64,
    changed_s: u64,
    changed_ns: u64,
    inode: u64,
    device: u64,
}

impl Stamp {
    /// The stamp of a file as it is now, and whether a later change is sure to show in it.
    pub(super) fn of(path: &Path) -> io::Result<(Stamp, bool)> {
        let about = fs::metadata(path)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let written = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (changed_s, changed_ns) = changed(&about);
        let last = written.max(Duration::from_secs(changed_s) + Duration::from_nanos(changed_ns));
        let settled = now.checked_sub(last).is_some_and(|age| age >= SETTLES_IN);
        let (inode, device) = place(&about);
        let stamp = Stamp {
            size: about.len(),
            written_s: written.as_secs(),
            written_ns: u64::from(written.subsec_nanos()),
            changed_s,
            changed_ns,
            inode,
            device,
        };
        Ok((stamp, settled))
    }

    pub(super) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let times = [self.written_s, self.written_ns, self.changed_s, self.changed_ns];
        let all = [self.size].into_iter().chain(times).chain([self.inode, self.device]);
        for (to, value) in bytes.as_chunks_mut().0.iter_mut().zip(all) {
            *to = value.to_le_bytes();
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; BYTES]) -> Stamp {
        let mut all = bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
        let mut next = || all.next().unwrap_or_default();
        Stamp {
            size: next(),
            written_s: next(),
            written_ns: next(),
            changed_s: next(),
            changed_ns: next(),
            inode: next(),
            device: next(),
        }
    }
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
            std::thread::sleep(2 * SETTLES_IN);
            Stamp::of(&path).unwrap()
        };
        let (old, settled) = set(60);
        assert!(settled && old != fresh);
        assert_eq!(Stamp::from_bytes(&old.to_bytes()), old);
        // The time of writing can be set back, but not that of setting it back.
        #[cfg(unix)]
        {
            let written = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, "two").unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(written).unwrap();
            assert_ne!(Stamp::of(&path).unwrap().0, old);
        }
        // Times to come are a clock that was set back.
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
        assert!(!Stamp::of(&path).unwrap().1);
    }
}
