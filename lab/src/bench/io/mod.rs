//! `cargo lab bench io`: recordings to trials, against MNE and SciPy.

mod entrant;
mod report;

use std::fs;
use std::io::{IsTerminal, stderr};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::others::ProcessorTime;
use super::process::Worker;
use crate::python::{Python, READERS};
use crate::recordings;
use crate::shell;
use entrant::{Entrant, Programs};
use report::Report;

#[derive(Args)]
pub(crate) struct Options {
    /// Folder with `physionet-mi/S001/S001R04.edf` and so on [default: unpacked into target/data].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Only the first files of all.
    #[arg(long, value_name = "N")]
    files: Option<NonZeroUsize>,
    /// Turns of each side.
    #[arg(long, default_value = "5", value_name = "N")]
    rounds: NonZeroUsize,
    /// Also put the tables into `docs/performance.md`.
    #[arg(long)]
    write: bool,
}

/// What a side answers when it is ready.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ReaderReady {
    /// Always true.
    pub(crate) ready: bool,
    /// Resident memory before any work.
    pub(crate) after_import_rss_mib: f64,
}

/// What a side answers when all trials are there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ReadingResult {
    /// Wall time.
    pub(crate) ms: f64,
    /// Processor time of all threads and helpers; with helpers their start too.
    pub(crate) cpu_ms: f64,
    /// Processor time since the process began.
    pub(crate) whole_cpu_ms: f64,
    /// Peak of the resident memory.
    pub(crate) peak_rss_mib: f64,
    /// How many trials there are.
    pub(crate) trials: usize,
    /// The mean of all absolute values, in microvolts: whether all of them did the same.
    pub(crate) mean_uv: f64,
}

/// One side's turns.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReaderResults {
    pub(crate) entrant: Entrant,
    pub(crate) ready: ReaderReady,
    pub(crate) turns: Vec<ReadingResult>,
}

/// How far means may differ: filters begin and end a recording in their own ways.
const ALIKE: f64 = 0.01;

pub(crate) fn run(options: &Options) -> Result<()> {
    let data = match &options.data {
        Some(data) => data.clone(),
        None => recordings::unpacked()?.context(
            "the recordings are not here; `--data DIR` says where they are: DIR/physionet-mi/S001/S001R04.edf",
        )?,
    };
    progress("looking after the peers' virtual environment");
    let python = Python::ready(&READERS)?;
    progress("building our worker");
    shell::capture(&mut shell::cargo(["build", "--release", "--locked", "--package", "lab"]))?;
    let programs = Programs::new(python, &data, options.files.map(NonZeroUsize::get))?;
    let mut measured: Vec<ReaderResults> = vec![];
    let before = ProcessorTime::now([]);
    let mut own_ms = 0.0;
    for round in 0..options.rounds.get() {
        let mut order = Entrant::all();
        if round % 2 == 1 {
            order.reverse();
        }
        for entrant in order {
            progress(&format!("round {} of {}: {entrant}", round + 1, options.rounds));
            let (ready, done) = turn(&programs, entrant)?;
            own_ms += done.whole_cpu_ms;
            match measured.iter_mut().find(|m| m.entrant == entrant) {
                Some(known) => known.turns.push(done),
                None => measured.push(ReaderResults { entrant, ready, turns: vec![done] }),
            }
        }
    }
    same_work(&measured)?;
    let others =
        ProcessorTime::now([]).zip(before).map(|(after, before)| after.others_beside(before, own_ms));
    let report = Report::new(&programs, measured, others)?;
    println!("{report}");
    let json = shell::target().join("bench").join("io.json");
    fs::create_dir_all(shell::target().join("bench"))?;
    fs::write(&json, serde_json::to_string_pretty(&report)? + "\n")
        .with_context(|| format!("{} cannot be written", shell::relative(&json)))?;
    println!("every time: {}", shell::relative(&json));
    if options.write { report.write() } else { Ok(()) }
}

/// One process from its start to its end.
fn turn(programs: &Programs, entrant: Entrant) -> Result<(ReaderReady, ReadingResult)> {
    programs.make_ready(entrant)?;
    let mut worker = Worker::spawn(programs.command(entrant), entrant.to_string())?;
    let ready: ReaderReady = worker.ask(&programs.request(entrant))?;
    let done: ReadingResult = worker.ask(&"go")?;
    worker.ended()?;
    Ok((ready, done))
}

/// Sides that did something else would make every number void.
fn same_work(measured: &[ReaderResults]) -> Result<()> {
    let Some(ours) = measured.first().and_then(|m| m.turns.first()) else { return Ok(()) };
    for side in measured {
        for turn in &side.turns {
            let alike = (turn.mean_uv / ours.mean_uv - 1.0).abs() < ALIKE;
            if turn.trials != ours.trials || !alike {
                bail!(
                    "not the same trials: {} has {} with a mean of {} uV, {} has {} with {} uV",
                    measured[0].entrant,
                    ours.trials,
                    ours.mean_uv,
                    side.entrant,
                    turn.trials,
                    turn.mean_uv
                );
            }
        }
    }
    Ok(())
}

/// A line for someone who watches; a log should hold results only.
fn progress(line: &str) {
    if stderr().is_terminal() {
        eprintln!("{line} ..");
    }
}
