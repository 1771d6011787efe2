//! PTSM: physiology-aware and task-invariant spatio-temporal modelling (AAAI 2026).
//!
//! ```text
//! x [B,C,T] -> g_s^p, g_t^p, g_s^c, g_t^c -> M_s [B,C], M_t [B,T] -> x * M_s * M_t
//!           -> encoder -> shared -> task features  -> task head    -> logits [B,K]
//!                                \-> subject features -> subject head -> logits [B,S]   (training only)
//! ```
//!
//! The paper leaves much open; the choices here are those of the specification this crate follows: masks
//! made from log-variances (space) and a two-layer convolution (time), fused by learnable scalars, supervised NT-Xent
//! for the contrast, and bounded forms of the losses that are unbounded or scale with the trial's size
//! (`literal` gives the paper's). Every ablation is a configuration:
//!
//! | ablation | configuration |
//! | --- | --- |
//! | w/o STAP | `masks = "none"` |
//! | w/o PP, w/o CP | `masks = "common"`, `masks = "personal"` |
//! | w/o VO, CO, MIM, SR | `weights.orthogonality`, `.decorrelation`, `.retention`, `.feature_sparsity` `= 0` |
//! | w/o contrast, w/o L_subj | `weights.contrast = 0`, `weights.subject = 0` |
//! | cross-entropy only | [`PtsmLossWeights::cross_entropy_only`] |
//! | pool each, fixed fusion, literal losses | `pool = "each"`, `fusion = { fixed = { time = 0.5, space = 0.5 } }`, `literal = true` |
//! | routed, subject table (A11) | `routed = true`, `subject_table = true` |
//!
//! "+ Euclidean alignment" is a matter of the trials handed in, not of the network.
//!
//! Parameters at C=62, T=1000, K=2, S=53: 670 167 (held by a test).

mod config;

use ptsm_engine::{Graph, Id, Init, Objective, Padding, Pooling};
use ptsm_signal::Layout;

use crate::augment::Augment;
use crate::decoder::AdaptationWay;
use crate::error::{Error, Result};
use crate::layers::{linear, weight, weighted};
use crate::losses::{self, Mask};
use crate::method::Method;
use crate::mirror::Mirror;
use crate::network::{Architecture, Encoder, Network, TrialBatch, TrialShape, Trunk};
use crate::training::{Recipe, SymmetryUse, Training};
pub use config::{Fusion, MaskSelection, PoolPlacement, PowerBranch, PowerJoin, Ptsm, PtsmLossWeights};

/// PTSM as this project reads it.
pub const PTSM: Method = Method {
    name: "ptsm",
    about: "PTSM, this project's reading: pooled after each layer; equivariant to mirroring where the data declare which classes swap",
    paper: "Jing et al., AAAI 2026",
    differs: "Pooled after each layer, hemispheric symmetry built in where the data declare which classes swap, and bounded forms of the losses that are unbounded or scale with the trial's \
              size. What the paper leaves open is chosen: masks made from log-variances (space) and a two-layer convolution (time), fused \
              by learnable scalars, and supervised NT-Xent for the contrast.",
    adapts: &[AdaptationWay::Head, AdaptationWay::Masks, AdaptationWay::All],
    ..Method::network::<Ptsm>(|layout| Recipe {
        training: Training { symmetry: symmetry(layout), ..Training::default() },
        ..Recipe::new(Ptsm::pooled_after_each_layer())
    })
};

/// PTSM to the letter of its paper.
pub const PTSM_PAPER: Method = Method {
    name: "ptsm-paper",
    about: "PTSM to the letter where the paper is definite: literal losses, pooled once, no augmentation",
    paper: "Jing et al., AAAI 2026",
    differs: "What the paper leaves open is chosen as for `ptsm`. Sums are weighed so that they do not grow with the size of the trial and \
              of the batch.",
    adapts: &[AdaptationWay::Head, AdaptationWay::Masks, AdaptationWay::All],
    ..Method::network::<Ptsm>(|layout| {
        let mut ptsm = Ptsm { literal: true, ..Ptsm::default() };
        let training = Training::default();
        let entries = layout.channels.len() * layout.samples;
        let batch = training.batch_subjects * training.batch_trials;
        ptsm.weights.mask_sparsity /= entries as f64;
        ptsm.weights.feature_sparsity /= (ptsm.features * batch) as f64;
        Recipe { training, ..Recipe::new(ptsm) }
    })
};

/// Equivariance, only where it is declared which classes swap, as [`mirroring`].
fn symmetry(layout: &Layout) -> SymmetryUse {
    if Mirror::is_meant(layout) { SymmetryUse::Equivariant } else { SymmetryUse::None }
}

/// Left-right mirroring of half of the trials, only where it is declared which classes swap: `left` may also be a flickering target or a
/// word.
pub(crate) fn mirroring(layout: &Layout) -> Augment {
    if Mirror::is_meant(layout) { Augment::only("mirror", 0.5) } else { Augment::default() }
}

/// The kinds of masks, each with the names of its two values in the network ([`Network::values`]): over channels `[n, C]` and over time
/// `[n, T]`.
pub fn mask_values() -> [(&'static str, [&'static str; 2]); 3] {
    [
        ("common", ["mask.common.space", "mask.common.time"]),
        ("personal", ["mask.personal.space", "mask.personal.time"]),
        ("fused", ["mask.space", "mask.time"]),
    ]
}

/// The part of the network that decodes.
struct DecodingPart {
    /// Personal and common ones.
    masks: [Option<Mask>; 2],
    shared: Id,
    features: Id,
    logits: Id,
    values: Vec<(&'static str, Id)>,
}

/// The part of the network that knows the training subjects.
#[derive(Clone, Copy)]
struct SubjectPart {
    labels: Id,
    features: Id,
    logits: Id,
}

const NORM_EPS: f64 = 1e-5;
const NORM_MOMENTUM: f64 = 0.1;
/// Power below this has no logarithm worth the name, and no gradient.
const LEAST_POWER: f64 = 1e-6;

impl Ptsm {
    /// Lengths after each layer, where it pools.
    fn lengths(&self, time: usize) -> Vec<Option<usize>> {
        let last = self.encoder.len() - 1;
        (0..self.encoder.len())
            .map(|i| match (self.pool, &self.pool_lengths) {
                (PoolPlacement::Last, _) => (i == last).then_some(self.pooled),
                (PoolPlacement::Each, Some(lengths)) => Some(lengths[i]),
                (PoolPlacement::Each, None) if i == last => Some(self.pooled),
                (PoolPlacement::Each, None) => {
                    let quarters = 4usize.checked_pow(i as u32 + 1).map_or(1, |by| time.div_ceil(by));
                    Some(self.pooled.max(quarters))
                }
            })
            .collect()
    }
}

impl Architecture for Ptsm {
    fn name(&self) -> &'static str {
        "ptsm"
    }

    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        self.check()?;
        let (mut g, x) = trials.graph()?;
        let task = g.labels("task", &[batch], shape.classes)?;
        // Without training subjects it is the network as released: what could tell them apart is not there.
        let subjects = (shape.subjects > 0).then_some(shape.subjects);
        let subject = subjects
            .map(|n| -> Result<Id> {
                let subject = g.labels("subject", &[batch], n)?;
                trials.for_rows(&mut g, subject)
            })
            .transpose()?;
        let DecodingPart { masks, shared, features, logits, mut values } =
            self.decodes(&mut g, x, shape, subject)?;
        let subject = match (subject, subjects) {
            (Some(labels), Some(n)) => {
                let features = g.scoped("subject", |g| self.features(g, shared))?;
                let logits = g.scoped("subject_head", |g| self.head(g, features, n))?;
                values.extend([("subject_features", features), ("subject_logits", logits)]);
                Some(SubjectPart { labels, features, logits })
            }
            _ => None,
        };
        // Its losses are made below.
        let (values, logits) = (trials.recorded(&mut g, values)?, trials.logits(&mut g, logits)?);
        let mut network = Network { values, ..Network::new(g, logits, logits) };
        self.losses(&mut network, trials, masks, task, (features, subject))?;
        Ok(network)
    }
}

impl Ptsm {
    /// Masks, encoder, shared layers, task features and head.
    fn decodes(&self, g: &mut Graph, x: Id, shape: TrialShape, subject: Option<Id>) -> Result<DecodingPart> {
        let kinds: &[&str] = match self.masks {
            MaskSelection::Both => &["personal", "common"],
            MaskSelection::Personal => &["personal"],
            MaskSelection::Common => &["common"],
            MaskSelection::None => &[],
        };
        let over_time = self.temporal_logits(g, x, kinds)?;
        let mut masks = vec![];
        for (&kind, time) in kinds.iter().zip(over_time) {
            let table =
                (self.subject_table && kind == "personal").then_some((subject, shape.subjects.max(1)));
            masks.push(g.scoped(kind, |g| self.mask(g, x, time, table))?);
        }
        let made = |kind: &str| kinds.iter().position(|k| *k == kind).map(|i| masks[i]);
        let (personal, common) = (made("personal"), made("common"));
        let fused = match (personal, common) {
            (Some(p), Some(c)) => Some(g.scoped("fusion", |g| self.fuse(g, p, c))?),
            (one, other) => one.or(other),
        };
        let masked = match fused {
            Some(mask) => g.scoped("mask", |g| g.outer_mask(x, mask.space, mask.time))?,
            None => x,
        };
        let encoded = g.scoped("encoder", |g| self.encode(g, masked, shape.time))?;
        let power = match self.power {
            Some(branch) => Some((branch, g.scoped("power", |g| self.rhythms(g, masked, branch))?)),
            None => None,
        };
        let shared = g.scoped("shared", |g| -> Result<Id> {
            let mut flat = g.flatten(encoded)?;
            if let Some((PowerBranch { joins: PowerJoin::Shared, .. }, power)) = power {
                flat = g.concat(flat, power, 1)?;
            }
            let hidden = linear(g, "0", flat, self.shared[0])?;
            let hidden = g.elu(hidden)?;
            let hidden = g.dropout(hidden, self.dropout)?;
            linear(g, "1", hidden, self.shared[1])
        })?;
        let task_features = g.scoped("task", |g| self.features(g, shared))?;
        let mut task_logits = g.scoped("task_head", |g| self.head(g, task_features, shape.classes))?;
        if let Some((PowerBranch { joins: PowerJoin::Logits, head_norm, .. }, power)) = power {
            let inputs = g.shape(power)[1];
            let own = g.scoped("power_head", |g| -> Result<Id> {
                let w = weight(g, &[shape.classes, inputs], Init::glorot(inputs, shape.classes), head_norm)?;
                let b = g.parameter("bias", &[shape.classes], Init::Constant(0.0))?;
                Ok(g.linear(power, w, Some(b))?)
            })?;
            task_logits = g.add(task_logits, own)?;
        }
        let mut values = vec![("masked", masked), ("task_features", task_features)];
        for ((_, names), mask) in mask_values().into_iter().zip([common, personal, fused]) {
            values.extend(mask.into_iter().flat_map(|m| [(names[0], m.space), (names[1], m.time)]));
        }
        let masks = [personal, common];
        Ok(DecodingPart { masks, shared, features: task_features, logits: task_logits, values })
    }

    /// Logits of the temporal masks, `[B, T]` per kind, from a two-layer convolution each. No batch norm, so that few-shot tuning is
    /// free of running statistics.
    ///
    /// The generators read the same trial, so they run side by side as one convolution with the weights of both and one in
    /// groups: the same numbers for a third less work.
    fn temporal_logits(&self, g: &mut Graph, x: Id, kinds: &[&str]) -> Result<Vec<Id>> {
        let [batch, channels, time] = *g.shape(x) else { unreachable!("declared with three axes") };
        let (width, kernel) = (self.temporal_width, self.temporal_kernel);
        let mut together: Option<[Id; 4]> = None;
        for &kind in kinds {
            let own = g.scoped(format!("{kind}.temporal"), |g| -> Result<[Id; 4]> {
                let [w0, b0] = conv_parameters(g, "0", [width, channels, kernel])?;
                let [w1, b1] = conv_parameters(g, "1", [1, width, kernel])?;
                Ok([w0, b0, w1, b1])
            })?;
            together = Some(match together {
                None => own,
                Some(before) => g.scoped("temporal", |g| -> Result<[Id; 4]> {
                    let mut joined = before;
                    for (all, own) in joined.iter_mut().zip(own) {
                        *all = g.concat(*all, own, 0)?;
                    }
                    Ok(joined)
                })?,
            });
        }
        let Some([w0, b0, w1, b1]) = together else { return Ok(vec![]) };
        g.scoped("temporal", |g| {
            let hidden = g.conv1d(x, w0, Some(b0), 1, Padding::Same)?;
            let hidden = g.elu(hidden)?;
            let logits = g.conv1d(hidden, w1, Some(b1), kinds.len(), Padding::Same)?;
            let mut each = vec![];
            for i in 0..kinds.len() {
                let own = g.slice(logits, 1, i, 1)?;
                each.push(g.reshape(own, &[batch, time])?);
            }
            Ok(each)
        })
    }

    /// A pair of masks: the spatial one from log-variances, the temporal one from its logits.
    fn mask(&self, g: &mut Graph, x: Id, time: Id, table: Option<(Option<Id>, usize)>) -> Result<Mask> {
        let (batch, channels) = (g.shape(x)[0], g.shape(x)[1]);
        let mut space = g.scoped("spatial", |g| -> Result<Id> {
            let variance = g.variance(x)?;
            let variance = g.affine(variance, 1.0, 1e-6)?;
            let log = g.ln(variance)?;
            let mean = g.mean_axes(log, &[1])?;
            let mean = g.reshape(mean, &[batch, 1])?;
            let descriptor = g.sub(log, mean)?;
            let hidden = linear(g, "0", descriptor, self.spatial_width)?;
            let hidden = g.elu(hidden)?;
            linear(g, "1", hidden, channels)
        })?;
        let mut over_time = time;
        if let Some((subject, subjects)) = table {
            g.scoped("table", |g| -> Result<()> {
                for (name, width, logits) in [("space", channels, &mut space), ("time", 1, &mut over_time)] {
                    let table = g.parameter(name, &[subjects, width], Init::Constant(0.0))?;
                    let mean = g.mean_axes(table, &[0])?;
                    let mean = g.repeat(mean, 0, batch)?;
                    let bias = match subject {
                        Some(subject) => {
                            let own = g.gather(table, subject)?;
                            g.by_mode(own, mean)?
                        }
                        None => mean,
                    };
                    *logits = g.add(*logits, bias)?;
                }
                Ok(())
            })?;
        }
        Ok(Mask { space: g.sigmoid(space)?, time: g.sigmoid(over_time)? })
    }

    /// `share * personal + (1 - share) * common`, in space and in time.
    fn fuse(&self, g: &mut Graph, personal: Mask, common: Mask) -> Result<Mask> {
        let mut mix = |name: &str, fixed: fn(Fusion) -> Option<f64>, p: Id, c: Id| -> Result<Id> {
            let apart = g.sub(p, c)?;
            let part = match fixed(self.fusion) {
                Some(share) => g.scale(apart, share)?,
                None => {
                    let share = g.parameter(name, &[1], Init::Constant(0.0))?;
                    let share = g.sigmoid(share)?;
                    g.mul(apart, share)?
                }
            };
            Ok(g.add(c, part)?)
        };
        let time = |f| if let Fusion::Fixed { time, .. } = f { Some(time) } else { None };
        let space = |f| if let Fusion::Fixed { space, .. } = f { Some(space) } else { None };
        Ok(Mask {
            time: mix("time", time, personal.time, common.time)?,
            space: mix("space", space, personal.space, common.space)?,
        })
    }

    fn encode(&self, g: &mut Graph, mut h: Id, time: usize) -> Result<Id> {
        for (i, (&channels, length)) in self.encoder.iter().zip(self.lengths(time)).enumerate() {
            h = g.scoped(i.to_string(), |g| -> Result<Id> {
                let y = conv(g, "conv", h, channels, self.kernel)?;
                let y = g.scoped("norm", |g| g.batch_norm(y, NORM_EPS, NORM_MOMENTUM))?;
                let y = g.elu(y)?;
                let y = g.dropout(y, self.dropout)?;
                match length {
                    Some(length) => Ok(g.pool(y, Pooling::Adaptive { length })?),
                    None => Ok(y),
                }
            })?;
        }
        Ok(h)
    }

    /// Logarithms of the power of filtered trials over windows, `[B, filters * windows]`.
    fn rhythms(&self, g: &mut Graph, x: Id, power: PowerBranch) -> Result<Id> {
        let PowerBranch { filters: f, kernel, window, stride, .. } = power;
        let (channels, time) = (g.shape(x)[1], g.shape(x)[2]);
        let least = kernel.saturating_add(window).saturating_sub(1);
        if time < least {
            return Err(Error::Configuration(format!(
                "the power branch with kernel {kernel} and windows of {window} needs trials of at least {least} samples, got {time}; \
                 shorten them, or leave the branch out: `network.power=none`"
            )));
        }
        let h = g.scoped("temporal", |g| -> Result<Id> {
            let w = weight(g, &[f, kernel], Init::glorot(kernel, f.saturating_mul(kernel)), power.max_norm)?;
            Ok(g.temporal_conv(x, w, None, Padding::Valid)?)
        })?;
        let h = g.scoped("spatial", |g| -> Result<Id> {
            let fan = f.saturating_mul(channels);
            let w = weight(g, &[f, f, channels], Init::glorot(fan, fan), power.max_norm)?;
            Ok(g.spatial_conv(h, w, 1)?)
        })?;
        let h = g.scoped("norm", |g| g.batch_norm(h, NORM_EPS, NORM_MOMENTUM))?;
        let h = g.square(h)?;
        let h = g.pool(h, Pooling::Average { size: window, stride })?;
        let h = g.clamp(h, LEAST_POWER, f64::INFINITY)?;
        let h = g.ln(h)?;
        let h = g.dropout(h, self.dropout)?;
        Ok(g.flatten(h)?)
    }

    fn features(&self, g: &mut Graph, shared: Id) -> Result<Id> {
        let y = linear(g, "linear", shared, self.features)?;
        let y = g.scoped("norm", |g| g.batch_norm(y, NORM_EPS, NORM_MOMENTUM))?;
        Ok(g.elu(y)?)
    }

    fn head(&self, g: &mut Graph, features: Id, classes: usize) -> Result<Id> {
        let y = linear(g, "0", features, self.head)?;
        let y = g.relu(y)?;
        let y = g.dropout(y, self.dropout)?;
        linear(g, "1", y, classes)
    }

    /// The losses of the masks with their weights.
    fn mask_losses(&self, g: &mut Graph, masks: [Option<Mask>; 2]) -> Result<Vec<(&'static str, f64, Id)>> {
        let w = &self.weights;
        let mut all = vec![];
        if let [Some(personal), Some(common)] = masks {
            let l = g.scoped("loss.mask", |g| losses::similarity(g, personal, common))?;
            all.push(("sim", w.mask * w.similarity, l));
        }
        let masks: Vec<Mask> = masks.into_iter().flatten().collect();
        if !masks.is_empty() {
            let (sparse, size) = g.scoped("loss.mask", |g| -> Result<(Id, Id)> {
                let sparse = sum_over(g, &masks, |g, m| losses::mask_sparsity(g, m, self.literal))?;
                Ok((sparse, sum_over(g, &masks, |g, m| losses::mask_size(g, m, self.rho))?))
            })?;
            all.extend([("sparse", w.mask * w.mask_sparsity, sparse), ("size", w.mask * w.mask_size, size)]);
        }
        Ok(all)
    }

    /// The ten losses, those with weight 0 too (nobody computes what nobody reads), and what they move.
    fn losses(
        &self,
        network: &mut Network,
        trials: TrialBatch<'_>,
        masks: [Option<Mask>; 2],
        task: Id,
        (t, subject): (Id, Option<SubjectPart>),
    ) -> Result<()> {
        let w = &self.weights;
        let g = &mut network.graph;
        let task_loss =
            g.scoped("loss.task", |g| g.cross_entropy(network.logits, task, self.label_smoothing))?;
        let subject_loss = subject
            .map(|s| g.scoped("loss.subject", |g| g.cross_entropy(s.logits, s.labels, 0.0)))
            .transpose()?;
        let mut named = vec![("task", task_loss)];
        named.extend(subject_loss.map(|l| ("subject", l)));
        let mut rest: Vec<(f64, Id)> = vec![];
        for (name, weight, l) in self.mask_losses(g, masks)? {
            named.push((name, l));
            rest.push((weight, l));
        }
        // Covariances and contrasts need company; a network that only decodes may have a batch of 1.
        if let Some(SubjectPart { labels, features: s, .. }) = subject
            && g.shape(t)[0] > 1
        {
            let literal = self.literal;
            let (orth, cov, info, sparse) = g.scoped("loss.decouple", |g| -> Result<_> {
                Ok((
                    losses::orthogonality(g, t, s)?,
                    losses::decorrelation(g, t, s, literal)?,
                    losses::retention(g, t, s, literal)?,
                    losses::feature_sparsity(g, t, s, literal)?,
                ))
            })?;
            named.extend([("orth", orth), ("cov", cov), ("info", info), ("sparse_features", sparse)]);
            let parts = [
                (w.orthogonality, orth),
                (w.decorrelation, cov),
                (w.retention, info),
                (w.feature_sparsity, sparse),
            ];
            rest.extend(parts.map(|(weight, l)| (w.decouple * weight, l)));
            let (by_task, by_subject) = g.scoped("loss.contrast", |g| -> Result<_> {
                let task = trials.classes_of_rows(g, task)?;
                Ok((g.nt_xent(t, task, self.temperature)?, g.nt_xent(s, labels, self.temperature)?))
            })?;
            named.extend([("contrast_task", by_task), ("contrast_subject", by_subject)]);
            rest.extend([
                (w.contrast * w.contrast_task, by_task),
                (w.contrast * w.contrast_subject, by_subject),
            ]);
        }
        let mut all = vec![(1.0, task_loss)];
        all.extend(subject_loss.map(|l| (w.subject, l)));
        all.extend(&rest);
        let (total, rest) =
            g.scoped("loss", |g| -> Result<_> { Ok((weighted(g, &all)?, weighted(g, &rest)?)) })?;
        let Some(total) = total else { unreachable!("the task's loss has weight 1") };
        network.total = total;
        network.losses = named;
        let g = &network.graph;
        network.objectives = if self.routed {
            let mut objectives = vec![Objective::new(g, task_loss, |name| !name.starts_with("personal."))];
            if let Some(loss) = subject_loss.filter(|_| w.subject != 0.0) {
                let scaled = network.graph.scale(loss, w.subject)?;
                objectives.push(Objective::new(&network.graph, scaled, |name| !name.starts_with("common.")));
            }
            objectives.extend(rest.map(|rest| Objective::new(&network.graph, rest, |_| true)));
            objectives
        } else {
            vec![Objective::new(g, total, |_| true)]
        };
        // Few-shot adaptation moves the personal mask generators; a table of biases belongs to the training subjects.
        let personal = |name: &str| name.starts_with("personal.") && !name.starts_with("personal.table.");
        network.adaptable = Some(Objective::new(&network.graph, task_loss, personal));
        Ok(())
    }
}

impl Encoder for Ptsm {
    const ADVERSARIAL_NAME: &'static str = "ptsm-dann";

    /// With the losses of its masks; those of the subject branch go with it.
    fn trunk(&self, g: &mut Graph, x: Id, shape: TrialShape) -> Result<Trunk> {
        self.check()?;
        let DecodingPart { masks, features, logits, values, .. } =
            self.decodes(g, x, TrialShape { subjects: 0, ..shape }, None)?;
        let others = self.mask_losses(g, masks)?;
        Ok(Trunk { features, logits, smoothing: self.label_smoothing, others, values })
    }
}

fn sum_over(
    g: &mut Graph,
    masks: &[Mask],
    loss: impl Fn(&mut Graph, Mask) -> ptsm_engine::Result<Id>,
) -> Result<Id> {
    let mut sum = loss(g, masks[0])?;
    for &mask in &masks[1..] {
        let more = loss(g, mask)?;
        sum = g.add(sum, more)?;
    }
    Ok(sum)
}

/// A convolution that keeps the length, with parameters of its own.
fn conv(g: &mut Graph, name: &str, x: Id, outputs: usize, kernel: usize) -> Result<Id> {
    let inputs = g.shape(x)[1];
    let [weight, bias] = conv_parameters(g, name, [outputs, inputs, kernel])?;
    g.scoped(name, |g| Ok(g.conv1d(x, weight, Some(bias), 1, Padding::Same)?))
}

/// Weight and bias of a convolution, started as PyTorch does.
fn conv_parameters(g: &mut Graph, name: &str, shape: [usize; 3]) -> Result<[Id; 2]> {
    g.scoped(name, |g| {
        let init = Init::fan_in(shape[1] * shape[2]);
        Ok([g.parameter("weight", &shape, init)?, g.parameter("bias", &shape[..1], init)?])
    })
}

/// A drawing of PTSM's graph, its parts as boxes: what the engine's documentation shows.
pub fn drawing() -> Result<String> {
    let shape = TrialShape { channels: 62, time: 1000, classes: 2, subjects: 53 };
    let network = Ptsm::default().build(shape.batch(64))?;
    Ok(network.graph.draw(|scope| {
        let parts: Vec<&str> = scope.split('.').collect();
        match parts[..] {
            [first @ ("personal" | "common" | "encoder" | "loss"), second, ..] => format!("{first}.{second}"),
            [first, ..] => first.to_string(),
            [] => String::new(),
        }
    }))
}
