//! What every network has in common: the trait its configuration implements, and the graph with its losses that it builds.

use std::collections::BTreeSet;
use std::fmt::Debug;

use ptsm_engine::{Adam, Graph, Id, Mode, Objective, Parameters, StepSpec};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::mirror::Mirror;
use crate::settings::{AsSettings, positive};

/// The configuration of a network: all that a method's file has to say for the common trainer to train and apply it.
///
/// Only [`name`](Self::name) and [`build`](Self::build) are required. The rest is for networks that need other batches than those of the
/// training subjects, that can be adapted, that convert trials, or that learn in two stages.
pub trait Architecture: AsSettings + Debug + Send + Sync {
    /// The network's name: messages and checkpoints carry it.
    fn name(&self) -> &'static str;

    /// The network that decodes so many trials at once. Its parameters depend neither on their number, so that what was trained on batches
    /// of 64 is applied to single trials, nor on whether they are also seen in the mirror. With `shape.subjects = 0` it is the network as
    /// released: nothing in it has an entry per training subject.
    fn build(&self, trials: TrialBatch<'_>) -> Result<Network>;

    /// The network of a training step, where that is another one.
    fn build_for_training(&self, trials: TrialBatch<'_>) -> Result<Network> {
        self.build(trials)
    }

    /// Which trials it needs to see together.
    fn batches(&self) -> Batches {
        Batches::Subjects
    }

    /// Whether what tells the training subjects apart may stay in the model file (`training.keep_subjects`).
    fn may_keep_subjects(&self) -> bool {
        true
    }

    /// Why it cannot learn from a teacher's probabilities beside the labels; none where it can. For that its logits must be those that the
    /// loss `task` is of, and that loss must stand with a weight of 1 in one of its objectives.
    fn refuses_teacher(&self) -> Option<&'static str> {
        None
    }

    /// A last stage that is fitted when all else is learnt; none for a network that is a classifier by itself.
    fn readout(&self) -> Option<FittedReadout> {
        None
    }
}

/// A classifier that is fitted on values of a trained network and written into the network's parameters.
#[derive(Clone, Copy, Debug)]
pub struct FittedReadout {
    /// The value of the network that it reads, see [`Network::values`].
    pub value: &'static str,
    /// Fits it.
    pub fit: ReadoutFit,
}

/// Fits a readout, from a value for each training trial `[n, F]` and the trials' labels, and writes it into the parameters.
pub type ReadoutFit = fn(&mut Parameters<f32>, values: &[f32], labels: &[u32], classes: usize) -> Result<()>;

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
    /// Training subjects S; 0 for a network that decodes and no longer knows its training subjects.
    pub subjects: usize,
}

impl TrialShape {
    /// So many trials of this shape, seen as they were recorded.
    pub fn batch(self, size: usize) -> TrialBatch<'static> {
        TrialBatch { shape: self, size, mirror: None }
    }
}

/// The trials that a network is built for.
///
/// With a mirror every trial is seen twice. The network then works on twice as many *rows*: all trials as recorded, and after them the
/// same trials with the sides of the head exchanged. Its logits are the mean of both views, the classes of the second one exchanged back,
/// so that a mirrored trial gets the logits of the trial with its classes exchanged: the decoder is equivariant.
#[derive(Clone, Copy, Debug)]
pub struct TrialBatch<'m> {
    /// Their shape.
    pub shape: TrialShape,
    /// How many there are.
    pub size: usize,
    /// What exchanges the sides of the head, where trials are also seen in the mirror.
    pub mirror: Option<&'m Mirror>,
}

impl TrialBatch<'_> {
    /// A graph with the trials as its input `x`, `[size, C, T]`, and what the network works on, `[rows, C, T]`. Refuses sizes of 0.
    pub fn graph(self) -> Result<(Graph, Id)> {
        let TrialShape { channels, time, classes, .. } = self.shape;
        for (name, size) in
            [("channels", channels), ("time", time), ("classes", classes), ("batch", self.size)]
        {
            positive(name, size)?;
        }
        let mut graph = Graph::new();
        let x = graph.input("x", &[self.size, channels, time])?;
        let Some(mirror) = self.mirror else { return Ok((graph, x)) };
        let rows = graph.scoped("views", |g| {
            let image = g.reorder(x, 1, &mirror.channels)?;
            g.concat(x, image, 0)
        })?;
        Ok((graph, rows))
    }

    /// How many rows the network works on.
    pub fn rows(self) -> usize {
        self.size * self.views()
    }

    fn views(self) -> usize {
        1 + usize::from(self.mirror.is_some())
    }

    /// Labels that mirroring does not change, such as subjects: from those of the trials to those of the rows.
    pub fn for_rows(self, g: &mut Graph, labels: Id) -> Result<Id> {
        if self.mirror.is_none() {
            return Ok(labels);
        }
        Ok(g.concat(labels, labels, 0)?)
    }

    /// The classes of the rows, from those of the trials.
    pub fn classes_of_rows(self, g: &mut Graph, task: Id) -> Result<Id> {
        let Some(mirror) = self.mirror else { return Ok(task) };
        let image = g.relabel(task, &mirror.classes)?;
        Ok(g.concat(task, image, 0)?)
    }

    /// The rows of some consecutive trials, from those of all: each view's part, one after the other.
    pub fn part(self, g: &mut Graph, rows: Id, start: usize, length: usize) -> Result<Id> {
        let own = g.slice(rows, 0, start, length)?;
        if self.mirror.is_none() {
            return Ok(own);
        }
        let image = g.slice(rows, 0, self.size + start, length)?;
        Ok(g.concat(own, image, 0)?)
    }

    /// Logits of the trials, `[n, K]`, from those of both views one after the other, `[2 n, K]`.
    pub fn logits(self, g: &mut Graph, rows: Id) -> Result<Id> {
        let Some(mirror) = self.mirror else { return Ok(rows) };
        let classes: Vec<usize> = mirror.classes.iter().map(|&class| class as usize).collect();
        Ok(g.scoped("views", |g| {
            let n = g.shape(rows)[0] / 2;
            let own = g.slice(rows, 0, 0, n)?;
            let image = g.slice(rows, 0, n, n)?;
            let image = g.reorder(image, 1, &classes)?;
            let sum = g.add(own, image)?;
            g.scale(sum, 0.5)
        })?)
    }

    /// Values of the trials as they were recorded, from those of all rows.
    pub fn recorded(self, g: &mut Graph, values: Vec<(&'static str, Id)>) -> Result<Vec<(&'static str, Id)>> {
        if self.mirror.is_none() {
            return Ok(values);
        }
        values.into_iter().map(|(name, rows)| Ok((name, g.slice(rows, 0, 0, self.size)?))).collect()
    }
}

/// A number that changes while a network learns: a function of the part of all planned steps that is done, 0 to 1.
pub type Ramp = fn(f64) -> f64;

/// Which trials a network wants to see together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batches {
    /// As many of each of some training subjects, classes in turn.
    Subjects,
    /// The same as the first half, and as many unlabelled trials of the target (test) subjects as the second. `task` has labels for the
    /// first half alone.
    WithTarget,
    /// The same with a third of the training subjects in place of the target subjects.
    WithPseudoTarget,
    /// Pairs of one subject, then pairs of one class: so many trials of each kind. See [`Pairs`].
    Pairs {
        /// Trials of each kind.
        trials: usize,
    },
}

/// How trials are paired by a property, subject or class. A group has one pair for each value, in their order. The first trials of all
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
pub enum TrialPart {
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

/// How what a teacher says of a trial enters the loss: `(1 - w) CE(label) + w tau^2 CE(teacher at tau, network at tau)` (Hinton et al.
/// 2015).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TeacherLoss {
    /// Share of the teacher, `w`.
    pub(crate) weight: f64,
    /// Temperature of both, `tau`.
    pub(crate) temperature: f64,
}

/// The input of a network that learns from a teacher: its probabilities of the classes at the temperature, for every trial with a label.
pub(crate) const TEACHER: &str = "teacher";

/// A statistic of a network that is measured once, on a part of the trials it learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredStatistic {
    /// Its name in the graph.
    pub name: &'static str,
    /// What it is.
    pub what: Measure,
    /// Of which trials.
    pub of: TrialPart,
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
    /// Discriminator steps: they come before that in every training step, one after the other, each with an optimizer of its own. Running
    /// statistics do not follow them.
    pub discriminators: Vec<Objective>,
    /// What few-shot adaptation to one subject moves, and by which loss; none for a network that has nothing personal.
    pub adaptable: Option<Objective>,
    /// Scalar inputs by name that change while it learns.
    pub ramps: Vec<(&'static str, Ramp)>,
    /// Statistics that are measured on the trials before the first step and stay as they are.
    pub measured: Vec<MeasuredStatistic>,
}

impl Network {
    /// A network that is nothing but a classifier: cross-entropy moves everything. From the logits of all rows, and the classes of the
    /// trials.
    pub fn classifier(
        trials: TrialBatch<'_>,
        mut graph: Graph,
        rows: Id,
        labels: Id,
        smoothing: f64,
    ) -> Result<Network> {
        let logits = trials.logits(&mut graph, rows)?;
        let loss = graph.scoped("loss", |g| g.cross_entropy(logits, labels, smoothing))?;
        let objectives = vec![Objective::new(&graph, loss, |_| true)];
        Ok(Network { objectives, ..Network::new(graph, logits, loss) })
    }

    /// The same with values of all rows that are worth reading, of which those of the trials as recorded are kept.
    pub fn with_values(mut self, trials: TrialBatch<'_>, rows: Vec<(&'static str, Id)>) -> Result<Network> {
        self.values = trials.recorded(&mut self.graph, rows)?;
        Ok(self)
    }

    /// A network with one loss, which moves nothing yet.
    pub fn new(graph: Graph, logits: Id, loss: Id) -> Network {
        Network {
            graph,
            logits,
            total: loss,
            losses: vec![("task", loss)],
            values: vec![],
            objectives: vec![],
            discriminators: vec![],
            adaptable: None,
            ramps: vec![],
            measured: vec![],
        }
    }

    /// A value by name.
    pub fn value(&self, name: &str) -> Option<Id> {
        self.values.iter().chain(&self.losses).find(|(n, _)| *n == name).map(|(_, id)| *id)
    }

    /// What the classes are told by, `[B, ..]`: the input of the last layer, where the network names it `features`, `task_features` or
    /// `task_latents`. Few-shot adaptation of the head gives them weights of the subject's own.
    pub fn task_features(&self) -> Option<Id> {
        ["features", "task_features", "task_latents"].iter().find_map(|name| self.value(name))
    }

    /// The same network learning from a teacher, too: the loss of its classes gives way to that of the teacher's probabilities, wherever it
    /// stands. Everything else about it stays.
    pub(crate) fn taught(mut self, teacher: TeacherLoss) -> Result<Network> {
        let wrong = |message: &str| Error::Configuration(format!("the network cannot be taught: {message}"));
        let task = self.losses.iter().find(|(name, _)| *name == "task").map(|(_, id)| *id);
        let task = task.ok_or_else(|| wrong("it has no loss `task`"))?;
        let labelled = self.graph.inputs().iter().find(|input| input.name == "task");
        let labelled = labelled.and_then(|input| input.shape.first().copied());
        let labelled = labelled.ok_or_else(|| wrong("it has no labels `task`"))?;
        let holds: Vec<usize> = (0..self.objectives.len())
            .filter(|&i| follows(&self.graph, self.objectives[i].loss, task))
            .collect();
        let [holds] = holds[..] else {
            return Err(wrong("its loss `task` stands in no objective, or in more than one"));
        };
        let [batch, classes] = *self.graph.shape(self.logits) else { unreachable!("logits are [B, K]") };
        let g = &mut self.graph;
        let targets = g.input(TEACHER, &[labelled, classes])?;
        let (loss, change) = g.scoped("loss.distil", |g| -> Result<_> {
            let own = if labelled == batch { self.logits } else { g.slice(self.logits, 0, 0, labelled)? };
            let own = g.scale(own, 1.0 / teacher.temperature)?;
            let loss = g.soft_cross_entropy(own, targets)?;
            let scaled = g.scale(loss, teacher.temperature.powi(2))?;
            let change = g.sub(scaled, task)?;
            Ok((loss, g.scale(change, teacher.weight)?))
        })?;
        let objective = &mut self.objectives[holds];
        let total = self.total;
        objective.loss = g.add(objective.loss, change)?;
        self.total = g.add(total, change)?;
        self.losses.push(("distil", loss));
        Ok(self)
    }

    /// The training step: outputs are the total loss, then the parts in their order.
    pub fn step(&self, adam: Adam) -> StepSpec {
        let outputs = std::iter::once(self.total).chain(self.losses.iter().map(|(_, id)| *id)).collect();
        StepSpec { mode: Mode::Train, objectives: self.objectives.clone(), outputs, optimizer: adam.into() }
    }

    /// The discriminator steps that come before it, in order.
    pub fn discriminator_steps(&self, adam: Adam) -> Vec<StepSpec> {
        let step = |objective: &Objective| StepSpec {
            mode: Mode::TrainFrozenStats,
            objectives: vec![objective.clone()],
            outputs: vec![],
            optimizer: adam.into(),
        };
        self.discriminators.iter().map(step).collect()
    }

    /// The step of few-shot adaptation by gradients, and what it moves: running statistics are frozen and dropout is off. The loss is the
    /// cross-entropy of the logits as they are now, with labels `shots`; with `everything` all parameters move, else what is personal.
    pub fn adaptation_step(&mut self, adam: Adam, everything: bool) -> Result<(StepSpec, Vec<String>)> {
        let personal = self.adaptable.as_ref().map_or(&[][..], |objective| &objective.tensors);
        if !everything && personal.is_empty() {
            return Err(Error::Configuration(
                "`--how masks` moves what is personal in a network, such as personal masks; this one has nothing of that kind; adapt its head (`--how head`) or all of it (`--how all`)"
                    .into(),
            ));
        }
        let moved = |i: usize| everything || personal.contains(&i);
        let trainable = self.graph.tensors().iter().enumerate().filter(|(_, tensor)| tensor.trainable);
        let names: Vec<String> =
            trainable.filter(|(i, _)| moved(*i)).map(|(_, tensor)| tensor.name.clone()).collect();
        let [batch, classes] = *self.graph.shape(self.logits) else { unreachable!("logits are [B, K]") };
        let labels = self.graph.labels("shots", &[batch], classes)?;
        let loss = self.graph.scoped("loss", |g| g.cross_entropy(self.logits, labels, 0.0))?;
        let objective = Objective::new(&self.graph, loss, |name| names.iter().any(|own| own == name));
        let spec = StepSpec {
            mode: Mode::Infer,
            objectives: vec![objective],
            outputs: vec![loss],
            optimizer: adam.into(),
        };
        Ok((spec, names))
    }
}

/// Whether a value of a graph depends on another one, or is it.
fn follows(graph: &Graph, value: Id, on: Id) -> bool {
    let mut depends = BTreeSet::from([on]);
    for (id, node) in graph.nodes() {
        if node.inputs.iter().any(|input| depends.contains(input)) {
            depends.insert(id);
        }
    }
    depends.contains(&value)
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
    /// The name of DANN on this network.
    const ADVERSARIAL_NAME: &'static str;

    /// Appends it to a graph, without anything that knows the training subjects.
    fn trunk(&self, g: &mut Graph, x: Id, shape: TrialShape) -> Result<Trunk>;
}
