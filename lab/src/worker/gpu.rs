//! Our side of the comparison on a GPU: every case in one process, a JSON line each as soon as it is there.

use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use ptsm_decode::TrialShape;
use ptsm_engine::{
    Adam, Cpu, Cuda, Decay, Device, Feed, Isa, Parameters, Precision, ProfileEntry, RowTable, Step,
};

use super::data::{Random, draw};
use crate::bench::gpu::line::{Case, Kernel, Line, Network, Trainer, Trial, Work};
use crate::bench::machine;

const CLASSES: usize = 2;
const SUBJECTS: usize = 84;
/// Resident trials that batches are drawn from.
const TRIALS: usize = 1024;
/// Batches that are used in turn.
const BATCHES: usize = 8;
const RATE: f64 = 1e-3;
const WARM_UP: usize = 5;
const ROUNDS: usize = 10;
const ROUND_S: f64 = 0.1;

#[derive(Args)]
pub(crate) struct Options {
    /// Networks.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ptsm-each,ptsm-last,eegnet,deepconvnet")]
    networks: Vec<Network>,
    /// Channels x samples.
    #[arg(long, value_delimiter = ',', default_value = "64x400,62x1000,20x1000")]
    shapes: Vec<Trial>,
    /// Networks that train at once.
    #[arg(long, value_delimiter = ',', default_value = "1,20,5,100")]
    replicas: Vec<usize>,
    /// Trials in a batch.
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// What operands of large products are rounded to.
    #[arg(long, default_value = "f32")]
    precision: Precision,
    /// Also tell the kernels of PTSM at the first shape, for 1 and 20 networks.
    #[arg(long)]
    profile: bool,
    /// On one thread of the processor, to try this program out.
    #[arg(long)]
    cpu: bool,
    /// After so many seconds no further case is begun.
    #[arg(long, default_value_t = 600.0)]
    seconds: f64,
}

/// `lab gpu`: measures and tells.
pub(crate) fn run(options: &Options) -> Result<()> {
    let begun = Instant::now();
    // Of this process alone, so that it begins empty.
    let folder = std::env::temp_dir().join(format!("ptsm-bench-{}", std::process::id()));
    let (device, gpu) = if options.cpu {
        (Device::Cpu(Cpu::with(1, Isa::best())?), "no GPU".to_string())
    } else {
        let cuda = Cuda::new(Some(&folder))?;
        let name = cuda.name().to_string();
        (Device::Cuda(cuda), name)
    };
    let open_s = begun.elapsed().as_secs_f64();
    tell(&Line::Machine { gpu, cpu: machine::cpu(), open_s })?;
    let mut outcome = Ok(());
    for (i, &trial) in options.shapes.iter().enumerate() {
        let bench = Bench { options, begun, folder: &folder, device: &device, data: Data::new(trial), trial };
        outcome = outcome.and_then(|()| bench.run(i == 0));
    }
    // What is left of it does no harm.
    let _ = fs::remove_dir_all(&folder);
    outcome
}

fn tell(line: &Line) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{}", serde_json::to_string(line)?)?;
    Ok(out.flush()?)
}

/// Trials of one shape.
struct Data {
    x: Vec<f32>,
    task: Vec<u32>,
    subject: Vec<u32>,
}

impl Data {
    fn new(trial: Trial) -> Data {
        let n = TRIALS * trial.channels * trial.time;
        Data {
            x: (0..n).map(|i| ((i * 7919 % 10_007) as f32 * 0.61).sin()).collect(),
            task: (0..TRIALS as u32).map(|i| i % CLASSES as u32).collect(),
            subject: (0..TRIALS as u32).map(|i| i % SUBJECTS as u32).collect(),
        }
    }
}

/// A step that has run once, what it works on, and the seconds that took.
type WarmStep<'a> = (Step<f32>, Parameters<f32>, RowTable<'a, f32>, f64);

/// All networks at one shape.
struct Bench<'a> {
    options: &'a Options,
    begun: Instant,
    folder: &'a PathBuf,
    device: &'a Device,
    data: Data,
    trial: Trial,
}

impl Bench<'_> {
    fn run(&self, first_shape: bool) -> Result<()> {
        for &network in &self.options.networks {
            let ptsm = matches!(network, Network::PtsmEach | Network::PtsmLast);
            for (i, &replicas) in self.options.replicas.iter().enumerate() {
                let work = Work { network, trial: self.trial, batch: self.options.batch, replicas };
                let failed = |reason| Line::Failed { trainer: Trainer::Ours, work, reason };
                if self.begun.elapsed().as_secs_f64() > self.options.seconds {
                    tell(&failed("no time was left".into()))?;
                    continue;
                }
                let profile = self.options.profile && first_shape && ptsm && [1, 20].contains(&replicas);
                // A case that does not fit is a result, too.
                if let Err(error) = self.case(work, i == 0, profile) {
                    tell(&failed(format!("{error:#}")))?;
                }
            }
        }
        Ok(())
    }

    fn feeds<'f>(
        &'f self,
        table: &'f RowTable<'f, f32>,
        rows: &'f [u32],
        subjects: bool,
    ) -> Vec<(&'static str, Feed<'f, f32>)> {
        let mut feeds = vec![
            ("x", Feed::Table { table, rows }),
            ("task", Feed::LabelRows { data: &self.data.task, rows }),
        ];
        if subjects {
            feeds.push(("subject", Feed::LabelRows { data: &self.data.subject, rows }));
        }
        feeds
    }

    fn case(&self, work: Work, new: bool, profile: bool) -> Result<()> {
        let Work { network, batch, replicas, trial: Trial { channels, time } } = work;
        let shape = TrialShape { channels, time, classes: CLASSES, subjects: SUBJECTS };
        let network = network.model().build(shape.batch(batch))?;
        let adam = Adam { decay: Decay::Gradient(1e-4), clip: Some(5.0), ..Adam::default() };
        let spec = network.step(adam);
        let seeds: Vec<u64> = (1..=replicas as u64).collect();
        let subjects = network.graph.inputs().iter().any(|i| i.name == "subject");
        let (rates, active) = (vec![RATE; replicas], vec![true; replicas]);
        let mut random = Random(8);
        let mut order: Vec<u32> = (0..TRIALS as u32).collect();
        let batches: Vec<Vec<u32>> = (0..BATCHES)
            .map(|_| {
                let mut rows = vec![0; replicas * batch];
                rows.chunks_mut(batch).for_each(|rows| draw(&mut random, &mut order, rows));
                rows
            })
            .collect();
        // As a process that has just begun: what an opened GPU has loaded it keeps.
        let ready = || -> Result<WarmStep<'_>> {
            let device = match self.device {
                Device::Cuda(_) => {
                    let cuda = Cuda::new(Some(self.folder))?;
                    Device::Cuda(cuda.with_precision(self.options.precision)?)
                }
                cpu => cpu.clone(),
            };
            let table = RowTable::new(self.data.x.chunks(channels * time).collect())?;
            let mut parameters = Parameters::new(&network.graph, &seeds)?;
            let start = Instant::now();
            let mut step = Step::<f32>::new(&network.graph, &spec, replicas, device)?;
            step.run(&mut parameters, &self.feeds(&table, &batches[0], subjects), &rates, &active)?;
            Ok((step, parameters, table, start.elapsed().as_secs_f64()))
        };
        let ready_new_s = match new {
            true => {
                empty(self.folder)?;
                Some(ready()?.3)
            }
            false => None,
        };
        let (mut step, mut parameters, table, ready_s) = ready()?;
        let mut turn = 0;
        // As on the other side, nothing is waited for within a round that the program itself does not wait for.
        let mut round = |steps: usize| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..steps {
                turn += 1;
                while step.in_flight() >= step.max_in_flight() {
                    step.finish()?;
                }
                step.start(
                    &mut parameters,
                    &self.feeds(&table, &batches[turn % BATCHES], subjects),
                    &rates,
                    &active,
                )?;
            }
            while step.in_flight() > 0 {
                step.finish()?;
            }
            let loss = step.output(&parameters, replicas - 1, 0)[0];
            anyhow::ensure!(loss.is_finite(), "the loss is {loss}");
            Ok(start.elapsed().as_secs_f64() / steps as f64)
        };
        round(WARM_UP)?;
        let steps = ((ROUND_S / round(WARM_UP)?).round() as usize).max(1);
        let mut ms = (0..ROUNDS).map(|_| Ok(round(steps)? * 1e3)).collect::<Result<Vec<f64>>>()?;
        ms.sort_by(f64::total_cmp);
        tell(&Line::Case(Case {
            trainer: Trainer::Ours,
            work,
            ms: (ms[(ROUNDS - 1) / 2] + ms[ROUNDS / 2]) / 2.0,
            quartiles_ms: [ms[ROUNDS / 4], ms[ROUNDS - 1 - ROUNDS / 4]],
            steps: steps * ROUNDS,
            parameters: network.graph.parameter_count(),
            mib: step.bytes() as f64 / f64::from(1 << 20),
            ready_s,
            ready_new_s,
            kernels: Some(step.program().len()),
        }))?;
        if profile {
            let spent = step.profile(&parameters, &self.feeds(&table, &batches[0], subjects))?;
            tell(&Line::Profile { work, kernels: spent.iter().map(kernel).collect() })?;
        }
        Ok(())
    }
}

fn kernel(spent: &ProfileEntry) -> Kernel {
    Kernel {
        name: spent.name.chars().take(200).collect(),
        kind: spent.kind.into(),
        us: spent.seconds * 1e6,
        multiply_adds: spent.multiply_adds,
        bytes: spent.bytes,
    }
}

/// Leaves no kernel behind.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{} cannot be emptied", folder.display()))?;
    }
    Ok(())
}
