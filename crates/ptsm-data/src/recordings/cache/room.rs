//! Room for entries: those used longest ago are deleted where all together take too much.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How names of entries end.
pub(super) const ENDING: &str = "trials";
/// A use is noted when the last noted one is so long ago.
const NOTED_AFTER: Duration = Duration::from_secs(60);
/// What is unfinished for so long was left by a process that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Notes that an entry was used.
pub(super) fn touch(path: &Path) {
    let noted = fs::metadata(path).and_then(|about| about.modified());
    if noted.is_ok_and(|noted| age(noted) > NOTED_AFTER)
        && let Ok(file) = File::options().append(true).open(path)
    {
        file.set_modified(SystemTime::now()).ok();
    }
}

/// Deletes entries until all together take no more than `limit` bytes, and what killed processes left. What cannot be deleted, or is
/// gone already, is left alone.
pub(super) fn make(folder: &Path, limit: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut all: Vec<(SystemTime, u64, PathBuf)> = vec![];
    for entry in entries.flatten() {
        let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
        let used = used(&about);
        if path.extension().is_some_and(|ending| ending == ENDING) {
            all.push((used, about.len(), path));
        } else if path.extension().is_some_and(|ending| ending == "partial") && age(used) > ABANDONED_AFTER {
            fs::remove_file(path).ok();
        }
    }
    let mut taken: u64 = all.iter().map(|(_, bytes, _)| bytes).sum();
    all.sort();
    for (_, bytes, path) in all {
        if taken <= limit {
            break;
        }
        if fs::remove_file(path).is_ok() {
            taken -= bytes;
        }
    }
}

fn used(about: &Metadata) -> SystemTime {
    about.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Nothing for times to come.
fn age(time: SystemTime) -> Duration {
    SystemTime::now().duration_since(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, age_s: u64| {
            let path = folder.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let open = File::options().write(true).open(&path).unwrap();
            open.set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
            path
        };
        let [old, older, new] =
            [("a.trials", 500), ("b.trials", 900), ("c.trials", 10)].map(|(n, a)| file(n, a));
        let [begun, left] =
            [(".d.trials.1-2.partial", 5), (".e.trials.1-2.partial", 5000)].map(|(n, a)| file(n, a));
        make(folder.path(), 300);
        assert!(old.exists() && older.exists() && new.exists() && begun.exists() && !left.exists());
        touch(&older);
        make(folder.path(), 299);
        assert!(!old.exists() && older.exists() && new.exists());
        make(folder.path(), 0);
        assert!(!older.exists() && !new.exists() && begun.exists());
    }
}
