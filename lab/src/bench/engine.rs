//! `cargo lab bench engine`: who is faster, by how much, with how much memory.

use std::fs;
use std::io::{IsTerminal, stderr};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::case::{self, Candidate};
use super::machine::Machine;
use super::measure::in_turns;
use super::process::Launcher;
use super::report::{CaseComparison, EquivarianceCost, Report, ThreadScaling};
use crate::protocol::{Framework, Shape};
use crate::python::{MODELS, Python};
use crate::shell;

/// Steps of inference for each one of training: they are that much shorter.
const SHORTER: usize = 25;

#[derive(Args)]
pub(crate) struct Options {
    /// A smoke run: the first shape, 2 rounds of 2 steps.
    #[arg(long)]
    quick: bool,
    /// Where all results go [default: target/bench/engine.json].
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Batch x channels x samples; the first is also the one of the scaling over replicas.
    #[arg(long, value_delimiter = ',', default_value = "64x64x640,64x62x1000,64x20x1000")]
    shapes: Vec<Shape>,
    /// Networks.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "ptsm-last,ptsm-each,eegnet,deepconvnet3"
    )]
    models: Vec<Candidate>,
    /// Whom to compare with: the first two when training, the last when inferring.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "eager,compile,onnx")]
    frameworks: Vec<Framework>,
    /// Training steps a worker makes in its turn; inference makes 25 times as many [default: 4, quick 2].
    #[arg(long)]
    steps: Option<NonZeroUsize>,
    /// Turns of each worker [default: 5, quick 2].
    #[arg(long)]
    rounds: Option<NonZeroUsize>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let run = Run::new(options)?;
    let mut report = Report::new(Machine::examine(&run.launcher.python, &progress)?, run.rounds, run.steps);
    println!("{}", report.about());
    run.training(&mut report)?;
    println!("{}", report.training_table());
    println!("{}", report.memory_table());
    run.inference(&mut report)?;
    println!("{}", report.inference_table());
    run.equivariance(&mut report)?;
    println!("{}", report.equivariance_table());
    println!("{}", report.equivariant_inference_table());
    run.scaling(&mut report)?;
    println!("{}", report.scaling_table());
    if let Some(warning) = report.warning() {
        println!("{warning}");
    }
    println!("every time and setting: {}", shell::relative(&run.json));
    Ok(())
}

/// Options with their defaults filled in, and the programs to run.
struct Run<'a> {
    options: &'a Options,
    shapes: &'a [Shape],
    rounds: usize,
    steps: usize,
    json: PathBuf,
    launcher: Launcher,
}

impl Run<'_> {
    fn new(options: &Options) -> Result<Run<'_>> {
        let or = |given: Option<NonZeroUsize>, usual: usize, quick: usize| {
            given.map_or(if options.quick { quick } else { usual }, NonZeroUsize::get)
        };
        let shapes = if options.quick { &options.shapes[..1] } else { &options.shapes[..] };
        let json = match &options.json {
            Some(path) => path.clone(),
            None => shell::target().join("bench").join("engine.json"),
        };
        progress("looking after the peers' virtual environment");
        let python = Python::ready(&MODELS)?;
        progress("building our worker");
        let mut build = shell::cargo(["build", "--release", "--locked", "--package", "lab"]);
        shell::capture(&mut build)?;
        let ours = shell::target().join("release").join(format!("lab{}", std::env::consts::EXE_SUFFIX));
        let launcher = Launcher { ours, python };
        Ok(Run {
            options,
            shapes,
            rounds: or(options.rounds, 5, 2),
            steps: or(options.steps, 4, 2),
            json,
            launcher,
        })
    }

    /// Every network at every shape.
    fn cases(&self) -> impl Iterator<Item = (Candidate, Shape)> {
        self.options.models.iter().flat_map(|&model| self.shapes.iter().map(move |&shape| (model, shape)))
    }

    fn training(&self, report: &mut Report) -> Result<()> {
        for (model, shape) in self.cases() {
            progress(&format!("training {model} {shape}"));
            let entrants = case::training(model, shape, report.machine.threads, &self.options.frameworks);
            let outcome = in_turns(&self.launcher, entrants, self.rounds, self.steps)?;
            report.training.push(CaseComparison::training(model, shape, outcome, &report.machine));
            self.save(report)?;
        }
        Ok(())
    }

    fn inference(&self, report: &mut Report) -> Result<()> {
        for (model, shape) in self.cases() {
            progress(&format!("inference {model} {shape}"));
            let entrants = case::inference(model, shape, false, &self.options.frameworks);
            let outcome = in_turns(&self.launcher, entrants, self.rounds, self.steps * SHORTER)?;
            report.inference.push(CaseComparison::inference(model, shape, outcome));
            self.save(report)?;
        }
        Ok(())
    }

    /// What it costs to see every trial from both sides.
    fn equivariance(&self, report: &mut Report) -> Result<()> {
        for (model, shape) in self.cases() {
            progress(&format!("equivariant {model} {shape}"));
            let entrants = case::equivariance(model, shape, report.machine.threads);
            let outcome = in_turns(&self.launcher, entrants, self.rounds, self.steps)?;
            report.equivariance.push(EquivarianceCost::new(model, shape, outcome));
            let entrants = case::inference(model, shape, true, &self.options.frameworks);
            let outcome = in_turns(&self.launcher, entrants, self.rounds, self.steps * SHORTER)?;
            report.equivariant_inference.push(CaseComparison::inference(model, shape, outcome));
            self.save(report)?;
        }
        Ok(())
    }

    fn scaling(&self, report: &mut Report) -> Result<()> {
        if report.machine.threads < 2 {
            return Ok(());
        }
        let shape = self.shapes[0];
        let measured = [Candidate::PtsmLast, Candidate::Eegnet];
        for &model in self.options.models.iter().filter(|m| measured.contains(m)) {
            progress(&format!("scaling {model} {shape}"));
            let outcome = in_turns(&self.launcher, case::scaling(model, shape), self.rounds, self.steps)?;
            report.scaling.push(ThreadScaling::new(model, shape, outcome));
            self.save(report)?;
        }
        Ok(())
    }

    /// Written after every case, so that a failure late in a run does not cost what came before.
    fn save(&self, report: &Report) -> Result<()> {
        let place = || format!("{} cannot be written", shell::relative(&self.json));
        if let Some(folder) = self.json.parent().filter(|f| !f.as_os_str().is_empty()) {
            fs::create_dir_all(folder).with_context(place)?;
        }
        fs::write(&self.json, serde_json::to_string_pretty(report)? + "\n").with_context(place)
    }
}

/// A line for someone who watches; a log should hold results only.
fn progress(line: &str) {
    if stderr().is_terminal() {
        eprintln!("{line} ..");
    }
}
