//! What all connections of a download share.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::client::Client;
use super::lock::Lock;
use super::trouble::DownloadFailure;
use super::{DownloadProgress, Settings};

/// How long nobody looks whether to stop.
const MOMENT: Duration = Duration::from_millis(50);

/// How far one file is.
pub(super) struct Tally {
    /// Whether it was not there.
    missing: AtomicBool,
    arrived: AtomicU64,
    /// How many bytes it has; 0 where that is not known.
    size: AtomicU64,
}

impl Tally {
    pub(super) fn new(missing: bool, arrived: u64) -> Tally {
        Tally { missing: missing.into(), arrived: arrived.into(), size: 0.into() }
    }

    pub(super) fn missing(&self, missing: bool) {
        self.missing.store(missing, Ordering::Relaxed);
    }

    pub(super) fn arrived(&self, bytes: u64) {
        self.arrived.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn sized(&self, size: Option<u64>) {
        self.size.store(size.unwrap_or(0), Ordering::Relaxed);
    }
}

/// What all connections share.
pub(super) struct SharedDownload<'a> {
    pub(super) client: Client,
    pub(super) settings: &'a Settings,
    pub(super) folder: &'a Path,
    tallies: Vec<Tally>,
    lock: Mutex<Lock>,
    notes: Mutex<Vec<String>>,
    stopping: AtomicBool,
    /// Why no other file is tried.
    hopeless: Mutex<Option<String>>,
    /// Files in a row for which no server could be reached, and how many bytes had come before.
    unreached: Mutex<(usize, u64)>,
    received: AtomicU64,
    /// Connections that wait to try again.
    waiting: AtomicUsize,
    done: AtomicUsize,
}

impl<'a> SharedDownload<'a> {
    pub(super) fn new(
        client: Client,
        settings: &'a Settings,
        folder: &'a Path,
        tallies: Vec<Tally>,
    ) -> SharedDownload<'a> {
        let (lock, note) = Lock::read(folder);
        SharedDownload {
            client,
            settings,
            folder,
            tallies,
            lock: lock.into(),
            notes: note.into_iter().collect::<Vec<_>>().into(),
            stopping: false.into(),
            hopeless: None.into(),
            unreached: (0, 0).into(),
            received: 0.into(),
            waiting: 0.into(),
            done: 0.into(),
        }
    }

    pub(super) fn tally(&self, file: usize) -> &Tally {
        &self.tallies[file]
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Lock> {
        held(&self.lock)
    }

    /// Writes what is new to the lock file. Where it cannot be written that is told, and the files are checked again next time.
    pub(super) fn write_lock(&self) {
        let written = self.lock().write();
        if let Err(e) = written {
            let note = format!("{e}; the files will be checked again");
            let mut notes = held(&self.notes);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }

    pub(super) fn note(&self, note: String) {
        held(&self.notes).push(note);
    }

    /// The same, once however often it is said.
    pub(super) fn note_once(&self, note: String) {
        let mut notes = held(&self.notes);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends everything under way.
    pub(super) fn stop(&self) {
        if !self.stopping.swap(true, Ordering::SeqCst) {
            self.client.shut_down();
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Waits, unless it is stopped.
    pub(super) fn sleep(&self, time: Duration) -> Result<(), DownloadFailure> {
        let began = Instant::now();
        loop {
            if self.is_stopping() {
                return Err(DownloadFailure::Stopped);
            }
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(MOMENT));
        }
    }

    /// Waits before another try, unless it is stopped.
    pub(super) fn wait(&self, time: Duration) -> Result<(), DownloadFailure> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let slept = self.sleep(time);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        slept
    }

    /// No other file is tried.
    pub(super) fn give_up(&self, reason: &str) {
        held(&self.hopeless).get_or_insert_with(|| reason.to_string());
    }

    pub(super) fn hopeless(&self) -> Option<String> {
        held(&self.hopeless).clone()
    }

    /// A file for which no server could be reached. After several of them without a single byte, the others are not tried.
    pub(super) fn unreached(&self) {
        let received = self.received.load(Ordering::Relaxed);
        let mut unreached = held(&self.unreached);
        *unreached = if unreached.1 == received { (unreached.0 + 1, received) } else { (1, received) };
        if unreached.0 >= self.settings.connections.max(4) {
            self.give_up("no other file could be had either");
        }
    }

    pub(super) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// How far it is. Files of unknown size count as those of known size do in the mean.
    pub(super) fn progress(&self) -> DownloadProgress {
        let get = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let missing: Vec<&Tally> =
            self.tallies.iter().filter(|tally| tally.missing.load(Ordering::Relaxed)).collect();
        let sizes: Vec<u64> = missing.iter().map(|tally| get(&tally.size)).filter(|&size| size > 0).collect();
        // Sizes are what servers say, however large.
        let known = sizes.iter().fold(0u64, |sum, &size| sum.saturating_add(size));
        let mean = known.checked_div(sizes.len() as u64);
        let others = (missing.len() - sizes.len()) as u64;
        DownloadProgress {
            files: self.tallies.len(),
            done: self.done.load(Ordering::Relaxed),
            bytes: missing.iter().map(|tally| get(&tally.arrived)).sum(),
            size: mean.map(|mean| known.saturating_add(mean.saturating_mul(others))),
            received: get(&self.received),
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }
}

/// A lock that a panic elsewhere does not spoil: what it holds is sound after each change.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
