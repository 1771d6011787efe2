//! What a model has to do so that the common trainer can train it.

use std::sync::Arc;

use super::Score;
use super::checkpoint::{CheckpointFile, Snapshot};
use crate::decoder::{EpochRecord, Fit, FittedDecoder, Job};
use crate::error::{Error, Result};

/// The replicas of one model, each of which does one job at a time. Everything that does not depend on the kind of model (epochs, the
/// learning rate, early stopping, checkpoints, cancellation, progress) is [`ReplicaTrainer`](super::ReplicaTrainer)'s.
pub(crate) trait Replicas {
    /// What a job leads to.
    type Model;

    /// How many replicas there are.
    fn count(&self) -> usize;

    /// The losses that every step gives, by name.
    fn loss_names(&self) -> Vec<&'static str>;

    /// Gives a job, by its number, to a replica that has none: the replica is as it is before the first step.
    fn assign(&mut self, replica: usize, job: usize) -> Result<()>;

    /// Draws the batches of an epoch, and answers how many there are. They follow from the job's seed and the epoch alone.
    fn draw_epoch(&mut self, replica: usize, epoch: usize) -> usize;

    /// One optimisation step of every replica that has a position, and the trials it was made of. A device may have no more than begun
    /// it; `losses` (of each replica, in the order of their names) gets those of steps that have ended.
    fn step(&mut self, positions: &[Option<StepPosition>], losses: &mut [Vec<f64>]) -> Result<usize>;

    /// Waits for all steps that were begun.
    fn finish(&mut self, losses: &mut [Vec<f64>]) -> Result<()> {
        let _ = losses;
        Ok(())
    }

    /// Scores some replicas, in the order given, on the validation subjects of their jobs. No step is under way.
    fn validate(&mut self, replicas: &[usize]) -> Result<Vec<Score>>;

    /// Keeps a replica's present state as its best one.
    fn keep(&mut self, replica: usize) -> Result<()>;

    /// All that a replica needs in order to continue. No step is under way.
    fn save(&self, replica: usize) -> Result<Snapshot>;

    /// Brings a replica to where it was saved.
    fn restore(&mut self, replica: usize, from: &CheckpointFile) -> Result<()>;

    /// Hands over a replica's best state; the replica has no job afterwards.
    fn take(&mut self, replica: usize) -> Result<Self::Model>;
}

/// Where a replica is in its job when it makes a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepPosition {
    /// Epochs finished.
    pub(crate) epoch: usize,
    /// Steps of the present epoch that are done.
    pub(crate) step: usize,
    /// The learning rate.
    pub(crate) rate: f64,
    /// Decay of Adam's first moment.
    pub(crate) first_beta: f64,
    /// The part of all planned steps that is done.
    pub(crate) done: f64,
}

/// A job as the trainer sees it.
pub(crate) struct PlannedJob<'a> {
    /// What is wanted.
    pub(crate) job: &'a Job<'a>,
    /// All that a checkpoint must agree with.
    pub(crate) identity: String,
    /// Steps in an epoch, or the most where epochs differ.
    pub(crate) steps: usize,
}

/// What a job has led to.
pub(crate) struct TrainedReplica<M> {
    /// The best state.
    pub(crate) model: M,
    pub(super) seed: u64,
    pub(super) history: Vec<EpochRecord>,
    pub(super) best_epoch: usize,
}

impl<M> TrainedReplica<M> {
    /// The same as a decoder.
    pub(crate) fn into_fit<F: FittedDecoder + 'static>(
        self,
        fitted: impl FnOnce(M) -> Result<F>,
    ) -> Result<Fit> {
        Ok(Fit {
            fitted: Arc::new(fitted(self.model)?),
            seed: self.seed,
            history: self.history,
            best_epoch: Some(self.best_epoch),
            members: vec![],
        })
    }
}

/// Says which job it is whose gradient is not finite, at a step counted from 1.
pub(crate) fn diverged(job: &Job<'_>, step: u64) -> Error {
    let judges: Vec<String> = job.data.validation().subjects().iter().map(ToString::to_string).collect();
    Error::Configuration(format!(
        "seed {} (validated on {}) cannot go on: its gradient is not finite at step {step}; a smaller `training.rate` or scaled data may help",
        job.seed,
        judges.join(", ")
    ))
}
