//! A cluster with Slurm: one task of an array for each portion of the work, and a job after it that collects.
//!
//! The benchmark's folder is shared by all machines. Tasks are the same processes as on one machine; each reads the list of work, maps the
//! trials (from a copy on its own machine where a folder for it is named) and writes outcomes. A task that is killed leaves some
//! missing: the job that collects submits those once more, as does the same command given again.

mod options;
mod programs;
mod submitted;

use std::path::{Path, PathBuf, absolute};

use anyhow::Context;
use ptsm_eval::WorkList;
use serde_json::json;

use super::{Work, tasks};
use crate::args::{BenchmarkArgs, Launcher};
use crate::commands::Session;
use submitted::Submitted;

pub(super) use submitted::SUBMITTED;

/// How often what is missing is submitted again by itself.
const ATTEMPTS: usize = 3;
/// Tasks at once, where nobody says how many.
const USUAL_TASKS: usize = 16;

/// Whether the folder can be worked in: two arrays, or an array and this process, would do the same work. Nothing is changed.
pub(super) fn check(args: &BenchmarkArgs) -> anyhow::Result<()> {
    if args.launcher == Launcher::Slurm {
        options::of(&args.sbatch)?;
        programs::are_there()?;
    }
    submitted::must_be_over(&args.out)
}

/// Submits what is left, and returns at once.
pub(super) fn run(work: &mut Work<'_>, args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    let folder = full(&args.out)?;
    submitted::must_be_over(&folder)?;
    let jobs = args.jobs.unwrap_or(USUAL_TASKS);
    let tasks = tasks::divide(&work.list, &folder, jobs);
    let submitted = Submitted {
        program: std::env::current_exe().context("this program cannot be found")?,
        options: options::of(&args.sbatch)?,
        jobs,
        device: session.wanted_device.clone(),
        precision: session.precision.to_string(),
        cache: session.cache.as_deref().map(full_or_none).transpose()?,
        node_cache: args.node_cache.as_deref().map(full).transpose()?,
        array: String::new(),
        collects: String::new(),
        attempts: 0,
        missing: left(&work.list, &folder),
    };
    let given = tasks::share(work, &tasks, &folder, session).and_then(|()| submitted.submit(&folder, &tasks));
    let submitted = given.inspect_err(|_| {
        // Of a benchmark that never began nothing stays.
        if work.list.items().all(|(_, item)| item.outcome(&folder).is_none()) {
            tasks::clear(&folder);
        }
    })?;
    let text = format!(
        "submitted: job {} with {} tasks, job {} collects\nhow far it has come: ptsm status {}\n",
        submitted.array,
        tasks.len(),
        submitted.collects,
        args.out.display()
    );
    let document = json!({
        "folder": args.out, "array": submitted.array, "collects": submitted.collects, "tasks": tasks.len(),
    });
    session.output.result(text, &document)
}

/// Submits what is missing once more; whether there was anything, and hope.
pub(super) fn again(list: &WorkList, folder: &Path) -> anyhow::Result<bool> {
    let folder = &full(folder)?;
    let Some(before) = Submitted::read(folder)? else { return Ok(false) };
    let missing = left(list, folder);
    let attempts = if missing < before.missing { 0 } else { before.attempts + 1 };
    let tasks = tasks::divide(list, folder, before.jobs);
    if tasks.is_empty() || attempts >= ATTEMPTS {
        return Ok(false);
    }
    Submitted { attempts, missing, ..before }.submit(folder, &tasks)?;
    Ok(true)
}

fn left(list: &WorkList, folder: &Path) -> usize {
    list.items().filter(|(_, item)| item.outcome(folder).is_none()).count()
}

/// The full path, as jobs need it: they may begin elsewhere.
fn full(path: &Path) -> anyhow::Result<PathBuf> {
    absolute(path).with_context(|| format!("the full path of {} is not known", path.display()))
}

/// The same for `--cache`, which `none` turns off.
fn full_or_none(path: &Path) -> anyhow::Result<PathBuf> {
    if path == Path::new("none") { Ok(path.into()) } else { full(path) }
}
