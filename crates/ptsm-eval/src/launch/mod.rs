//! Who does the work of a benchmark: this process, several on this machine, or the machines of a cluster with Slurm.
//!
//! A plan becomes a list of work in a folder. Workers read the list, map the trials and write outcomes; what there is, is collected.

mod collect;
mod estimate;
mod local;
mod slurm;
mod tasks;
mod work;
mod worker;

use std::path::{Path, PathBuf};

use crate::benchmark::FeatureReader;
use crate::env::Env;
use crate::error::{Error, ErrorContext, Result};
use crate::folder::{Folder, WRITTEN};
use crate::plan::Plan;
use crate::results::BenchmarkResults;
use crate::settings::without_null;

pub use collect::{Collection, collect};
pub use estimate::{EntryEstimate, Estimate};
pub use slurm::{SlurmOptions, Submission};
pub use worker::{WorkerTask, work};

use work::Work;

/// Who does the work.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Launcher {
    /// This process.
    #[default]
    InProcess,
    /// Several processes on this machine, each with its share of the threads.
    Processes {
        /// The program `ptsm`, which is started with `work`.
        program: PathBuf,
        /// How many at once.
        jobs: usize,
    },
    /// The machines of a cluster that share the folder of the results.
    Slurm(SlurmOptions),
}

/// What came of running a benchmark.
#[derive(Debug)]
pub enum LaunchResult {
    /// Everything was tried; what there is, is written into the folder.
    Finished(Box<BenchmarkResults>),
    /// Others do the work.
    Submitted(Submission),
}

/// Runs a benchmark in a folder, or goes on with it: only what is missing is done.
pub fn run(
    plan: &Plan,
    out: &Path,
    launcher: &Launcher,
    reader: &FeatureReader,
    env: &Env,
) -> Result<LaunchResult> {
    if let Launcher::Processes { jobs: 0, .. } = launcher {
        return Err(Error::request("`--jobs 0` leaves no process to work", "give at least 1"));
    }
    slurm::check(out, launcher)?;
    let mut work = Work::of(plan, env)?;
    let value = serde_json::to_value(plan).while_doing(|| "the plan cannot be written down".into())?;
    let text =
        toml::to_string(&without_null(&value)).while_doing(|| "the plan cannot be written as TOML".into())?;
    let folder = Folder::open_benchmark(out, &format!("{WRITTEN}{text}"))?;
    folder.lock_note().into_iter().for_each(|note| env.note_once(note));
    work.list.write(out)?;
    work.note_held_back(env);
    let done = match launcher {
        Launcher::Slurm(options) if !work.is_done(out) => {
            return slurm::run(&mut work, out, options, env).map(LaunchResult::Submitted);
        }
        Launcher::Slurm(_) => Ok(()),
        Launcher::InProcess | Launcher::Processes { jobs: 1, .. } => work.here(out, reader, env),
        Launcher::Processes { program, jobs } => local::run(&mut work, program, *jobs, out, env),
    };
    // What there is, is collected also when it was stopped.
    let results = BenchmarkResults::of(plan.clone(), work.list.clone(), out);
    let written = results.write();
    done?;
    written?;
    work.list.tidy(out);
    tasks::clear(out);
    folder.clear();
    drop(folder);
    Ok(LaunchResult::Finished(Box::new(results)))
}

/// What would be done, and about how long it would take with so many processes. Nothing is written.
pub fn estimate(plan: &Plan, out: &Path, jobs: usize, reader: &FeatureReader, env: &Env) -> Result<Estimate> {
    let mut work = Work::of(plan, env)?;
    work.note_held_back(env);
    estimate::of(&mut work, out, jobs, reader, env)
}
