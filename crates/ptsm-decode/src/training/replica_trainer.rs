//! Jobs of one shape, trained at once.
//!
//! There is a slot for every replica of a model. A job is admitted to a slot, takes one step with all others at a time, is validated when its
//! own epoch ends, and leaves its slot to the next job when its training has ended.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::checkpoint::{BETWEEN_CHECKPOINTS, CheckpointFile, JobProgress};
use super::replicas::{PlannedJob, Replicas, StepPosition, TrainedReplica};
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
        done: &mut dyn FnMut(usize, TrainedReplica<R::Model>) -> Result<()>,
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
        done: &mut dyn FnMut(usize, TrainedReplica<R::Model>) -> Result<()>,
    ) -> Result<bool> {
        let mut any = false;
        for r in 0..self.slots.len() {
            let Some(slot) = self.slots[r].take_if(|slot| !slot.learns(self.training)) else { continue };
            let PlannedJob { job, steps, .. } = &self.jobs[slot.job];
            meter.ended = (meter.ended.0 + 1, meter.ended.1 + self.training.epochs * steps);
            let JobProgress { history, best_epoch, .. } = slot.progress;
            done(
                slot.job,
                TrainedReplica { model: self.replicas.take(r)?, seed: job.seed, history, best_epoch },
            )?;
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ptsm_signal::{Channel, Layout, SubjectId, Trial, Trials};

    use super::*;
    use crate::decoder::{Job, NoWatch, Progress, TrainingData};
    use crate::training::{LrSchedule, Score, Select, Snapshot};

    /// A model of one number: the sum of the rates of its steps. Its validation losses are given, one for each epoch.
    struct Sums<'s> {
        losses: &'s [f64],
        /// Of each replica: the number now, the best one, and the epoch under way.
        all: Vec<(f64, f64, usize)>,
    }

    impl Replicas for Sums<'_> {
        type Model = f64;

        fn count(&self) -> usize {
            self.all.len()
        }

        fn loss_names(&self) -> Vec<&'static str> {
            vec!["total"]
        }

        fn assign(&mut self, replica: usize, _: usize) -> Result<()> {
            self.all[replica] = (0.0, 0.0, 0);
            Ok(())
        }

        /// Epochs have one step and two in turn.
        fn draw_epoch(&mut self, replica: usize, epoch: usize) -> usize {
            self.all[replica].2 = epoch;
            1 + epoch % 2
        }

        fn step(&mut self, positions: &[Option<StepPosition>], losses: &mut [Vec<f64>]) -> Result<usize> {
            for (r, at) in positions.iter().enumerate() {
                let Some(at) = at else { continue };
                self.all[r].0 += at.rate;
                losses[r][0] += 3.0 + at.step as f64;
            }
            Ok(positions.iter().flatten().count())
        }

        fn validate(&mut self, replicas: &[usize]) -> Result<Vec<Score>> {
            Ok(replicas.iter().map(|&r| Some((0.5, self.losses[self.all[r].2]))).collect())
        }

        fn keep(&mut self, replica: usize) -> Result<()> {
            self.all[replica].1 = self.all[replica].0;
            Ok(())
        }

        fn save(&self, replica: usize) -> Result<Snapshot> {
            let (now, best, _) = self.all[replica];
            let mut snapshot = Snapshot::default();
            snapshot.put("state", &[2], &[now, best]);
            Ok(snapshot)
        }

        fn restore(&mut self, replica: usize, from: &CheckpointFile) -> Result<()> {
            let state = from.get::<f64>("state")?;
            (self.all[replica].0, self.all[replica].1) = (state[0], state[1]);
            Ok(())
        }

        fn take(&mut self, replica: usize) -> Result<f64> {
            Ok(self.all[replica].1)
        }
    }

    /// Stops after so many steps.
    struct After(usize);

    impl Watch for After {
        fn progress(&mut self, _: &Progress<'_>) {
            self.0 -= 1;
        }

        fn stop(&self) -> bool {
            self.0 == 0
        }
    }

    fn trials() -> Trials {
        let layout = Layout {
            channels: vec![Channel::named("Cz")],
            samples: 1,
            rate_hz: 1.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        let trial =
            |i: u32| Trial { label: i % 2, subject: SubjectId(i / 4), session: 1, run: 1, cue_s: 0.0 };
        Trials::new(layout, vec![0.0; 8], (0..8).map(trial).collect()).unwrap()
    }

    /// What two jobs lead to in so many slots: the number kept, the best epoch, and the mean loss of every epoch.
    fn trained(
        slots: usize,
        losses: &[f64],
        patience: Option<usize>,
        folder: Option<&Path>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<(f64, usize, Vec<f64>)>> {
        let trials = trials();
        let of = |id: u32| trials.all().only(|t| t.subject.0 == id);
        let data = TrainingData::new(of(0), of(1)).unwrap();
        let path = |seed: u64| folder.map(|folder| folder.join(seed.to_string()));
        let jobs = [1, 2].map(|seed| Job { data: &data, seed, checkpoint: path(seed) });
        let planned = |job| PlannedJob { job, identity: "sums".into(), steps: 2 };
        let planned: Vec<_> = jobs.iter().map(planned).collect();
        let training = Training {
            epochs: losses.len(),
            patience,
            select: Select::Loss,
            rate: 1.0,
            course: LrSchedule::Constant,
            ..Training::default()
        };
        let mut meter = Meter::new(&training, &planned);
        let replicas = Sums { losses, all: vec![(0.0, 0.0, 0); slots] };
        let mut all = vec![(0.0, 0, vec![]); jobs.len()];
        ReplicaTrainer::new(&training, &planned, 0..jobs.len(), replicas).run(
            &mut meter,
            watch,
            &mut |job, trained| {
                let means = trained.history.iter().map(|record| record.losses[0].1).collect();
                all[job] = (trained.model, trained.best_epoch, means);
                Ok(())
            },
        )?;
        Ok(all)
    }

    #[test]
    fn the_best_epoch_is_kept_and_a_job_without_progress_ends() {
        let losses = [0.9, 0.5, 0.7, 0.6, 0.1];
        let expected = vec![(7.0, 5, vec![3.0, 3.5, 3.0, 3.5, 3.0]); 2];
        assert_eq!(trained(2, &losses, None, None, &mut NoWatch).unwrap(), expected);
        // The second job waits for the only slot, and two epochs that are no better are enough.
        let expected = vec![(3.0, 2, vec![3.0, 3.5, 3.0, 3.5]); 2];
        assert_eq!(trained(1, &losses, Some(2), None, &mut NoWatch).unwrap(), expected);
    }

    #[test]
    fn what_was_stopped_continues_from_the_last_epoch() {
        let losses = [0.9, 0.5, 0.7, 0.6, 0.1];
        let through = trained(2, &losses, None, None, &mut NoWatch).unwrap();
        // In the middle of the second epoch, where no checkpoint is, and at its end.
        for steps in [2, 3] {
            let folder = tempfile::tempdir().unwrap();
            let stopped = trained(2, &losses, None, Some(folder.path()), &mut After(steps));
            assert!(matches!(stopped, Err(Error::Stopped)));
            assert_eq!(folder.path().join("1").exists(), steps == 3);
            let again = trained(1, &losses, None, Some(folder.path()), &mut NoWatch).unwrap();
            assert_eq!(again, through);
            // Both are done; nothing is trained again.
            let again = trained(1, &losses, None, Some(folder.path()), &mut After(1)).unwrap();
            assert_eq!(again, through);
        }
    }
}
