//! How networks learn: one trainer for all of them.
//!
//! Adam with weight decay, a rate that mostly falls as a cosine over all steps, the gradient's norm clipped, batches balanced over subjects and classes, and after every
//! epoch a look at validation subjects, who are not trained on: the best state is kept, and a job that has not improved
//! for `patience` epochs stops. Jobs (folds, seeds) train at once as replicas of one program, as many as the device has room for; where one
//! ends, the next one takes its place. Everything random is decided by (seed, epoch, place), so a run that continues from its checkpoint
//! ends with the same bytes as one that was never disturbed, whoever trained beside it.
//!
//! The trainer is `ReplicaTrainer`; what it trains are `Replicas`: those of a compiled graph (`NetworkReplicas`), or a method's own
//! where its steps are no graph (TSMNet).

mod batches;
mod checkpoint;
mod library;
mod measured;
mod network_replicas;
mod recipe;
mod recipe_name;
mod replica_trainer;
mod replicas;
mod scorer;
mod steps;
mod tally;
mod target;
mod teacher;

use std::time::Instant;

use ptsm_engine::{Adam, Decay, OneCycle, Parameters, RateShape, Schedule};
use ptsm_signal::{Layout, Subset, Trials};
use serde::{Deserialize, Serialize};

use crate::decoder::{EpochRecord, Job, Progress, Run, Watch};
use crate::error::{Error, Result};
use crate::network::{Batches, Measure, TrialPart, TrialShape};
use batches::BatchSampler;
pub(crate) use checkpoint::{CheckpointFile, Snapshot};
use network_replicas::NetworkReplicas;
pub use recipe::Recipe;
pub use recipe_name::RecipeName;
pub(crate) use replica_trainer::ReplicaTrainer;
pub(crate) use replicas::{PlannedJob, Replicas, StepPosition, TrainedReplica, diverged};
pub(crate) use tally::{Score, Tally};
use teacher::TaskTargets;
pub(crate) use teacher::TeacherTargets;

/// What decides which epoch is kept. Validation trials are scored as they are; the mirrored view that a decoder with the mirror averages at
/// test time is left out here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// Balanced accuracy on the validation subjects; equal ones by cross-entropy.
    #[default]
    Accuracy,
    /// Cross-entropy on the validation subjects.
    Loss,
    /// The same at the temperature that is best for the epoch: how well classes are told apart counts, not how sure the network is of
    /// it, which calibration mends.
    CalibratedLoss,
    /// Nothing: the last epoch.
    Last,
}

impl Select {
    /// Refuses to choose by subjects where there are none.
    pub(crate) fn check(self, validation: &Subset<'_>) -> Result<()> {
        if validation.is_empty() && self != Select::Last {
            return Err(Error::trials(
                "there is no validation subject for early stopping",
                "give more subjects, or set `training.select = \"last\"` to keep the last epoch",
            ));
        }
        Ok(())
    }
}

/// What a network makes of the symmetry that the data declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymmetryUse {
    /// Nothing.
    #[default]
    None,
    /// Its logits of a mirrored trial are those of the trial with the classes exchanged, exactly: the network sees every trial from both
    /// sides, in training and afterwards. Data that declare no exchange of classes are refused.
    Equivariant,
    /// The same for data that declare that mirroring changes no class; others are refused.
    Invariant,
}

/// What the learning rate does after it has risen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LrSchedule {
    /// Falls as half a cosine to 0 over all epochs.
    #[default]
    Cosine,
    /// Stays.
    Constant,
    /// Falls as `1 / (1 + 10 p)^0.75` with the part p of all epochs that is done.
    Inverse,
    /// Stays for half of the steps, then falls as half a cosine to a tenth; Adam's first beta falls from 0.95 to 0.85 meanwhile and rises
    /// again.
    OneCycle,
}

/// How a network is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Training {
    /// Epochs at most.
    pub epochs: usize,
    /// Epochs without improvement before a seed stops; none for never.
    pub patience: Option<usize>,
    /// Which epoch is kept.
    pub select: Select,
    /// Highest learning rate.
    pub rate: f64,
    /// What the rate does after it has risen.
    pub course: LrSchedule,
    /// Epochs over which the rate rises first.
    pub warm_up: usize,
    /// Weight decay.
    pub weight_decay: f64,
    /// Whether decay is taken from the weights, times the rate (AdamW), in place of being added to the gradient.
    pub decoupled_decay: bool,
    /// Decay of Adam's two running moments.
    pub betas: [f64; 2],
    /// Largest norm of the gradient; none for no limit.
    pub clip: Option<f64>,
    /// What it makes of the symmetry that the data declare.
    pub symmetry: SymmetryUse,
    /// Subjects in a batch.
    pub batch_subjects: usize,
    /// Trials of each subject in a batch.
    pub batch_trials: usize,
    /// Fit temperature and offsets of the probabilities on the validation subjects.
    pub calibrate: bool,
    /// Keep what tells the training subjects apart (PTSM's subject head) in the model file.
    pub keep_subjects: bool,
}

impl Default for Training {
    fn default() -> Training {
        Training {
            epochs: 60,
            patience: Some(15),
            select: Select::Accuracy,
            rate: 1e-3,
            course: LrSchedule::Cosine,
            warm_up: 0,
            weight_decay: 1e-4,
            decoupled_decay: false,
            betas: [0.9, 0.999],
            clip: Some(5.0),
            symmetry: SymmetryUse::None,
            batch_subjects: 8,
            batch_trials: 8,
            calibrate: true,
            keep_subjects: false,
        }
    }
}

impl Training {
    /// Adam at one rate and no limit of the gradient: a discriminator is not to slow the encoder down.
    pub(crate) fn adversarial() -> Training {
        Training { course: LrSchedule::Constant, clip: None, ..Training::default() }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::Configuration(message));
        for (name, n) in [
            ("epochs", self.epochs),
            ("patience", self.patience.unwrap_or(1)),
            ("batch_subjects", self.batch_subjects),
            ("batch_trials", self.batch_trials),
        ] {
            if n == 0 {
                return wrong(format!("`training.{name}` must be at least 1, got 0"));
            }
        }
        if self.batch_subjects.saturating_mul(self.batch_trials) > MOST_BATCH {
            let (s, t) = (self.batch_subjects, self.batch_trials);
            return wrong(format!("a batch of {s} subjects x {t} trials is over {MOST_BATCH}"));
        }
        if self.epochs > MOST_EPOCHS || self.warm_up > self.epochs {
            let (epochs, warm_up) = (self.epochs, self.warm_up);
            return wrong(format!(
                "`training.epochs` must be at most {MOST_EPOCHS} and `training.warm_up` no more than that, got {epochs} and {warm_up}"
            ));
        }
        if self.course == LrSchedule::OneCycle && self.warm_up > 0 {
            return wrong(
                "`training.course = \"one_cycle\"` has no `training.warm_up`; leave it at 0".into(),
            );
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return wrong(format!("`training.rate` must be above 0, got {}", self.rate));
        }
        Ok(())
    }

    /// The rate and Adam's first beta at a step, where so many make an epoch.
    fn at(&self, step: u64, epoch: u64) -> (f64, f64) {
        let (rate, steps) = (self.rate, self.epochs as u64 * epoch);
        let shape = match self.course {
            LrSchedule::Cosine => RateShape::Cosine { steps, least: 0.0 },
            LrSchedule::Constant => RateShape::Constant,
            LrSchedule::Inverse => RateShape::Inverse { steps },
            LrSchedule::OneCycle => {
                return OneCycle { rate, least: rate / 10.0, betas: (0.95, 0.85), steps }.at(step);
            }
        };
        (Schedule { rate, warm_up: self.warm_up as u64 * epoch, shape }.at(step), self.betas[0])
    }

    fn adam(&self) -> Adam {
        let kind = if self.decoupled_decay { Decay::Decoupled } else { Decay::Gradient };
        let [first, second] = self.betas;
        Adam { betas: (first, second), decay: kind(self.weight_decay), clip: self.clip, ..Adam::default() }
    }
}

/// More trials in a batch, epochs or numbers in a network than anybody trains here: a slip of the keyboard.
const MOST_BATCH: usize = 1 << 16;
pub(crate) const MOST_EPOCHS: usize = 1 << 20;
const MOST_PARAMETERS: usize = 1 << 28;

/// Refuses a network of more numbers than anybody trains here.
pub(crate) fn check_parameters(numbers: usize) -> Result<()> {
    if numbers <= MOST_PARAMETERS {
        return Ok(());
    }
    Err(Error::Configuration(format!(
        "a network of {numbers} parameters is over {MOST_PARAMETERS}; make it smaller"
    )))
}

/// Trials an inference program takes at once.
pub(crate) const INFERENCE_BATCH: usize = 32;

/// Trains a network once per job, from a teacher beside the labels where there is one; `done` gets each with its number when it is ready.
pub(crate) fn train(
    (recipe, teacher): (&Recipe, Option<&TeacherTargets>),
    jobs: &[Job<'_>],
    run: &Run<'_>,
    watch: &mut dyn Watch,
    done: &mut dyn FnMut(usize, TrainedReplica<Parameters<f32>>) -> Result<()>,
) -> Result<()> {
    if jobs.is_empty() {
        return Err(Error::Configuration("training needs at least 1 seed".into()));
    }
    let (mut tasks, mut planned) = (vec![], vec![]);
    for (number, job) in jobs.iter().enumerate() {
        let mut task = TrainingTask::new(recipe, job)?;
        task.teacher = teacher.map(|targets| TaskTargets::new(targets, number, job)).transpose()?;
        planned.push(PlannedJob { job, identity: task.identity(recipe, run)?, steps: task.sampler.steps() });
        tasks.push(task);
    }
    let mut meter = Meter::new(&recipe.training, &planned);
    // Those of one shape train at once.
    let mut groups: Vec<Vec<usize>> = vec![];
    for (i, task) in tasks.iter().enumerate() {
        match groups.iter_mut().find(|group| tasks[group[0]].key() == task.key()) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    groups.into_iter().try_for_each(|group| {
        let replicas = NetworkReplicas::new(recipe, &tasks, &group, run)?;
        ReplicaTrainer::new(&recipe.training, &planned, group, replicas).run(&mut meter, watch, done)
    })
}

/// A job with all that follows from it.
struct TrainingTask<'a> {
    job: &'a Job<'a>,
    /// Those of its data's trials that it learns from with their labels.
    train: Subset<'a>,
    /// Trials that it learns from without.
    target: Vec<&'a [f32]>,
    shape: TrialShape,
    sampler: BatchSampler,
    /// The number of each trial's subject among those trained on, by its row in the set. Others are never fed; theirs is not read.
    subjects: Vec<u32>,
    /// What its teacher says of its trials.
    teacher: Option<TaskTargets>,
}

impl<'a> TrainingTask<'a> {
    fn new(recipe: &Recipe, job: &'a Job<'a>) -> Result<TrainingTask<'a>> {
        let training = &recipe.training;
        training.select.check(job.data.validation())?;
        let kind = recipe.network.batches();
        let (train, target) = target::parts(kind, job)?;
        if matches!(kind, Batches::Pairs { .. }) && recipe.augment.strength("mirror") > 0.0 {
            return Err(Error::Configuration(
                "pairs of one class cannot be mirrored at random, which changes classes; leave `augment.mirror` at 0, or set `training.symmetry`"
                    .into(),
            ));
        }
        let together = (training.batch_subjects, training.batch_trials);
        let sampler = BatchSampler::new(kind, &train, target.len(), together);
        if sampler.labelled() < 4 {
            return Err(Error::trials(
                format!("a batch of {} trials is too small", sampler.labelled()),
                "at least 4 are needed; raise `training.batch_trials` or give more trials",
            ));
        }
        let order: Vec<_> = train.subjects().into_iter().collect();
        let shape = shape(train.layout(), order.len());
        let info = train.set().info().iter();
        let subjects = info.map(|t| order.binary_search(&t.subject).unwrap_or(0) as u32).collect();
        Ok(TrainingTask { job, train, target, shape, sampler, subjects, teacher: None })
    }

    /// All that a checkpoint must agree with.
    fn identity(&self, recipe: &Recipe, run: &Run<'_>) -> Result<String> {
        let (train, validation) = (&self.train, self.job.data.validation());
        let mut identity = serde_json::json!({
            "model": { "name": recipe.network.name(), "config": recipe.network.as_settings()? },
            "shape": self.shape,
            "training": recipe.training,
            "augment": recipe.augment,
            "seed": self.job.seed,
            "train": (train.len(), train.subjects()),
            "validation": (validation.len(), validation.subjects()),
            "data": run.identity,
        });
        if !self.target.is_empty() {
            identity["target"] = serde_json::json!((self.target.len(), target::fingerprint(&self.target)));
        }
        if let Some(teacher) = &self.teacher {
            identity["teacher"] = teacher.identity();
        }
        Ok(identity.to_string())
    }

    /// Tasks with the same key can train at once.
    fn key(&self) -> (TrialShape, usize, &'a Layout) {
        (self.shape, self.sampler.batch(), self.train.layout())
    }

    fn measure(&self, what: Measure, of: TrialPart) -> Vec<f32> {
        let channels = self.shape.channels;
        match of {
            TrialPart::Labelled => {
                measured::measure(what, &self.train.signals().collect::<Vec<_>>(), channels)
            }
            TrialPart::Target => measured::measure(what, &self.target, channels),
        }
    }
}

/// How far all jobs have come.
pub(crate) struct Meter {
    start: Instant,
    steps: usize,
    jobs: usize,
    /// Of jobs that have ended: how many, and their steps.
    ended: (usize, usize),
    trials: usize,
}

impl Meter {
    /// Before any of them has begun.
    pub(crate) fn new(training: &Training, jobs: &[PlannedJob<'_>]) -> Meter {
        let steps = jobs.iter().map(|job| training.epochs * job.steps).sum();
        Meter { start: Instant::now(), steps, jobs: jobs.len(), ended: (0, 0), trials: 0 }
    }

    /// What a watcher is told; `in_flight` is the steps done by jobs that have not ended.
    fn progress<'p>(
        &self,
        in_flight: usize,
        (epoch, epochs): (usize, usize),
        ended: &'p [EpochRecord],
    ) -> Progress<'p> {
        Progress {
            step: self.ended.1 + in_flight,
            steps: self.steps,
            epoch,
            epochs,
            jobs: (self.ended.0, self.jobs),
            trials_per_second: self.trials as f64 / self.start.elapsed().as_secs_f64().max(1e-9),
            ended,
        }
    }
}

/// The shape of trials of so many training subjects.
pub(crate) fn shape(layout: &Layout, subjects: usize) -> TrialShape {
    TrialShape {
        channels: layout.channels.len(),
        time: layout.samples,
        classes: layout.classes.len(),
        subjects,
    }
}

/// The samples of some trials.
pub(crate) fn signals<'a>(set: &'a Trials, rows: &[u32]) -> Vec<&'a [f32]> {
    rows.iter().map(|&row| set.signal(row as usize)).collect()
}

/// Rows for a program of [`INFERENCE_BATCH`] trials, the last one repeated.
pub(crate) fn padded(rows: &[usize]) -> Vec<u32> {
    let last = rows.last().copied().unwrap_or(0);
    let filled = rows.iter().copied().chain(std::iter::repeat(last)).take(INFERENCE_BATCH);
    filled.map(|r| r as u32).collect()
}
