//! Files that are there whole or not at all: written beside, put on the disk, then renamed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Writes a file through `fill`. Whoever reads `path` sees the old file or the new one, never a part; after an error the old one.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<()> {
    write(path, fill, true)
}

/// The same for files that can be made again: they are not put on the disk first, which takes most of the time. After a power cut
/// the file can have lost its contents, so whoever reads it must be able to tell.
pub fn write_renamed(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    write(path, fill, false)
}

fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    lasting: bool,
) -> Result<()> {
    let refuse = |error| Error::system(path, "write", error);
    let mut beside = UnfinishedFile::create(path).map_err(refuse)?;
    beside.fill(fill, lasting).and_then(|()| beside.put(path, lasting)).map_err(refuse)
}

/// Replaces a file's contents.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, |writer| writer.write_all(bytes))
}

/// The name of the file that an unfinished one was to become, from the unfinished one's name; none where it is another file. A process that
/// is killed while it writes leaves such a file behind.
pub fn unfinished_target(name: &str) -> Option<&str> {
    let (target, counts) = name.strip_prefix('.')?.strip_suffix(".partial")?.rsplit_once('.')?;
    let (process, count) = counts.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(process) && is_number(count)).then_some(target)
}

/// An unfinished file in the same folder; taken away again unless it is put in its place.
struct UnfinishedFile {
    path: PathBuf,
    file: Option<File>,
    done: bool,
}

impl UnfinishedFile {
    fn create(target: &Path) -> io::Result<UnfinishedFile> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is no name of a file"))?;
        let mut beside = OsString::from(".");
        beside.push(name);
        // Unlike any other: of this process, and of no other thread in it.
        beside.push(format!(".{}-{}.partial", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let path = target.with_file_name(beside);
        // A file of that name can only be left over from a process that was killed.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(UnfinishedFile { path, file: Some(file), done: false })
    }

    fn fill(
        &mut self,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
        lasting: bool,
    ) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let mut writer = BufWriter::new(file);
        fill(&mut writer)?;
        let file = writer.into_inner().map_err(|error| error.into_error())?;
        // Without this a power cut could leave the new name on empty contents.
        if lasting { file.sync_all() } else { Ok(()) }
    }

    fn put(&mut self, target: &Path, lasting: bool) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.done = true;
        if !lasting {
            return Ok(());
        }
        // The folder's own entry. Some systems cannot sync a folder; the file is whole either way.
        let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().ok();
        }
        Ok(())
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.done {
            fs::remove_file(&self.path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        write_renamed(&path, |writer| writer.write_all(b"newer")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn a_failed_write_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        replace(&path, b"old").unwrap();
        let error = write_atomically(&path, |writer| {
            writer.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .unwrap_err();
        assert!(error.to_string().contains("a.txt: cannot write"), "{error}");
        assert_eq!(error.hint(), Some("make room on the disk"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn places_that_cannot_be_written_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace(&folder.path().join("missing/a.txt"), b"").is_err());
        assert!(replace(Path::new("/"), b"").is_err());
        assert!(replace(Path::new(""), b"").is_err());
        // A folder is not replaced by a file.
        fs::create_dir(folder.path().join("b")).unwrap();
        assert!(replace(&folder.path().join("b"), b"").is_err());
        assert_eq!(names(folder.path()), ["b"]);
    }

    #[test]
    fn an_unfinished_file_tells_what_it_was_to_become() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0-learnt.trials");
        let beside = UnfinishedFile::create(&path).unwrap();
        let name = beside.path.file_name().unwrap().to_str().unwrap();
        assert_eq!(unfinished_target(name), Some("0-learnt.trials"));
        assert_eq!(unfinished_target(".S001.npz.123-4.partial"), Some("S001.npz"));
        for other in ["S001.npz", ".mine.partial", "S001.npz.123-4.partial", ".a.1-x.partial", ".a.1-2.part"]
        {
            assert_eq!(unfinished_target(other), None, "{other}");
        }
    }
}
