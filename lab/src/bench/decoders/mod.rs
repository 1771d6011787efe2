//! `cargo lab bench decoders`: how long each decoder takes to learn and to decode, against its peer in Python.
//!
//! Decoders are those of the registry. A peer is an entry of the same name in one of two scripts, `python/bench_decoders.py` for networks and
//! `python/classic/bench_decoders.py` for the rest; a decoder without one is measured alone. Some networks have a second one,
//! braindecode's own class, where braindecode can be installed.

mod report;

use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, stderr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use ptsm_data::Source;
use ptsm_data::arrays::write_trials;
use ptsm_data::simulate::{Cohort, SimulatedTask};
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_signal::{Layout, Pipeline};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::others::ProcessorTime;
use super::process::Worker;
use crate::python::{CLASSIC, MODELS, Python};
use crate::{shell, worker};
use report::{Report, Row, Side};

#[derive(Args)]
pub(crate) struct Options {
    /// Only these decoders [default: all of the registry].
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    models: Vec<String>,
    /// Turns of each side.
    #[arg(long, default_value = "3", value_name = "N")]
    rounds: NonZeroUsize,
    /// Threads of each side.
    #[arg(long, default_value = "2", value_name = "N")]
    threads: NonZeroUsize,
    /// Epochs a network is trained for.
    #[arg(long, default_value = "2", value_name = "N")]
    epochs: NonZeroUsize,
    /// Also put the table into `docs/performance.md`.
    #[arg(long)]
    write: bool,
}

/// What a side is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) decoder: String,
    /// Trials in a `.npz` file.
    pub(crate) data: PathBuf,
    /// All settings of our decoder; the peer takes what it understands.
    pub(crate) settings: Value,
    pub(crate) threads: usize,
    /// Subjects by number.
    pub(crate) train: BTreeSet<u32>,
    pub(crate) validation: BTreeSet<u32>,
    pub(crate) test: BTreeSet<u32>,
}

/// What a side answers when it has fitted once; the peers' side one for each peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FirstFit {
    /// What works there; nothing where there is no peer.
    pub(crate) peer: Option<String>,
    /// Why there is none.
    pub(crate) why: Option<String>,
    /// On the test subjects.
    pub(crate) accuracy: Option<f64>,
    /// Numbers that decode; nothing where nobody counts them.
    pub(crate) parameters: Option<usize>,
}

/// What a side answers after a turn, the peers' side one for each peer there is: each time it fitted and each time it decoded all trials.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TurnTimes {
    pub(crate) fit_ms: Vec<f64>,
    pub(crate) predict_ms: Vec<f64>,
}

/// Simulated subjects, of whom the last are test subjects and those before them validation subjects.
const SUBJECTS: u32 = 12;
const TRIALS: u32 = 40;
const VALIDATION: usize = 2;
const TEST: usize = 2;

pub(crate) fn run(options: &Options) -> Result<()> {
    let methods: Vec<&Method> = match &options.models[..] {
        [] => METHODS.iter().collect(),
        names => names.iter().map(|name| Ok(find(name)?)).collect::<Result<_>>()?,
    };
    progress("simulating subjects");
    let folder = shell::target().join("bench");
    fs::create_dir_all(&folder)?;
    let (layout, mut request) = cohort(&folder.join("decoders.npz"), options.threads.get())?;
    progress("looking after the peers' virtual environments");
    // Networks' peers need PyTorch, which is large: only where a network is asked for.
    let deep = |method: &Method| Ok::<_, anyhow::Error>(method.defaults(&layout)?.get("training").is_some());
    let classic = Python::ready(&CLASSIC)?;
    let networks = if methods.iter().map(|m| deep(m)).collect::<Result<Vec<_>>>()?.contains(&true) {
        let python = Python::ready(&MODELS)?;
        if let Err(error) = python.also("braindecode.txt") {
            eprintln!("going on without braindecode: {error:#}");
        }
        Some(python)
    } else {
        None
    };
    progress("building our worker");
    shell::capture(&mut shell::cargo(["build", "--release", "--locked", "--package", "lab"]))?;
    let ours = shell::target().join("release").join(format!("lab{}", std::env::consts::EXE_SUFFIX));
    let before = ProcessorTime::now([]);
    let mut report = Report::new(&classic, networks.as_ref(), &layout, &request, options)?;
    for method in methods {
        let deep = deep(method)?;
        request.decoder = method.name.into();
        request.settings = settings(method, &layout, options.epochs.get())?;
        let python = networks.as_ref().filter(|_| deep).unwrap_or(&classic);
        let mut own = Command::new(&ours);
        own.arg("decoding").env("RAYON_NUM_THREADS", request.threads.to_string());
        let row = compare(&request, deep, own, python.script("bench_decoders.py"), options.rounds.get())?;
        report.rows.push(row);
    }
    report.others = ProcessorTime::now([]).zip(before).map(|(after, before)| after.others_since(before));
    println!("{report}");
    let json = folder.join("decoders.json");
    fs::write(&json, serde_json::to_string_pretty(&report)? + "\n")
        .with_context(|| format!("{} cannot be written", shell::relative(&json)))?;
    println!("every time: {}", shell::relative(&json));
    if options.write { report.write() } else { Ok(()) }
}

/// So many epochs, none of them left out and none mirrored, so that both sides do the same.
fn settings(method: &Method, layout: &Layout, epochs: usize) -> Result<Value> {
    let mut settings = method.defaults(layout)?;
    for (part, key, value) in [
        ("training", "epochs", json!(epochs)),
        ("training", "patience", Value::Null),
        ("training", "symmetry", json!("none")),
        ("augment", "mirror", json!(0.0)),
    ] {
        if let Some(known) = settings.get_mut(part).and_then(|part| part.get_mut(key)) {
            *known = value;
        }
    }
    Ok(settings)
}

/// Simulated subjects in a file, and which of them are for training, validation and test.
fn cohort(file: &Path, threads: usize) -> Result<(Layout, Request)> {
    let cohort = Cohort {
        subjects: SUBJECTS,
        sessions: 1,
        runs: 1,
        trials: TRIALS,
        rate_hz: 250.0,
        ..Cohort::of(SimulatedTask::Imagery)
    };
    // Broadband: classic decoders filter by themselves.
    let pipeline = Pipeline { band: None, window_s: [0.0, 2.0], ..cohort.pipeline() };
    let source = Source::Simulated { cohort: Box::new(cohort), note: None };
    let trials = source.load(Some(&pipeline), None)?.trials;
    write_trials(file, &trials)?;
    let all: Vec<u32> = worker::decoding::numbers(trials.all().subjects()).into_iter().collect();
    let (rest, test) = all.split_at(all.len() - TEST);
    let (train, validation) = rest.split_at(rest.len() - VALIDATION);
    let set = |subjects: &[u32]| subjects.iter().copied().collect();
    let request = Request {
        decoder: String::new(),
        data: file.to_path_buf(),
        settings: Value::Null,
        threads,
        train: set(train),
        validation: set(validation),
        test: set(test),
    };
    Ok((trials.layout().clone(), request))
}

/// Both sides of one decoder, in turns.
fn compare(request: &Request, deep: bool, ours: Command, mut theirs: Command, rounds: usize) -> Result<Row> {
    let name = &request.decoder;
    progress(name);
    for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        theirs.env(variable, request.threads.to_string());
    }
    let mut own = Worker::spawn(ours, format!("ours ({name})"))?;
    let mut ours = Side::new(own.ask(request)?);
    let mut peer = Worker::spawn(theirs, format!("peer ({name})"))?;
    let (there, missing): (Vec<FirstFit>, Vec<FirstFit>) =
        peer.ask::<Vec<FirstFit>>(request)?.into_iter().partition(|ready| ready.peer.is_some());
    let mut theirs: Vec<Side> = there.into_iter().map(Side::new).collect();
    for _ in 0..rounds {
        ours.add(own.ask(&"turn")?);
        let turns: Vec<TurnTimes> = peer.ask(&"turn")?;
        theirs.iter_mut().zip(turns).for_each(|(side, turn)| side.add(turn));
    }
    own.quit()?;
    peer.quit()?;
    let why = missing.into_iter().filter_map(|ready| ready.why).collect();
    Ok(Row { decoder: name.clone(), deep, why, ours, theirs })
}

/// A line for someone who watches; a log should hold results only.
fn progress(line: &str) {
    if stderr().is_terminal() {
        eprintln!("{line}");
    }
}
