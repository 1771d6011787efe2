//! One file: looked for, continued or begun, checked, and put in its place.

use std::fs::{self, Metadata};
use std::path::Path;

use super::FileStatus;
use super::attempt::attempt;
use super::digest::Digests;
use super::guard::Guard;
use super::lock::{self, Entry};
use super::part::{self, Part, guard_path};
use super::patience::Patience;
use super::plan::Checksum;
use super::plan::PlannedFile;
use super::shared::{SharedDownload, Tally};
use super::trouble::{AGAIN, DownloadFailure};
use crate::error::Error;

/// How often a file that arrived wrong is downloaded again.
const AGAIN_WHEN_WRONG: u32 = 2;

/// What is at a place.
enum FileState {
    Nothing,
    Right,
    /// In which way it is wrong.
    Wrong(String),
}

/// A file about to be had.
pub(super) struct File<'a> {
    pub(super) shared: &'a SharedDownload<'a>,
    pub(super) planned: &'a PlannedFile,
    pub(super) checksum: &'a Checksum,
    pub(super) tally: &'a Tally,
}

impl File<'_> {
    /// Sees to it that the file is there. None where another process is downloading it.
    pub(super) fn settle(&self) -> Option<FileStatus> {
        Some(match self.obtain() {
            Ok(status) => status?,
            Err(DownloadFailure::Stopped) => FileStatus::Unfinished,
            Err(DownloadFailure::Here(error)) => FileStatus::Failed(error),
            Err(DownloadFailure::DiskFull(message)) => {
                self.shared.give_up("the disk is full");
                self.failed(
                    message,
                    "make room on the disk, then give the same command again: it goes on where it was",
                )
            }
            Err(DownloadFailure::Exhausted { message, hint }) => {
                self.shared.unreached();
                self.failed(message, hint)
            }
            Err(DownloadFailure::Lasting { message, hint }) => self.failed(message, hint),
            Err(DownloadFailure::Passing { message, .. }) => self.failed(message, AGAIN),
        })
    }

    fn failed(&self, message: impl Into<String>, hint: impl Into<String>) -> FileStatus {
        let (path, message, hint) = (self.planned.path.clone(), message.into(), hint.into());
        FileStatus::Failed(Error::Download { path, message, hint })
    }

    fn obtain(&self) -> Result<Option<FileStatus>, DownloadFailure> {
        if self.shared.is_stopping() {
            return Err(DownloadFailure::Stopped);
        }
        let target = &self.planned.path;
        let place = self.planned.found.as_deref().unwrap_or(target);
        let before = signature(place);
        match self.look(place)? {
            FileState::Right => {
                self.tally.missing(false);
                self.clean();
                return Ok(Some(FileStatus::Present));
            }
            FileState::Wrong(difference) if self.planned.is_elsewhere() => {
                return Ok(Some(FileStatus::Failed(Error::Download {
                    path: place.to_path_buf(),
                    message: format!("it is not the file that is published: {difference}"),
                    hint: "delete or replace it, then give the same command again".into(),
                })));
            }
            FileState::Wrong(difference) => {
                self.shared
                    .note(format!("{} was damaged: {difference}; it is downloaded again", target.display()));
            }
            FileState::Nothing => {}
        }
        self.tally.missing(true);
        if let Some(reason) = self.shared.hopeless() {
            return Err(DownloadFailure::lasting(format!("not tried: {reason}"), AGAIN));
        }
        let folder = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|e| DownloadFailure::system(folder, "make the folder", e))?;
        let lock = guard_path(target);
        let Some(guard) = Guard::try_take(&lock).map_err(|e| DownloadFailure::system(&lock, "write", e))?
        else {
            return Ok(None);
        };
        guard.note().into_iter().for_each(|note| self.shared.note_once(note));
        // Another process may have been faster.
        if signature(target) != before && matches!(self.look(target)?, FileState::Right) {
            self.tally.missing(false);
            return Ok(Some(FileStatus::Present));
        }
        let outcome = self.download();
        if outcome.is_err() && part::arrived(target) == 0 {
            part::discard(target);
        }
        outcome.map(Some)
    }

    /// Whether a file is the right one. What was checked before is not read again.
    fn look(&self, path: &Path) -> Result<FileState, DownloadFailure> {
        let Ok(metadata) = fs::metadata(path) else { return Ok(FileState::Nothing) };
        if !metadata.is_file() {
            let hint = "give another folder, or take it away";
            return Err(DownloadFailure::lasting("something that is no file stands in its place", hint));
        }
        let name = lock::name(self.shared.folder, path);
        let known = self.shared.lock().get(&name).cloned();
        if known.as_ref().is_some_and(|entry| entry.vouches(&metadata, self.checksum)) {
            return Ok(FileState::Right);
        }
        let digests = Digests::of(path, self.checksum, &|| self.shared.is_stopping())?;
        if let Some(difference) = digests.difference(self.checksum) {
            return Ok(FileState::Wrong(difference));
        }
        if let (Checksum::Unpublished, Some(known)) = (self.checksum, known)
            && known.sha256 != digests.sha256
        {
            return Err(DownloadFailure::lasting(
                format!(
                    "it is not what it was when it was downloaded: its SHA-256 was {}, now is {}",
                    known.sha256, digests.sha256
                ),
                format!(
                    "delete it to download it again, or take `{name}` out of {} to keep it",
                    lock::LOCK_FILE
                ),
            ));
        }
        self.shared.lock().put(name, Entry::new(&metadata, digests, &self.planned.remote.url));
        Ok(FileState::Right)
    }

    /// Tries until the file is there.
    fn download(&self) -> Result<FileStatus, DownloadFailure> {
        let (target, url) = (&self.planned.path, &self.planned.remote.url);
        let mut part = Part::open(target, url, self.checksum, &|| self.shared.is_stopping())?;
        let mut patience = Patience::new();
        let (mut farthest, mut wrong) = (part.length(), 0);
        loop {
            self.tally.arrived(part.length());
            let trouble = match attempt(self.shared, &mut part, url, self.checksum, self.tally) {
                Ok(()) => {
                    let digests = part.digests();
                    let Some(difference) = digests.difference(self.checksum) else {
                        return self.finish(part, digests);
                    };
                    part.clear()?;
                    farthest = 0;
                    wrong += 1;
                    if wrong > AGAIN_WHEN_WRONG {
                        return Err(DownloadFailure::lasting(
                            format!(
                                "what arrives is not what is published: {difference} ({wrong} downloads of {url})"
                            ),
                            "try again later or by another mirror (PTSM_MIRROR); if it stays, tell the publisher",
                        ));
                    }
                    DownloadFailure::passing(difference)
                }
                // An answer cut off by the wish to stop looks like a lost connection.
                Err(_) if self.shared.is_stopping() => return Err(DownloadFailure::Stopped),
                Err(trouble) => trouble,
            };
            let brought = part.length() > farthest;
            farthest = farthest.max(part.length());
            self.shared.wait(patience.after(trouble, brought, self.shared.settings)?)?;
        }
    }

    /// Puts the file in its place.
    fn finish(&self, part: Part, digests: Digests) -> Result<FileStatus, DownloadFailure> {
        let target = &self.planned.path;
        part.finish(target)?;
        let metadata = fs::metadata(target).map_err(|e| DownloadFailure::system(target, "read", e))?;
        self.tally.arrived(metadata.len());
        let name = lock::name(self.shared.folder, target);
        let entry = Entry::new(&metadata, digests, &self.planned.remote.url);
        let mut lock = self.shared.lock();
        if let (Checksum::Unpublished, Some(known)) = (self.checksum, lock.get(&name))
            && known.sha256 != entry.sha256
        {
            self.shared.note(format!(
                "{} has changed since it was first downloaded: its SHA-256 was {}, now is {}",
                target.display(),
                known.sha256,
                entry.sha256
            ));
        }
        lock.put(name, entry);
        Ok(FileStatus::Downloaded)
    }

    /// Takes away what is left of downloading a file that is there.
    fn clean(&self) {
        let target = &self.planned.path;
        if part::remains(target)
            && let Ok(Some(_guard)) = Guard::try_take(&guard_path(target))
        {
            part::discard(target);
        }
    }
}

/// What changes when a file does.
fn signature(path: &Path) -> Option<(u64, std::time::SystemTime)> {
    fs::metadata(path).and_then(|metadata: Metadata| Ok((metadata.len(), metadata.modified()?))).ok()
}
