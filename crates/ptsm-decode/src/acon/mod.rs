//! ACON: a temporal and a frequency branch that teach each other, and a discriminator of domains on their outer product.
//!
//! Paper: Liu et al., NeurIPS 2024, "Boosting Transferability and Discriminability for Time Series Domain Adaptation"; the authors' code
//! (`mingyangliu1024/ACON`) is the reference.
//!
//! ```text
//! x [B,C,T] -> z-score of its domain -> three convolutions, mean over time -> h [B,F] -> linear -> logits [B,K]
//!                      \-> spectra of segments -> mixing of channels per bin -> amplitudes [B,C*m]
//!                             -> linear -> g -> linear -> logits [B,K]            (training only)
//! softmax(pooled g) x h -> discriminator: labelled or target                     (training only)
//! ```
//!
//! In every step the discriminator learns first, on features as they are; then everything else moves by
//!
//! ```text
//! CE(time) + CE(frequency)                     labelled trials
//!   + domain * CE(discriminator, labels exchanged)  both
//!   + entropy * (H(time) + H(frequency))       target
//!   + teach_source * KL(frequency || time)     labelled: frequency teaches
//!   + teach_target * KL(time || frequency)     target: time teaches
//! ```
//!
//! Labelled and target trials go through batch norm in two passes. Only the temporal branch decodes.
//!
//! Differs: see [`ACON`].
//!
//! Parameters at C=62, K=2, kernel 25, stride 6, period 128, pooled 16, no rank: 17 078 600 with complex weights counted once (held by
//! a test); 296 706 decode.

mod frequency;
mod time;

use ptsm_engine::{Graph, Id, Init, Objective, Pooling};
use ptsm_signal::{Layout, TargetAccess};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::layers::weighted;
use crate::method::Method;
use crate::network::{
    Architecture, Batches, Measure, MeasuredStatistic, Network, TrialBatch, TrialPart, TrialShape,
};
use crate::settings::{eeg_rate_hz, positive, probability};
use crate::training::{Recipe, Training};
use frequency::Frequency;
use time::TimeBranch;

/// ACON with the test subjects as its target.
pub const ACON: Method = Method {
    name: "acon",
    about: "a temporal and a frequency branch that teach each other, against a discriminator that tells the target from the rest",
    paper: "Liu et al., NeurIPS 2024",
    differs: DIFFERS,
    target_access: TargetAccess::WHOLE,
    ..Method::network::<Acon>(|layout| recipe(layout, TargetSource::Given))
};

/// ACON with some of the training subjects as its target.
pub const ACON_PSEUDO: Method = Method {
    name: "acon-pseudo",
    about: "the same where a third of the training subjects plays the target; not a form of its authors",
    paper: "Liu et al., NeurIPS 2024",
    differs: DIFFERS,
    ..Method::network::<Acon>(|layout| recipe(layout, TargetSource::Pretended))
};

const DIFFERS: &str = "The first linear layer of the frequency head, C*m x C*m, goes through `rank` numbers, without which it has 16 million weights at C=62 (`rank = \"none\"` is the original). Segments have 128 samples where the authors take 400 for imagery. The best epoch is chosen on validation subjects; the authors choose it on the target's labels. Each domain's z-score is that of the training trials: validation subjects are scaled as the labelled ones, and subjects decoded later as the target was (in `acon-pseudo` the training subjects that play the target). An epoch is one pass over the labelled trials; the epoch kept is that of highest balanced accuracy (theirs: macro-F1). \
                       Trials are shuffled, which the published scripts leave off, and a batch has as many of each subject. Other rates than 250 Hz: the first kernel and its stride of the same duration. The authors decode imagery of 48 channels and 3 s (750 samples) at 250 Hz. \
                       Temperature and offsets of the probabilities are fitted on the validation subjects afterwards.";

/// Adam at one rate for 50 epochs, all of them, as its authors do; batches of 32 labelled trials and as many of the target.
fn recipe(layout: &Layout, target: TargetSource) -> Recipe {
    let config = eeg_rate_hz(layout).map_or_else(Acon::default, Acon::at_rate);
    let period = config.period.min(layout.samples).max(2);
    let training = Training {
        epochs: 50,
        patience: None,
        batch_subjects: 8,
        batch_trials: 4,
        ..Training::adversarial()
    };
    Recipe { training, ..Recipe::new(Acon { target, period, ..config }) }
}

/// The subjects whose unlabelled trials are trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetSource {
    /// Those of the test subjects.
    Given,
    /// Those of a third of the training subjects: nothing is seen of the test subjects.
    Pretended,
}

/// Weights of the losses besides those of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AconLossWeights {
    /// The classes by the frequency branch.
    pub frequency: f64,
    /// Going against the discriminator.
    pub domain: f64,
    /// Entropy of what is said about the target.
    pub entropy: f64,
    /// The frequency branch teaching the temporal one.
    pub teach_source: f64,
    /// The temporal branch teaching the frequency one.
    pub teach_target: f64,
}

impl Default for AconLossWeights {
    fn default() -> AconLossWeights {
        AconLossWeights { frequency: 1.0, domain: 1.0, entropy: 0.01, teach_source: 1.0, teach_target: 1.0 }
    }
}

/// Configuration of ACON; the default is for imagery at 250 Hz.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Acon {
    /// The subjects whose unlabelled trials are trained on.
    pub target: TargetSource,
    /// Channels of the first convolution; the second has twice as many.
    pub width: usize,
    /// Channels of the third, the temporal features.
    pub features: usize,
    /// Kernel of the first convolution.
    pub kernel: usize,
    /// Its stride.
    pub stride: usize,
    /// Dropout after the first convolution.
    pub dropout: f64,
    /// Samples of a segment whose spectrum is taken.
    pub period: usize,
    /// Divide each spectrum by its norm.
    pub fft_normalize: bool,
    /// Numbers that the first layer of the frequency head goes through; none for a full one.
    pub rank: Option<usize>,
    /// Places the discriminator sees of the frequency features.
    pub pooled: usize,
    /// Width of the discriminator.
    pub critic: usize,
    /// Temperature of what the branches teach each other.
    pub temperature: f64,
    /// Keep the teacher where it is.
    pub detach_teacher: bool,
    /// Weights of the losses.
    pub weights: AconLossWeights,
}

impl Default for Acon {
    fn default() -> Acon {
        Acon {
            target: TargetSource::Given,
            width: 64,
            features: 128,
            kernel: 15,
            stride: 3,
            dropout: 0.5,
            period: 128,
            fft_normalize: true,
            rank: Some(64),
            pooled: 30,
            critic: 128,
            temperature: 1.0,
            detach_teacher: false,
            weights: AconLossWeights::default(),
        }
    }
}

/// Tensors that the discriminator's own step moves; their name in model files is older than this one.
const DISCRIMINATOR: &str = "critic.";

/// Statistics of the two domains.
const SOURCE: &str = "scale.source";
const TARGET: &str = "scale.target";

impl Acon {
    /// The form for trials of a sampling rate.
    pub fn at_rate(rate_hz: f64) -> Acon {
        let times = rate_hz / 250.0;
        let scaled = |n: f64| (n * times).round().max(1.0) as usize;
        Acon { kernel: scaled(15.0), stride: scaled(3.0), ..Acon::default() }
    }

    fn check(&self, shape: TrialShape) -> Result<()> {
        let wrong = |message: String| Err(Error::Configuration(message));
        probability("dropout", self.dropout)?;
        for (name, n) in [
            ("width", self.width),
            ("features", self.features),
            ("kernel", self.kernel),
            ("stride", self.stride),
            ("rank", self.rank.unwrap_or(1)),
            ("pooled", self.pooled),
            ("critic", self.critic),
        ] {
            positive(name, n)?;
        }
        if self.period < 2 {
            return wrong(format!("`period` must be at least 2 samples, got {}", self.period));
        }
        let frequencies = shape.channels.saturating_mul(self.period / 2 + 1);
        if self.pooled > frequencies {
            return wrong(format!("{frequencies} frequency features cannot be pooled to {}", self.pooled));
        }
        let AconLossWeights { frequency, domain, entropy, teach_source, teach_target } = self.weights;
        let weights = [frequency, domain, entropy, teach_source, teach_target];
        if let Some(w) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return wrong(format!("`weights` must be numbers not below 0, got {w}"));
        }
        if !(self.temperature.is_finite() && self.temperature > 0.0) {
            return wrong(format!("`temperature` must be above 0, got {}", self.temperature));
        }
        Ok(())
    }
}

impl Architecture for Acon {
    fn name(&self) -> &'static str {
        "acon"
    }

    fn batches(&self) -> Batches {
        match self.target {
            TargetSource::Given => Batches::WithTarget,
            TargetSource::Pretended => Batches::WithPseudoTarget,
        }
    }

    /// Nothing in it does.
    fn may_keep_subjects(&self) -> bool {
        false
    }

    fn refuses_teacher(&self) -> Option<&'static str> {
        Some(
            "its two branches teach each other on the trials of both domains, and the logits that its classes are learnt by are not those it decodes by",
        )
    }

    /// Without training subjects, the temporal branch alone.
    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        self.check(shape)?;
        let (c, classes) = (shape.channels, shape.classes);
        let (mut g, x) = trials.graph()?;
        let learns = shape.subjects > 0;
        let labelled = if learns { batch.div_ceil(2) } else { batch };
        let task = g.labels("task", &[labelled], classes)?;
        let time = g.scoped("time", |g| TimeBranch::new(g, self, c, classes))?;
        let target = g.statistic(TARGET, &[2, c], Init::Moments)?;
        if !learns {
            let x = scaled(&mut g, x, target)?;
            let (_, logits) = g.scoped("time", |g| time.apply(g, self, x))?;
            return Network::classifier(trials, g, logits, task, 0.0);
        }
        let source = g.statistic(SOURCE, &[2, c], Init::Moments)?;
        let frequency = g.scoped("frequency", |g| Frequency::new(g, self, c, classes))?;
        let discriminator = g.scoped("critic", |g| Discriminator::new(g, self))?;
        // Validation subjects are of the labelled domain.
        let own = scaled(&mut g, x, source)?;
        let (_, logits) = g.scoped("time", |g| time.apply(g, self, own))?;
        if batch < 2 {
            return Network::classifier(trials, g, logits, task, 0.0);
        }
        let domain = g.labels("domain", &[batch], 2)?;
        let domain = trials.for_rows(&mut g, domain)?;
        let logits = trials.logits(&mut g, logits)?;
        let (mut branches, mut domains) = (vec![], vec![]);
        for (start, length, scale) in [(0, labelled, source), (labelled, batch - labelled, target)] {
            let part = trials.part(&mut g, x, start, length)?;
            let part = scaled(&mut g, part, scale)?;
            let (h, z_t) = g.scoped("time", |g| time.apply(g, self, part))?;
            let (amplitude, f, z_f) = g.scoped("frequency", |g| frequency.apply(g, self, part))?;
            let (z_t, z_f) = (trials.logits(&mut g, z_t)?, trials.logits(&mut g, z_f)?);
            branches.push(Branches { h, z_t, amplitude, f, z_f });
            domains.push(trials.part(&mut g, domain, start, length)?);
        }
        let domain = g.concat(domains[0], domains[1], 0)?;
        self.losses((g, logits), &discriminator, (task, domain), [branches[0], branches[1]])
    }
}

impl Acon {
    fn losses(
        &self,
        (mut g, logits): (Graph, Id),
        discriminator: &Discriminator,
        (task, domain): (Id, Id),
        [source, target]: [Branches; 2],
    ) -> Result<Network> {
        let w = self.weights;
        let (joint, domain_logits) = g.scoped("critic", |g| -> Result<_> {
            let f = g.concat(source.f, target.f, 0)?;
            let h = g.concat(source.h, target.h, 0)?;
            discriminator.apply(g, self, f, h)
        })?;
        let by_time = g.scoped("loss.time", |g| g.cross_entropy(source.z_t, task, 0.0))?;
        let by_frequency = g.scoped("loss.frequency", |g| g.cross_entropy(source.z_f, task, 0.0))?;
        // The input says 0 for labelled and 1 for target trials: the exchanged labels. The discriminator's own are the other way round.
        let against = g.scoped("loss.domain", |g| g.cross_entropy(domain_logits, domain, 0.0))?;
        let judged = g.scoped("loss.critic", |g| -> Result<Id> {
            let (first, second) = (g.slice(domain_logits, 1, 0, 1)?, g.slice(domain_logits, 1, 1, 1)?);
            let turned = g.concat(second, first, 1)?;
            Ok(g.cross_entropy(turned, domain, 0.0)?)
        })?;
        let (entropy_t, entropy_f) = g.scoped("loss.entropy", |g| -> Result<_> {
            Ok((entropy(g, target.z_t)?, entropy(g, target.z_f)?))
        })?;
        let teach_source = g.scoped("loss.teach_source", |g| self.taught(g, source.z_f, source.z_t, 1e-5))?;
        let teach_target = g.scoped("loss.teach_target", |g| self.taught(g, target.z_t, target.z_f, 0.0))?;
        let total = g.scoped("loss", |g| {
            let parts = [
                (1.0, by_time),
                (w.frequency, by_frequency),
                (w.domain, against),
                (w.entropy, entropy_t),
                (w.entropy, entropy_f),
                (w.teach_source, teach_source),
                (w.teach_target, teach_target),
            ];
            weighted(g, &parts)
        })?;
        let Some(total) = total else { unreachable!("the task's loss has weight 1") };
        let discriminators = vec![Objective::new(&g, judged, |name| name.starts_with(DISCRIMINATOR))];
        let objectives = vec![Objective::new(&g, total, |name| !name.starts_with(DISCRIMINATOR))];
        Ok(Network {
            total,
            losses: vec![
                ("task", by_time),
                ("task_frequency", by_frequency),
                ("domain", against),
                ("critic", judged),
                ("entropy_time", entropy_t),
                ("entropy_frequency", entropy_f),
                ("teach_source", teach_source),
                ("teach_target", teach_target),
            ],
            values: vec![
                ("features", source.h),
                ("amplitude", source.amplitude),
                ("joint", joint),
                ("source_time", source.z_t),
                ("source_frequency", source.z_f),
                ("target_time", target.z_t),
                ("target_frequency", target.z_f),
                ("critic_logits", domain_logits),
            ],
            objectives,
            discriminators,
            measured: [(SOURCE, TrialPart::Labelled), (TARGET, TrialPart::Target)]
                .map(|(name, of)| MeasuredStatistic { name, what: Measure::Channels, of })
                .to_vec(),
            ..Network::new(g, logits, by_time)
        })
    }

    /// Mean over trials and classes of `q (ln q - ln p)`, where the teacher's probabilities `q` get `more`.
    fn taught(&self, g: &mut Graph, teacher: Id, pupil: Id, more: f64) -> Result<Id> {
        let teacher = if self.detach_teacher { g.stop_gradient(teacher)? } else { teacher };
        let [q, p] = [teacher, pupil].map(|z| -> Result<Id> {
            let z = g.scale(z, 1.0 / self.temperature)?;
            Ok(g.softmax(z)?)
        });
        let q = g.affine(q?, 1.0, more)?;
        let (ln_q, ln_p) = (logarithm(g, q)?, logarithm(g, p?)?);
        let apart = g.sub(ln_q, ln_p)?;
        let apart = g.mul(q, apart)?;
        Ok(g.mean(apart)?)
    }
}

/// What comes out of both branches for one domain.
#[derive(Clone, Copy)]
struct Branches {
    h: Id,
    z_t: Id,
    amplitude: Id,
    f: Id,
    z_f: Id,
}

/// `(x - mean) / deviation` of each channel, by statistics `[2, C]`.
fn scaled(g: &mut Graph, x: Id, moments: Id) -> Result<Id> {
    let c = g.shape(x)[1];
    let [mean, variance] = [0, 1].map(|row| -> Result<Id> {
        let row = g.slice(moments, 0, row, 1)?;
        Ok(g.reshape(row, &[c, 1])?)
    });
    // A channel that never changes becomes zeros.
    let variance = g.affine(variance?, 1.0, 1e-24)?;
    let deviation = g.sqrt(variance)?;
    let x = g.sub(x, mean?)?;
    Ok(g.div(x, deviation)?)
}

/// Natural logarithm of probabilities, finite at 0.
fn logarithm(g: &mut Graph, p: Id) -> Result<Id> {
    let p = g.affine(p, 1.0, 1e-30)?;
    Ok(g.ln(p)?)
}

/// Mean entropy of what logits `[B, K]` say.
fn entropy(g: &mut Graph, logits: Id) -> Result<Id> {
    let classes = g.shape(logits)[1];
    let p = g.softmax(logits)?;
    let ln_p = logarithm(g, p)?;
    let product = g.mul(p, ln_p)?;
    let mean = g.mean(product)?;
    Ok(g.scale(mean, -(classes as f64))?)
}

/// Tells labelled from target trials.
struct Discriminator {
    layers: Vec<[Id; 2]>,
}

impl Discriminator {
    fn new(g: &mut Graph, acon: &Acon) -> Result<Discriminator> {
        let inputs = acon.pooled.saturating_mul(acon.features);
        let sizes = [(inputs, acon.critic), (acon.critic, acon.critic), (acon.critic, 2)];
        let layers = sizes.into_iter().enumerate();
        let layers =
            layers.map(|(i, (inputs, outputs))| g.scoped(i.to_string(), |g| layer(g, inputs, outputs)));
        Ok(Discriminator { layers: layers.collect::<Result<_>>()? })
    }

    /// Weights of the pooled frequency features, and logits `[B, 2]`.
    fn apply(&self, g: &mut Graph, acon: &Acon, f: Id, h: Id) -> Result<(Id, Id)> {
        let [batch, features] = *g.shape(h) else { unreachable!("made with two axes") };
        let pooled = g.pool(f, Pooling::Adaptive { length: acon.pooled })?;
        let weights = g.softmax(pooled)?;
        let (column, row) =
            (g.reshape(weights, &[batch, acon.pooled, 1])?, g.reshape(h, &[batch, 1, features])?);
        let product = g.matmul(column, row, false, false)?;
        let mut y = g.reshape(product, &[batch, acon.pooled * features])?;
        for (i, &[weight, bias]) in self.layers.iter().enumerate() {
            y = g.linear(y, weight, Some(bias))?;
            if i + 1 < self.layers.len() {
                y = g.relu(y)?;
            }
        }
        Ok((weights, y))
    }
}

/// Weight and bias of a linear layer, started as PyTorch does.
fn layer(g: &mut Graph, inputs: usize, outputs: usize) -> Result<[Id; 2]> {
    let init = Init::fan_in(inputs);
    Ok([g.parameter("weight", &[outputs, inputs], init)?, g.parameter("bias", &[outputs], init)?])
}
