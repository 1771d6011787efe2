//! Jobs of one shape, trained at once.
//!
//! There are as many slots (replicas of one program) as the device has room for. A job is admitted to a slot, takes one step with all others at
//! a time, is validated when its own epoch ends, and leaves its slot to the next job when its training has ended.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ptsm_engine::{Device, Feed, Graph, Parameters};

use super::checkpoint::{self, BETWEEN_CHECKPOINTS, CheckpointHeader, JobProgress};
use super::library::Library;
use super::scorer::Scorer;
use super::steps::Steps;
use super::{Meter, Recipe, TrainedNetwork, TrainingTask, check_parameters};
use crate::augment::Augmenter;
use crate::decoder::{EpochRecord, Run, Watch};
use crate::error::{Error, Result};
use crate::network::{MeasuredStatistic, Ramp};

/// Checkpoints are written no more often than takes this part of the time.
const CHECKPOINT_SHARE: u32 = 20;

/// More slots than this gain nothing on the largest GPU.
const MOST_SLOTS: usize = 128;

pub(super) struct ReplicaTrainer<'t, 'a> {
    recipe: &'t Recipe,
    tasks: &'t [TrainingTask<'a>],
    /// Trials in a batch, and how many of them have labels.
    batch: usize,
    labelled: usize,
    /// Those that wait for a slot.
    queue: VecDeque<usize>,
    slots: Vec<Option<Slot>>,
    augmenter: Option<Augmenter>,
    steps: Steps,
    graph: Graph,
    loss_names: Vec<&'static str>,
    ramps: Vec<(&'static str, Ramp)>,
    measured: Vec<MeasuredStatistic>,
    /// Of every slot: as they are, and the best so far.
    parameters: Parameters<f32>,
    best: Parameters<f32>,
    scorer: Scorer,
    library: Library<'a>,
    /// How long it took to write checkpoints the last time.
    writing: Duration,
}

/// A job that is being done.
struct Slot {
    task: usize,
    progress: JobProgress,
    /// Epochs finished, and steps of the present one.
    epoch: usize,
    step: usize,
    /// The trials of the present epoch: rows of the set, or places in the target.
    plan: Vec<u32>,
    /// The target's trials by their numbers in the library.
    target: Vec<u32>,
    sums: Vec<f64>,
    rate: f64,
    /// When its checkpoint was written last.
    written: Instant,
}

impl<'t, 'a> ReplicaTrainer<'t, 'a> {
    pub(super) fn new(
        recipe: &'t Recipe,
        tasks: &'t [TrainingTask<'a>],
        group: Vec<usize>,
        run: &Run<'_>,
    ) -> Result<ReplicaTrainer<'t, 'a>> {
        let first = &tasks[group[0]];
        let (shape, batch, layout) = first.key();
        let network = recipe.network.build_for_training(shape, batch)?;
        let numbers = network.graph.tensors().iter().map(|t| t.shape.iter().product::<usize>());
        let numbers = numbers.fold(0usize, usize::saturating_add);
        check_parameters(numbers)?;
        let augmenter =
            recipe.augment.is_on().then(|| Augmenter::new(&recipe.augment, layout)).transpose()?;
        let adam = recipe.training.adam();
        let mine: Vec<&TrainingTask<'a>> = group.iter().map(|&i| &tasks[i]).collect();
        let library = Library::new(&mine, augmenter.as_ref().and_then(Augmenter::only_mirror))?;
        let slots = match run.device {
            // One for each thread: they do not wait for each other.
            Device::Cpu(cpu) => cpu.threads().min(group.len()).min(MOST_SLOTS),
            Device::Cuda(cuda) => {
                let one = Steps::new(&network, adam, 1, run.device)?.bytes()
                    + Scorer::new(&*recipe.network, shape, 1, run.device)?.bytes()
                    + 2 * numbers * size_of::<f32>();
                let row = library.table.row_length() * size_of::<f32>();
                // Trials that are changed on the way are handed over, step by step.
                let changed = augmenter.as_ref().is_some_and(|a| a.only_mirror().is_none());
                let one = one + if changed { batch * row } else { 0 };
                let free = cuda.memory()?.0.saturating_sub(library.table.len() * row);
                even(group.len(), (free - free / 16) / one)
            }
        };
        let seeds: Vec<u64> = group.iter().take(slots).map(|&i| tasks[i].job.seed).collect();
        let parameters = Parameters::new(&network.graph, &seeds)?;
        Ok(ReplicaTrainer {
            recipe,
            tasks,
            batch,
            labelled: first.sampler.labelled(),
            queue: group.into(),
            slots: (0..slots).map(|_| None).collect(),
            augmenter,
            steps: Steps::new(&network, adam, slots, run.device)?,
            loss_names: std::iter::once("total").chain(network.losses.iter().map(|(n, _)| *n)).collect(),
            ramps: network.ramps,
            measured: network.measured,
            best: parameters.clone(),
            parameters,
            scorer: Scorer::new(&*recipe.network, shape, slots, run.device)?,
            library,
            writing: Duration::ZERO,
            graph: network.graph,
        })
    }

    pub(super) fn run(
        mut self,
        meter: &mut Meter,
        watch: &mut dyn Watch,
        done: &mut dyn FnMut(usize, TrainedNetwork) -> Result<()>,
    ) -> Result<()> {
        loop {
            // A job whose checkpoint says that it is done leaves at once. Slots change jobs only while no step is under way.
            self.admit()?;
            while self.release(meter, done)? {
                self.admit()?;
            }
            if self.slots.iter().all(Option::is_none) {
                return Ok(());
            }
            if watch.stop() {
                // What these epochs have done is done again; the last checkpoints stand.
                return Err(Error::Stopped);
            }
            meter.trials += self.advance()?;
            let over = |slot: &Slot| slot.step == self.tasks[slot.task].sampler.steps();
            let ending: Vec<usize> =
                (0..self.slots.len()).filter(|&r| self.slots[r].as_ref().is_some_and(over)).collect();
            let mut ended = vec![];
            if !ending.is_empty() {
                while self.steps.in_flight() > 0 {
                    self.collect()?;
                }
                ended = self.validate(&ending)?;
            }
            let working = self.slots.iter().flatten();
            let steps = working.clone().map(|s| s.epoch * self.tasks[s.task].sampler.steps() + s.step).sum();
            let epoch = working.map(|s| s.epoch).min().unwrap_or(0);
            watch.progress(&meter.progress(steps, (epoch, self.recipe.training.epochs), &ended));
            self.write(&ending, watch.stop())?;
        }
    }

    /// Gives empty slots to the jobs that wait.
    fn admit(&mut self) -> Result<()> {
        for r in 0..self.slots.len() {
            if self.slots[r].is_some() {
                continue;
            }
            let Some(task) = self.queue.pop_front() else { return Ok(()) };
            let (job, identity) = (self.tasks[task].job, &self.tasks[task].identity);
            let mut start = Parameters::new(&self.graph, &[job.seed])?;
            for MeasuredStatistic { name, what, of } in &self.measured {
                start.set(0, name, &self.tasks[task].measure(*what, *of))?;
            }
            self.parameters.put(r, &start, 0)?;
            self.best.put(r, &start, 0)?;
            self.steps.reset(r)?;
            let target = self.tasks[task].target.iter().map(|x| self.library.unlabelled(x));
            let target = target.collect::<Result<_>>()?;
            let mut slot = Slot {
                task,
                progress: JobProgress::new(),
                epoch: 0,
                step: 0,
                plan: vec![],
                target,
                sums: vec![0.0; self.loss_names.len()],
                rate: 0.0,
                written: Instant::now(),
            };
            if let Some(path) = &job.checkpoint
                && path.exists()
            {
                let mark = checkpoint::read(
                    path,
                    identity,
                    r,
                    &mut self.parameters,
                    &mut self.best,
                    &mut self.steps,
                )?;
                slot.epoch = mark.epoch;
                slot.progress = mark.progress;
            }
            slot.plan = self.tasks[task].sampler.epoch(job.seed, slot.epoch);
            self.slots[r] = Some(slot);
        }
        Ok(())
    }

    /// Hands over what has learnt enough; answers whether there was any.
    fn release(
        &mut self,
        meter: &mut Meter,
        done: &mut dyn FnMut(usize, TrainedNetwork) -> Result<()>,
    ) -> Result<bool> {
        let mut any = false;
        for r in 0..self.slots.len() {
            let Some(slot) = self.slots[r].take_if(|slot| !slot.learns(self.recipe)) else { continue };
            let task = &self.tasks[slot.task];
            meter.ended = (meter.ended.0 + 1, meter.ended.1 + task.steps());
            let trained = TrainedNetwork {
                parameters: self.best.spread(r, &[task.job.seed])?,
                history: slot.progress.history,
                best_epoch: slot.progress.best_epoch,
            };
            done(slot.task, trained)?;
            any = true;
        }
        Ok(any)
    }

    /// One step of all jobs. On a GPU it is only begun; answers how many trials it is.
    fn advance(&mut self) -> Result<usize> {
        let (batch, labelled) = (self.batch, self.labelled);
        let slots = self.slots.len();
        let (mut numbers, mut labels) = (vec![0u32; slots * batch], vec![0u32; slots * labelled]);
        let (mut people, mut domains) = (vec![0u32; slots * batch], vec![0u32; slots * batch]);
        let (mut rates, mut done) = (vec![0.0; slots], vec![0.0; slots]);
        let active: Vec<bool> = self.slots.iter().map(Option::is_some).collect();
        let training = &self.recipe.training;
        let only_mirror = self.augmenter.as_ref().filter(|a| a.only_mirror().is_some());
        for (r, slot) in self.slots.iter_mut().enumerate() {
            let Some(slot) = slot else { continue };
            let task = &self.tasks[slot.task];
            let first = self.library.first(task.train.set())?;
            for i in 0..batch {
                let (place, at) = (slot.step * batch + i, r * batch + i);
                let row = slot.plan[place];
                let of_target = i >= labelled;
                let mut number = if of_target { slot.target[row as usize] } else { first + row };
                if only_mirror.is_some_and(|a| a.mirrors(task.job.seed, slot.epoch, place)) {
                    number = self.library.image(number);
                }
                numbers[at] = number;
                domains[at] = u32::from(of_target);
                people[at] = if of_target { task.shape.subjects as u32 } else { task.people[row as usize] };
                if !of_target {
                    labels[r * labelled + i] = self.library.label(number);
                }
            }
            let steps = task.sampler.steps();
            let made = slot.epoch * steps + slot.step;
            let (rate, beta) = training.at(made as u64, steps as u64);
            self.steps.set_first_beta(r, beta)?;
            (slot.rate, rates[r]) = (rate, rate);
            done[r] = made as f64 / task.steps() as f64;
        }
        // Copies only where something is changed beyond an exchange of channels.
        let mut changed = vec![];
        if only_mirror.is_none()
            && let Some(augmenter) = &self.augmenter
        {
            changed = self.augmented(augmenter, &mut labels);
        }
        let x = match &changed[..] {
            [] => Feed::Table { table: &self.library.table, rows: &numbers },
            changed => Feed::Each(changed),
        };
        let ramped = |ramp: &Ramp| done.iter().map(|&part| ramp(part) as f32).collect();
        let ramped: Vec<Vec<f32>> = self.ramps.iter().map(|(_, ramp)| ramped(ramp)).collect();
        let mut feeds = vec![("x", x), ("task", Feed::Labels(&labels))];
        feeds.extend(self.ramps.iter().zip(&ramped).map(|((name, _), values)| (*name, Feed::Each(values))));
        let asks = |name: &str| self.graph.inputs().iter().any(|input| input.name == name);
        for (name, numbers) in [("subject", &people), ("domain", &domains)] {
            if asks(name) {
                feeds.push((name, Feed::Labels(numbers)));
            }
        }
        while self.steps.in_flight() >= self.steps.max_in_flight() {
            collect(&mut self.steps, &self.parameters, &mut self.slots, self.tasks)?;
        }
        let started = self.steps.start(&mut self.parameters, &feeds, &rates, &active);
        started.map_err(|error| named(error, &self.slots, self.tasks))?;
        self.slots.iter_mut().flatten().for_each(|slot| slot.step += 1);
        Ok(active.iter().filter(|a| **a).count() * batch)
    }

    /// All jobs' trials of this step after augmentation; labels change with them.
    fn augmented(&self, augmenter: &Augmenter, labels: &mut [u32]) -> Vec<f32> {
        let (batch, labelled, one) = (self.batch, self.labelled, self.library.table.row_length());
        let mut x = vec![0.0; self.slots.len() * batch * one];
        let mut spare = vec![];
        for (r, slot) in self.slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let task = &self.tasks[slot.task];
            for i in 0..batch {
                let place = slot.step * batch + i;
                let own = &mut x[(r * batch + i) * one..][..one];
                let row = slot.plan[place] as usize;
                let (from, label) = if i < labelled {
                    (task.train.set().signal(row), &mut labels[r * labelled + i])
                } else {
                    (task.target[row], &mut 0)
                };
                own.copy_from_slice(from);
                augmenter.apply(own, label, task.job.seed, slot.epoch, place, &mut spare);
            }
        }
        x
    }

    fn collect(&mut self) -> Result<()> {
        collect(&mut self.steps, &self.parameters, &mut self.slots, self.tasks)
    }

    /// Scores an epoch of some on the validation subjects and keeps what is best.
    fn validate(&mut self, ending: &[usize]) -> Result<Vec<EpochRecord>> {
        let validation = |r: &usize| {
            let slot = self.slots[*r].as_ref()?;
            Some((*r, self.tasks[slot.task].job.data.validation()))
        };
        let who: Vec<_> = ending.iter().filter_map(validation).collect();
        let scores = self.scorer.score(&self.parameters, &self.library, &who)?;
        let mut ended = vec![];
        for (&r, score) in ending.iter().zip(scores) {
            let Some(slot) = &mut self.slots[r] else { continue };
            let task = &self.tasks[slot.task];
            slot.epoch += 1;
            let means = slot.sums.iter().map(|sum| sum / task.sampler.steps() as f64);
            let record = EpochRecord {
                epoch: slot.epoch,
                seed: task.job.seed,
                losses: self.loss_names.iter().map(|n| n.to_string()).zip(means).collect(),
                validation_accuracy: score.map(|s| s.0),
                validation_loss: score.map(|s| s.1),
                rate: slot.rate,
            };
            if slot.progress.improves(&record, self.recipe.training.select) {
                slot.progress.best_epoch = slot.epoch;
                self.best.put(r, &self.parameters, r)?;
            }
            let waited = slot.epoch - slot.progress.best_epoch;
            slot.progress.learning = self.recipe.training.patience.is_none_or(|most| waited < most);
            slot.progress.history.push(record.clone());
            slot.sums.fill(0.0);
            slot.step = 0;
            slot.plan = task.sampler.epoch(task.job.seed, slot.epoch);
            ended.push(record);
        }
        Ok(ended)
    }

    /// Writes where those stand whose epoch has ended.
    fn write(&mut self, ending: &[usize], at_once: bool) -> Result<()> {
        let between = BETWEEN_CHECKPOINTS.max(self.writing * CHECKPOINT_SHARE);
        let began = Instant::now();
        let mut any = false;
        for &r in ending {
            let Some(slot) = &mut self.slots[r] else { continue };
            let task = &self.tasks[slot.task];
            let Some(path) = &task.job.checkpoint else { continue };
            if at_once || slot.written.elapsed() > between || !slot.learns(self.recipe) {
                (slot.written, any) = (Instant::now(), true);
                let (identity, progress) = (task.identity.clone(), slot.progress.clone());
                let mark = CheckpointHeader { identity, epoch: slot.epoch, progress };
                let steps = self.steps.checkpoint(r)?;
                checkpoint::write(path, &mark, r, &self.parameters, &self.best, &steps)?;
            }
        }
        if any {
            self.writing = began.elapsed();
        }
        Ok(())
    }
}

impl Slot {
    fn learns(&self, recipe: &Recipe) -> bool {
        self.progress.learning && self.epoch < recipe.training.epochs
    }
}

/// Waits for the oldest step that is under way and takes down its losses.
fn collect(
    steps: &mut Steps,
    parameters: &Parameters<f32>,
    slots: &mut [Option<Slot>],
    tasks: &[TrainingTask<'_>],
) -> Result<()> {
    steps.finish().map_err(|error| named(error, slots, tasks))?;
    for (r, slot) in slots.iter_mut().enumerate() {
        let Some(slot) = slot else { continue };
        for (i, sum) in slot.sums.iter_mut().enumerate() {
            *sum += steps.loss(parameters, r, i);
        }
    }
    Ok(())
}

/// Says which job it is whose gradient is not finite.
fn named(error: ptsm_engine::Error, slots: &[Option<Slot>], tasks: &[TrainingTask<'_>]) -> Error {
    let ptsm_engine::Error::Gradient { replica, step } = error else { return error.into() };
    let Some(slot) = slots.get(replica).and_then(Option::as_ref) else { return error.into() };
    let job = tasks[slot.task].job;
    let judges: Vec<String> = job.data.validation().subjects().iter().map(ToString::to_string).collect();
    Error::Configuration(format!(
        "seed {} (validated on {}) cannot go on: its gradient is not finite at step {step}; a smaller `training.rate` or scaled data may help",
        job.seed,
        judges.join(", ")
    ))
}

/// Slots for so many jobs where so many fit: as few rounds as possible, all of them full.
fn even(jobs: usize, fit: usize) -> usize {
    let most = fit.clamp(1, MOST_SLOTS);
    jobs.div_ceil(jobs.div_ceil(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_filled_in_full_rounds() {
        assert_eq!(even(106, 1000), 106);
        assert_eq!(even(318, 1000), 106);
        assert_eq!(even(15, 4), 4);
        assert_eq!(even(15, 8), 8);
        assert_eq!(even(5, 0), 1);
        assert_eq!(even(1, 50), 1);
    }
}
