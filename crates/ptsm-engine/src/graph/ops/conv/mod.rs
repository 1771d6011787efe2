//! Convolution along time (a cross-correlation, no kernel flip), stride 1, with groups.
//!
//!   x `[B, C, T]`, weight `[O, C / groups, K]`, bias `[O]`  ->  `[B, O, T + left + right - K + 1]`
//!
//! No im2col: a sample is copied once into a row-padded scratch that stays in the second-level cache, and the
//! product kernels read it at shifted places. Kernels of 5 and 7 between wide layers, in f32, take Winograd's way with 2.5 and
//! 1.75 times fewer multiplications (see `winograd.rs`).

mod blocks;
mod direct;
mod filter;
mod packed;
mod tensor;
mod weight;
mod winograd;

use super::{Backward, Call, Operation, operands};
use crate::codegen::{Emit, Precision};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::kernels::product::Strides;
use filter::Filter;

pub(crate) use packed::prepack;
pub(super) use packed::{PackConv, PackedConv};
pub(super) use weight::ConvWeight;

/// Zeros added in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// None: the result is `K - 1` samples shorter.
    Valid,
    /// As many samples as before: `floor((K - 1) / 2)` zeros on the left, the rest on the right.
    Same,
    /// So many.
    Zeros {
        /// Before the first sample.
        left: usize,
        /// After the last.
        right: usize,
    },
}

impl Padding {
    pub(crate) fn sides(self, taps: usize) -> (usize, usize) {
        match self {
            Padding::Valid => (0, 0),
            Padding::Same => ((taps - 1) / 2, taps / 2),
            Padding::Zeros { left, right } => (left, right),
        }
    }
}

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conv1d {
    pub(crate) groups: usize,
    pub(crate) left: usize,
    pub(crate) right: usize,
}

/// `(grad [B, O, T'], weight) -> [B, C, T]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvInput {
    conv: Conv1d,
}

impl Graph {
    /// Convolution along time.
    ///
    /// # Shapes
    /// x `[B, C, T]`, weight `[O, C / groups, K]`, bias `[O]` -> `[B, O, T']`
    pub fn conv1d(
        &mut self,
        x: Id,
        weight: Id,
        bias: Option<Id>,
        groups: usize,
        padding: Padding,
    ) -> Result<Id> {
        let taps = self.shape(weight).last().copied().unwrap_or(1);
        let (left, right) = padding.sides(taps);
        let inputs: Vec<Id> = [x, weight].into_iter().chain(bias).collect();
        self.apply(Conv1d { groups, left, right }, &inputs)
    }
}

impl Conv1d {
    fn filter(&self, x: &[usize], weight: &[usize]) -> Filter {
        Filter {
            batch: x[0],
            groups: self.groups,
            rows: weight[1],
            outputs: weight[0] / self.groups,
            taps: weight[2],
            left: self.left,
            right: self.right,
            time: x[2],
            places: x[2] + self.left + self.right + 1 - weight[2],
        }
    }
}

impl Operation for Conv1d {
    fn name(&self) -> &'static str {
        "conv1d"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let (x, w, bias) = match inputs {
            [x, w] => (*x, *w, None),
            [x, w, b] => (*x, *w, Some(*b)),
            _ => return Err(format!("takes 2 or 3 operands, got {}", inputs.len())),
        };
        if x.len() != 3 || w.len() != 3 {
            return Err(format!("wants an input [B, C, T] and a weight [O, C, K], got {x:?} and {w:?}"));
        }
        let g = self.groups;
        if g == 0 || x[1] % g != 0 || w[0] % g != 0 || w[1] * g != x[1] {
            return Err(format!("input {x:?} and weight {w:?} do not fit {g} groups of channels"));
        }
        if bias.is_some_and(|b| b != [w[0]]) {
            return Err(format!("bias {:?} does not fit weight {w:?}", bias.unwrap_or_default()));
        }
        if self.left >= w[2] || self.right >= w[2] {
            return Err(format!("padding {} + {} is too wide for weight {w:?}", self.left, self.right));
        }
        let padded = x[2] + self.left + self.right;
        if padded < w[2] {
            return Err(format!(
                "input {x:?} has {} samples{}, the kernel {w:?} needs {}",
                x[2],
                if padded > x[2] { format!(" ({padded} padded)") } else { String::new() },
                w[2]
            ));
        }
        Ok(vec![x[0], w[0], padded + 1 - w[2]])
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let (x, w) = (at.inputs[0], at.inputs[1]);
        let mut grads = vec![None; at.inputs.len()];
        if at.requires_grad[1] {
            let taps = at.graph.shape(w)[2];
            grads[1] = Some(at.graph.apply(ConvWeight { conv: *self, taps }, &[at.grad, x])?);
        }
        if at.requires_grad.get(2) == Some(&true) {
            grads[2] = Some(at.graph.sum_axes(at.grad, &[0, 2])?);
        }
        if at.requires_grad[0] {
            grads[0] = Some(at.graph.apply(ConvInput { conv: *self }, &[at.grad, w])?);
        }
        Ok(grads)
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).workspace()
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.filter(call.shapes[0], call.shapes[1]);
        let at = Strides { start: 0, output: filter.rows * filter.taps, row: filter.taps, tap: 1 };
        let bias = call.inputs.get(2).copied();
        filter.pack(call.cpu.isa, call.inputs[1], at, call.work);
        filter.apply(call.cpu, call.inputs[0], call.work, bias, call.out);
    }

    fn multiply_adds(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).work()
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], _: &[usize], precision: Precision) -> usize {
        self.filter(inputs[0], inputs[1]).cuda_workspace(precision)
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let filter = self.filter(at.shapes[0], at.shapes[1]);
        filter.cuda(at, false);
    }
}

impl ConvInput {
    /// The gradient runs backwards through the same weights: flipped in time, outputs and rows exchanged.
    fn filter(&self, grad: &[usize], weight: &[usize]) -> Filter {
        let groups = self.conv.groups;
        let (left, right) = (weight[2] - 1 - self.conv.left, weight[2] - 1 - self.conv.right);
        Filter {
            batch: grad[0],
            groups,
            rows: weight[0] / groups,
            outputs: weight[1],
            taps: weight[2],
            left,
            right,
            time: grad[2],
            places: grad[2] + left + right + 1 - weight[2],
        }
    }
}

impl Operation for ConvInput {
    fn name(&self) -> &'static str {
        "conv1d input gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [grad, w] = operands(inputs)?;
        let filter = self.filter(grad, w);
        Ok(vec![grad[0], w[1] * self.conv.groups, filter.places])
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).workspace()
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.filter(call.shapes[0], call.shapes[1]);
        let (taps, outputs) = (filter.taps, filter.outputs);
        let at = Strides { start: taps - 1, output: taps, row: outputs * taps, tap: -1 };
        filter.pack(call.cpu.isa, call.inputs[1], at, call.work);
        filter.apply(call.cpu, call.inputs[0], call.work, None, call.out);
    }

    fn multiply_adds(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).work()
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], _: &[usize], precision: Precision) -> usize {
        self.filter(inputs[0], inputs[1]).cuda_workspace(precision)
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let filter = self.filter(at.shapes[0], at.shapes[1]);
        filter.cuda(at, true);
    }
}
