//! A cluster with Slurm: one task of an array for each portion of the work, and a job after it that collects.
//!
//! The benchmark's folder is shared by all machines. Tasks are the same processes as on one machine; each reads the list of work, maps the
//! trials (from a copy on its own machine where a folder for it is named) and writes outcomes. A task that is killed leaves some
//! missing: the job that collects submits those once more, as does the same command given again.

mod options;
mod programs;
mod submitted;

use std::path::{Path, PathBuf, absolute};

use super::work::Work;
use super::{Launcher, tasks};
use crate::benchmark::WorkList;
use crate::env::{CacheFolder, Env};
use crate::error::{ErrorContext, Result};
use submitted::SubmittedArray;

pub(super) use submitted::SUBMITTED;

/// How often what is missing is submitted again by itself.
const ATTEMPTS: usize = 3;
/// Tasks at once, where nobody says how many.
const USUAL_TASKS: usize = 16;

/// Whether the folder can be worked in: two arrays, or an array and this process, would do the same work. Nothing is changed.
pub(super) fn check(folder: &Path, launcher: &Launcher) -> Result<()> {
    if let Launcher::Slurm(options) = launcher {
        options::of(&options.sbatch)?;
        programs::are_there()?;
    }
    submitted::must_be_over(folder)
}

/// How a benchmark is handed to Slurm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlurmOptions {
    /// The program `ptsm`, as all machines find it.
    pub program: PathBuf,
    /// Options for `sbatch`.
    pub sbatch: Vec<String>,
    /// Tasks at once; 16 without it.
    pub jobs: Option<usize>,
    /// The device of the tasks as `--device` names it: `auto`, `cpu` or `cuda`.
    pub device: String,
    /// A folder on each machine for copies of the trials.
    pub node_cache: Option<PathBuf>,
}

/// What was handed to Slurm.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The number of the array's job.
    pub array: String,
    /// The number of the job that collects.
    pub collects: String,
    /// How many tasks the array has.
    pub tasks: usize,
}

/// Submits what is left, and returns at once.
pub(super) fn run(work: &mut Work<'_>, out: &Path, options: &SlurmOptions, env: &Env) -> Result<Submission> {
    let folder = full(out)?;
    submitted::must_be_over(&folder)?;
    let jobs = options.jobs.unwrap_or(USUAL_TASKS);
    let tasks = tasks::divide(&work.list, &folder, jobs);
    let submitted = SubmittedArray {
        program: options.program.clone(),
        options: options::of(&options.sbatch)?,
        jobs,
        device: options.device.clone(),
        precision: env.precision.to_string(),
        cache: match &env.cache {
            CacheFolder::Usual => None,
            CacheFolder::At(folder) => Some(full(folder)?),
            CacheFolder::Nowhere => Some("none".into()),
        },
        node_cache: options.node_cache.as_deref().map(full).transpose()?,
        array: String::new(),
        collects: String::new(),
        attempts: 0,
        missing: left(&work.list, &folder),
    };
    let given = tasks::share(work, &tasks, &folder, env).and_then(|()| submitted.submit(&folder, &tasks));
    let submitted = given.inspect_err(|_| {
        // Of a benchmark that never began nothing stays.
        if work.list.items().all(|(_, item)| item.outcome(&folder).is_none()) {
            tasks::clear(&folder);
        }
    })?;
    Ok(Submission { array: submitted.array, collects: submitted.collects, tasks: tasks.len() })
}

/// Submits what is missing once more; whether there was anything, and hope.
pub(super) fn again(list: &WorkList, folder: &Path) -> Result<bool> {
    let folder = &full(folder)?;
    let Some(before) = SubmittedArray::read(folder)? else { return Ok(false) };
    let missing = left(list, folder);
    let attempts = if missing < before.missing { 0 } else { before.attempts + 1 };
    let tasks = tasks::divide(list, folder, before.jobs);
    if tasks.is_empty() || attempts >= ATTEMPTS {
        return Ok(false);
    }
    SubmittedArray { attempts, missing, ..before }.submit(folder, &tasks)?;
    Ok(true)
}

fn left(list: &WorkList, folder: &Path) -> usize {
    list.items().filter(|(_, item)| item.outcome(folder).is_none()).count()
}

/// The full path, as jobs need it: they may begin elsewhere.
fn full(path: &Path) -> Result<PathBuf> {
    absolute(path).while_doing(|| format!("the full path of {} is not known", path.display()))
}
