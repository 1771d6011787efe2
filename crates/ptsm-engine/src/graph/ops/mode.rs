//! Operations that mean one thing to the reader and another to the machine: `lower` replaces them, by mode and
//! by what stands around them.

use super::{Backward, Call, Operation, Padding, operands};
use crate::codegen::Emit;
use crate::error::Result;
use crate::graph::{Graph, Id, Init};
use crate::kernels::Real;

/// `(x [B, C, ..], scale [C], shift [C], running [2, C]) -> x's shape`. Batch statistics in training, running ones in
/// inference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm {
    pub(crate) eps: f64,
    pub(crate) momentum: f64,
}

/// `(in training, in inference)`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByMode;

/// Every channel through every temporal filter:
/// `(x [B, C, T], weight [F, K], bias [F]) -> [B, F, C, T']`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemporalConv {
    pub(crate) left: usize,
    pub(crate) right: usize,
}

/// All channels to one: `(h [B, F, C, T], weight [O, F / groups, C]) -> [B, O, T]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpatialConv {
    pub(crate) groups: usize,
}

impl Graph {
    /// Batch normalisation over all axes but the second, with its own `scale`, `shift` and `running` statistics.
    pub fn batch_norm(&mut self, x: Id, eps: f64, momentum: f64) -> Result<Id> {
        let Some(&c) = self.shape(x).get(1) else {
            let message = format!("wants [B, C, ..], got {:?}", self.shape(x));
            return Err(self.misfit("batch_norm", message));
        };
        let tensors = self.norm_tensors(c)?;
        self.batch_norm_by(x, tensors, eps, momentum)
    }

    /// The `scale`, `shift` and `running` statistics of a batch norm over C channels, for [`batch_norm_by`](Self::batch_norm_by).
    pub fn norm_tensors(&mut self, channels: usize) -> Result<[Id; 3]> {
        let scale = self.parameter("scale", &[channels], Init::Constant(1.0))?;
        let shift = self.parameter("shift", &[channels], Init::Constant(0.0))?;
        let running = self.statistic("running", &[2, channels], Init::Moments)?;
        Ok([scale, shift, running])
    }

    /// Batch normalisation by tensors that several batches share. Each is normalised by its own statistics; the running ones follow
    /// one after the other, in the order built.
    pub fn batch_norm_by(&mut self, x: Id, tensors: [Id; 3], eps: f64, momentum: f64) -> Result<Id> {
        if !(eps > 0.0 && eps.is_finite() && (0.0..=1.0).contains(&momentum)) {
            let message = format!("cannot work with an eps of {eps} and a momentum of {momentum}");
            return Err(self.misfit("batch_norm", message));
        }
        let [scale, shift, running] = tensors;
        self.apply(BatchNorm { eps, momentum }, &[x, scale, shift, running])
    }

    /// One value in training, another in inference.
    pub fn by_mode(&mut self, training: Id, inference: Id) -> Result<Id> {
        self.apply(ByMode, &[training, inference])
    }

    /// Every channel through every temporal filter.
    ///
    /// # Shapes
    /// x `[B, C, T]`, weight `[F, K]`, bias `[F]` -> `[B, F, C, T']`
    pub fn temporal_conv(&mut self, x: Id, weight: Id, bias: Option<Id>, padding: Padding) -> Result<Id> {
        let (left, right) = padding.sides(self.shape(weight).last().copied().unwrap_or(1));
        let inputs: Vec<Id> = [x, weight].into_iter().chain(bias).collect();
        self.apply(TemporalConv { left, right }, &inputs)
    }

    /// All channels of each group of feature maps to one.
    ///
    /// # Shapes
    /// h `[B, F, C, T]`, weight `[O, F / groups, C]` -> `[B, O, T]`
    pub fn spatial_conv(&mut self, h: Id, weight: Id, groups: usize) -> Result<Id> {
        self.apply(SpatialConv { groups }, &[h, weight])
    }
}

impl Operation for BatchNorm {
    fn name(&self) -> &'static str {
        "batch_norm"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, scale, shift, running] = operands(inputs)?;
        if x.len() < 2 || scale != &x[1..2] || shift != scale || running != [2, x[1]] {
            return Err(format!("input {x:?} does not fit scale {scale:?} and statistics {running:?}"));
        }
        Ok(x.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        compiled_away(self, at)
    }

    fn run<T: Real>(&self, _: Call<'_, T>) {
        unreachable!("batch_norm is compiled to moments and normalisation")
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("{} is compiled away, got {}", self.name(), at.length())
    }
}

/// Only a graph that was not lowered could ask for this gradient.
fn compiled_away(op: &impl Operation, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
    Err(at.graph.misfit(op.name(), "has a gradient only once it is compiled".into()))
}

impl Operation for ByMode {
    fn name(&self) -> &'static str {
        "by_mode"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [training, inference] = operands(inputs)?;
        if training != inference {
            return Err(format!("training {training:?} and inference {inference:?} differ in shape"));
        }
        Ok(training.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        compiled_away(self, at)
    }

    fn run<T: Real>(&self, _: Call<'_, T>) {
        unreachable!("by_mode is compiled to one of its operands")
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("{} is compiled away, got {}", self.name(), at.length())
    }
}

impl Operation for TemporalConv {
    fn name(&self) -> &'static str {
        "temporal_conv"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let (x, w, bias) = match inputs {
            [x, w] => (*x, *w, None),
            [x, w, b] => (*x, *w, Some(*b)),
            _ => return Err(format!("takes 2 or 3 operands, got {}", inputs.len())),
        };
        if x.len() != 3 || w.len() != 2 || bias.is_some_and(|b| b != &w[..1]) {
            return Err(format!(
                "wants [B, C, T] and filters [F, K] with a bias [F], got {x:?}, {w:?}, {bias:?}"
            ));
        }
        let padded = x[2] + self.left + self.right;
        if padded < w[1] {
            return Err(format!("input {x:?} has {} samples, the filters {w:?} need {}", x[2], w[1]));
        }
        Ok(vec![x[0], w[0], x[1], padded + 1 - w[1]])
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        compiled_away(self, at)
    }

    fn run<T: Real>(&self, _: Call<'_, T>) {
        unreachable!("temporal_conv is compiled to a convolution")
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("{} is compiled away, got {}", self.name(), at.length())
    }
}

impl Operation for SpatialConv {
    fn name(&self) -> &'static str {
        "spatial_conv"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [h, w] = operands(inputs)?;
        let g = self.groups;
        let fits = h.len() == 4 && w.len() == 3 && g > 0 && w[0] % g == 0 && w[1] * g == h[1] && w[2] == h[2];
        if !fits {
            return Err(format!("input {h:?} does not fit weight {w:?} in {g} groups"));
        }
        Ok(vec![h[0], w[0], h[3]])
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        compiled_away(self, at)
    }

    fn run<T: Real>(&self, _: Call<'_, T>) {
        unreachable!("spatial_conv is compiled to a convolution")
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("{} is compiled away, got {}", self.name(), at.length())
    }
}
