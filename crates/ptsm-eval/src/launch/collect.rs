//! Tables of what there is, while others work or after they have ended.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{slurm, tasks};
use crate::error::{Error, Result};
use crate::folder::{Folder, FolderInUse};
use crate::results::{BenchmarkResults, check_is_benchmark};

/// How long another process may keep the folder from the job that collects.
const PATIENCE: Duration = Duration::from_secs(120);

/// What collecting came to.
#[derive(Debug)]
pub enum Collection {
    /// The results, written into the folder.
    Written(BenchmarkResults),
    /// What there is while somebody works at the rest, with who that is. No file is written: whoever works there writes them all in the
    /// end, and would be overtaken by older numbers.
    SoFar(BenchmarkResults, String),
    /// What is missing was submitted once more.
    Submitted,
}

/// Collects what there is; where `resubmits`, what is missing is handed to Slurm once more.
pub fn collect(folder: &Path, resubmits: bool) -> Result<Collection> {
    check_is_benchmark(folder)?;
    let held = match enter(folder, resubmits)? {
        Ok(held) => held,
        Err(used) if resubmits => return Err(used.refusal()),
        Err(used) => return beside(folder, &used),
    };
    let results = BenchmarkResults::read(folder)?;
    if results.is_empty() && !resubmits {
        return Err(nothing_done(folder));
    }
    results.write()?;
    let collected = &results.collected;
    // Others may still try what failed, but not when all jobs are over.
    if collected.missing == 0 && (resubmits || collected.failures.is_empty()) {
        results.list.tidy(folder);
        tasks::clear(folder);
        held.clear();
    } else if collected.missing > 0 && resubmits && slurm::again(&results.list, folder)? {
        return Ok(Collection::Submitted);
    }
    drop(held);
    Ok(Collection::Written(results))
}

fn beside(folder: &Path, used: &FolderInUse) -> Result<Collection> {
    let results = BenchmarkResults::read(folder)?;
    if results.is_empty() {
        return Err(Error::request(
            format!("nothing is done yet in {}, where {} is at work", folder.display(), used.occupant_name()),
            format!("wait for it; `ptsm status {}` says how far it has come", folder.display()),
        ));
    }
    Ok(Collection::SoFar(results, used.occupant_name()))
}

/// The error for a benchmark without any outcome.
fn nothing_done(folder: &Path) -> Error {
    Error::request(
        format!("nothing is done yet in {}", folder.display()),
        "run the benchmark again; it does what is missing",
    )
}

/// Takes up the folder. The job that collects waits for it: it can begin before the process that submitted it has ended, and nobody gives it
/// again.
fn enter(folder: &Path, waits: bool) -> Result<std::result::Result<Folder, FolderInUse>> {
    let start = Instant::now();
    loop {
        match Folder::try_lock_benchmark(folder) {
            Ok(Err(_)) | Err(_) if waits && start.elapsed() < PATIENCE => sleep(Duration::from_millis(200)),
            entered => return entered,
        }
    }
}
