//! How networks learn: one trainer for all of them.
//!
//! Adam with weight decay, a cosine over all steps, the gradient's norm clipped, batches balanced over subjects and classes, and after every
//! epoch a look at people who are not trained on: the best state is kept, and a seed that has not improved
//! for `patience` epochs stops. All seeds train at once as replicas of one program. Everything random is
//! decided by (seed, epoch, place), so a run that continues from its checkpoint ends with the same bytes as one that was
//! never disturbed.

mod batches;
mod checkpoint;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptsm_engine::{Adam, Decay, Device, Feed, Mode, Parameters, Program, Schedule, Shape, Step, Table};
use ptsm_signal::{Subset, Trials};
use serde::{Deserialize, Serialize};

use crate::augment::{Augment, Augmenter};
use crate::decoder::{EpochRecord, Lesson, Progress, Run, Watch};
use crate::error::{Error, Result};
use crate::network::{Model, TrialShape};
use batches::Pool;
use checkpoint::{Mark, Standing};

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
    /// Nothing: the last epoch.
    Last,
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
    /// Highest learning rate; it falls as half a cosine to 0 over all epochs.
    pub rate: f64,
    /// Epochs over which the rate rises first.
    pub warm_up: usize,
    /// Weight decay, added to the gradient.
    pub weight_decay: f64,
    /// Largest norm of the gradient; none for no limit.
    pub clip: Option<f64>,
    /// Subjects in a batch.
    pub batch_subjects: usize,
    /// Trials of each subject in a batch.
    pub batch_trials: usize,
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
            warm_up: 0,
            weight_decay: 1e-4,
            clip: Some(5.0),
            batch_subjects: 8,
            batch_trials: 8,
            keep_subjects: false,
        }
    }
}

impl Training {
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
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return wrong(format!("`training.rate` must be above 0, got {}", self.rate));
        }
        Ok(())
    }

    fn adam(&self) -> Adam {
        Adam { decay: Decay::Gradient(self.weight_decay), clip: self.clip, ..Adam::default() }
    }
}

/// One seed's network after training.
pub(crate) struct Trained {
    pub(crate) seed: u64,
    pub(crate) parameters: Parameters<f32>,
    pub(crate) history: Vec<EpochRecord>,
    pub(crate) best_epoch: usize,
}

/// More trials in a batch, epochs or numbers in a network than anybody trains here: a slip of the keyboard.
const MOST_BATCH: usize = 1 << 16;
const MOST_EPOCHS: usize = 1 << 20;
const MOST_PARAMETERS: usize = 1 << 28;

/// Trials an inference program takes at once.
pub(crate) const INFERENCE_BATCH: usize = 32;

/// A checkpoint is written at most this often; the last one always.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_millis(1000);

/// Trains a network once per seed.
pub(crate) fn train(
    model: &Model,
    shape: TrialShape,
    training: &Training,
    augment: &Augment,
    lesson: &Lesson<'_>,
    run: &Run<'_>,
    watch: &mut dyn Watch,
) -> Result<Vec<Trained>> {
    let mut trainer = Trainer::new(model, shape, training, augment, lesson, run)?;
    if let Some(path) = &run.checkpoint
        && path.exists()
    {
        trainer.resume(path)?;
    }
    trainer.run(watch)?;
    Ok(trainer.finish())
}

struct Trainer<'a> {
    lesson: &'a Lesson<'a>,
    training: &'a Training,
    run: &'a Run<'a>,
    /// All that a checkpoint must agree with.
    identity: String,
    pool: Pool,
    augmenter: Option<Augmenter>,
    schedule: Schedule,
    step: Step<f32>,
    loss_names: Vec<&'static str>,
    parameters: Parameters<f32>,
    /// The best state of each seed so far.
    best: Vec<Parameters<f32>>,
    standings: Vec<Standing>,
    validation: Scorer<'a>,
    /// All trials of the set, to pick from.
    table: Arc<Table<'a, f32>>,
    labels: Vec<u32>,
    /// The number of each trial's subject among those trained on, where the network asks for it.
    people: Option<Vec<u32>>,
    /// Epochs finished.
    epoch: usize,
}

impl<'a> Trainer<'a> {
    fn new(
        model: &Model,
        shape: TrialShape,
        training: &'a Training,
        augment: &Augment,
        lesson: &'a Lesson<'a>,
        run: &'a Run<'a>,
    ) -> Result<Trainer<'a>> {
        let train = lesson.train();
        if lesson.validation().is_empty() && training.select != Select::Last {
            return Err(Error::trials(
                "there is no validation subject to stop by",
                "give more subjects, or set `training.select = \"last\"` to keep the last epoch",
            ));
        }
        if run.seeds.is_empty() {
            return Err(Error::Configuration("training needs at least 1 seed".into()));
        }
        let pool = Pool::new(train, training.batch_subjects, training.batch_trials);
        if pool.batch() < 4 {
            return Err(Error::trials(
                format!("a batch of {} trials is too small", pool.batch()),
                "at least 4 are needed; raise `training.batch_trials` or give more trials",
            ));
        }
        let network = model.build(shape, pool.batch())?;
        let numbers = network.graph.tensors().iter().map(|t| t.shape.iter().product::<usize>());
        let numbers = numbers.fold(0usize, usize::saturating_add);
        if numbers > MOST_PARAMETERS {
            return Err(Error::Configuration(format!(
                "a network of {numbers} parameters is over {MOST_PARAMETERS}; make it smaller"
            )));
        }
        let replicas = run.seeds.len();
        let step = Step::new(&network.graph, &network.step(training.adam()), replicas, run.device)?;
        let parameters = Parameters::new(&network.graph, run.seeds)?;
        let best = run.seeds.iter().enumerate().map(|(r, &seed)| parameters.spread(r, &[seed]));
        let best = best.collect::<ptsm_engine::Result<Vec<_>>>()?;
        let steps = (training.epochs * pool.steps) as u64;
        let schedule =
            Schedule { rate: training.rate, warm_up: 0, shape: Shape::Cosine { steps, least: 0.0 } }
                .after_warm_up((training.warm_up * pool.steps) as u64);
        let order: Vec<_> = train.subjects().into_iter().collect();
        let info = train.set().info();
        let set = train.set();
        let table = Arc::new(Table::new((0..set.len()).map(|row| set.signal(row)).collect())?);
        let others = lesson.validation().set();
        let others = if std::ptr::eq(set, others) {
            table.clone()
        } else {
            Arc::new(Table::new((0..others.len()).map(|row| others.signal(row)).collect())?)
        };
        // Others than the training subjects are never fed; their number is not read.
        let people = || info.iter().map(|t| order.binary_search(&t.subject).unwrap_or(0) as u32).collect();
        let people = network.value("subject").is_some().then(people);
        let identity = serde_json::json!({
            "model": model,
            "shape": shape,
            "training": training,
            "augment": augment,
            "seeds": run.seeds,
            "train": train.len(),
            "validation": lesson.validation().len(),
            "data": run.identity,
        });
        Ok(Trainer {
            lesson,
            training,
            run,
            identity: identity.to_string(),
            augmenter: augment.is_on().then(|| Augmenter::new(augment, train.layout())).transpose()?,
            schedule,
            step,
            loss_names: std::iter::once("total").chain(network.losses.iter().map(|(n, _)| *n)).collect(),
            parameters,
            best,
            standings: run.seeds.iter().map(|&seed| Standing::new(seed)).collect(),
            validation: Scorer::new(model, shape, replicas, run.device, lesson.validation(), &others)?,
            table,
            labels: info.iter().map(|t| t.label).collect(),
            people,
            epoch: 0,
            pool,
        })
    }

    fn run(&mut self, watch: &mut dyn Watch) -> Result<()> {
        let start = Instant::now();
        let (mut trials, mut written) = (0usize, Instant::now());
        let steps = self.pool.steps;
        while self.epoch < self.training.epochs && self.standings.iter().any(|s| s.learning) {
            let replicas = self.run.seeds.len();
            let active: Vec<bool> = self.standings.iter().map(|s| s.learning).collect();
            let learning = active.iter().filter(|a| **a).count();
            let plans: Vec<Vec<u32>> =
                self.run.seeds.iter().map(|&seed| self.pool.epoch(seed, self.epoch)).collect();
            let mut sums = vec![vec![0.0; self.loss_names.len()]; replicas];
            let mut rate = 0.0;
            for step in 0..steps {
                if watch.stop() {
                    // What this epoch has done is done again; the last checkpoint stands.
                    return Err(Error::Stopped);
                }
                rate = self.schedule.at((self.epoch * steps + step) as u64);
                self.batch(&plans, step, rate, &active)?;
                for (r, sums) in sums.iter_mut().enumerate().filter(|(r, _)| active[*r]) {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum += f64::from(self.step.output(&self.parameters, r, i)[0]);
                    }
                }
                trials += learning * self.pool.batch();
                if step + 1 < steps {
                    watch.progress(&self.progress(step + 1, trials, start, &[]));
                }
            }
            self.epoch += 1;
            let ended = self.judge(&active, &sums, rate)?;
            watch.progress(&self.progress(0, trials, start, &ended));
            let over = self.epoch == self.training.epochs || !self.standings.iter().any(|s| s.learning);
            if over || written.elapsed() > BETWEEN_CHECKPOINTS || watch.stop() {
                self.write()?;
                written = Instant::now();
            }
        }
        Ok(())
    }

    fn progress<'p>(
        &self,
        step: usize,
        trials: usize,
        start: Instant,
        ended: &'p [EpochRecord],
    ) -> Progress<'p> {
        Progress {
            step: self.epoch * self.pool.steps + step,
            steps: self.training.epochs * self.pool.steps,
            epoch: self.epoch,
            epochs: self.training.epochs,
            trials_per_second: trials as f64 / start.elapsed().as_secs_f64().max(1e-9),
            ended,
        }
    }

    /// One step of every seed that is still learning.
    fn batch(&mut self, plans: &[Vec<u32>], step: usize, rate: f64, active: &[bool]) -> Result<()> {
        let batch = self.pool.batch();
        let rows: Vec<u32> =
            plans.iter().flat_map(|plan| &plan[step * batch..(step + 1) * batch]).copied().collect();
        let rates = vec![rate; active.len()];
        // Copies only where something is changed.
        let changed;
        let (x, task) = match &self.augmenter {
            None => (
                Feed::Table { table: &self.table, rows: &rows },
                Feed::LabelRows { data: &self.labels, rows: &rows },
            ),
            Some(augmenter) => {
                changed = self.augmented(augmenter, &rows, step);
                (Feed::Each(&changed.0), Feed::Labels(&changed.1))
            }
        };
        let mut feeds = vec![("x", x), ("task", task)];
        if let Some(data) = &self.people {
            feeds.push(("subject", Feed::LabelRows { data, rows: &rows }));
        }
        self.step.run(&mut self.parameters, &feeds, &rates, active)?;
        Ok(())
    }

    /// A step's trials and labels after augmentation.
    fn augmented(&self, augmenter: &Augmenter, rows: &[u32], step: usize) -> (Vec<f32>, Vec<u32>) {
        let (set, batch) = (self.lesson.train().set(), self.pool.batch());
        let mut x = Vec::with_capacity(rows.len() * set.signal(0).len());
        let mut labels = Vec::with_capacity(rows.len());
        let mut spare = vec![];
        for (i, &row) in rows.iter().enumerate() {
            let from = x.len();
            x.extend_from_slice(set.signal(row as usize));
            let mut label = self.labels[row as usize];
            let (seed, place) = (self.run.seeds[i / batch], step * batch + i % batch);
            augmenter.apply(&mut x[from..], &mut label, seed, self.epoch, place, &mut spare);
            labels.push(label);
        }
        (x, labels)
    }

    /// Scores the epoch on the validation subjects and keeps what is best.
    fn judge(&mut self, active: &[bool], sums: &[Vec<f64>], rate: f64) -> Result<Vec<EpochRecord>> {
        let scores = self.validation.score(&self.parameters)?;
        let mut ended = vec![];
        for r in (0..active.len()).filter(|&r| active[r]) {
            let seed = self.run.seeds[r];
            let means = sums[r].iter().map(|s| s / self.pool.steps as f64);
            let record = EpochRecord {
                epoch: self.epoch,
                seed,
                losses: self.loss_names.iter().map(|n| n.to_string()).zip(means).collect(),
                validation_accuracy: scores[r].map(|s| s.0),
                validation_loss: scores[r].map(|s| s.1),
                rate,
            };
            let standing = &mut self.standings[r];
            if standing.improves(&record, self.training.select) {
                standing.best_epoch = self.epoch;
                self.best[r] = self.parameters.spread(r, &[seed])?;
            }
            let waited = self.epoch - standing.best_epoch;
            standing.learning = self.training.patience.is_none_or(|most| waited < most);
            standing.history.push(record.clone());
            ended.push(record);
        }
        Ok(ended)
    }

    fn finish(self) -> Vec<Trained> {
        let each = self.best.into_iter().zip(self.standings);
        each.map(|(parameters, s)| Trained {
            seed: s.seed,
            parameters,
            history: s.history,
            best_epoch: s.best_epoch,
        })
        .collect()
    }

    fn write(&self) -> Result<()> {
        let Some(path) = &self.run.checkpoint else { return Ok(()) };
        let steps = (0..self.run.seeds.len()).map(|r| self.step.checkpoint(r));
        let steps = steps.collect::<ptsm_engine::Result<Vec<_>>>()?;
        let mark =
            Mark { identity: self.identity.clone(), epoch: self.epoch, standings: self.standings.clone() };
        checkpoint::write(path, &mark, &self.parameters, &self.best, &steps)
    }

    fn resume(&mut self, path: &std::path::Path) -> Result<()> {
        let mark =
            checkpoint::read(path, &self.identity, &mut self.parameters, &mut self.best, &mut self.step)?;
        self.epoch = mark.epoch;
        self.standings = mark.standings;
        Ok(())
    }
}

/// Scores all seeds on the same trials.
struct Scorer<'a> {
    program: Program<f32>,
    trials: Subset<'a>,
    table: Arc<Table<'a, f32>>,
    replicas: usize,
}

impl<'a> Scorer<'a> {
    fn new(
        model: &Model,
        shape: TrialShape,
        replicas: usize,
        device: &Device,
        trials: &Subset<'a>,
        table: &Arc<Table<'a, f32>>,
    ) -> Result<Scorer<'a>> {
        let network = model.build(shape, INFERENCE_BATCH)?;
        let program = Program::new(&network.graph, Mode::Infer, &[network.logits], replicas, device)?;
        Ok(Scorer { program, trials: trials.clone(), table: table.clone(), replicas })
    }

    /// Balanced accuracy and cross-entropy of each replica; none where there is no trial.
    fn score(&mut self, parameters: &Parameters<f32>) -> Result<Vec<Option<(f64, f64)>>> {
        let labels = self.trials.labels();
        if labels.is_empty() {
            return Ok(vec![None; self.replicas]);
        }
        let counts = self.trials.class_counts();
        let classes = counts.len();
        let mut right = vec![vec![0usize; classes]; self.replicas];
        let mut loss = vec![0.0; self.replicas];
        for (rows, labels) in self.trials.rows().chunks(INFERENCE_BATCH).zip(labels.chunks(INFERENCE_BATCH)) {
            let rows = padded(rows);
            let everybody: Vec<u32> = rows.iter().cycle().take(rows.len() * self.replicas).copied().collect();
            let x = Feed::Table { table: &self.table, rows: &everybody };
            self.program.run(parameters, &[("x", x)])?;
            for r in 0..self.replicas {
                let logits = self.program.output(parameters, r, 0);
                for (logits, &label) in logits.chunks(classes).zip(labels) {
                    let p = softmax(logits);
                    right[r][label as usize] += usize::from(largest(&p) == label as usize);
                    loss[r] -= f64::from(p[label as usize].max(f32::MIN_POSITIVE)).ln();
                }
            }
        }
        let present = counts.iter().filter(|n| **n > 0).count() as f64;
        let scores = right.iter().zip(&loss).map(|(right, loss)| {
            let recalls = right.iter().zip(&counts).filter(|(_, n)| **n > 0);
            let balanced = recalls.map(|(right, n)| *right as f64 / *n as f64).sum::<f64>() / present;
            Some((balanced, loss / labels.len() as f64))
        });
        Ok(scores.collect())
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

/// Probabilities from logits.
pub(crate) fn softmax(logits: &[f32]) -> Vec<f32> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = logits.iter().map(|l| (l - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

/// The place of the largest number, the first of equals.
pub(crate) fn largest(values: &[f32]) -> usize {
    let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    (1..values.len()).fold(0, better)
}
