//! Slurm's programs: how they are called and what their answers mean.

use std::process::{Command, Output};

use crate::error::{Error, Result};

/// What `squeue` says of a job that ended so long ago that Slurm has forgotten it.
const FORGOTTEN: &str = "Invalid job id";

/// Whether jobs can be submitted from this machine.
pub(super) fn are_there() -> Result<()> {
    call(program("sbatch").arg("--version")).map(drop)
}

/// One of Slurm's programs. What it is told here counts, not what a job that starts it was given.
pub(super) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_remove("SLURM_CPUS_PER_TASK").env_remove("SQUEUE_STATES");
    command
}

/// Hands a script to Slurm; the number of its job.
pub(super) fn sbatch(command: &mut Command) -> Result<String> {
    let output = call(command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Some clusters greet first. Where there are several clusters, the name of one follows.
    let last = text.trim().lines().last().unwrap_or_default();
    let job = last.split(';').next().unwrap_or_default().trim().to_string();
    if job.is_empty() || !job.chars().all(|c| c.is_ascii_digit()) {
        return Err(Error::request(
            format!("`sbatch` said `{last}`, which is no number of a job"),
            "see with `squeue` whether there is a job `ptsm` all the same, and cancel it before you try again",
        ));
    }
    Ok(job)
}

/// The first of some jobs that is still in the queue, as `7 (RUNNING)`. Not to know it is an error: it may well be.
pub(super) fn queued(jobs: &[&str], cluster: &[String]) -> Result<Option<String>> {
    let arguments = ["--noheader", "--format=%F %T", "--jobs", &jobs.join(",")];
    let output = start(program("squeue").args(arguments).args(cluster))?;
    if !output.status.success() {
        let said = complaint(&output);
        if said.contains(FORGOTTEN) {
            return Ok(None);
        }
        return Err(Error::request(
            format!("`squeue` cannot tell whether job {} is over: {said}", jobs.join(" or ")),
            "try again when Slurm answers",
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // Where there are several clusters, a line names each.
    let mut states = text.lines().filter_map(|line| line.trim().split_once(' '));
    let first = states.find(|(job, _)| jobs.contains(job));
    Ok(first.map(|(job, state)| format!("{job} ({})", state.trim())))
}

/// Ends jobs.
pub(super) fn scancel(jobs: &[String], cluster: &[String]) -> Result<()> {
    call(program("scancel").args(cluster).args(jobs)).map(drop)
}

/// Starts a program and waits for its good end.
fn call(command: &mut Command) -> Result<Output> {
    let output = start(command)?;
    if output.status.success() {
        return Ok(output);
    }
    Err(Error::request(
        format!("`{}` refused: {}", command.get_program().to_string_lossy(), complaint(&output)),
        "see whether the options given with `--sbatch` fit this cluster",
    ))
}

fn start(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    tracing::debug!(?command, "starting");
    command.output().map_err(|error| {
        Error::request(
            format!("`{name}` cannot be started: {error}"),
            "start this on a machine of the cluster where Slurm's programs are, or leave `--launcher slurm` out",
        )
    })
}

/// Its complaint in one line.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    match text.trim() {
        "" => output.status.to_string(),
        text => text.lines().map(str::trim).collect::<Vec<_>>().join("; "),
    }
}
