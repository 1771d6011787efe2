//! One file per command.

mod adapt;
mod benchmark;
mod convert;
mod data;
mod demo;
mod evaluate;
mod models;
mod predict;
mod presets;
mod report;
mod status;
mod train;
mod tune;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::CommandFactory;
use ptsm_decode::FittedDecoder;
use ptsm_decode::file::{self, Card};
use ptsm_decode::registry::find;
use ptsm_engine::{Cpu, Device, Isa, Precision};

use crate::args::{BenchmarkArgs, Command, DataCommand, Launcher, Line};
use crate::device::{self, Wanted};
use crate::exit::told;
use crate::folder;
use crate::output::{self, Output};
use crate::progress::Stop;

/// What every command has at hand.
pub(crate) struct Session {
    pub(crate) output: Output,
    pub(crate) device: Device,
    /// What operands of large products are rounded to, here or on the machines that work.
    pub(crate) precision: Precision,
    pub(crate) stop: Stop,
    /// Whether data in which something is wrong or odd are refused.
    pub(crate) strict: bool,
    /// What was told about data, which is told once.
    pub(crate) told: Mutex<BTreeSet<String>>,
    /// What was said about threads and the cache.
    pub(crate) threads: Option<usize>,
    pub(crate) cache: Option<PathBuf>,
    /// What was said about the device.
    pub(crate) wanted_device: String,
}

pub(crate) use benchmark::Compared;
pub(crate) use train::seeds;

impl Session {
    /// A line about data, on standard error, once however often they are read.
    pub(crate) fn tell_once(&self, text: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(text.clone()) {
            self.output.note(text);
        }
    }

    /// The device as `--device` names it.
    pub(crate) fn device_name(&self) -> &'static str {
        match self.device {
            Device::Cpu(_) => "cpu",
            Device::Cuda(_) => "cuda",
        }
    }
}

pub(crate) fn run(line: Line) -> anyhow::Result<()> {
    let general = line.general;
    let threads = match general.threads {
        Some(0) => return Err(told("`--threads 0` leaves nobody to work", "give at least 1")),
        // More than any machine has: asking for them would hang.
        Some(n) if n > 1024 => return Err(told(format!("`--threads {n}` is too many"), "give at most 1024")),
        Some(n) => n,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let output = Output::new(general.json, general.quiet);
    let trains = matches!(
        line.command,
        Command::Train(_) | Command::Benchmark(_) | Command::Tune(_) | Command::Work(_) | Command::Demo(_)
    );
    let precision = match &line.command {
        Command::Train(args) => args.settings.precision,
        Command::Benchmark(args) => args.settings.precision,
        Command::Tune(args) => args.settings.precision,
        Command::Work(args) => args.precision,
        _ => Precision::F32,
    };
    let strict = match &line.command {
        Command::Train(args) => args.settings.strict,
        Command::Benchmark(args) => args.settings.strict,
        Command::Tune(args) => args.settings.strict,
        _ => false,
    };
    let cpu = Cpu::with(threads, Isa::best())?;
    let device = match &line.command {
        // The machines of the cluster have GPUs; the one that submits need not.
        Command::Benchmark(args) if submits(args) && general.device != Wanted::Cpu => Device::Cpu(cpu),
        // They compute nothing, wherever they run.
        Command::Status(_) | Command::Collect(_) | Command::Presets { .. } => Device::Cpu(cpu),
        _ => device::open(general.device, precision, cpu, trains, general.cache.as_deref(), output)?,
    };
    let session = Session {
        output,
        device,
        precision,
        // The others end at once when told to.
        stop: match &line.command {
            Command::Data(DataCommand::Get(_)) => Stop::listen()?,
            Command::Models
            | Command::Data(_)
            | Command::Predict(_)
            | Command::Convert(_)
            | Command::Status(_)
            | Command::Collect(_)
            | Command::Presets { .. }
            | Command::Completions { .. } => Stop::never(),
            _ => Stop::listen()?,
        },
        strict,
        told: Mutex::default(),
        threads: general.threads,
        cache: general.cache,
        wanted_device: clap::ValueEnum::to_possible_value(&general.device)
            .map_or_else(|| "auto".into(), |value| value.get_name().to_string()),
    };
    match line.command {
        Command::Demo(args) => demo::run(&args, &session),
        Command::Models => models::run(&session),
        Command::Data(command) => data::run(&command, &session),
        Command::Train(args) => train::run(&args, &session),
        Command::Predict(args) => predict::run(&args, &session),
        Command::Evaluate(args) => evaluate::run(&args, &session),
        Command::Explain(args) => report::explain(&args, &session),
        Command::Report(args) => report::run(&args, &session),
        Command::Adapt(args) => adapt::run(&args, &session),
        Command::Benchmark(args) => benchmark::run(&args, &session),
        Command::Tune(args) => tune::run(&args, &session),
        Command::Work(args) => benchmark::work(&args, &session),
        Command::Collect(args) => benchmark::collect(&args, &session),
        Command::Status(args) => status::run(&args, &session),
        Command::Presets { name } => presets::run(name.as_deref(), &session),
        Command::Convert(args) => convert::run(&args, &session),
        Command::Completions { shell } => {
            let mut script = vec![];
            clap_complete::generate(shell, &mut Line::command(), "ptsm", &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }
    }
}

/// Whether other machines do the work.
fn submits(args: &BenchmarkArgs) -> bool {
    args.launcher == Launcher::Slurm && !args.dry_run
}

/// Refuses decoders that have nothing to tune.
fn adapts(card: &Card) -> anyhow::Result<()> {
    if find(&card.decoder)?.adapts {
        return Ok(());
    }
    Err(told(
        format!("`{}` has no personal masks to tune", card.decoder),
        "`ptsm models` says which decoders adapt",
    ))
}

/// A run's decoders with their seeds, and the card they share.
pub(crate) struct Trained {
    pub(crate) decoders: Vec<(u64, Box<dyn FittedDecoder>)>,
    pub(crate) card: Card,
}

impl Trained {
    pub(crate) fn load(run: &Path, device: &Device) -> anyhow::Result<Trained> {
        let mut decoders = vec![];
        let mut shared = None;
        for (seed, path) in folder::models(run)? {
            let (fitted, card) = file::load(&path, device).map_err(|e| match e.hint() {
                Some(_) => e.into(),
                None => told(
                    e.to_string(),
                    "the model is damaged or of another version; copy it again or train again",
                ),
            })?;
            decoders.push((seed, fitted));
            shared.get_or_insert(card);
        }
        let card = shared.ok_or_else(|| told(format!("{} holds no model", run.display()), "train again"))?;
        Ok(Trained { decoders, card })
    }
}
