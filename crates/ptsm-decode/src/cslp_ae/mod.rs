//! CSLP-AE: an autoencoder whose latents of the subject and of the task can be exchanged between trials.
//!
//! Paper: Nørskov, Zahid and Mørup, NeurIPS 2023, arXiv:2311.07788; the authors' code is the reference.
//!
//! ```text
//! encoder  [B,C,T] -> conv 1, block -> levels x (block, conv 4 stride 2) -> [B,c,L], L = T / 2^levels
//!          -> levels x (positional embedding, self-attention, linear layers) -> block -> block to s [B,d,L], block to t [B,d,L]
//! decoder  u = block(s and t), v = u + block(s) + block(t), u + block(v) -> self-attention
//!          -> levels x (transposed conv 4 stride 2, block) -> block -> [B,C,T]
//! block    conv 3, ReLU, IN; conv 1, ReLU, IN; IN; conv 1           with the input added wherever it fits
//! ```
//!
//! Trials come in pairs of one subject and in pairs of one task. In the first the latents of the subject are exchanged before decoding, in
//! the second those of the task, and what comes out must be what went in; a contrast draws the exchanged latents of a pair together and
//! those of different subjects (tasks) apart. There is no plain reconstruction.
//!
//! It is no classifier. Unseen subjects are decoded by a classifier of the task latents that was fitted to the training subjects: see [`Readout`].
//!
//! Differs: see [`CSLP_AE`].
//!
//! An epoch is as many drawn trials as there are, so that steps are epochs x trials / trials of a step. The authors have 200 epochs of many trials;
//! a few thousand trials in steps of 512 would leave some hundred steps. Simulated ERPs were still at the contrasts' chance level (ln 2 for two classes) after 240
//! steps of 128. Hence steps of about 128 trials (`pair_trials` 64) at a rate of 5e-4, 100 epochs: half of their epochs, four times as many steps in each.
//! At 3e-3 the contrasts came to rest at chance, as they do where all latents are alike.
//!
//! Parameters at C=30, T=256 with the authors' widths, without heads: 10 355 360 (held by a test).

mod autoencoder;
mod blocks;
pub mod losses;
mod readout;

use ptsm_engine::{Graph, Id, Init, Objective};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::layers::linear;
use crate::method::Method;
use crate::network::{
    Architecture, Batches, FittedReadout, Measure, MeasuredStatistic, Network, Pairs, TrialBatch, TrialPart,
    TrialShape,
};
use crate::settings::positive;
use crate::training::{LrSchedule, Recipe, Select, Training};
use autoencoder::Latents;
use losses::{FIRST_SCALE, contrasts, distance};

/// CSLP-AE.
pub const CSLP_AE: Method = Method {
    name: "cslp-ae",
    about: "a small autoencoder (64 channels inside, not 256) with separate subject and task latents and a linear classifier on the latter; converts",
    paper: "Nørskov et al., NeurIPS 2023",
    doi: "10.48550/arXiv.2311.07788",
    differs: "Widths of 64 and 16 where the authors have 256 and 64, which are 10 million parameters (`width` and `latent` are settings). Each (channel, sample) is standardised by the training subjects alone; the authors use all subjects. Trials whose length is no multiple of 2^levels get zeros at their end, which no loss asks for; norms and attention see them. The scale of the contrast is at most 100. A linear head reads the task latents while training goes on, without moving them unless the readout is `joint`, so that epochs can be compared; the last state is kept all the same, as the authors do. Heads learn from the half of a step in which their classes are equally frequent, and the logistic readout counts classes equally. \
              The authors do not decode unseen subjects: they classify latents by trees fitted to the unseen subjects' own labels; the readout here is fitted to the training subjects alone. \
              Adam with their one-cycle schedule at 5e-4 (theirs 1e-4) for 100 epochs (200), in steps of about 128 trials (512), since there are fewer trials. Temperature and offsets of the probabilities are fitted on the validation subjects afterwards.",
    converts: true,
    ..Method::network::<CslpAe>(|layout| {
        let mut config = CslpAe::default();
        // At least two places must be left.
        while config.levels > 1 && layout.samples <= 1 << config.levels {
            config.levels -= 1;
        }
        let training = Training {
            // The authors take 200 and the last state. The head that learns along says too little about the latents to choose by.
            epochs: 100,
            patience: None,
            select: Select::Last,
            // Theirs is 1e-4 for many more steps.
            rate: 5e-4,
            course: LrSchedule::OneCycle,
            weight_decay: 0.0,
            clip: None,
            ..Training::default()
        };
        Recipe { training, ..Recipe::new(config) }
    })
};

/// Configuration of CSLP-AE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CslpAe {
    /// Channels inside; the authors have 256.
    pub width: usize,
    /// Channels of each latent; the authors have 64.
    pub latent: usize,
    /// How often the length is halved, and layers of attention on both sides.
    pub levels: usize,
    /// Trials of a step that are paired by subject, and as many by task; the authors have 256.
    pub pair_trials: usize,
    /// Whether latents are exchanged within pairs; otherwise every trial is reconstructed from its own.
    pub permute: bool,
    /// Whether latents are contrasted.
    pub contrast: bool,
    /// What classifies trials of unseen subjects.
    pub readout: Readout,
}

impl Default for CslpAe {
    fn default() -> CslpAe {
        CslpAe {
            width: 64,
            latent: 16,
            levels: 4,
            pair_trials: 64,
            permute: true,
            contrast: true,
            readout: Readout::Logistic,
        }
    }
}

/// What turns the task latents of an unseen subject into classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Readout {
    /// Logistic regression on the standardised latents of the training subjects, fitted when all else is learnt (L2 penalty, C = 1).
    Logistic,
    /// A linear head that learns together with everything else, as does one that tells the training subjects apart.
    Joint,
}

/// Names of the statistics `[C, T]` that trials are standardised by.
const MEAN: &str = "input.mean";
const DEVIATION: &str = "input.deviation";

/// More halvings than any trial has samples for.
const MOST_LEVELS: usize = 32;
const MOST_WIDTH: usize = 1 << 14;

impl CslpAe {
    /// How a step's trials are paired, by subject and by task.
    pub fn pairs(&self, subjects: usize, classes: usize) -> [Pairs; 2] {
        [subjects, classes].map(|values| Pairs::new(values, self.pair_trials))
    }

    /// Trials in a training step.
    pub fn batch(&self, subjects: usize, classes: usize) -> usize {
        self.pairs(subjects, classes).map(|pairs| 2 * pairs.count()).iter().sum()
    }

    fn joint(&self) -> bool {
        self.readout == Readout::Joint
    }

    fn check(&self, shape: TrialShape) -> Result<()> {
        for (name, n, most) in [
            ("width", self.width, MOST_WIDTH),
            ("latent", self.latent, MOST_WIDTH),
            ("levels", self.levels, MOST_LEVELS),
            ("pair_trials", self.pair_trials, 1 << 16),
        ] {
            positive(name, n)?;
            if n > most {
                return Err(Error::Configuration(format!("`{name}` must be at most {most}, got {n}")));
            }
        }
        // Instance norm has nothing to say about a single place.
        let least = (1usize << self.levels) + 1;
        if shape.time < least {
            return Err(Error::Configuration(format!(
                "CSLP-AE with {} levels needs trials of at least {least} samples, got {}; use fewer `levels`",
                self.levels, shape.time
            )));
        }
        Ok(())
    }
}

impl Architecture for CslpAe {
    fn name(&self) -> &'static str {
        "cslpae"
    }

    /// The network that reads latents and heads, and renders latents that are given to it.
    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        self.network(trials, false)
    }

    /// The network of a training step, which takes [`batch`](Self::batch) trials of known subjects. They are seen as they were recorded
    /// alone: an image would be of another pair of classes than its partner.
    fn build_for_training(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size, .. } = trials;
        let needed = self.batch(shape.subjects, shape.classes);
        if shape.subjects == 0 || size != needed {
            return Err(Error::Configuration(format!(
                "a training step of CSLP-AE takes {needed} trials of at least 1 subject, got {size} of {}",
                shape.subjects
            )));
        }
        self.network(shape.batch(size), true)
    }

    fn batches(&self) -> Batches {
        Batches::Pairs { trials: self.pair_trials }
    }

    fn refuses_teacher(&self) -> Option<&'static str> {
        Some("it learns latents from pairs of trials, and what decodes them is fitted to labels afterwards")
    }

    fn readout(&self) -> Option<FittedReadout> {
        match self.readout {
            Readout::Logistic => Some(FittedReadout { value: "task_latents", fit: readout::fit }),
            Readout::Joint => None,
        }
    }
}

impl CslpAe {
    fn network(&self, trials: TrialBatch<'_>, training: bool) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        self.check(shape)?;
        let (mut g, x) = trials.graph()?;
        let task = g.labels("task", &[batch], shape.classes)?;
        let [mean, deviation] = [(MEAN, 0.0), (DEVIATION, 1.0)]
            .map(|(name, start)| g.statistic(name, &[shape.channels, shape.time], Init::Constant(start)));
        let (mean, deviation) = (mean?, deviation?);
        let centred = g.sub(x, mean)?;
        let x = g.div(centred, deviation)?;
        let length = shape.time.next_multiple_of(1 << self.levels);
        let padded = g.pad(x, 2, 0, length - shape.time)?;
        let own = self.encode(&mut g, padded)?;
        let logits = g.scoped("task_head", |g| -> Result<Id> {
            let features = g.flatten(own.task)?;
            linear(g, "linear", features, shape.classes)
        })?;
        let logits = trials.logits(&mut g, logits)?;
        // Pairs of one task have every class equally often, pairs of one subject have what there is.
        let by_subject = if training { self.pairs(shape.subjects, shape.classes)[0].count() } else { 0 };
        let loss = g.scoped("loss", |g| -> Result<Id> {
            let (from, trials) = (2 * by_subject, batch - 2 * by_subject);
            let (logits, task) = (g.slice(logits, 0, from, trials)?, g.slice(task, 0, from, trials)?);
            Ok(g.cross_entropy(logits, task, 0.0)?)
        })?;
        let values = vec![("subject_latents", own.subject), ("task_latents", own.task)];
        let values = trials.recorded(&mut g, values)?;
        let head = |name: &str| name.starts_with("task_head.");
        let objectives = vec![Objective::new(&g, loss, |name| self.joint() || head(name))];
        let measured = [(MEAN, Measure::Mean), (DEVIATION, Measure::Deviation)]
            .map(|(name, what)| MeasuredStatistic { name, what, of: TrialPart::Labelled })
            .to_vec();
        let mut network =
            Network { values, objectives, measured, ..Network::new(Graph::new(), logits, loss) };
        let decoded = if training {
            self.exchanged(&mut g, own, shape)?
        } else {
            let given = |g: &mut Graph, name: &str| {
                let shape = g.shape(own.task).to_vec();
                g.input(name, &shape)
            };
            Latents { subject: given(&mut g, "subject_latents")?, task: given(&mut g, "task_latents")? }
        };
        let y = self.decode(&mut g, decoded, shape.channels)?;
        let y = if length > shape.time { g.slice(y, 2, 0, shape.time)? } else { y };
        if shape.subjects > 0 {
            self.teach(&mut g, &mut network, shape, training.then_some(StepTensors { x, y, own, task }))?;
        }
        if !training {
            let rendered = g.mul(y, deviation)?;
            network.values.push(("rendered", g.add(rendered, mean)?));
        }
        network.graph = g;
        Ok(network)
    }

    /// The latents with the partners' in place of the trial's own: of the subject among pairs of one subject, of the task among pairs
    /// of one task.
    fn exchanged(&self, g: &mut Graph, own: Latents, shape: TrialShape) -> Result<Latents> {
        if !self.permute {
            return Ok(own);
        }
        let [by_subject, by_task] = self.pairs(shape.subjects, shape.classes).map(Pairs::count);
        let mut swapped = |x: Id, from: usize, pairs: usize, before: bool| -> Result<Id> {
            let first = g.slice(x, 0, from, pairs)?;
            let second = g.slice(x, 0, from + pairs, pairs)?;
            let turned = g.concat(second, first, 0)?;
            let all = 2 * (by_subject + by_task);
            Ok(if before {
                let rest = g.slice(x, 0, 2 * pairs, all - 2 * pairs)?;
                g.concat(turned, rest, 0)?
            } else {
                let rest = g.slice(x, 0, 0, from)?;
                g.concat(rest, turned, 0)?
            })
        };
        Ok(Latents {
            subject: swapped(own.subject, 0, by_subject, true)?,
            task: swapped(own.task, 2 * by_subject, by_task, false)?,
        })
    }

    /// What only a network with known subjects has: scales of the contrasts and, where it is joint, a head for the subject; and the losses where
    /// it is a training step's.
    fn teach(
        &self,
        g: &mut Graph,
        network: &mut Network,
        shape: TrialShape,
        step: Option<StepTensors>,
    ) -> Result<()> {
        let scale = |g: &mut Graph, name: &str| g.parameter(name, &[], Init::Constant(FIRST_SCALE.ln()));
        let scales = [scale(g, "contrast.subject")?, scale(g, "contrast.task")?];
        let subject_logits = match self.joint() {
            true => {
                let latents = network.values[0].1;
                let subject_logits = g.scoped("subject_head", |g| -> Result<Id> {
                    let features = g.flatten(latents)?;
                    linear(g, "linear", features, shape.subjects)
                })?;
                Some(subject_logits)
            }
            false => None,
        };
        let Some(StepTensors { x, y, own, task }) = step else { return Ok(()) };
        let subject = g.labels("subject", &[g.shape(x)[0]], shape.subjects)?;
        let [by_subject, by_task] = self.pairs(shape.subjects, shape.classes);
        let mut from = 0;
        let mut losses: Vec<(&'static str, Id)> = vec![];
        for (pairs, latents, labels, scale, names) in [
            (by_subject, own.subject, subject, scales[0], ["subject_permutation", "subject_contrast"]),
            (by_task, own.task, task, scales[1], ["task_permutation", "task_contrast"]),
        ] {
            let n = pairs.count();
            let other_side = g.slice(x, 0, from, 2 * n)?;
            let given = g.slice(y, 0, from, 2 * n)?;
            losses.push((names[0], distance(g, given, other_side)?));
            if self.contrast {
                let mut side = |from: usize| -> Result<Id> {
                    let part = g.slice(latents, 0, from, n)?;
                    let features = g.shape(part)[1..].iter().product();
                    Ok(g.reshape(part, &[pairs.groups, pairs.values, features])?)
                };
                let (first, second) = (side(from)?, side(from + n)?);
                // A group is in the order of its values, so that a trial's label is its place.
                let places = g.slice(labels, 0, from, n)?;
                let [a, b] = contrasts(g, first, second, places, scale)?;
                let both = g.add(a, b)?;
                losses.push((names[1], g.scale(both, 0.5)?));
            }
            from += 2 * n;
        }
        if let Some(subject_logits) = subject_logits {
            let n = 2 * by_subject.count();
            let (subject_logits, subject) = (g.slice(subject_logits, 0, 0, n)?, g.slice(subject, 0, 0, n)?);
            losses.push(("subject", g.cross_entropy(subject_logits, subject, 0.0)?));
        }
        let mut own = losses[0].1;
        for (_, loss) in &losses[1..] {
            own = g.add(own, *loss)?;
        }
        network.total = g.add(own, network.total)?;
        let moved = Objective::new(g, own, |name| !name.starts_with("task_head."));
        network.objectives.push(moved);
        network.losses.extend(losses);
        Ok(())
    }
}

/// What the losses of a training step compare.
struct StepTensors {
    /// The standardised trials and what was decoded in their place.
    x: Id,
    y: Id,
    own: Latents,
    task: Id,
}
