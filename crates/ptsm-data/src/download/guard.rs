//! One process at a time: a file that one process has locked.
//!
//! The system frees the lock of a process that ends, however it ends, so there are no locks to be found stale.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A locked file, taken away when it is dropped.
pub(super) struct Guard {
    path: PathBuf,
    /// Open as long as it is locked.
    file: File,
    /// Why nobody is kept out, where the file system has no locks.
    unlocked: Option<io::Error>,
}

impl Guard {
    /// Locks a file, making it where it is not; none where another process or thread has it.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Guard>> {
        Guard::try_take_by(path, File::try_lock)
    }

    /// The same with any way to lock a file.
    fn try_take_by(
        path: &Path,
        try_lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> io::Result<Option<Guard>> {
        // Each turn is lost to somebody who took the file away between opening and locking.
        for _ in 0..100 {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            let unlocked = match try_lock(&file) {
                Ok(()) => None,
                Err(TryLockError::WouldBlock) => return Ok(None),
                // Some network file systems have no locks. There it is up to the user to download with one process only.
                Err(TryLockError::Error(error)) => Some(error),
            };
            if is_at(&file, path) {
                return Ok(Some(Guard { path: path.to_path_buf(), file, unlocked }));
            }
        }
        Ok(None)
    }

    /// What the user should know where nobody is kept out.
    pub(super) fn note(&self) -> Option<String> {
        let error = self.unlocked.as_ref()?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        Some(format!(
            "files in {} cannot be locked ({error}): see that one process alone downloads there",
            folder.display()
        ))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Taken away while it is locked: whoever has it open finds that it is not the one at its path any more. Where that
        // cannot be found out it stays.
        if cfg!(unix) {
            fs::remove_file(&self.path).ok();
        }
        self.file.unlock().ok();
    }
}

/// Whether an open file is still the one at its path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_one_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let guard = Guard::try_take(&path).unwrap().unwrap();
        assert!(Guard::try_take(&path).unwrap().is_none());
        drop(guard);
        // Left by somebody who was killed.
        fs::write(&path, "").unwrap();
        assert!(Guard::try_take(&path).unwrap().is_some());
        assert!(Guard::try_take(&folder.path().join("no/a.lock")).is_err());
        assert_eq!(path.exists(), cfg!(not(unix)));
    }

    #[test]
    fn a_file_system_without_locks_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        assert_eq!(Guard::try_take(&path).unwrap().unwrap().note(), None);
        let without = |_: &File| Err(TryLockError::Error(io::ErrorKind::Unsupported.into()));
        let note = Guard::try_take_by(&path, without).unwrap().unwrap().note().unwrap();
        assert!(note.contains("cannot be locked") && note.contains("one process alone"), "{note}");
    }

    #[test]
    fn many_at_once_have_it_one_after_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let (inside, times) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut own = 0;
                    while own < 200 {
                        if let Some(_guard) = Guard::try_take(&path).unwrap() {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            own += 1;
                            times.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert_eq!(times.into_inner(), 800);
    }
}
