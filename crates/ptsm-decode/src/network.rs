//! What every decoder's network has in common.

use ptsm_engine::{Adam, Graph, Id, Init, Mode, Objective, StepSpec};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::{
    acon::Acon, cslp_ae::CslpAe, dann::Dann, deepconvnet::DeepConvNet, eegconformer::EegConformer,
    eegnet::EegNet, ptsm::Ptsm, shallowconvnet::ShallowConvNet,
};

/// The trials a decoder is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialShape {
    /// Channels C.
    pub channels: usize,
    /// Samples T.
    pub time: usize,
    /// Classes K.
    pub classes: usize,
    /// Training subjects S; 0 for a network that decodes and no longer knows whom it learnt from.
    pub subjects: usize,
}

/// A number that changes while a network learns: a function of the part of all planned steps that is done, 0 to 1.
pub type Ramp = fn(f64) -> f64;

/// Which trials a network wants to see together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batches {
    /// As many of each of some people, classes in turn.
    People,
    /// The same as the first half, and as many unlabelled trials of the people to be decoded as the second. `task` has labels for the
    /// first half alone.
    WithTarget,
    /// The same with a third of the training subjects in place of those people.
    WithPretended,
    /// Pairs of one person, then pairs of one class: so many trials of each kind. See [`Pairs`].
    Pairs {
        /// Trials of each kind.
        trials: usize,
    },
}

/// How trials are paired by a property, person or class. A group has one pair for each value, in their order. The first trials of all
/// pairs come before the second ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// Values of the property.
    pub values: usize,
    /// Groups.
    pub groups: usize,
}

impl Pairs {
    /// As many groups as make so many trials, and at least one.
    pub fn new(values: usize, trials: usize) -> Pairs {
        Pairs { values, groups: (trials / (2 * values.max(1))).max(1) }
    }

    /// How many pairs there are.
    pub fn count(self) -> usize {
        self.values * self.groups
    }
}

/// A part of the trials that a network learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Those with labels.
    Labelled,
    /// Those of the target.
    Target,
}

/// What can be measured of trials before anything is learnt. What never changes has a variance and a deviation of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Mean and variance of each channel over trials and time, `[2, C]`.
    Channels,
    /// Mean of each sample of each channel over trials, `[C, T]`.
    Mean,
    /// Standard deviation of the same.
    Deviation,
}

/// A statistic of a network that is measured once, on a part of the trials it learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Its name in the graph.
    pub name: &'static str,
    /// What it is.
    pub what: Measure,
    /// Of which trials.
    pub of: Part,
}

/// A decoder's network for one batch size.
#[derive(Clone, Debug)]
pub struct Network {
    /// Everything: the forward path, the losses.
    pub graph: Graph,
    /// Task logits `[B, K]`.
    pub logits: Id,
    /// The total loss.
    pub total: Id,
    /// The parts of the loss by name, unweighted.
    pub losses: Vec<(&'static str, Id)>,
    /// Other values worth reading, by name: masks, features.
    pub values: Vec<(&'static str, Id)>,
    /// Losses and the parameters they move. Their sum is the total.
    pub objectives: Vec<Objective>,
    /// Moves that come before that in every step, one after the other, each with an optimizer of its own: critics that learn first. Running
    /// statistics do not follow them.
    pub critics: Vec<Objective>,
    /// Scalar inputs by name that change while it learns.
    pub ramps: Vec<(&'static str, Ramp)>,
    /// Statistics that are measured on the trials before the first step and stay as they are.
    pub measured: Vec<Measured>,
}

impl Network {
    /// A network that is nothing but a classifier: cross-entropy moves everything.
    pub(crate) fn classifier(mut graph: Graph, logits: Id, labels: Id, smoothing: f64) -> Result<Network> {
        let loss = graph.scoped("loss", |g| g.cross_entropy(logits, labels, smoothing))?;
        let objectives = vec![Objective::new(&graph, loss, |_| true)];
        Ok(Network { objectives, ..Network::new(graph, logits, loss) })
    }

    /// A network with one loss, which moves nothing yet.
    pub(crate) fn new(graph: Graph, logits: Id, loss: Id) -> Network {
        Network {
            graph,
            logits,
            total: loss,
            losses: vec![("task", loss)],
            values: vec![],
            objectives: vec![],
            critics: vec![],
            ramps: vec![],
            measured: vec![],
        }
    }

    /// A value by name.
    pub fn value(&self, name: &str) -> Option<Id> {
        self.values.iter().chain(&self.losses).find(|(n, _)| *n == name).map(|(_, id)| *id)
    }

    /// The training step: outputs are the total loss, then the parts in their order.
    pub fn step(&self, adam: Adam) -> StepSpec {
        let outputs = std::iter::once(self.total).chain(self.losses.iter().map(|(_, id)| *id)).collect();
        StepSpec { mode: Mode::Train, objectives: self.objectives.clone(), outputs, optimizer: adam.into() }
    }

    /// The moves that come before it, in order.
    pub fn critic_steps(&self, adam: Adam) -> Vec<StepSpec> {
        let step = |objective: &Objective| StepSpec {
            mode: Mode::TrainFrozenStats,
            objectives: vec![objective.clone()],
            outputs: vec![],
            optimizer: adam.into(),
        };
        self.critics.iter().map(step).collect()
    }
}

/// A classifier seen from inside.
pub struct Trunk {
    /// What the classes are told by, `[B, F]`.
    pub features: Id,
    /// Task logits `[B, K]`.
    pub logits: Id,
    /// Label smoothing it was asked for.
    pub smoothing: f64,
    /// Losses besides that of the classes, with their weights.
    pub others: Vec<(&'static str, f64, Id)>,
    /// Other values worth reading, by name.
    pub values: Vec<(&'static str, Id)>,
}

/// A network that others build on.
pub trait Encoder {
    /// Appends it to a graph, without anything that knows the training subjects.
    fn trunk(&self, g: &mut Graph, x: Id, shape: TrialShape) -> Result<Trunk>;
}

/// A decoder by its configuration. This is what a model file carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", content = "config", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Model {
    /// PTSM and its ablations.
    Ptsm(Ptsm),
    /// EEGNet.
    EegNet(EegNet),
    /// DeepConvNet.
    DeepConvNet(DeepConvNet),
    /// ShallowConvNet.
    ShallowConvNet(ShallowConvNet),
    /// EEGConformer.
    EegConformer(EegConformer),
    /// DANN on EEGNet.
    Dann(Dann<EegNet>),
    /// DANN on PTSM's encoder.
    #[serde(rename = "ptsm-dann")]
    PtsmDann(Dann<Ptsm>),
    /// CSLP-AE.
    CslpAe(CslpAe),
    /// ACON.
    Acon(Acon),
}

impl Model {
    /// The network of a training step of so many trials. Most are the same as [`build`](Self::build) makes.
    pub fn build_for_training(&self, shape: TrialShape, batch: usize) -> Result<Network> {
        let Model::CslpAe(c) = self else { return self.build(shape, batch) };
        check(shape, batch)?;
        c.build_for_training(shape, batch)
    }

    /// The network that decodes so many trials at once.
    pub fn build(&self, shape: TrialShape, batch: usize) -> Result<Network> {
        check(shape, batch)?;
        match self {
            Model::Ptsm(c) => c.build(shape, batch),
            Model::EegNet(c) => c.build(shape, batch),
            Model::DeepConvNet(c) => c.build(shape, batch),
            Model::ShallowConvNet(c) => c.build(shape, batch),
            Model::EegConformer(c) => c.build(shape, batch),
            Model::Dann(c) => c.build(shape, batch),
            Model::PtsmDann(c) => c.build(shape, batch),
            Model::CslpAe(c) => c.build(shape, batch),
            Model::Acon(c) => c.build(shape, batch),
        }
    }

    /// Which trials it wants to see together.
    pub(crate) fn batches(&self) -> Batches {
        match self {
            Model::Dann(c) => c.batches(),
            Model::PtsmDann(c) => c.batches(),
            Model::CslpAe(c) => Batches::Pairs { trials: c.pair_trials },
            Model::Acon(c) => c.batches(),
            _ => Batches::People,
        }
    }
}

fn check(shape: TrialShape, batch: usize) -> Result<()> {
    let sizes =
        [("channels", shape.channels), ("time", shape.time), ("classes", shape.classes), ("batch", batch)];
    sizes.into_iter().try_for_each(|(name, size)| positive(name, size))
}

/// `name` must be a probability below 1.
pub(crate) fn probability(name: &str, p: f64) -> Result<()> {
    if (0.0..1.0).contains(&p) {
        return Ok(());
    }
    Err(Error::Configuration(format!("`{name}` must be at least 0 and below 1, got {p}")))
}

/// `name` must not be 0.
pub(crate) fn positive(name: &str, n: usize) -> Result<()> {
    if n > 0 { Ok(()) } else { Err(Error::Configuration(format!("`{name}` must be at least 1, got 0"))) }
}

/// The parts with a weight, weighted and added up; none if there is none.
pub(crate) fn weighted(g: &mut Graph, parts: &[(f64, Id)]) -> Result<Option<Id>> {
    let mut total = None;
    for &(weight, loss) in parts.iter().filter(|(w, _)| *w != 0.0) {
        let part = if weight == 1.0 { loss } else { g.scale(loss, weight)? };
        total = Some(match total {
            None => part,
            Some(sum) => g.add(sum, part)?,
        });
    }
    Ok(total)
}

/// A linear layer over the last axis with parameters of its own, started as PyTorch does.
pub(crate) fn linear(g: &mut Graph, name: &str, x: Id, outputs: usize) -> Result<Id> {
    let inputs = g.shape(x).last().copied().unwrap_or(1);
    g.scoped(name, |g| {
        let weight = g.parameter("weight", &[outputs, inputs], Init::fan_in(inputs))?;
        let bias = g.parameter("bias", &[outputs], Init::fan_in(inputs))?;
        Ok(g.linear(x, weight, Some(bias))?)
    })
}
