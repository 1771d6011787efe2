//! Jobs of one shape, trained at once.
//!
//! There is a slot for every replica of a model. A job is admitted to a slot, takes one step with all others at a time, is validated when its
//! own epoch ends, and leaves its slot to the next job when its training has ended.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::checkpoint::{BETWEEN_CHECKPOINTS, CheckpointFile, JobProgress};
use super::replicas::{PlannedJob, Replicas, StepPosition, Trained};
use super::{Meter, Training};
use crate::decoder::{EpochRecord, Watch};
use crate::error::{Error, Result};

/// Checkpoints are written no more often than takes this part of the time.
const CHECKPOINT_SHARE: u32 = 20;

/// Trains the replicas of a model, whatever they are.
pub(crate) struct ReplicaTrainer<'t, 'a, R> {
    training: &'t Training,
    jobs: &'t [PlannedJob<'a>],
    /// Those that wait for a slot.
    queue: VecDeque<usize>,
    /// One for each replica.
    slots: Vec<Option<Slot>>,
    /// Of each replica: its losses, summed over the steps of the present epoch.
    losses: Vec<Vec<f64>>,
    loss_names: Vec<&'static str>,
    replicas: R,
    /// How long it took to write checkpoints the last time.
    writing: Duration,
}

/// A job that is being done.
struct Slot {
    job: usize,
    progress: JobProgress,
    /// Steps of the present epoch: those done, and all.
    step: usize,
    steps: usize,
    rate: f64,
    /// When its checkpoint was written last.
    written: Instant,
}

impl<'t, 'a, R: Replicas> ReplicaTrainer<'t, 'a, R> {
    /// For some of the jobs, by their numbers.
    pub(crate) fn new(
        training: &'t Training,
        jobs: &'t [PlannedJob<'a>],
        group: impl IntoIterator<Item = usize>,
        replicas: R,
    ) -> ReplicaTrainer<'t, 'a, R> {
        let (count, loss_names) = (replicas.count(), replicas.loss_names());
        ReplicaTrainer {
            training,
            jobs,
            queue: group.into_iter().collect(),
            slots: (0..count).map(|_| None).collect(),
            losses: vec![vec![0.0; loss_names.len()]; count],
            loss_names,
            replicas,
            writing: Duration::ZERO,
        }
    }

    /// Trains them all; `done` gets each with its number when it is ready.
    pub(crate) fn run(
        mut self,
        meter: &mut Meter,
        watch: &mut dyn Watch,
        done: &mut dyn FnMut(usize, Trained<R::Model>) -> Result<()>,
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
            let over = |slot: &Slot| slot.step == slot.steps;
            let ending: Vec<usize> =
                (0..self.slots.len()).filter(|&r| self.slots[r].as_ref().is_some_and(over)).collect();
            let mut ended = vec![];
            if !ending.is_empty() {
                self.replicas.finish(&mut self.losses)?;
                ended = self.validate(&ending)?;
            }
            let working = self.slots.iter().flatten();
            let steps = working.clone().map(|s| s.epoch() * self.jobs[s.job].steps + s.step).sum();
            let epoch = working.map(Slot::epoch).min().unwrap_or(0);
            watch.progress(&meter.progress(steps, (epoch, self.training.epochs), &ended));
            self.write(&ending, watch.stop())?;
        }
    }

    /// Gives empty slots to the jobs that wait.
    fn admit(&mut self) -> Result<()> {
        for r in 0..self.slots.len() {
            if self.slots[r].is_some() {
                continue;
            }
            let Some(job) = self.queue.pop_front() else { return Ok(()) };
            self.replicas.assign(r, job)?;
            let PlannedJob { job: own, identity, .. } = &self.jobs[job];
            let mut progress = JobProgress::new();
            if let Some(path) = &own.checkpoint
                && path.exists()
            {
                let file = CheckpointFile::read(path, identity)?;
                self.replicas.restore(r, &file)?;
                progress = file.progress;
            }
            let written = Instant::now();
            self.slots[r] = Some(Slot { job, progress, step: 0, steps: 0, rate: 0.0, written });
        }
        Ok(())
    }

    /// Hands over what has learnt enough; answers whether there was any.
    fn release(
        &mut self,
        meter: &mut Meter,
        done: &mut dyn FnMut(usize, Trained<R::Model>) -> Result<()>,
    ) -> Result<bool> {
        let mut any = false;
        for r in 0..self.slots.len() {
            let Some(slot) = self.slots[r].take_if(|slot| !slot.learns(self.training)) else { continue };
            let PlannedJob { job, steps, .. } = &self.jobs[slot.job];
            meter.ended = (meter.ended.0 + 1, meter.ended.1 + self.training.epochs * steps);
            let JobProgress { history, best_epoch, .. } = slot.progress;
            done(slot.job, Trained::new(self.replicas.take(r)?, job.seed, history, best_epoch))?;
            any = true;
        }
        Ok(any)
    }

    /// One step of all jobs, which a device may only have begun; answers how many trials it is.
    fn advance(&mut self) -> Result<usize> {
        let mut positions = vec![None; self.slots.len()];
        for (r, slot) in self.slots.iter_mut().enumerate() {
            let Some(slot) = slot else { continue };
            let (epoch, steps) = (slot.epoch(), self.jobs[slot.job].steps);
            if slot.step == 0 {
                slot.steps = self.replicas.draw_epoch(r, epoch);
            }
            let made = epoch * steps + slot.step;
            let (rate, first_beta) = self.training.at(made as u64, steps as u64);
            let done = made as f64 / (self.training.epochs * steps) as f64;
            positions[r] = Some(StepPosition { epoch, step: slot.step, rate, first_beta, done });
            slot.rate = rate;
            slot.step += 1;
        }
        self.replicas.step(&positions, &mut self.losses)
    }

    /// Scores an epoch of some on the validation subjects and keeps what is best.
    fn validate(&mut self, ending: &[usize]) -> Result<Vec<EpochRecord>> {
        let scores = self.replicas.validate(ending)?;
        let mut ended = vec![];
        for (&r, score) in ending.iter().zip(scores) {
            let Some(slot) = &mut self.slots[r] else { continue };
            let means = self.losses[r].iter().map(|sum| sum / slot.steps as f64);
            let record = EpochRecord {
                epoch: slot.epoch() + 1,
                seed: self.jobs[slot.job].job.seed,
                losses: self.loss_names.iter().map(|n| n.to_string()).zip(means).collect(),
                validation_accuracy: score.map(|s| s.0),
                validation_loss: score.map(|s| s.1),
                rate: slot.rate,
            };
            if slot.progress.add(record.clone(), self.training) {
                self.replicas.keep(r)?;
            }
            self.losses[r].fill(0.0);
            slot.step = 0;
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
            let PlannedJob { job, identity, .. } = &self.jobs[slot.job];
            let Some(path) = &job.checkpoint else { continue };
            if at_once || slot.written.elapsed() > between || !slot.learns(self.training) {
                (slot.written, any) = (Instant::now(), true);
                self.replicas.save(r)?.write(path, identity, &slot.progress)?;
            }
        }
        if any {
            self.writing = began.elapsed();
        }
        Ok(())
    }
}

impl Slot {
    /// Epochs finished.
    fn epoch(&self) -> usize {
        self.progress.history.len()
    }

    fn learns(&self, training: &Training) -> bool {
        self.progress.learning && self.epoch() < training.epochs
    }
}
