//! What Slurm says about jobs and the tasks of array jobs.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::{Context, Result};

/// What `squeue --Format` is asked for, in the order of [`Task::parse`].
pub(super) const FORMAT: &str = "ArrayJobID:|,ArrayTaskID:|,State:|,NodeList:|,Reason:|,exit_code:|";

/// A job, or one task of an array job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// The number that `sbatch` told, the same for all tasks of an array.
    pub(crate) job: u32,
    /// Its place in the array; none for a job that is no array.
    pub(crate) index: Option<u32>,
    /// In Slurm's words: `PENDING`, `RUNNING`, `COMPLETING`, `COMPLETED`, `FAILED`, `CANCELLED`, `NODE_FAIL`, ...
    pub(crate) state: String,
    /// Where it runs or ran; empty before.
    pub(crate) node: String,
    /// Why it waits or failed, in Slurm's words.
    pub(crate) reason: String,
    /// How its script ended; success before it has.
    pub(crate) exit: ExitStatus,
}

impl Task {
    /// One line of `squeue`.
    pub(super) fn parse(line: &str) -> Result<Task> {
        let parts: Vec<&str> = line.trim_end().split('|').collect();
        let [job, index, state, node, reason, exit, ..] = parts[..] else {
            anyhow::bail!("`squeue` wrote `{line}`, which has too few parts");
        };
        let wrong = || format!("`squeue` wrote `{line}`");
        Ok(Task {
            job: job.parse().with_context(wrong)?,
            index: if index == "N/A" { None } else { Some(index.parse().with_context(wrong)?) },
            state: state.into(),
            node: node.into(),
            reason: reason.into(),
            exit: ExitStatus::from_raw(exit.parse().with_context(wrong)?),
        })
    }

    /// Whether Slurm is done with it, well or not.
    pub(crate) fn ended(&self) -> bool {
        !["PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED"]
            .contains(&self.state.as_str())
    }

    pub(crate) fn runs(&self) -> bool {
        self.state == "RUNNING"
    }
}

/// `7_2`, as Slurm's programs take and print it.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}_{index}", self.job),
            None => write!(f, "{}", self.job),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_squeue_are_read() {
        let task = Task::parse("12|3|FAILED|node2|NonZeroExitCode|768|").unwrap();
        assert_eq!((task.job, task.index, task.node.as_str()), (12, Some(3), "node2"));
        assert_eq!(task.exit.code(), Some(3));
        assert!(task.ended() && !task.runs());
        assert_eq!(task.to_string(), "12_3");
        let killed = Task::parse("16|N/A|CANCELLED||None|15|").unwrap();
        assert_eq!((killed.exit.signal(), killed.to_string().as_str()), (Some(15), "16"));
        let waits =
            Task::parse("4|N/A|PENDING||Nodes required for job are DOWN, DRAINED or reserved|0|").unwrap();
        assert!(!waits.ended() && waits.node.is_empty());
    }

    #[test]
    fn a_line_of_another_shape_is_reported() {
        for line in ["", "slurm_load_jobs error", "1|2|RUNNING|node1|None|x|"] {
            assert!(Task::parse(line).unwrap_err().to_string().contains(line), "{line}");
        }
    }
}
