//! `ptsm collect`: tables of what there is.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ptsm_eval::WorkList;

use super::{results, slurm, tasks};
use crate::args::CollectArgs;
use crate::commands::Session;
use crate::exit::told;
use crate::folder::{self, Folder, InUse};
use crate::plan::Plan;

/// How long another process may keep the folder from the job that collects.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn run(args: &CollectArgs, session: &Session) -> anyhow::Result<()> {
    let folder = &args.folder;
    check(folder)?;
    let held = match enter(folder, args.resubmit)? {
        Ok(held) => held,
        Err(used) if args.resubmit => return Err(used.refusal()),
        Err(used) => return beside(folder, &used, session),
    };
    let (plan, list) = read(folder)?;
    let collected = list.collect(folder);
    if collected.records.is_empty() && collected.failures.is_empty() && !args.resubmit {
        return Err(nothing_done(folder));
    }
    results::write(&collected, &list, &plan, folder)?;
    // Others may still try what failed, but not when all jobs are over.
    if collected.missing == 0 && (args.resubmit || collected.failures.is_empty()) {
        list.tidy(folder);
        tasks::clear(folder);
        held.clear();
    } else if collected.missing > 0 && args.resubmit && slurm::again(&list, folder)? {
        return Ok(());
    }
    drop(held);
    results::show(&collected, &list, &plan, folder, session)
}

/// What there is while somebody works at the rest. No file is written: whoever works there writes them all in the end, and would be
/// overtaken by older numbers.
fn beside(folder: &Path, used: &InUse, session: &Session) -> anyhow::Result<()> {
    let (plan, list) = read(folder)?;
    let collected = list.collect(folder);
    if collected.records.is_empty() && collected.failures.is_empty() {
        return Err(told(
            format!("nothing is done yet in {}, where {} is at work", folder.display(), used.who()),
            format!("wait for it; `ptsm status {}` says how far it has come", folder.display()),
        ));
    }
    let (missing, all) = (collected.missing, list.items().count());
    session.output.note(format!(
        "note: {} is at work: {missing} of {all} fits are missing; this is of the others, and no file is written",
        used.who()
    ));
    results::show_so_far(&collected, &list, &plan, folder, session)
}

/// Refuses a folder that holds no benchmark.
fn check(folder: &Path) -> anyhow::Result<()> {
    if WorkList::is_in(folder) {
        return Ok(());
    }
    let what = if folder.exists() { "holds no benchmark" } else { "does not exist" };
    Err(told(
        format!("{} {what}", folder.display()),
        "`ptsm benchmark --out FOLDER` makes one; give that folder",
    ))
}

/// What a benchmark's folder says it is, and what there is to do.
pub(super) fn read(folder: &Path) -> anyhow::Result<(Plan, WorkList)> {
    check(folder)?;
    Ok((Plan::read(&folder.join(folder::BENCHMARK))?, WorkList::read(folder)?))
}

pub(super) fn nothing_done(folder: &Path) -> anyhow::Error {
    told(
        format!("nothing is done yet in {}", folder.display()),
        "give the benchmark again; it does what is missing",
    )
}

/// Takes up the folder. The job that collects waits for it: it can begin before the process that submitted it has ended, and nobody gives it
/// again.
fn enter(folder: &Path, waits: bool) -> anyhow::Result<Result<Folder, InUse>> {
    let start = Instant::now();
    loop {
        match Folder::try_lock_benchmark(folder) {
            Ok(Err(_)) | Err(_) if waits && start.elapsed() < PATIENCE => sleep(Duration::from_millis(200)),
            entered => return entered,
        }
    }
}
