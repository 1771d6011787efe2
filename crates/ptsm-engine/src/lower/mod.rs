//! From the network as written to the network as run: by mode, and with neighbours joined.
//!
//! - Batch norm becomes moments and normalisation (training) or normalisation by running statistics (inference);
//!   dropout disappears in inference.
//! - An activation, dropout or pooling that follows a normalisation joins it.
//! - A temporal convolution that meets a spatial one becomes one convolution with composed weights.
//! - The same with a batch norm between the two (EEGNet): both are linear and so change places, space first. The
//!   batch norm's statistics follow from the data's lag moments, so the `[B, F, C, T]` signal never exists.
//! - A convolution of trials and of their mirror images shares its products between both ([`views`]).

mod views;

use std::collections::BTreeMap;

use crate::error::Result;
use crate::graph::ops;
use crate::graph::ops::{
    BatchNorm, Conv1d as ConvOptions, LagMoments, Moments, Normalise, Op, Padding, RunningStats,
};
use crate::graph::{Graph, Id, Node};
use views::{ChannelPairs, TwoViews, two_views};

/// Whether a program trains or applies a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Batch statistics, dropout.
    Train,
    /// The same, but running statistics stay as they are: for a step that goes beside another one on the same batch.
    TrainFrozenStats,
    /// Running statistics, no dropout.
    Infer,
}

/// The network as run.
pub(crate) struct LoweredGraph {
    pub(crate) graph: Graph,
    /// Where each needed node went.
    map: Vec<Option<Id>>,
    /// Statistics to be replaced after a step: tensor, new value.
    pub(crate) updates: Vec<(usize, Id)>,
}

impl LoweredGraph {
    /// Where a node went that was named in `keep`.
    pub(crate) fn at(&self, id: Id) -> Result<Id> {
        self.map[id.index()]
            .ok_or_else(|| crate::error::Error::Program(format!("node {} is not part of it", id.0)))
    }
}

/// Operands a node really has in a mode.
fn operands(node: &Node, mode: Mode) -> &[Id] {
    match (&node.op, mode) {
        (Op::ByMode(_), Mode::Train | Mode::TrainFrozenStats) => &node.inputs[..1],
        (Op::ByMode(_), Mode::Infer) => &node.inputs[1..],
        _ => &node.inputs,
    }
}

pub(crate) fn lower(source: &Graph, mode: Mode, keep: &[Id]) -> Result<LoweredGraph> {
    let n = source.nodes.len();
    let mut uses = vec![0usize; n];
    for id in keep {
        uses[id.index()] += 1;
    }
    for i in (0..n).rev() {
        if uses[i] > 0 {
            for input in operands(&source.nodes[i], mode) {
                uses[input.index()] += 1;
            }
        }
    }
    let mut learns = vec![false; n];
    for (i, node) in source.nodes.iter().enumerate() {
        learns[i] = matches!(node.op, Op::Tensor(_)) || node.inputs.iter().any(|p| learns[p.index()]);
    }
    let mut this = Lowering {
        source,
        mode,
        uses,
        learns,
        out: source.sibling(),
        map: vec![None; n],
        updates: vec![],
        views: BTreeMap::new(),
    };
    let pairs: Vec<(usize, Pair)> = (0..n).filter_map(|i| Some((i, this.pair(i)?))).collect();
    let absorbed: Vec<usize> = pairs
        .iter()
        .flat_map(|(_, p)| [Some(p.temporal), p.norm].into_iter().flatten())
        .map(Id::index)
        .collect();
    for i in 0..n {
        if this.uses[i] == 0 || absorbed.contains(&i) {
            continue;
        }
        this.out.enter_scope(source.scope_of(Id(i as u32)));
        let id = match pairs.iter().find(|(at, _)| *at == i) {
            Some((_, pair)) => this.joined(i, pair)?,
            None => this.node(i)?,
        };
        this.map[i] = Some(id);
    }
    Ok(LoweredGraph { graph: this.out, map: this.map, updates: this.updates })
}

/// A temporal convolution that only a spatial one reads, perhaps through a batch norm.
struct Pair {
    temporal: Id,
    norm: Option<Id>,
}

struct Lowering<'a> {
    source: &'a Graph,
    mode: Mode,
    /// How often each node is read, counting those to be kept.
    uses: Vec<usize>,
    /// Whether a node depends on a tensor.
    learns: Vec<bool>,
    out: Graph,
    map: Vec<Option<Id>>,
    updates: Vec<(usize, Id)>,
    /// Rows of the source that are trials and their mirror images.
    views: BTreeMap<Id, (TwoViews, ChannelPairs)>,
}

impl Lowering<'_> {
    /// What rows of the source are, if they are trials and their mirror images.
    fn two_views(&mut self, rows: Id) -> Result<Option<(TwoViews, ChannelPairs)>> {
        if let Some(known) = self.views.get(&rows) {
            return Ok(Some(known.clone()));
        }
        let Some((trials, pairs)) = two_views(self.source, rows) else { return Ok(None) };
        let trials = self.mapped(trials);
        let found = (TwoViews::new(&mut self.out, trials, &pairs)?, pairs);
        self.views.insert(rows, found.clone());
        Ok(Some(found))
    }

    /// A convolution of rows of the source in one group.
    fn convolve(&mut self, rows: Id, conv: ConvOptions, weight: Id, bias: Option<Id>) -> Result<Id> {
        if let Some((views, pairs)) = self.two_views(rows)? {
            return views.convolve(&mut self.out, &pairs, conv, weight, bias);
        }
        let operands: Vec<Id> = [self.mapped(rows), weight].into_iter().chain(bias).collect();
        self.out.apply(conv, &operands)
    }

    fn pair(&self, spatial: usize) -> Option<Pair> {
        let node = &self.source.nodes[spatial];
        let Op::SpatialConv(conv) = node.op else { return None };
        if self.uses[spatial] == 0 {
            return None;
        }
        let only = |id: Id| (self.uses[id.index()] == 1).then_some(self.source.node(id));
        let below = only(node.inputs[0])?;
        match below.op {
            Op::TemporalConv(_) if conv.groups == 1 => {
                let (o, f) = (node.shape[1], below.shape[1]);
                let taps = self.source.shape(below.inputs[1])[1];
                // Per place and channel: one kernel per output, or every filter and then every output of every map.
                let saves = o * taps <= f * taps + o * f;
                saves.then_some(Pair { temporal: node.inputs[0], norm: None })
            }
            Op::BatchNorm(_) => {
                let temporal = only(below.inputs[0])?;
                let depthwise = conv.groups == self.source.shape(below.inputs[0])[1];
                // The statistics come from the data alone, and a filter bias would only shift the mean.
                let data = !self.learns[temporal.inputs.first()?.index()] && temporal.inputs.len() == 2;
                let Op::TemporalConv(filter) = temporal.op else { return None };
                // Without zeros at the edges a large offset of the data would cancel in the covariances.
                let padded = filter.left + filter.right + 1 == self.source.shape(temporal.inputs[1])[1];
                let fits = depthwise && data && (padded || self.mode == Mode::Infer);
                fits.then_some(Pair { temporal: below.inputs[0], norm: Some(node.inputs[0]) })
            }
            _ => None,
        }
    }

    /// Where an operand went; operands come before their users.
    fn mapped(&self, id: Id) -> Id {
        self.map[id.index()].expect("an operand is lowered before its user")
    }

    fn node(&mut self, i: usize) -> Result<Id> {
        let node = &self.source.nodes[i];
        let inputs = operands(node, self.mode);
        match &node.op {
            Op::Tensor(_) | Op::Input(_) | Op::Constant(_) => {
                self.out.push(node.op.clone(), vec![], node.shape.clone())
            }
            Op::ByMode(_) => Ok(self.mapped(inputs[0])),
            Op::Dropout(_) if self.mode == Mode::Infer => Ok(self.mapped(inputs[0])),
            Op::BatchNorm(norm) => self.batch_norm(*norm, &node.inputs),
            Op::TemporalConv(conv) => {
                // [B, C, T] -> [B*C, 1, T] -> [B*C, F, T'] -> [B, F, C, T']
                let (left, right) = (conv.left, conv.right);
                let [b, f, c, t] = node.shape[..] else { unreachable!("checked by its shape rule") };
                let (x, w) = (self.mapped(inputs[0]), self.mapped(inputs[1]));
                let (time, k) = (self.source.shape(inputs[0])[2], self.source.shape(inputs[1])[1]);
                let x = self.out.reshape(x, &[b * c, 1, time])?;
                let w = self.out.reshape(w, &[f, 1, k])?;
                let mut operands = vec![x, w];
                operands.extend(inputs.get(2).map(|&bias| self.mapped(bias)));
                let y = self.out.apply(ConvOptions { groups: 1, left, right }, &operands)?;
                let y = self.out.reshape(y, &[b, c, f, t])?;
                self.out.transpose(y, &[0, 2, 1, 3])
            }
            Op::SpatialConv(conv) => {
                let (h, w) = (self.mapped(inputs[0]), self.mapped(inputs[1]));
                let [b, f, c, t] = *self.source.shape(inputs[0]) else {
                    unreachable!("checked by its shape rule")
                };
                let h = self.out.reshape(h, &[b, f * c, t])?;
                let w = self.out.reshape(w, &[node.shape[1], f / conv.groups * c, 1])?;
                self.out.conv1d(h, w, None, conv.groups, Padding::Valid)
            }
            Op::Conv1d(conv) if conv.groups == 1 => {
                let (weight, bias) = (self.mapped(inputs[1]), inputs.get(2).map(|&bias| self.mapped(bias)));
                self.convolve(inputs[0], *conv, weight, bias)
            }
            op => {
                let operands: Vec<Id> = inputs.iter().map(|&p| self.mapped(p)).collect();
                if let Some(longer) = self.lengthened(op, node) {
                    let below = self.out.node(operands[0]).inputs.clone();
                    return self.out.apply(longer, &below);
                }
                self.out.apply(op.clone(), &operands)
            }
        }
    }

    /// The normalisation below, with this operation at its end, if nobody else reads it.
    fn lengthened(&self, op: &Op, node: &Node) -> Option<Normalise> {
        let below = *node.inputs.first()?;
        let Op::Normalise(chain) = self.out.node(self.mapped(below)).op else { return None };
        if self.uses[below.index()] != 1 || chain.pool.is_some() {
            return None;
        }
        match op {
            Op::Unary(f) if chain.activation.is_none() && chain.drop.is_none() => {
                Some(Normalise { activation: Some(f.0), ..chain })
            }
            Op::Dropout(d) if chain.drop.is_none() => {
                Some(Normalise { drop: Some((d.p, d.stream)), ..chain })
            }
            Op::Pool(p) => Some(Normalise { pool: Some(p.0), ..chain }),
            _ => None,
        }
    }

    fn batch_norm(&mut self, norm: BatchNorm, inputs: &[Id]) -> Result<Id> {
        let shape = self.source.shape(inputs[0]).to_vec();
        let [x, scale, shift, running] = [0, 1, 2, 3].map(|i| self.mapped(inputs[i]));
        // Features [B, C] are laid out as [1, C, B], so that a channel is a row there too.
        let flat = shape.len() == 2;
        let rows = if flat {
            let turned = self.out.transpose(x, &[1, 0])?;
            self.out.reshape(turned, &[1, shape[1], shape[0]])?
        } else {
            self.out.reshape(x, &[shape[0], shape[1], shape[2..].iter().product()])?
        };
        let moments = match self.mode {
            Mode::Infer => running,
            Mode::Train | Mode::TrainFrozenStats => {
                let moments = self.out.apply(Moments { batch: Some(shape[0]) }, &[rows])?;
                let samples = shape.iter().product::<usize>() / shape[1];
                self.update(inputs[3], norm.momentum, samples, moments)?;
                moments
            }
        };
        let batch = self.mode != Mode::Infer;
        let chain = Normalise { eps: norm.eps, activation: None, drop: None, pool: None, batch };
        let y = self.out.apply(chain, &[rows, moments, scale, shift])?;
        if flat {
            let y = self.out.reshape(y, &[shape[1], shape[0]])?;
            return self.out.transpose(y, &[1, 0]);
        }
        self.out.reshape(y, &shape)
    }

    fn update(&mut self, running: Id, momentum: f64, samples: usize, moments: Id) -> Result<()> {
        let Op::Tensor(tensor) = self.source.node(running).op else { return Ok(()) };
        if self.mode == Mode::TrainFrozenStats {
            return Ok(());
        }
        // Several values may share a norm: one batch after the other.
        let before = self.updates.iter().position(|(t, _)| *t == tensor);
        let old = before.map_or_else(|| self.mapped(running), |i| self.updates[i].1);
        let new = self.out.apply(RunningStats { momentum, samples }, &[old, moments])?;
        match before {
            Some(i) => self.updates[i].1 = new,
            None => self.updates.push((tensor, new)),
        }
        Ok(())
    }

    fn joined(&mut self, spatial: usize, pair: &Pair) -> Result<Id> {
        let node = &self.source.nodes[spatial];
        let temporal = self.source.node(pair.temporal);
        let Op::TemporalConv(conv) = temporal.op else { unreachable!("a pair has a temporal convolution") };
        let (rows, filters) = (temporal.inputs[0], self.mapped(temporal.inputs[1]));
        let weight = self.mapped(node.inputs[1]);
        let [f, k] = *self.out.shape(filters) else { unreachable!("checked by its shape rule") };
        let [o, per_group, c] = *self.out.shape(weight) else { unreachable!("checked by its shape rule") };
        let (left, right) = (conv.left, conv.right);
        let g = &mut self.out;
        let Some(norm) = pair.norm else {
            // W[o, c, k] = sum over f of S[o, f, c] * H[f, k]
            let turned = g.transpose(weight, &[0, 2, 1])?;
            let turned = g.reshape(turned, &[o * c, per_group])?;
            let composed = g.matmul(turned, filters, false, false)?;
            let composed = g.reshape(composed, &[o, c, k])?;
            let mut bias = None;
            if let Some(&own) = temporal.inputs.get(2) {
                let sums = g.sum_axes(weight, &[2])?;
                let own = self.map[own.index()].expect("an operand is lowered before its user");
                let column = self.out.reshape(own, &[f, 1])?;
                let sums = self.out.matmul(sums, column, false, false)?;
                bias = Some(self.out.reshape(sums, &[o])?);
            }
            return self.convolve(rows, ConvOptions { groups: 1, left, right }, composed, bias);
        };
        let norm_node = self.source.node(norm);
        let Op::BatchNorm(options) = norm_node.op else { unreachable!("a pair's norm is a batch norm") };
        let [scale, shift, running] = [1, 2, 3].map(|i| norm_node.inputs[i]);
        let moments = match self.mode {
            Mode::Infer => self.mapped(running),
            Mode::Train | Mode::TrainFrozenStats => {
                let batch = self.source.shape(temporal.inputs[0])[0];
                if batch < 2 {
                    let message = format!("a training step needs a batch of at least 2, got {batch}");
                    self.out.enter_scope(self.source.scope_of(norm));
                    return Err(self.out.misfit("batch_norm", message));
                }
                // Exchanging channels changes no sum over them: the trials' own moments are those of both views.
                let trials =
                    self.two_views(rows)?.map_or_else(|| self.mapped(rows), |(views, _)| views.trials);
                let g = &mut self.out;
                let lags = g.apply(LagMoments { taps: k, left, right }, &[trials])?;
                let covariances = g.slice(lags, 0, 0, k)?;
                let means = g.slice(lags, 0, k, 1)?;
                let mean = g.matmul(filters, means, false, true)?; // [F, 1]
                let spread = g.matmul(filters, covariances, false, false)?;
                let spread = g.mul(spread, filters)?;
                let variance = g.sum_axes(spread, &[1])?;
                // Rounding may leave a filter of zeros slightly below.
                let variance = g.clamp(variance, 0.0, f64::INFINITY)?;
                let (mean, variance) = (g.reshape(mean, &[1, f])?, g.reshape(variance, &[1, f])?);
                let moments = g.concat(mean, variance, 0)?;
                let samples: usize = temporal.shape.iter().product::<usize>() / f;
                self.update(running, options.momentum, samples, moments)?;
                moments
            }
        };
        let (scale, shift) = (self.mapped(scale), self.mapped(shift));
        let (d, g) = (o / f, &mut self.out);
        let mean = g.slice(moments, 0, 0, 1)?;
        let mean = g.reshape(mean, &[f])?;
        let variance = g.slice(moments, 0, 1, 1)?;
        let variance = g.reshape(variance, &[f])?;
        let variance = g.affine(variance, 1.0, options.eps)?;
        let deviation = g.sqrt(variance)?;
        let factor = g.div(scale, deviation)?;
        let lowered = g.mul(mean, factor)?;
        let summand = g.sub(shift, lowered)?;
        // The filters, each scaled and used by d outputs; the summand through the sum of spatial weights.
        let factor = g.reshape(factor, &[f, 1])?;
        let filters = g.mul(filters, factor)?;
        let filters = g.repeat(filters, 1, d)?;
        let filters = g.reshape(filters, &[o, 1, k])?;
        let spatial_sum = g.sum_axes(weight, &[1, 2])?;
        let summand = g.repeat(summand, 1, d)?;
        let summand = g.reshape(summand, &[o])?;
        let bias = g.mul(summand, spatial_sum)?;
        let weight = g.reshape(weight, &[o, c, 1])?;
        let mixed = self.convolve(rows, ConvOptions { groups: 1, left: 0, right: 0 }, weight, None)?;
        self.out.apply(ConvOptions { groups: o, left, right }, &[mixed, filters, bias])
    }
}

/// Separates what depends on parameters alone from what depends on inputs, where a convolution mixes the two: a program
/// that only applies a network then lays out its weights once.
pub(crate) fn prepack(lowered: LoweredGraph) -> Result<LoweredGraph> {
    let LoweredGraph { graph, map, updates } = lowered;
    let constant = constants(&graph);
    let mut out = graph.sibling();
    let mut moved: Vec<Id> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        out.enter_scope(&graph.scopes[node.scope as usize]);
        let mut inputs: Vec<Id> = node.inputs.iter().map(|p| moved[p.index()]).collect();
        let packs = match (&node.op, &node.inputs[..]) {
            (Op::Conv1d(conv), [x, weight, ..]) if constant[weight.index()] && !constant[x.index()] => {
                ops::prepack(*conv, graph.shape(*x), graph.shape(*weight))
            }
            _ => None,
        };
        moved.push(match packs {
            Some((pack, conv)) => {
                inputs[1] = out.apply(pack, &inputs[1..2])?;
                out.apply(conv, &inputs)?
            }
            None => out.push(node.op.clone(), inputs, node.shape.clone())?,
        });
    }
    let map = map.into_iter().map(|id| id.map(|id| moved[id.index()])).collect();
    let updates = updates.into_iter().map(|(t, id)| (t, moved[id.index()])).collect();
    Ok(LoweredGraph { graph: out, map, updates })
}

/// Nodes whose value follows from parameters and statistics alone.
pub(crate) fn constants(graph: &Graph) -> Vec<bool> {
    let mut constant = vec![false; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        constant[i] = match node.op {
            Op::Input(_) | Op::Dropout(_) => false,
            Op::Normalise(chain) if chain.drop.is_some() => false,
            _ => node.inputs.iter().all(|p| constant[p.index()]),
        };
    }
    constant
}
