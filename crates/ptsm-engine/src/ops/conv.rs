//! Convolution along time (a cross-correlation, no kernel flip), stride 1, with groups.
//!
//!   x `[B, C, T]`, weight `[O, C / groups, K]`, bias `[O]`  ->  `[B, O, T + left + right - K + 1]`
//!
//! No im2col: a sample is copied once into a row-padded scratch that stays in the second-level cache, and the
//! product kernels read it at shifted places.

use super::{Backward, Call, Operation, count};
use crate::cpu::scratch;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::product::{Dots, Panel, SLACK, Strides, pack};
use crate::real::Real;

/// Zeros added in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// None: the result is `K - 1` samples shorter.
    Valid,
    /// As many samples as before: `floor((K - 1) / 2)` zeros on the left, the rest on the right.
    Same,
}

impl Padding {
    pub(crate) fn sides(self, taps: usize) -> (usize, usize) {
        match self {
            Padding::Valid => (0, 0),
            Padding::Same => ((taps - 1) / 2, taps / 2),
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

/// `(grad [B, O, T'], x [B, C, T]) -> [O, C / groups, K]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvWeight {
    conv: Conv1d,
    taps: usize,
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

/// Sizes of one convolution, all in one place.
struct Sizes {
    batch: usize,
    channels: usize,
    time: usize,
    outputs: usize,
    taps: usize,
    time_out: usize,
}

/// A row length that is a whole number of cache lines and does not map all rows to one cache set.
fn row_stride(length: usize) -> usize {
    let lines = length.div_ceil(16);
    if lines % 16 == 0 { (lines + 1) * 16 } else { lines * 16 }
}

/// Copies rows of `length` into rows of `ld`, with `left` zeros before and `right` after.
fn pad_rows<T: Real>(from: &[T], length: usize, left: usize, right: usize, ld: usize, to: &mut [T]) {
    for (from, to) in from.chunks_exact(length).zip(to.chunks_mut(ld)) {
        to[..left].fill(T::ZERO);
        to[left..left + length].copy_from_slice(from);
        to[left + length..left + length + right].fill(T::ZERO);
    }
}

impl Conv1d {
    fn sizes(&self, x: &[usize], weight: &[usize]) -> Sizes {
        let (time, taps) = (x[2], weight[2]);
        Sizes {
            batch: x[0],
            channels: x[1],
            time,
            outputs: weight[0],
            taps,
            time_out: time + self.left + self.right + 1 - taps,
        }
    }

    fn work(&self, s: &Sizes) -> usize {
        s.batch * s.outputs * s.channels / self.groups * s.taps * s.time_out
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
        if at.wanted[1] {
            let taps = at.graph.shape(w)[2];
            grads[1] = Some(at.graph.apply(ConvWeight { conv: *self, taps }, &[at.grad, x])?);
        }
        if at.wanted.get(2) == Some(&true) {
            grads[2] = Some(at.graph.sum_axes(at.grad, &[0, 2])?);
        }
        if at.wanted[0] {
            grads[0] = Some(at.graph.apply(ConvInput { conv: *self }, &[at.grad, w])?);
        }
        Ok(grads)
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        count(inputs[1])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let s = self.sizes(call.shapes[0], call.shapes[1]);
        let (rows, outputs) = (s.channels / self.groups, s.outputs / self.groups);
        let per_group = outputs * rows * s.taps;
        let isa = call.cpu.isa;
        for (g, packed) in call.work.chunks_exact_mut(per_group).enumerate() {
            let at = Strides { start: g * per_group, output: rows * s.taps, row: s.taps, tap: 1 };
            pack(isa, call.inputs[1], at, outputs, rows, s.taps, packed);
        }
        let (x, bias, packed) = (call.inputs[0], call.inputs.get(2), &*call.work);
        let ld = row_stride(s.time + self.left + self.right);
        call.cpu.pieces(call.out, s.outputs * s.time_out, self.work(&s), |b, out| {
            let x = &x[b * s.channels * s.time..][..s.channels * s.time];
            scratch(s.channels * ld + SLACK, |padded| {
                pad_rows(x, s.time, self.left, self.right, ld, padded);
                for (g, out) in out.chunks_exact_mut(outputs * s.time_out).enumerate() {
                    Panel {
                        packed: &packed[g * per_group..][..per_group],
                        outputs,
                        rows,
                        taps: s.taps,
                        b: &padded[g * rows * ld..],
                        ld,
                        columns: s.time_out,
                        out,
                        ld_out: s.time_out,
                        bias: bias.map(|b| &b[g * outputs..][..outputs]),
                    }
                    .run(isa);
                }
            });
        });
    }
}

impl Operation for ConvInput {
    fn name(&self) -> &'static str {
        "conv1d input gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [grad, w] = super::operands(inputs)?;
        Ok(vec![grad[0], w[1] * self.conv.groups, grad[2] + w[2] - 1 - self.conv.left - self.conv.right])
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        count(inputs[1])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let s = self.conv.sizes(call.shape, call.shapes[1]);
        let groups = self.conv.groups;
        let (outputs, rows) = (s.channels / groups, s.outputs / groups);
        let per_group = outputs * rows * s.taps;
        let isa = call.cpu.isa;
        for (g, packed) in call.work.chunks_exact_mut(per_group).enumerate() {
            let start = g * per_group + s.taps - 1;
            let at = Strides { start, output: s.taps, row: outputs * s.taps, tap: -1 };
            pack(isa, call.inputs[1], at, outputs, rows, s.taps, packed);
        }
        let (grad, packed) = (call.inputs[0], &*call.work);
        let (left, right) = (s.taps - 1 - self.conv.left, s.taps - 1 - self.conv.right);
        let ld = row_stride(s.time_out + left + right);
        call.cpu.pieces(call.out, s.channels * s.time, self.conv.work(&s), |b, out| {
            let grad = &grad[b * s.outputs * s.time_out..][..s.outputs * s.time_out];
            scratch(s.outputs * ld + SLACK, |padded| {
                pad_rows(grad, s.time_out, left, right, ld, padded);
                for (g, out) in out.chunks_exact_mut(outputs * s.time).enumerate() {
                    Panel {
                        packed: &packed[g * per_group..][..per_group],
                        outputs,
                        rows,
                        taps: s.taps,
                        b: &padded[g * rows * ld..],
                        ld,
                        columns: s.time,
                        out,
                        ld_out: s.time,
                        bias: None,
                    }
                    .run(isa);
                }
            });
        });
    }
}

impl ConvWeight {
    /// Samples are summed in this many parts, whatever the number of threads, and the parts in order.
    fn parts(&self, s: &Sizes) -> usize {
        if self.conv.work(s) < 1 << 18 { 1 } else { s.batch.min(8) }
    }
}

impl Operation for ConvWeight {
    fn name(&self) -> &'static str {
        "conv1d weight gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [grad, x] = super::operands(inputs)?;
        Ok(vec![grad[1], x[1] / self.conv.groups, self.taps])
    }

    fn workspace(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
        let parts = self.parts(&self.conv.sizes(inputs[1], output));
        if parts == 1 { 0 } else { parts * count(output) }
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let s = self.conv.sizes(call.shapes[1], call.shape);
        let (grad, x) = (call.inputs[0], call.inputs[1]);
        let groups = self.conv.groups;
        let (rows, outputs) = (s.channels / groups, s.outputs / groups);
        let ld = row_stride(s.time + self.conv.left + self.conv.right);
        // Two samples at a time halve the horizontal sums; more would not fit the second-level cache.
        let together = if s.channels * ld * size_of::<T>() <= 192 << 10 { 2 } else { 1 };
        let isa = call.cpu.isa;
        let sum = |samples: std::ops::Range<usize>, out: &mut [T]| {
            out.fill(T::ZERO);
            scratch(together * s.channels * ld, |padded| {
                let mut first = samples.start;
                while first < samples.end {
                    let items = together.min(samples.end - first);
                    for (i, padded) in padded.chunks_mut(s.channels * ld).take(items).enumerate() {
                        let x = &x[(first + i) * s.channels * s.time..][..s.channels * s.time];
                        pad_rows(x, s.time, self.conv.left, self.conv.right, ld, padded);
                    }
                    for (g, out) in out.chunks_exact_mut(outputs * rows * s.taps).enumerate() {
                        Dots {
                            a: &grad[(first * s.outputs + g * outputs) * s.time_out..],
                            lda: s.time_out,
                            a_item: s.outputs * s.time_out,
                            outputs,
                            b: &padded[g * rows * ld..],
                            ldb: ld,
                            b_item: s.channels * ld,
                            rows,
                            taps: s.taps,
                            step: 1,
                            length: s.time_out,
                            items,
                            out,
                            ld_out: rows * s.taps,
                        }
                        .run(isa);
                    }
                    first += items;
                }
            });
        };
        let parts = self.parts(&s);
        if parts == 1 {
            return sum(0..s.batch, call.out);
        }
        let size = call.out.len();
        call.cpu.pieces(call.work, size, self.conv.work(&s), |p, out| {
            sum(p * s.batch / parts..(p + 1) * s.batch / parts, out);
        });
        call.out.copy_from_slice(&call.work[..size]);
        for part in call.work[size..].chunks_exact(size) {
            for (out, &p) in call.out.iter_mut().zip(part) {
                *out += p;
            }
        }
    }
}
