//! The folder of a run, a benchmark or a search: what it is, what it made, and that nobody else works in it.

mod occupant;

use std::fs::{DirEntry, File, TryLockError};
use std::path::{Path, PathBuf};

use ptsm_io::atomic::{replace, unfinished_target};

use crate::error::{Error, ErrorContext, Result};
use occupant::Occupant;

/// A folder that this process alone works in.
pub struct Folder {
    path: PathBuf,
    /// Whether it was not there before.
    made: bool,
    /// Whether it stays even where nothing came of the run.
    stays: bool,
    // Held as long as the folder is.
    lock: FolderLock,
}

/// The file that is locked as long as a folder is in use.
struct FolderLock {
    _file: File,
    /// Whether the file system has no locks, so that nobody is kept out.
    is_open: bool,
}

/// What a trained decoder was made from and with.
pub(crate) const RUN: &str = "run.toml";
/// A benchmark's plan with everything that was given; to be given again as it is.
pub(crate) const BENCHMARK: &str = "benchmark.toml";
/// What a search for settings was asked for.
const TUNING: &str = "tune.toml";
/// What came of a benchmark's fits.
const ITEMS: &str = "items";
/// What a benchmark makes of its plan and its outcomes.
const COLLECTED: [&str; 11] = [
    "work.json",
    "tasks.json",
    "results.jsonl",
    "results.csv",
    "summary.csv",
    "published.csv",
    "tables.md",
    "tables.tex",
    "moabb.csv",
    "matrix.json",
    "provenance.json",
];
const LOCK: &str = "lock";
/// Every epoch, one line each.
pub const LOG: &str = "log.jsonl";
/// The folder of the models.
pub const MODELS: &str = "models";

impl Folder {
    /// Makes the folder, or takes up a run of the same kind in it.
    pub fn open_run(path: &Path, run: &str) -> Result<Folder> {
        Folder::enter(path, RUN, run, true)
    }

    /// Makes the folder of a benchmark, or takes one up. Its plan may have changed: what is done is known by what it depends on.
    pub fn open_benchmark(path: &Path, plan: &str) -> Result<Folder> {
        Folder::enter(path, BENCHMARK, plan, false)
    }

    /// Makes the folder of a search for settings, or takes one up; it may have changed as well.
    pub fn open_tuning(path: &Path, request: &str) -> Result<Folder> {
        Folder::enter(path, TUNING, request, false)
    }

    /// Takes up a benchmark as it is, unless somebody works in it.
    pub fn try_lock_benchmark(path: &Path) -> Result<std::result::Result<Folder, FolderInUse>> {
        Ok(lock(path)?.map(|lock| Folder { path: path.into(), made: false, stays: true, lock }))
    }

    /// `name` is the file that says what the folder is, `text` what it shall hold; where it is another run's, it is refused if `same` is wanted.
    fn enter(path: &Path, name: &'static str, text: &str, same: bool) -> Result<Folder> {
        let cannot = || format!("{} cannot be used as a run's folder", path.display());
        let file = path.join(name);
        let made = !path.exists();
        let begun = file.exists() && (same || is_begun(path, &file));
        if file.exists() && !begun {
            return Err(Error::request(
                format!("{} is not of a benchmark that was begun there", file.display()),
                "give another folder to `--out`: a plan of your own stays where it is",
            ));
        }
        if !begun && !made {
            for (other, what) in [(RUN, "a trained decoder"), (BENCHMARK, "a benchmark")] {
                if path.join(other).exists() {
                    return Err(Error::request(
                        format!("{} holds {what}", path.display()),
                        "give another folder to `--out`",
                    ));
                }
            }
            let mut entries = std::fs::read_dir(path).while_doing(cannot)?;
            // A lock and unfinished files are what a run leaves that was killed before it began.
            let own = |e: &DirEntry| e.file_name() == LOCK || is_unfinished(e);
            if entries.any(|e| e.map_or(true, |e| !own(&e))) {
                return Err(Error::request(
                    format!("{} is not empty and holds no run", path.display()),
                    "give a new folder to `--out`",
                ));
            }
        }
        std::fs::create_dir_all(path).while_doing(cannot)?;
        let lock = lock(path)?.map_err(|used| used.refusal())?;
        if begun && same {
            let found = std::fs::read_to_string(&file)
                .while_doing(|| format!("{} cannot be read", file.display()))?;
            if let Some((found, expected)) = first_difference(&found, text) {
                return Err(Error::request(
                    format!(
                        "{} holds another run: it has `{found}`, this command wants `{expected}`",
                        path.display()
                    ),
                    "give another folder to `--out`, or the same settings to continue",
                ));
            }
        }
        // From here on the folder is this run's own, and taken away again should nothing come of it.
        let folder = Folder { path: path.into(), made, stays: begun && !same, lock };
        folder.clear();
        if !begun || !same {
            replace(&file, text.as_bytes())?;
        }
        Ok(folder)
    }

    /// Takes away what a killed process left unfinished. Nobody else works here, so none of it is being written.
    pub fn clear(&self) {
        for folder in [self.path.clone(), self.path.join(MODELS), self.path.join(ITEMS)] {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            for entry in entries.filter(is_unfinished) {
                // One that stays does no harm.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// What the user should know where the file system has no locks: nobody is kept out of the folder then.
    pub fn lock_note(&self) -> Option<String> {
        self.lock.is_open.then(|| {
            format!(
                "the file system of {} has no locks: see that one command alone works in it, and do not rely on `ptsm status` to tell what is \
                 running",
                self.path.display()
            )
        })
    }

    /// A file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A folder in it.
    pub fn inner(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).while_doing(|| format!("{} cannot be made", path.display()))?;
        Ok(path)
    }
}

impl Drop for Folder {
    /// A run that came to nothing leaves nothing, so that the folder can be given again with other settings. A log without a
    /// checkpoint is nothing: training would begin anew.
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        let empty = |name: &str| self.path.join(name).read_dir().is_ok_and(|mut all| all.next().is_none());
        let worthless = |e: DirEntry| match e.file_name().to_str() {
            Some(LOCK | RUN | LOG | BENCHMARK | TUNING) => true,
            // Without any outcome there is nothing in them.
            Some(name) if COLLECTED.contains(&name) => !self.path.join(ITEMS).exists() || empty(ITEMS),
            Some(name @ (MODELS | ITEMS)) => empty(name),
            _ => false,
        };
        if !self.path.read_dir().is_ok_and(|mut all| all.all(|e| e.is_ok_and(worthless))) {
            return;
        }
        // What stays after all is taken up by the next process.
        for name in [MODELS, ITEMS] {
            let _ = std::fs::remove_dir(self.path.join(name));
        }
        for name in [LOG, RUN, BENCHMARK, TUNING, LOCK].into_iter().chain(COLLECTED) {
            let _ = std::fs::remove_file(self.path.join(name));
        }
        if self.made {
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// What a plan begins with that this program wrote.
pub(crate) const WRITTEN: &str = "# Written by `ptsm benchmark`, to be given to it again.\n";

/// Whether a benchmark was begun in a folder: there is work, or at least a plan that this program wrote.
fn is_begun(path: &Path, plan: &Path) -> bool {
    let written = || std::fs::read_to_string(plan).is_ok_and(|text| text.starts_with(WRITTEN));
    path.join("work.json").exists() || path.join(ITEMS).exists() || written()
}

/// Whether it is the beginning of a file that was never put in its place.
fn is_unfinished(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    unfinished_target(&name).is_some() || (name.contains(".safetensors.") && name.ends_with(".part"))
}

/// A folder that another process works in.
pub struct FolderInUse {
    path: PathBuf,
    /// Who it is, where that is known.
    occupant: Option<Occupant>,
}

impl FolderInUse {
    /// Who works there, in words.
    pub fn occupant_name(&self) -> String {
        self.occupant.as_ref().map_or_else(|| "another process".into(), Occupant::to_string)
    }

    /// The error for work that cannot be done beside other work.
    pub fn refusal(&self) -> Error {
        let message = match &self.occupant {
            None => format!("another process works in {}", self.path.display()),
            Some(occupant) => format!("another process works in {}: {occupant}", self.path.display()),
        };
        Error::request(message, "wait for it, or give another folder to `--out`")
    }
}

/// Locks a folder and says in it who has it now.
fn lock(path: &Path) -> Result<std::result::Result<FolderLock, FolderInUse>> {
    lock_by(path, File::try_lock)
}

/// The same with any way to lock a file.
fn lock_by(
    path: &Path,
    try_lock: impl Fn(&File) -> std::result::Result<(), TryLockError>,
) -> Result<std::result::Result<FolderLock, FolderInUse>> {
    let file = path.join(LOCK);
    let cannot = || format!("{} cannot be written to", path.display());
    let mut lock = File::options().create(true).append(true).open(&file).while_doing(cannot)?;
    let is_open = match try_lock(&lock) {
        Ok(()) => {
            // Only for the words of an error: on a full disk the lock holds all the same, and what needs room says so itself.
            let _ = Occupant::this().write(&mut lock);
            false
        }
        Err(TryLockError::WouldBlock) => {
            return Ok(Err(FolderInUse { path: path.into(), occupant: Occupant::read(&file) }));
        }
        // Some network file systems have no locks; one process at a time needs none, and is told.
        Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => true,
        Err(TryLockError::Error(e)) => {
            return Err(Error::request(
                format!("{} cannot be locked: {e}", file.display()),
                "give a folder on another file system to `--out`, such as a local disk, or have this one mounted with locks",
            ));
        }
    };
    Ok(Ok(FolderLock { _file: lock, is_open }))
}

/// The first line in which two texts differ, both sides.
fn first_difference(found: &str, expected: &str) -> Option<(String, String)> {
    let (mut a, mut b) = (found.lines(), expected.lines());
    loop {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => {
                let say = |line: Option<&str>| line.unwrap_or("nothing").to_string();
                return Some((say(a), say(b)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::ErrorKind;

    use super::*;

    fn refused(error: impl Into<std::io::Error>) -> impl Fn(&File) -> std::result::Result<(), TryLockError> {
        let error = error.into();
        move |_| {
            Err(TryLockError::Error(
                error.raw_os_error().map_or_else(|| error.kind().into(), std::io::Error::from_raw_os_error),
            ))
        }
    }

    #[test]
    fn a_file_system_without_locks_is_reported() {
        let place = tempfile::tempdir().unwrap();
        let lock = lock_by(place.path(), refused(ErrorKind::Unsupported)).unwrap().ok().unwrap();
        let folder = Folder { path: place.path().into(), made: false, stays: true, lock };
        assert!(folder.lock_note().unwrap().contains("has no locks"));
        let held = Folder::try_lock_benchmark(place.path()).unwrap().ok().unwrap();
        assert_eq!(held.lock_note(), None);
        let used = Folder::try_lock_benchmark(place.path()).unwrap().err().unwrap();
        assert!(used.refusal().to_string().contains("another process works in"));
    }

    #[test]
    fn a_lock_that_cannot_be_had_is_an_error_with_a_way_out() {
        let place = tempfile::tempdir().unwrap();
        // As of NFS without its lock daemon: "No locks available".
        let error = lock_by(place.path(), refused(std::io::Error::from_raw_os_error(37))).err().unwrap();
        assert!(error.to_string().contains("cannot be locked"), "{error}");
        assert!(error.hint().unwrap().contains("another file system"), "{:?}", error.hint());
    }
}
