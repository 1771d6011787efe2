//! A cluster with Slurm: one task of an array for each portion of the work, and a job after it that collects.
//!
//! The benchmark's folder is shared by all machines. Tasks are the same processes as on one machine; each reads the list of work, maps the
//! trials (from a copy on its own machine where a folder for it is named) and writes outcomes. A task that is killed leaves some
//! missing: the job that collects submits those once more, as does the same command given again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::Context;
use ptsm_eval::WorkList;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Work, tasks};
use crate::args::BenchmarkArgs;
use crate::commands::Session;
use crate::exit::told;
use crate::output;

/// What was submitted, in the benchmark's folder.
const SUBMITTED: &str = "slurm.json";
/// How often what is missing is submitted again by itself.
const ATTEMPTS: usize = 3;
/// Tasks at once, where nobody says how many.
const USUAL_TASKS: usize = 16;

/// Everything needed to submit again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Submitted {
    /// The program, as all machines find it.
    program: PathBuf,
    /// What was asked of `sbatch` besides.
    options: Vec<String>,
    /// Tasks at once.
    jobs: usize,
    device: String,
    precision: String,
    /// A folder on each machine for copies of the trials.
    node_cache: Option<PathBuf>,
    /// Number of the array's job, and of the job that collects.
    array: String,
    collects: String,
    /// How often it was submitted without a fit having been done since.
    attempts: usize,
    /// Fits that were missing when it was submitted.
    missing: usize,
}

/// Submits what is left, and returns at once.
pub(super) fn run(work: &mut Work<'_>, args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    let folder = std::path::absolute(&args.out).context("the folder's full path is not known")?;
    if let Some(before) = Submitted::read(&folder)? {
        before.must_be_over()?;
    }
    let jobs = args.jobs.unwrap_or(USUAL_TASKS);
    let tasks = tasks::divide(&work.list, &folder, jobs);
    if tasks.is_empty() {
        return Ok(());
    }
    tasks::share(work, &tasks, &folder, session)?;
    let submitted = Submitted {
        program: std::env::current_exe().context("this program cannot be found")?,
        options: args.sbatch.iter().flat_map(|text| text.split_whitespace().map(String::from)).collect(),
        jobs,
        device: session.wanted_device.clone(),
        precision: session.device.precision().to_string(),
        node_cache: args.node_cache.clone(),
        array: String::new(),
        collects: String::new(),
        attempts: 0,
        missing: left(&work.list, &folder),
    };
    let submitted = submitted.submit(&folder, &tasks)?;
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
    let folder = &std::path::absolute(folder).context("the folder's full path is not known")?;
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

impl Submitted {
    fn read(folder: &Path) -> anyhow::Result<Option<Submitted>> {
        let path = folder.join(SUBMITTED);
        if !path.exists() {
            return Ok(None);
        }
        let cannot = || format!("{} cannot be read", path.display());
        Ok(Some(serde_json::from_slice(&std::fs::read(&path).with_context(cannot)?).with_context(cannot)?))
    }

    /// Two arrays at once would do the same work.
    fn must_be_over(&self) -> anyhow::Result<()> {
        let jobs = [self.array.as_str(), &self.collects].join(",");
        let queue = call(Command::new("squeue").args(["--noheader", "--format=%A %T", "--jobs", &jobs]));
        // Slurm forgets jobs that ended a while ago, and says so with an error.
        let Ok(queue) = queue else { return Ok(()) };
        let text = String::from_utf8_lossy(&queue.stdout);
        if text.trim().is_empty() {
            return Ok(());
        }
        Err(told(
            format!("job {} of this benchmark is still in the queue", self.array),
            format!(
                "wait for it (`ptsm status` tells how far it is), or end it: scancel {} {}",
                self.array, self.collects
            ),
        ))
    }

    /// Writes the scripts and hands them to Slurm.
    fn submit(mut self, folder: &Path, tasks: &[tasks::Task]) -> anyhow::Result<Submitted> {
        tasks::write(folder, tasks)?;
        let logs = folder.join(tasks::LOGS);
        std::fs::create_dir_all(&logs).with_context(|| format!("{} cannot be made", logs.display()))?;
        let (program, place) = (quoted(&self.program)?, quoted(folder)?);
        let cache = match &self.node_cache {
            Some(cache) => format!(" --node-cache {}", quoted(cache)?),
            None => String::new(),
        };
        let work = format!(
            "#!/bin/sh\n# One part of the work; `tasks.json` says which.\nexec {program} work {place} --task \"$SLURM_ARRAY_TASK_ID\" --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" --device {} --precision {}{cache} --quiet\n",
            self.device, self.precision
        );
        let collect = format!(
            "#!/bin/sh\n# Collects what there is and submits what is missing once more.\nexec {program} collect {place} --resubmit --quiet\n"
        );
        let scripts = [("work.sh", work), ("collect.sh", collect)];
        for (name, text) in &scripts {
            output::write(&logs.join(name), text.as_bytes())?;
        }
        let array = format!("--array=0-{}%{}", tasks.len() - 1, self.jobs);
        let log = |name: &str| format!("--output={}", logs.join(name).display());
        self.array = sbatch(
            Command::new("sbatch")
                .args(["--parsable", "--job-name=ptsm", &array, &log("task-%a.log"), "--open-mode=append"])
                .args(&self.options)
                .arg(logs.join("work.sh")),
        )?;
        // The job that collects computes nothing, so that it asks for nothing.
        let after = format!("--dependency=afterany:{}", self.array);
        let collects = sbatch(
            Command::new("sbatch")
                .args([
                    "--parsable",
                    "--job-name=ptsm-collect",
                    &after,
                    &log("collect.log"),
                    "--open-mode=append",
                ])
                .args(self.options.iter().filter(|option| is_place(option)))
                .arg(logs.join("collect.sh")),
        );
        self.collects = match collects {
            Ok(job) => job,
            Err(error) => {
                // Nobody would collect.
                let _ = call(Command::new("scancel").arg(&self.array));
                return Err(error);
            }
        };
        output::write(&folder.join(SUBMITTED), &serde_json::to_vec_pretty(&self)?)?;
        Ok(self)
    }
}

/// Whether an option says where and for whom a job runs, not what it needs.
fn is_place(option: &str) -> bool {
    ["--partition=", "--account=", "--qos=", "--clusters=", "--export="]
        .iter()
        .any(|name| option.starts_with(name))
}

/// Hands a script to Slurm; the number of its job.
fn sbatch(command: &mut Command) -> anyhow::Result<String> {
    let output = call(command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    // With several clusters its name follows.
    let job = text.trim().split(';').next().unwrap_or_default().to_string();
    if job.is_empty() || !job.chars().all(|c| c.is_ascii_digit()) {
        return Err(told(
            format!("`sbatch` said `{}`, which is no number of a job", text.trim()),
            "see whether Slurm is well",
        ));
    }
    Ok(job)
}

/// Starts one of Slurm's programs and waits for its end.
fn call(command: &mut Command) -> anyhow::Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        told(
            format!("`{name}` cannot be started: {error}"),
            "start this on a machine of the cluster where Slurm's programs are, or leave `--launcher slurm` out",
        )
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(told(
        format!("`{name}` refused: {said}"),
        "see whether the options given with `--sbatch` fit this cluster",
    ))
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> anyhow::Result<String> {
    match path.to_str() {
        Some(text) => Ok(format!("'{}'", text.replace('\'', "'\\''"))),
        None => Err(told(
            format!("{} cannot be written in a script: it is not UTF-8", path.display()),
            "give the folder another name",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_shell() {
        let path = "/a b/it's $HOME";
        let output = Command::new("sh")
            .args(["-c", &format!("printf %s {}", quoted(Path::new(path)).unwrap())])
            .output();
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), path);
    }

    #[test]
    fn the_job_that_collects_goes_to_the_same_place() {
        let given = ["--partition=gpu", "--gres=gpu:1", "--account=me", "--time=2:00:00"];
        let kept: Vec<&str> = given.into_iter().filter(|option| is_place(option)).collect();
        assert_eq!(kept, ["--partition=gpu", "--account=me"]);
    }
}
