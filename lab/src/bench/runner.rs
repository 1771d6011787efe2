//! `cargo lab bench runner`: what a benchmark costs beside the training, and how much memory it takes with more folds and processes.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use super::page;
use crate::shell::{cargo, stream, target};

#[derive(Args)]
pub(crate) struct Options {
    /// Also put the table into `docs/performance.md`.
    #[arg(long)]
    write: bool,
}

const MARKS: [&str; 2] = ["<!-- runner -->", "<!-- end of runner -->"];
/// Subjects of the simulated cohort.
const SUBJECTS: usize = 32;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// One benchmark and what it took.
struct Row {
    folds: usize,
    jobs: usize,
    wall_s: f64,
    /// Of it, with fits under way, the scoring of subjects included.
    training_s: Option<f64>,
    /// Most memory of all its processes together, what they share counted once.
    memory: u64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    stream(&mut cargo(["build", "--release", "--locked", "-p", "ptsm-cli"]))?;
    let program = target().join("release/ptsm");
    let folder = target().join("bench/runner");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let subjects = SUBJECTS.to_string();
    let data = folder.join("cohort");
    stream(
        Command::new(&program)
            .args(["data", "simulate", "--quiet", "--subjects", &subjects, "--out"])
            .arg(&data),
    )?;
    let trials: u64 =
        fs::read_dir(&data)?.flatten().filter_map(|entry| entry.metadata().ok()).map(|m| m.len()).sum();
    let mut rows = vec![];
    for (folds, jobs) in [(2, 1), (8, 1), (32, 1), (8, 2), (8, 4)] {
        rows.push(measure(&program, &folder, folds, jobs)?);
        println!("{}", line(rows.last().context("a row was measured")?));
    }
    let text = report(&rows, trials);
    println!("\n{text}");
    if options.write { page::put(MARKS, &text) } else { Ok(()) }
}

fn measure(program: &Path, folder: &Path, folds: usize, jobs: usize) -> Result<Row> {
    let out = folder.join(format!("{folds}-{jobs}"));
    let (data, protocol) = (folder.join("cohort"), format!("kfold:{folds}"));
    let mut command = Command::new(program);
    command
        .args([
            "benchmark",
            "--quiet",
            "--models",
            "eegnet",
            "--protocol",
            &protocol,
            "--jobs",
            &jobs.to_string(),
        ])
        .args(["--set", "training.patience=none", "--device", "cpu", "--data"])
        .arg(&data)
        // As many steps in all, however many folds there are.
        .args(["--set", &format!("training.epochs={}", 64 / folds), "--out"])
        .arg(&out)
        .stdout(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().context("the program cannot be started")?;
    let memory = watch(&mut child)?;
    let wall_s = began.elapsed().as_secs_f64();
    Ok(Row { folds, jobs, wall_s, training_s: training(&out, jobs)?, memory })
}

/// Waits for the end; the most memory on the way.
fn watch(child: &mut Child) -> Result<u64> {
    let mut most = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("the benchmark failed: {status}");
            }
            return Ok(most);
        }
        most = most.max(family(child.id()).into_iter().filter_map(proportional).sum());
        thread::sleep(LOOK);
    }
}

/// A process and those it has started.
fn family(of: u32) -> Vec<u32> {
    let mut found = vec![of];
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after.split_whitespace().nth(1) == Some(&of.to_string()) {
            found.push(id);
        }
    }
    found
}

/// Memory of a process; of what several share, each has its part.
fn proportional(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = text.lines().find(|line| line.starts_with("Pss:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Seconds until the last fit was ready, where all of them are handed to the decoder at once; none where several processes share them.
fn training(out: &Path, jobs: usize) -> Result<Option<f64>> {
    if jobs > 1 {
        return Ok(None);
    }
    let mut last: f64 = 0.0;
    for entry in fs::read_dir(out.join("items"))? {
        let outcome: Value = serde_json::from_slice(&fs::read(entry?.path())?)?;
        last = last.max(outcome["elapsed_s"].as_f64().context("an outcome lacks `elapsed_s`")?);
    }
    Ok(Some(last))
}

fn line(row: &Row) -> String {
    let [training, beside] = match row.training_s {
        Some(s) => [format!("{s:.1}"), format!("{:.1}", 100.0 * (row.wall_s - s) / s)],
        None => ["-".into(), "-".into()],
    };
    format!(
        "| {} | {} | {:.1} | {training} | {beside} | {:.0} |",
        row.folds,
        row.jobs,
        row.wall_s,
        row.memory as f64 / 1e6
    )
}

fn report(rows: &[Row], trials: u64) -> String {
    let mut text = format!(
        "`cargo lab bench runner`: `eegnet` on {SUBJECTS} simulated subjects ({:.0} MB of trials), as many training steps in every row.\n\n\
         | folds | processes | whole s | training s | beside % | memory MB |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n",
        trials as f64 / 1e6
    );
    for row in rows {
        text += &format!("{}\n", line(row));
    }
    text + "\nWhole: from the program's start to its end, reading the data and writing all results included. Training: until the last fit was scored. Memory: the most that all \
            processes held together, what they share counted once.\n"
}
