//! How the network learns.
//!
//! There are as many slots as there are threads. A job is admitted to a slot, takes one step with all others at a time, and leaves its slot to the next
//! one when all its epochs are done. What a job leads to depends on its seed and its data alone.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use nalgebra::DMatrix;
use ptsm_engine::Device;
use ptsm_signal::Subset;

use super::batches::{DomainPool, Plan, measurable, of_each};
use super::checkpoint;
use super::convolution::Traces;
use super::fitted::{FittedTsmNet, Known};
use super::momentum::Schedule;
use super::network::{DomainBatch, Network, each};
use super::norm::Statistics;
use super::optimizer::Adam;
use super::weights::{Sizes, Weights};
use super::{Normalisation, TsmNet, TsmNetDecoder, check_memory};
use crate::decoder::{EpochRecord, Fit, FitSink, Job, Run, Watch};
use crate::error::{Error, Result};
use crate::probabilities::softmax;
use crate::random::{Purpose, stream};
use crate::training::{BETWEEN_CHECKPOINTS, JobProgress, Meter, Score, Tally};

/// Trains once per job.
pub(super) fn train(
    decoder: &TsmNetDecoder,
    jobs: &[Job<'_>],
    run: &Run<'_>,
    watch: &mut dyn Watch,
    done: &mut FitSink<'_>,
) -> Result<()> {
    let tasks = jobs.iter().map(|job| Task::new(decoder, job, run)).collect::<Result<Vec<_>>>()?;
    let mut waiting: VecDeque<usize> = (0..tasks.len()).collect();
    let mut slots: Vec<Slot<'_, '_>> = vec![];
    let epochs = decoder.settings.training.epochs;
    let mut meter = Meter::new(tasks.iter().map(|task| task.pool.steps * epochs));
    loop {
        while slots.len() < run.device.threads()
            && let Some(task) = waiting.pop_front()
        {
            slots.push(Slot::new(task, &tasks[task])?);
        }
        let (over, going): (Vec<_>, Vec<_>) = slots.into_iter().partition(|slot| slot.epoch() == epochs);
        slots = going;
        let any = !over.is_empty();
        for slot in over {
            meter.ended = (meter.ended.0 + 1, meter.ended.1 + slot.task.pool.steps * epochs);
            done(slot.number, slot.leave()?)?;
        }
        if any {
            continue;
        }
        if slots.is_empty() {
            return Ok(());
        }
        if watch.stop() {
            // What this epoch has done is done again; the last checkpoint stands.
            return Err(Error::Stopped);
        }
        let ended = run.device.enter(|| each(run.device, &mut slots, |_, slot| slot.advance()))?;
        meter.trials += slots.iter().map(|slot| slot.last).sum::<usize>();
        let ended: Vec<EpochRecord> = ended.into_iter().flatten().collect();
        // An epoch may have fewer steps than all trials would make.
        let steps = |slot: &Slot<'_, '_>| {
            let steps = slot.task.pool.steps;
            slot.epoch() * steps + slot.step.min(steps)
        };
        let epoch = slots.iter().map(Slot::epoch).min().unwrap_or(0);
        watch.progress(&meter.progress(slots.iter().map(steps).sum(), (epoch, epochs), &ended));
        for slot in &mut slots {
            slot.write(epochs, watch.stop())?;
        }
    }
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
    /// All that a checkpoint must agree with.
    identity: String,
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
        let identity = serde_json::json!({
            "settings": settings,
            "normalised": normalised,
            "seed": job.seed,
            "train": (train.len(), train.subjects()),
            "validation": (validation.len(), validation.subjects()),
            "data": run.identity,
        });
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
            identity: identity.to_string(),
        })
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

/// What a job has learnt so far.
pub(super) struct State {
    pub(super) weights: Weights,
    pub(super) best: Weights,
    pub(super) adam: Adam,
    /// Of every domain; where statistics are global, besides those for training the ones for decoding.
    pub(super) statistics: Vec<Statistics>,
    pub(super) progress: JobProgress,
}

/// A job that is being done.
struct Slot<'t, 'a> {
    number: usize,
    task: &'t Task<'a>,
    state: State,
    /// Batches of the present epoch, and how many of them are done.
    plan: Vec<Plan>,
    step: usize,
    loss: f64,
    /// Trials of the last step.
    last: usize,
    traces: Vec<Traces<f32>>,
    /// The epoch that was written last, and when.
    written: (usize, Instant),
}

impl<'t, 'a> Slot<'t, 'a> {
    fn new(number: usize, task: &'t Task<'a>) -> Result<Slot<'t, 'a>> {
        let seed = task.job.seed;
        let weights = Weights::start(&task.sizes, &mut stream(seed, Purpose::Start, 0, 0))?;
        let sets = task.pool.domains() + usize::from(task.normalised == Normalisation::Globally);
        let mut state = State {
            best: weights.clone(),
            weights,
            adam: Adam::new(&task.sizes),
            statistics: vec![Statistics::new(task.sizes.subspace); sets],
            progress: JobProgress::new(),
        };
        if let Some(path) = task.job.checkpoint.as_deref().filter(|path| path.exists()) {
            checkpoint::read(path, &task.identity, &task.sizes, &mut state)?;
        }
        let epoch = state.progress.history.len();
        Ok(Slot {
            number,
            task,
            plan: task.pool.epoch(seed, epoch),
            state,
            step: 0,
            loss: 0.0,
            last: 0,
            traces: vec![],
            written: (epoch, Instant::now()),
        })
    }

    /// Epochs finished.
    fn epoch(&self) -> usize {
        self.state.progress.history.len()
    }

    /// One step, and the end of the epoch where it was the last.
    fn advance(&mut self) -> Result<Option<EpochRecord>> {
        let (task, state) = (self.task, &mut self.state);
        let training = &task.settings.training;
        let momenta = task.schedule.at(state.progress.history.len() + 1);
        let global = task.normalised == Normalisation::Globally;
        let plan = &self.plan[self.step];
        let mut batches: Vec<DomainBatch<'_>> = plan
            .iter()
            .map(|(domain, places)| DomainBatch {
                signals: places.iter().map(|&place| task.signals[place]).collect(),
                labels: places.iter().map(|&place| task.labels[place]).collect(),
                statistics: state.statistics[*domain].clone(),
                later: global.then(|| state.statistics[1].clone()),
            })
            .collect();
        let network = task.network(&state.weights);
        let (loss, gradient) = network.learn(&mut batches, momenta, &mut self.traces)?;
        if !(loss.is_finite() && gradient.0.iter().flat_map(|m| m.iter()).all(|g| g.is_finite())) {
            return Err(Error::Configuration(format!(
                "seed {} cannot go on: its gradient is not finite in epoch {}; a smaller `training.rate` may help",
                task.job.seed,
                state.progress.history.len() + 1
            )));
        }
        for ((domain, _), batch) in plan.iter().zip(batches) {
            state.statistics[*domain] = batch.statistics;
            if let Some(later) = batch.later {
                state.statistics[1] = later;
            }
        }
        state.adam.step(&mut state.weights, &gradient, training.rate, training.weight_decay);
        self.loss += loss;
        self.step += 1;
        self.last = plan.iter().map(|(_, places)| places.len()).sum();
        if self.step < self.plan.len() { Ok(None) } else { self.judge().map(Some) }
    }

    /// Scores an epoch on the validation subjects and keeps what is best.
    fn judge(&mut self) -> Result<EpochRecord> {
        let (task, state) = (self.task, &mut self.state);
        let score = score(task, state)?;
        let record = EpochRecord {
            epoch: state.progress.history.len() + 1,
            seed: task.job.seed,
            losses: vec![("total".into(), self.loss / self.plan.len() as f64)],
            validation_accuracy: score.map(|s| s.0),
            validation_loss: score.map(|s| s.1),
            rate: task.settings.training.rate,
        };
        if state.progress.improves(&record, task.settings.training.select) {
            state.progress.best_epoch = record.epoch;
            state.best = state.weights.clone();
        }
        state.progress.history.push(record.clone());
        (self.step, self.loss) = (0, 0.0);
        self.plan = task.pool.epoch(task.job.seed, record.epoch);
        Ok(record)
    }

    /// Writes where the job stands, where an epoch has ended and it is time.
    fn write(&mut self, epochs: usize, at_once: bool) -> Result<()> {
        let (Some(path), epoch) = (&self.task.job.checkpoint, self.epoch()) else { return Ok(()) };
        let (written, when) = self.written;
        let due = at_once || when.elapsed() > BETWEEN_CHECKPOINTS || epoch == epochs;
        if self.step == 0 && epoch > written && due {
            checkpoint::write(path, &self.task.identity, &self.state)?;
            self.written = (epoch, Instant::now());
        }
        Ok(())
    }

    /// The decoder that was best.
    fn leave(self) -> Result<Fit> {
        let (task, state) = (self.task, self.state);
        let known = match task.normalised {
            Normalisation::ByDomain => Known::Sessions(BTreeMap::new()),
            Normalisation::Globally => {
                let network = task.network(&state.best);
                let found = task.device.enter(|| Statistics::of(&network.matrices(&task.signals)?));
                Known::Training(found?)
            }
        };
        let fitted = FittedTsmNet {
            settings: task.settings.clone(),
            layout: task.job.data.train().layout().clone(),
            sizes: task.sizes,
            weights: state.best,
            gain: task.gain,
            known,
            device: task.device.clone(),
        };
        let JobProgress { best_epoch, history, .. } = state.progress;
        Ok(Fit { fitted: Box::new(fitted), seed: task.job.seed, history, best_epoch: Some(best_epoch) })
    }
}

/// Balanced accuracy and cross-entropy on the validation subjects, whose statistics are found as at test time; none without such.
fn score(task: &Task<'_>, state: &State) -> Result<Score> {
    let validation = task.job.data.validation();
    let network = task.network(&state.weights);
    let signals: Vec<&[f32]> = validation.signals().collect();
    let labels = validation.labels();
    let matrices = network.matrices(&signals)?;
    let classes = task.sizes.classes;
    let counted = each(task.device, &mut task.judged.clone(), |_, places| {
        let statistics = match task.normalised {
            Normalisation::Globally => state.statistics[1].clone(),
            Normalisation::ByDomain => Statistics::of(
                &places.iter().map(|&place| matrices[place].clone()).collect::<Vec<DMatrix<f64>>>(),
            )?,
        };
        let normaliser = statistics.normaliser(state.weights.scale())?;
        let mut tally = Tally::new(classes);
        for &mut place in places {
            tally.add(&softmax(&network.logits(&matrices[place], &normaliser)?), labels[place]);
        }
        Ok(tally)
    })?;
    let mut all = Tally::new(classes);
    counted.iter().for_each(|tally| all.join(tally));
    Ok(all.score())
}
