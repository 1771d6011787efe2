//! Who reads recordings, and how each is started.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::python::Python;
use crate::shell;
use crate::worker::reading::{Cached, Request};

/// One way from recordings to trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entrant {
    /// Ours.
    Ptsm {
        /// Threads.
        threads: usize,
        /// What is kept.
        cached: Cached,
    },
    /// MNE.
    Mne {
        /// Its `n_jobs`.
        jobs: Option<usize>,
        /// Whether joblib shares out files rather than MNE channels.
        by_file: bool,
    },
    /// pyedflib and SciPy, one thread.
    Scipy,
}

impl Entrant {
    /// All of them, in the order of the table.
    pub(crate) fn all() -> Vec<Entrant> {
        let mut all = vec![];
        for cached in [Cached::No, Cached::Empty] {
            all.extend([1, 2].map(|threads| Entrant::Ptsm { threads, cached }));
        }
        all.extend([Cached::Full, Cached::Touched].map(|cached| Entrant::Ptsm { threads: 2, cached }));
        all.push(Entrant::Scipy);
        all.push(Entrant::Mne { jobs: None, by_file: false });
        all.extend([false, true].map(|by_file| Entrant::Mne { jobs: Some(2), by_file }));
        all
    }
}

impl fmt::Display for Entrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entrant::Ptsm { threads, cached } => {
                let plural = if *threads == 1 { "thread" } else { "threads" };
                write!(f, "ptsm, {threads} {plural}, {cached}")
            }
            Entrant::Mne { jobs: None, .. } => write!(f, "MNE, as it comes"),
            Entrant::Mne { jobs: Some(jobs), by_file: false } => write!(f, "MNE, n_jobs={jobs}"),
            Entrant::Mne { jobs: Some(jobs), by_file: true } => {
                write!(f, "MNE, joblib over files, {jobs} processes")
            }
            Entrant::Scipy => write!(f, "pyedflib + SciPy, 1 thread"),
        }
    }
}

/// The programs and what they read.
pub(crate) struct Programs {
    pub(crate) python: Python,
    root: PathBuf,
    /// All files, in order.
    pub(crate) files: Vec<PathBuf>,
    /// How many subjects they are of.
    subject_count: usize,
    caches: PathBuf,
}

impl Programs {
    /// Finds the recordings of runs 4, 8 and 12 of all subjects.
    pub(crate) fn new(python: Python, root: &Path, most: Option<usize>) -> Result<Programs> {
        let mut files = vec![];
        let folder = root.join("physionet-mi");
        for subject in list(&folder)? {
            files.extend(
                list(&subject)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "edf")),
            );
        }
        // Whole subjects: ours is asked for subjects, not for files.
        let of_each = 3;
        files.truncate(most.map_or(usize::MAX, |most| most.next_multiple_of(of_each)));
        let subject_count = files.len() / of_each;
        let caches = shell::target().join("bench").join("io-cache");
        Ok(Programs { python, root: root.to_path_buf(), files, subject_count, caches })
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| fs::metadata(file).ok()).map(|about| about.len()).sum()
    }

    /// Empties the cache where a side is to begin with an empty one.
    pub(crate) fn make_ready(&self, entrant: Entrant) -> Result<()> {
        let Entrant::Ptsm { cached: Cached::Empty, .. } = entrant else { return Ok(()) };
        if self.caches.exists() {
            fs::remove_dir_all(&self.caches)
                .with_context(|| format!("{} cannot be emptied", shell::relative(&self.caches)))?;
        }
        Ok(())
    }

    pub(crate) fn command(&self, entrant: Entrant) -> Command {
        match entrant {
            Entrant::Ptsm { .. } => {
                let program = format!("lab{}", std::env::consts::EXE_SUFFIX);
                let mut command = Command::new(shell::target().join("release").join(program));
                command.arg("reading");
                command
            }
            Entrant::Mne { .. } | Entrant::Scipy => self.python.script("bench_io.py"),
        }
    }

    /// The first line a side gets.
    pub(crate) fn request(&self, entrant: Entrant) -> Value {
        match entrant {
            Entrant::Ptsm { threads, cached } => json!(Request {
                root: self.root.clone(),
                subject_count: self.subject_count,
                threads,
                cached,
                cache: self.caches.clone(),
            }),
            Entrant::Mne { jobs, by_file } => {
                let by = if by_file { "file" } else { "channel" };
                json!({ "how": "mne", "jobs": jobs, "by": by, "files": self.files })
            }
            Entrant::Scipy => json!({ "how": "scipy", "jobs": null, "by": "channel", "files": self.files }),
        }
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))?;
    let mut all = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}
