//! Several files at once.

use std::collections::VecDeque;
use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::client::Client;
use super::obtain::File;
use super::plan::{Download, PlannedFile};
use super::shared::{SharedDownload, Tally};
use super::{DownloadObserver, DownloadReport, DownloadedFile, FileStatus, Settings, part, zenodo};
use crate::error::Result;

/// How often progress is told.
const TELL: Duration = Duration::from_millis(100);

/// How often the lock file is written.
const KEEP: Duration = Duration::from_secs(2);

impl Download {
    /// Gets what is missing and checks what is there. Files that cannot be had are told in the report; the others go on.
    pub fn run(&self, settings: &Settings, watch: &mut dyn DownloadObserver) -> Result<DownloadReport> {
        let files = self.files();
        let tallies = files.iter().map(|file| Tally::new(file.found.is_none(), file.arrived)).collect();
        let shared = SharedDownload::new(Client::new(settings)?, settings, self.folder(), tallies);
        let statuses: Vec<OnceLock<FileStatus>> = files.iter().map(|_| OnceLock::new()).collect();
        // Nothing is ever sent: it is closed when the work is over.
        let (at_work, over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _at_work = at_work;
                work(&shared, files, &statuses);
            });
            let mut kept = Instant::now();
            while over.recv_timeout(TELL) == Err(RecvTimeoutError::Timeout) {
                watch.progress(&shared.progress());
                if watch.stop() {
                    shared.stop();
                }
                if kept.elapsed() >= KEEP {
                    shared.write_lock();
                    kept = Instant::now();
                }
            }
        });
        shared.write_lock();
        watch.progress(&shared.progress());
        let stopped = shared.is_stopping();
        let outcomes = files.iter().zip(statuses).map(|(file, status)| outcome(file, status.into_inner()));
        let files: Vec<DownloadedFile> = outcomes.collect();
        Ok(DownloadReport {
            // Asked to stop when all was over, nothing was stopped.
            stopped: stopped && files.iter().any(|file| matches!(file.status, FileStatus::Unfinished)),
            files,
            notes: shared.into_notes(),
        })
    }
}

fn work(shared: &SharedDownload<'_>, files: &[PlannedFile], statuses: &[OnceLock<FileStatus>]) {
    let checksums = zenodo::checksums(shared, files);
    let queue = Mutex::new((0..files.len()).collect::<VecDeque<usize>>());
    let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let connection = || {
        loop {
            let Some(i) = queue().pop_front() else { return };
            let file = File { shared, planned: &files[i], checksum: &checksums[i], tally: shared.tally(i) };
            match file.settle() {
                Some(status) => {
                    statuses[i].set(status).ok();
                    shared.done();
                }
                None => {
                    queue().push_back(i);
                    // Stopped while it waits: seen when the file is met again.
                    shared.sleep(TELL).ok();
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..shared.settings.connections.clamp(1, files.len().max(1)) {
            scope.spawn(connection);
        }
    });
}

fn outcome(file: &PlannedFile, status: Option<FileStatus>) -> DownloadedFile {
    let place = file.found.as_ref().filter(|found| found.exists()).unwrap_or(&file.path);
    let size = fs::metadata(place).ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
    DownloadedFile {
        path: place.clone(),
        url: file.remote.url.clone(),
        bytes: size.unwrap_or_else(|| part::arrived(&file.path)),
        status: status.unwrap_or(FileStatus::Unfinished),
    }
}
