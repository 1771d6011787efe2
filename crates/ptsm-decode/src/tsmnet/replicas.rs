//! TSMNet as replicas of the common trainer: one for each thread.

use std::collections::BTreeMap;

use nalgebra::DMatrix;
use ptsm_engine::Device;
use ptsm_signal::Subset;

use super::batches::{DomainPool, Plan, measurable, of_each};
use super::convolution::Traces;
use super::fitted::{FittedTsmNet, NormalisationStatistics};
use super::momentum::Schedule;
use super::network::{DomainBatch, Network, each};
use super::norm::Statistics;
use super::optimizer::Adam;
use super::weights::{Sizes, Weights};
use super::{Normalisation, TsmNet, TsmNetDecoder, check_memory};
use crate::classic::matrices::stacked;
use crate::decoder::{FitSink, Job, Run, Watch};
use crate::error::{Error, Result};
use crate::probabilities::softmax;
use crate::random::{Purpose, stream};
use crate::training::{
    CheckpointFile, Meter, PlannedJob, ReplicaTrainer, Replicas, Score, Snapshot, StepPosition, Tally,
    diverged,
};

/// Trains once per job.
pub(super) fn train(
    decoder: &TsmNetDecoder,
    jobs: &[Job<'_>],
    run: &Run<'_>,
    watch: &mut dyn Watch,
    done: &mut FitSink<'_>,
) -> Result<()> {
    let training = decoder.settings.training.common();
    let (mut tasks, mut planned) = (vec![], vec![]);
    for job in jobs {
        let task = Task::new(decoder, job, run)?;
        planned.push(PlannedJob { job, identity: task.identity(run), steps: task.pool.steps });
        tasks.push(task);
    }
    let replicas = TsmNetReplicas::new(&tasks, run.device);
    let mut meter = Meter::new(&training, &planned);
    let trainer = ReplicaTrainer::new(&training, &planned, 0..jobs.len(), replicas);
    trainer.run(&mut meter, watch, &mut |job, trained| done(job, trained.into_fit(Ok)?))
}

/// A job with all that follows from it.
struct Task<'a> {
    job: &'a Job<'a>,
    settings: &'a TsmNet,
    normalised: Normalisation,
    device: &'a Device,
    sizes: Sizes,
    pool: DomainPool,
    /// The validation trials that are normalised together.
    judged: Vec<Vec<usize>>,
    schedule: Schedule,
    signals: Vec<&'a [f32]>,
    labels: Vec<u32>,
    gain: f64,
}

impl<'a> Task<'a> {
    fn new(decoder: &'a TsmNetDecoder, job: &'a Job<'a>, run: &'a Run<'_>) -> Result<Task<'a>> {
        let TsmNetDecoder { settings, normalised } = decoder;
        let (train, validation) = (job.data.train(), job.data.validation());
        let training = &settings.training;
        training.select.check(validation)?;
        let (pool, share, kept) = match normalised {
            Normalisation::ByDomain => {
                let domains = places(train)?;
                let pool = DomainPool::new(domains, training.batch_domains, training.batch_trials);
                let share = 1.0 / pool.together as f64;
                (pool, share, 0.85)
            }
            Normalisation::Globally => {
                let batch = (training.batch_domains * training.batch_trials).min(train.len());
                (DomainPool::new(vec![(0..train.len()).collect()], 1, batch), 0.1, 0.35)
            }
        };
        let judged = match normalised {
            Normalisation::ByDomain => places(validation)?,
            Normalisation::Globally => vec![(0..validation.len()).collect()],
        };
        let sizes = settings.sizes(train.layout())?;
        check_memory(&sizes, pool.batch(), pool.domains() + train.len().max(validation.len()))?;
        Ok(Task {
            job,
            settings,
            normalised: *normalised,
            device: run.device,
            sizes,
            pool,
            judged,
            schedule: Schedule { momentum: training.momentum, share, kept, epochs: training.epochs },
            gain: settings.network.amplitude_uv / middle_amplitude(train)?,
            signals: train.signals().collect(),
            labels: train.labels(),
        })
    }

    /// All that a checkpoint must agree with.
    fn identity(&self, run: &Run<'_>) -> String {
        let (train, validation) = (self.job.data.train(), self.job.data.validation());
        let identity = serde_json::json!({
            "settings": self.settings,
            "normalised": self.normalised,
            "seed": self.job.seed,
            "train": (train.len(), train.subjects()),
            "validation": (validation.len(), validation.subjects()),
            "data": run.identity,
        });
        identity.to_string()
    }

    fn network<'w>(&'w self, weights: &'w Weights) -> Network<'w, f32> {
        let least = self.settings.network.least_eigenvalue;
        Network::new(&self.sizes, weights, self.gain, least, self.device)
    }
}

/// The trials of each session.
fn places(trials: &Subset<'_>) -> Result<Vec<Vec<usize>>> {
    Ok(measurable(of_each(trials))?.into_iter().map(|(_, places)| places).collect())
}

/// The median over trials of their root mean square over channels and time, each channel centred.
fn middle_amplitude(trials: &Subset<'_>) -> Result<f64> {
    let samples = trials.layout().samples;
    let square = |channel: &[f32]| {
        let mean = channel.iter().map(|&v| f64::from(v)).sum::<f64>() / samples as f64;
        channel.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>()
    };
    let of_one =
        |signal: &[f32]| (signal.chunks(samples).map(square).sum::<f64>() / signal.len() as f64).sqrt();
    let mut all: Vec<f64> = trials.signals().map(of_one).collect();
    all.sort_by(f64::total_cmp);
    let middle = all.get(all.len() / 2).copied().unwrap_or(0.0);
    if middle > 0.0 && middle.is_finite() {
        return Ok(middle);
    }
    Err(Error::trials(
        "half of the training trials are flat",
        "look at the recordings; a flat trial says nothing",
    ))
}

/// Copies of the network, each at a job of its own.
struct TsmNetReplicas<'t, 'a> {
    tasks: &'t [Task<'a>],
    replicas: Vec<Option<Replica<'t, 'a>>>,
    device: &'t Device,
}

impl<'t, 'a> TsmNetReplicas<'t, 'a> {
    fn new(tasks: &'t [Task<'a>], device: &'t Device) -> TsmNetReplicas<'t, 'a> {
        let count = device.threads().min(tasks.len());
        TsmNetReplicas { tasks, replicas: (0..count).map(|_| None).collect(), device }
    }

    fn replica(&self, replica: usize) -> Result<&Replica<'t, 'a>> {
        self.replicas[replica].as_ref().ok_or_else(idle)
    }

    fn replica_mut(&mut self, replica: usize) -> Result<&mut Replica<'t, 'a>> {
        self.replicas[replica].as_mut().ok_or_else(idle)
    }
}

fn idle() -> Error {
    Error::trials(
        "a replica without a job is asked for",
        "this is a mistake in the program; please report it",
    )
}

impl Replicas for TsmNetReplicas<'_, '_> {
    type Model = FittedTsmNet;

    fn count(&self) -> usize {
        self.replicas.len()
    }

    fn loss_names(&self) -> Vec<&'static str> {
        vec!["total"]
    }

    fn assign(&mut self, replica: usize, job: usize) -> Result<()> {
        self.replicas[replica] = Some(Replica::new(&self.tasks[job])?);
        Ok(())
    }

    fn draw_epoch(&mut self, replica: usize, epoch: usize) -> usize {
        let Some(replica) = &mut self.replicas[replica] else { return 0 };
        replica.plan = replica.task.pool.epoch(replica.task.job.seed, epoch);
        replica.plan.len()
    }

    fn step(&mut self, positions: &[Option<StepPosition>], losses: &mut [Vec<f64>]) -> Result<usize> {
        let all = self.replicas.iter_mut().zip(positions).zip(losses);
        let mut working: Vec<_> =
            all.filter_map(|((replica, at), losses)| Some((replica.as_mut()?, (*at)?, losses))).collect();
        let trials = self.device.enter(|| {
            each(self.device, &mut working, |_, (replica, at, losses)| {
                let (loss, trials) = replica.step(*at)?;
                losses[0] += loss;
                Ok(trials)
            })
        });
        Ok(trials?.into_iter().sum())
    }

    fn validate(&mut self, replicas: &[usize]) -> Result<Vec<Score>> {
        let mut selected = replicas.iter().map(|&r| self.replica(r)).collect::<Result<Vec<_>>>()?;
        self.device.enter(|| each(self.device, &mut selected, |_, replica| replica.score()))
    }

    fn keep(&mut self, replica: usize) -> Result<()> {
        let replica = self.replica_mut(replica)?;
        replica.best = replica.weights.clone();
        Ok(())
    }

    fn save(&self, replica: usize) -> Result<Snapshot> {
        let Replica { weights, best, adam, statistics, .. } = self.replica(replica)?;
        let mut snapshot = Snapshot::default();
        let all = [("now", weights), ("best", best), ("first", &adam.first), ("second", &adam.second)];
        for (name, weights) in all {
            snapshot.put(name, &[weights.len(), 1], weights.flat().as_slice());
        }
        // Rows first on disk, columns first in memory.
        let means = stacked(statistics.iter().map(|s| &s.mean));
        snapshot.put("means", &[means.nrows(), means.ncols()], means.transpose().as_slice());
        let variances: Vec<f64> = statistics.iter().map(|s| s.variance).collect();
        snapshot.put("variances", &[variances.len(), 1], &variances);
        snapshot.note("steps", adam.steps);
        Ok(snapshot)
    }

    fn restore(&mut self, replica: usize, from: &CheckpointFile) -> Result<()> {
        let Replica { task, weights, best, adam, statistics, .. } = self.replica_mut(replica)?;
        let (sizes, side) = (&task.sizes, task.sizes.subspace);
        let sized = |name: &str, rows: usize, columns: usize| match from.get::<f64>(name)? {
            values if values.len() == rows * columns && values.iter().all(|v| v.is_finite()) => {
                Ok(DMatrix::from_row_slice(rows, columns, &values))
            }
            _ => Err(from.damaged(format!("`{name}` is not {rows} x {columns} numbers"))),
        };
        for (name, own) in
            [("now", weights), ("best", best), ("first", &mut adam.first), ("second", &mut adam.second)]
        {
            *own = Weights::from_flat(sizes, &sized(name, sizes.parameters(), 1)?);
        }
        adam.steps = from.note("steps")?;
        let count = statistics.len();
        let (means, variances) = (sized("means", count * side, side)?, sized("variances", count, 1)?);
        for (i, own) in statistics.iter_mut().enumerate() {
            *own = Statistics { mean: means.rows(i * side, side).into_owned(), variance: variances[i] };
        }
        Ok(())
    }

    fn take(&mut self, replica: usize) -> Result<FittedTsmNet> {
        self.replicas[replica].take().ok_or_else(idle)?.fitted()
    }
}

/// One copy of the network with all that its training moves.
struct Replica<'t, 'a> {
    task: &'t Task<'a>,
    weights: Weights,
    best: Weights,
    adam: Adam,
    /// Of every domain; where statistics are global, besides those for training the ones for decoding.
    statistics: Vec<Statistics>,
    /// Batches of the present epoch.
    plan: Vec<Plan>,
    traces: Vec<Traces<f32>>,
}

impl<'t, 'a> Replica<'t, 'a> {
    /// Before the first step.
    fn new(task: &'t Task<'a>) -> Result<Replica<'t, 'a>> {
        let weights = Weights::start(&task.sizes, &mut stream(task.job.seed, Purpose::Start, 0, 0))?;
        let sets = task.pool.domains() + usize::from(task.normalised == Normalisation::Globally);
        Ok(Replica {
            task,
            best: weights.clone(),
            weights,
            adam: Adam::new(&task.sizes),
            statistics: vec![Statistics::new(task.sizes.subspace); sets],
            plan: vec![],
            traces: vec![],
        })
    }

    /// One step; answers its loss and its trials. On the device's threads.
    fn step(&mut self, at: StepPosition) -> Result<(f64, usize)> {
        let task = self.task;
        let momenta = task.schedule.at(at.epoch + 1);
        let global = task.normalised == Normalisation::Globally;
        let plan = &self.plan[at.step];
        let mut batches: Vec<DomainBatch<'_>> = plan
            .iter()
            .map(|(domain, places)| DomainBatch {
                signals: places.iter().map(|&place| task.signals[place]).collect(),
                labels: places.iter().map(|&place| task.labels[place]).collect(),
                statistics: self.statistics[*domain].clone(),
                later: global.then(|| self.statistics[1].clone()),
            })
            .collect();
        let network = task.network(&self.weights);
        let (loss, gradient) = network.learn(&mut batches, momenta, &mut self.traces)?;
        if !(loss.is_finite() && gradient.0.iter().flat_map(|m| m.iter()).all(|g| g.is_finite())) {
            return Err(diverged(task.job, self.adam.steps + 1));
        }
        for ((domain, _), batch) in plan.iter().zip(batches) {
            self.statistics[*domain] = batch.statistics;
            if let Some(later) = batch.later {
                self.statistics[1] = later;
            }
        }
        self.adam.step(&mut self.weights, &gradient, at.rate, task.settings.training.weight_decay);
        Ok((loss, plan.iter().map(|(_, places)| places.len()).sum()))
    }

    /// Balanced accuracy and cross-entropy on the validation subjects, whose statistics are found as at test time; none without such. On
    /// the device's threads.
    fn score(&self) -> Result<Score> {
        let (task, classes) = (self.task, self.task.sizes.classes);
        let validation = task.job.data.validation();
        let network = task.network(&self.weights);
        let signals: Vec<&[f32]> = validation.signals().collect();
        let labels = validation.labels();
        let matrices = network.matrices(&signals)?;
        let counted = each(task.device, &mut task.judged.clone(), |_, places| {
            let statistics = match task.normalised {
                Normalisation::Globally => self.statistics[1].clone(),
                Normalisation::ByDomain => Statistics::of(
                    &places.iter().map(|&place| matrices[place].clone()).collect::<Vec<DMatrix<f64>>>(),
                )?,
            };
            let normaliser = statistics.normaliser(self.weights.scale())?;
            let mut tally = Tally::new(classes, task.settings.training.select);
            for &mut place in places {
                tally.add(&softmax(&network.logits(&matrices[place], &normaliser)?), labels[place]);
            }
            Ok(tally)
        })?;
        let mut all = Tally::new(classes, task.settings.training.select);
        counted.iter().for_each(|tally| all.join(tally));
        Ok(all.score())
    }

    /// The decoder that was best.
    fn fitted(self) -> Result<FittedTsmNet> {
        let task = self.task;
        let statistics = match task.normalised {
            Normalisation::ByDomain => NormalisationStatistics::Sessions(BTreeMap::new()),
            Normalisation::Globally => {
                let network = task.network(&self.best);
                let found = task.device.enter(|| Statistics::of(&network.matrices(&task.signals)?));
                NormalisationStatistics::Training(found?)
            }
        };
        Ok(FittedTsmNet {
            settings: task.settings.clone(),
            layout: task.job.data.train().layout().clone(),
            sizes: task.sizes,
            weights: self.best,
            gain: task.gain,
            statistics,
            device: task.device.clone(),
        })
    }
}
