//! One file per command.

mod adapt;
mod benchmark;
mod convert;
mod data;
mod demo;
mod doctor;
mod evaluate;
mod man;
mod models;
mod predict;
mod presets;
mod report;
mod status;
mod train;
mod tune;

use std::path::Path;
use std::sync::Arc;

use clap::{CommandFactory, ValueEnum};
use ptsm::engine::Precision;
use ptsm::eval::{CacheFolder, Env};
use ptsm::{DeviceChoice, open_device};

use crate::args::{BenchmarkArgs, Command, DataCommand, DeviceName, Launcher, Line};
use crate::exit::fail;
use crate::log;
use crate::memory;
use crate::output::{self, Output};
use crate::progress::{Terminal, listen};

/// What every command has at hand.
pub(crate) struct Session {
    pub(crate) output: Output,
    pub(crate) env: Env,
    /// The device as `--device` names it, for the machines of a cluster.
    pub(crate) device_choice: String,
}

pub(crate) fn run(line: Line) -> anyhow::Result<()> {
    let general = line.general;
    let threads = match general.threads {
        Some(0) => return Err(fail("`--threads 0` leaves no thread to work", "give at least 1")),
        // More than any machine has: asking for them would hang.
        Some(n) if n > 1024 => return Err(fail(format!("`--threads {n}` is too many"), "give at most 1024")),
        Some(n) => n,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let output = Output::new(general.json, general.quiet);
    log::start(general.verbose, general.log.as_deref())?;
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
    let (choice, own) = match &line.command {
        // The machines of the cluster have GPUs; the one that submits need not, and computes nothing.
        Command::Benchmark(args) if submits(args) && general.device != DeviceName::Cpu => {
            (DeviceChoice::Cpu, Precision::F32)
        }
        // They compute nothing, wherever they run.
        Command::Doctor { .. }
        | Command::Man { .. }
        | Command::Status(_)
        | Command::Collect(_)
        | Command::Presets { .. } => (DeviceChoice::Cpu, Precision::F32),
        _ => (general.device.choice(trains), precision),
    };
    let cache = match &general.cache {
        None => CacheFolder::Usual,
        Some(given) if given == Path::new("none") => CacheFolder::Nowhere,
        Some(given) => CacheFolder::At(given.clone()),
    };
    let kernels = cache.path().map(|folder| folder.join("kernels"));
    let opened = open_device(choice, own, threads, kernels.as_deref())?;
    if !opened.note.is_empty() {
        output.note(format!("note: {}", opened.note));
    }
    let mut env = Env::on(opened.device).with_events(Arc::new(Terminal::new(output)));
    env.precision = precision;
    env.threads = general.threads;
    env.cache = cache;
    env.memory_bytes = memory::bound()?;
    env.strict = strict;
    // The others end at once when told to.
    let stops_by_itself = match &line.command {
        Command::Data(DataCommand::Get(_)) => true,
        Command::Models
        | Command::Data(_)
        | Command::Predict(_)
        | Command::Convert(_)
        | Command::Status(_)
        | Command::Collect(_)
        | Command::Presets { .. }
        | Command::Doctor { .. }
        | Command::Man { .. }
        | Command::Completions { .. } => false,
        _ => true,
    };
    if stops_by_itself {
        listen(&env.cancellation)?;
    }
    let device_choice = general.device.to_possible_value();
    let device_choice = device_choice.map_or_else(|| "auto".into(), |value| value.get_name().to_string());
    let session = Session { output, env, device_choice };
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
        Command::Doctor { root } => doctor::run(root.as_deref(), &session),
        Command::Man { out } => man::run(&out, &session),
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
