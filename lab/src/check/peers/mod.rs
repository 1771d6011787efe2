//! Readers, writers, the pipeline, classic decoders, explanations and statistics against independent libraries: scripts make files and tell what others read in
//! them, or make trials or scores and tell what others learn from them.

mod classic;
mod explain;
mod frame;
mod matlab;
mod recordings;
mod statistics;
mod telling;
mod trials;
mod written;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::python::{CLASSIC, EXPLAIN, Python, READERS, STATISTICS};
use crate::shell;

pub(super) fn check() -> Result<()> {
    let python = Python::ready(&READERS)?;
    let folder = shell::target().join("readers");
    // What another version of the scripts has made is not compared.
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("{} cannot be removed", shell::relative(&folder)))?;
    }
    let mut held = PeerTally::default();
    let statistics = Python::ready(&STATISTICS)?;
    statistics::check(&statistics, &mut held)?;
    frame::check(&statistics, &mut held)?;
    explain::check(&Python::ready(&EXPLAIN)?, &mut held)?;
    classic::check(&Python::ready(&CLASSIC)?, &mut held)?;
    let maps = shell::root().join("crates/ptsm-report/tests/golden/topomap.json");
    held.add("scalp maps of MNE", &maps, shell::stream(python.script("topomap.py").arg("--check")));
    recordings::check(&python, &folder, &mut held)?;
    matlab::check(&python, &folder, &mut held)?;
    written::check(&python, &folder, &mut held)?;
    trials::check_miniatures(&python, &folder, &mut held)?;
    match crate::recordings::unpacked()? {
        Some(data) => {
            recordings::real(&python, &data, &mut held)?;
            trials::real(&python, &data, &mut held)?;
        }
        None => println!("skipped: needs ../shared/data, the real recordings beside the workspace"),
    }
    held.end()
}

/// What was held against a peer.
#[derive(Default)]
struct PeerTally {
    right: usize,
    wrong: usize,
}

impl PeerTally {
    /// Counts one comparison and shows where it failed.
    fn add(&mut self, title: &str, file: &Path, result: Result<()>) {
        match result {
            Ok(()) => self.right += 1,
            Err(error) => {
                self.wrong += 1;
                println!("{title}: {}: {error:#}", shell::relative(file));
            }
        }
    }

    fn end(self) -> Result<()> {
        if self.wrong > 0 {
            bail!("{} of {} comparisons failed", self.wrong, self.wrong + self.right);
        }
        Ok(())
    }
}
