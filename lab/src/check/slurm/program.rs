//! `ptsm`, run on the cluster's machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::cluster::Cluster;
use crate::shell::capture;

/// What is done: a decoder that takes no time, and one that takes seconds.
const BENCHMARK: &str = "benchmark --data cohort --models csp-lda,eegnet --protocol kfold:3 --seeds 2 --set training.epochs=20 --device cpu --json";

/// What a benchmark leaves that may not depend on who did it.
const RESULTS: [&str; 7] =
    ["results.jsonl", "results.csv", "summary.csv", "tables.md", "tables.tex", "work.json", "benchmark.toml"];

pub(super) struct Program<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) path: PathBuf,
}

/// What was submitted.
pub(super) struct Job {
    pub(super) array: u32,
    pub(super) collects: u32,
    pub(super) tasks: usize,
}

/// How many fits are how far.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) done: usize,
    pub(super) running: usize,
    pub(super) missing: usize,
}

impl Program<'_> {
    /// What it writes; where it fails, its complaint is the error.
    pub(super) fn run<'s>(&self, arguments: impl IntoIterator<Item = &'s str>) -> Result<String> {
        capture(self.cluster.command(&self.path).env("PTSM_CACHE", "none").args(arguments))
    }

    /// The benchmark with its results in `out`.
    pub(super) fn benchmark(&self, out: &str, options: &[&str]) -> Result<String> {
        self.run(BENCHMARK.split(' ').chain(["--out", out]).chain(options.iter().copied()))
    }

    pub(super) fn status(&self, out: &str) -> Result<Counts> {
        let status: Value = serde_json::from_str(&self.run(["status", out, "--json"])?)?;
        let count = |key: &str| number(&status[key]).with_context(|| format!("`ptsm status` has no `{key}`"));
        Ok(Counts { done: count("done")?, running: count("running")?, missing: count("missing")? })
    }

    /// Writes other numbers of jobs into a benchmark's folder.
    pub(super) fn rename_jobs(&self, out: &str, job: &Job, by: u32) -> Result<()> {
        let path = self.folder(out).join("slurm.json");
        let mut text = fs::read_to_string(&path).context("what was submitted")?;
        for number in [job.array, job.collects] {
            let (old, new) = (format!("\"{number}\""), format!("\"{}\"", number + by));
            ensure!(text.contains(&old), "slurm.json lacks job {number}: {text}");
            text = text.replace(&old, &new);
        }
        Ok(fs::write(path, text)?)
    }

    /// All files below a folder.
    pub(super) fn files(&self, name: &str) -> Result<BTreeSet<String>> {
        let mut all = BTreeSet::new();
        list(&self.folder(name), "", &mut all).with_context(|| format!("the files of `{name}`"))?;
        Ok(all)
    }

    /// Two benchmarks have left the same files, and the same results to the byte.
    pub(super) fn must_equal(&self, one: &str, other: &str) -> Result<()> {
        let (first, second) = (self.files(one)?, self.files(other)?);
        let differ: Vec<&String> = first.symmetric_difference(&second).collect();
        ensure!(differ.is_empty(), "only one of `{one}` and `{other}` has {differ:?}");
        for name in RESULTS {
            let read =
                |out: &str| fs::read(self.folder(out).join(name)).with_context(|| format!("{out}/{name}"));
            ensure!(read(one)? == read(other)?, "{name} differs between `{one}` and `{other}`");
        }
        Ok(())
    }

    /// A folder of results.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.cluster.folder().join(name)
    }
}

impl Job {
    /// What `ptsm benchmark --launcher slurm --json` says.
    pub(super) fn parse(answer: &str) -> Result<Job> {
        let document: Value = serde_json::from_str(answer)?;
        let job = |key: &str| document[key].as_str().and_then(|text| text.parse().ok());
        let all = (job("array"), job("collects"), number(&document["tasks"]));
        let (Some(array), Some(collects), Some(tasks)) = all else {
            anyhow::bail!("`ptsm benchmark` said {answer}");
        };
        Ok(Job { array, collects, tasks })
    }
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|n| n.try_into().ok())
}

fn list(folder: &Path, before: &str, all: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), &format!("{name}/"), all)?,
            false => drop(all.insert(name)),
        }
    }
    Ok(())
}
