//! What was submitted, and everything needed to submit it again.

use std::path::{Path, PathBuf};

use ptsm_io::atomic::replace;
use serde::{Deserialize, Serialize};

use super::super::tasks;
use super::options::{cluster, places};
use super::programs::{program, queued, sbatch, scancel};
use crate::error::{Error, ErrorContext, Result};

/// Where it is written down, in the benchmark's folder, until everything is done.
pub(in super::super) const SUBMITTED: &str = "slurm.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmittedArray {
    /// The program, as all machines find it.
    pub(super) program: PathBuf,
    /// What was asked of `sbatch` besides.
    pub(super) options: Vec<String>,
    /// Tasks at once.
    pub(super) jobs: usize,
    pub(super) device: String,
    pub(super) precision: String,
    /// Where prepared trials and compiled kernels are kept; the usual place without it.
    pub(super) cache: Option<PathBuf>,
    /// A folder on each machine for copies of the trials.
    pub(super) node_cache: Option<PathBuf>,
    /// Number of the array's job, and of the job that collects.
    pub(super) array: String,
    pub(super) collects: String,
    /// How often it was submitted without a fit having been done since.
    pub(super) attempts: usize,
    /// Fits that were missing when it was submitted.
    pub(super) missing: usize,
}

/// Refuses a folder whose jobs are still in the queue.
pub(super) fn must_be_over(folder: &Path) -> Result<()> {
    let mut before = SubmittedArray::read(folder)?;
    while let Some(known) = before {
        let queued =
            queued(&[&known.array, &known.collects], &cluster(&known.options)).while_doing(|| {
                format!(
                    "{} has jobs with Slurm (should they be over, remove {SUBMITTED} from it)",
                    folder.display()
                )
            })?;
        if let Some(job) = queued {
            return Err(Error::request(
                format!("job {job} of this benchmark is still in the queue"),
                format!(
                    "wait for it (`ptsm status` tells how far it is), or end it: scancel {} {}",
                    known.collects, known.array
                ),
            ));
        }
        // The job that collects may have submitted more before it ended.
        let now = SubmittedArray::read(folder)?;
        before = now.filter(|now| *now != known);
    }
    Ok(())
}

impl SubmittedArray {
    pub(super) fn read(folder: &Path) -> Result<Option<SubmittedArray>> {
        let path = folder.join(SUBMITTED);
        if !path.exists() {
            return Ok(None);
        }
        let cannot = || format!("{} cannot be read", path.display());
        Ok(Some(serde_json::from_slice(&std::fs::read(&path).while_doing(cannot)?).while_doing(cannot)?))
    }

    /// Writes the scripts and hands them to Slurm, both or none.
    pub(super) fn submit(mut self, folder: &Path, tasks: &[tasks::FitGroup]) -> Result<SubmittedArray> {
        tasks::write(folder, tasks)?;
        let logs = folder.join(tasks::LOGS);
        std::fs::create_dir_all(&logs).while_doing(|| format!("{} cannot be made", logs.display()))?;
        for (name, text) in [("work.sh", self.work(folder)?), ("collect.sh", self.collect(folder)?)] {
            replace(&logs.join(name), text.as_bytes())?;
        }
        let mut jobs = vec![];
        match self.hand_over(folder, &logs, tasks.len(), &mut jobs) {
            Ok(()) => Ok(self),
            Err(error) if jobs.is_empty() => Err(error),
            // Nobody would collect.
            Err(error) => match scancel(&jobs, &cluster(&self.options)) {
                Ok(()) => Err(error),
                Err(_) => Err(Error::request(
                    format!("{error}; and job {} cannot be cancelled", jobs.join(" ")),
                    format!("cancel it before you try again: scancel {}", jobs.join(" ")),
                )),
            },
        }
    }

    /// Submits both jobs and writes their numbers down; `jobs` are those that Slurm has taken, whatever comes after.
    fn hand_over(&mut self, folder: &Path, logs: &Path, tasks: usize, jobs: &mut Vec<String>) -> Result<()> {
        let array = format!("--array=0-{}%{}", tasks - 1, self.jobs);
        self.array = sbatch(
            program("sbatch")
                .args(["--parsable", "--job-name=ptsm", &array, "--open-mode=append"])
                .arg(log(logs, "task-%a.log")?)
                .args(&self.options)
                .arg(logs.join("work.sh")),
        )?;
        jobs.push(self.array.clone());
        // The job that collects computes nothing, so that it asks for nothing.
        let after = format!("--dependency=afterany:{}", self.array);
        self.collects = sbatch(
            program("sbatch")
                .args(["--parsable", "--job-name=ptsm-collect", &after, "--open-mode=append"])
                .arg(log(logs, "collect.log")?)
                .args(places(&self.options))
                .arg(logs.join("collect.sh")),
        )?;
        // Whoever collects is cancelled first: it would submit what is cancelled.
        jobs.insert(0, self.collects.clone());
        let path = folder.join(SUBMITTED);
        let bytes = serde_json::to_vec_pretty(&self)
            .while_doing(|| format!("{} cannot be written", path.display()))?;
        Ok(replace(&path, &bytes)?)
    }

    /// The script of a task.
    fn work(&self, folder: &Path) -> Result<String> {
        let (program, place) = (quoted(&self.program)?, quoted(folder)?);
        let mut options = format!("--device {} --precision {}", self.device, self.precision);
        for (name, path) in [("--cache", &self.cache), ("--node-cache", &self.node_cache)] {
            if let Some(path) = path {
                options += &format!(" {name} {}", quoted(path)?);
            }
        }
        Ok(format!(
            "#!/bin/sh\n# One part of the work; `tasks.json` says which.\n\
             exec {program} work {place} --task \"$SLURM_ARRAY_TASK_ID\" --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" {options} --quiet\n"
        ))
    }

    /// The script of the job after them.
    fn collect(&self, folder: &Path) -> Result<String> {
        let (program, place) = (quoted(&self.program)?, quoted(folder)?);
        Ok(format!(
            "#!/bin/sh\n# Collects what there is and submits what is missing once more.\n\
             exec {program} collect {place} --resubmit --quiet\n"
        ))
    }
}

/// The option for where a job's words go. In a folder's name `%` means nothing, in `name` it does.
fn log(logs: &Path, name: &str) -> Result<String> {
    Ok(format!("--output={}/{name}", text(logs)?.replace('%', "%%")))
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> Result<String> {
    Ok(format!("'{}'", text(path)?.replace('\'', "'\\''")))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::request(
            format!("{} cannot be written in a script: it is not UTF-8", path.display()),
            "give the folder another name",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn paths_survive_a_shell() {
        let path = "/a b/it's $HOME";
        let output = Command::new("sh")
            .args(["-c", &format!("printf %s {}", quoted(Path::new(path)).unwrap())])
            .output();
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), path);
    }
}
