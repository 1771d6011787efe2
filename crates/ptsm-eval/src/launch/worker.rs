//! One task of a benchmark, in a process of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::tasks;
use crate::benchmark::{Benchmark, FeatureReader, WorkList};
use crate::env::Env;
use crate::error::{Error, Result};

/// Which part of the work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerTask {
    /// Its place in the list of tasks, counted from 0.
    pub task: usize,
    /// A folder on this machine for copies of the trials.
    pub node_cache: Option<PathBuf>,
}

/// Does one task of the benchmark in a folder.
pub fn work(folder: &Path, args: &WorkerTask, reader: &FeatureReader, env: &Env) -> Result<()> {
    let list = WorkList::read(folder)?;
    let all = tasks::read(folder)?;
    let Some(task) = all.get(args.task).filter(|task| task.stage < list.stages.len()) else {
        return Err(Error::request(
            format!("{} has no task {}", folder.display(), args.task),
            "run the benchmark again; it divides the work anew",
        ));
    };
    let (stage, items) = &list.stages[task.stage];
    let keys: BTreeSet<&str> = task.keys.iter().map(String::as_str).collect();
    if items.iter().filter(|item| keys.contains(item.key.as_str())).count() < keys.len() {
        return Err(Error::request(
            format!("task {} is of another list of work", args.task),
            "run the benchmark again; it divides the work anew",
        ));
    }
    if stage.precision != env.device.precision().noted() {
        return Err(Error::request(
            "this device does not compute as exactly as the list of work asks for",
            "give the same `--precision` as to the benchmark",
        ));
    }
    let shared = tasks::shared(&list, task.stage, folder, args.node_cache.as_deref())?;
    let sets = shared.sets();
    let known: BTreeSet<String> = stage.items(sets)?.into_iter().map(|item| item.key).collect();
    if !keys.iter().all(|key| known.contains(*key)) {
        return Err(Error::request(
            "the list of work was made by another version of this program, or changed since",
            "run the benchmark again; it makes the list anew",
        ));
    }
    let benchmark = Benchmark { stage, sets, device: &env.device, folder, ask: Some(reader) };
    let mut fitting = env.watch_fits(&format!("task {}", args.task));
    benchmark.run(&|item| keys.contains(item.key.as_str()), &mut fitting)
}
