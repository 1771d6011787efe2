//! The gradient of a convolution with respect to its weights.

use super::super::{Call, Operation, operands};
use super::Conv1d;
use super::filter::Filter;
use crate::codegen::{Emit, Precision};
use crate::error::Result;
use crate::kernels::Real;
use crate::kernels::winograd::{self, POINTS};

/// `(grad [B, O, T'], x [B, C, T]) -> [O, C / groups, K]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvWeight {
    pub(super) conv: Conv1d,
    pub(super) taps: usize,
}

impl ConvWeight {
    /// Samples are summed in this many parts, whatever the number of threads, and the parts in order.
    fn parts(&self, f: &Filter) -> usize {
        if f.work() < 1 << 18 { 1 } else { f.batch.min(8) }
    }
}

impl Operation for ConvWeight {
    fn name(&self) -> &'static str {
        "conv1d weight gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [grad, x] = operands(inputs)?;
        Ok(vec![grad[1], x[1] / self.conv.groups, self.taps])
    }

    fn workspace(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
        let filter = self.conv.filter(inputs[1], output);
        self.parts(&filter) * filter.workspace()
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let f = self.conv.filter(call.shapes[1], call.shape);
        let (grad, x, isa) = (call.inputs[0], call.inputs[1], call.cpu.isa);
        let form = f.winograd_form::<T>();
        let parts = self.parts(&f);
        let size = if form.is_some() { POINTS * f.outputs * f.rows } else { call.out.len() };
        let work = &mut call.work[..parts * size];
        call.cpu.pieces(work, size, f.work(), |p, out| {
            let samples = p * f.batch / parts..(p + 1) * f.batch / parts;
            out.fill(T::ZERO);
            match form {
                Some(form) => f.weight_winograd(form, isa, grad, x, samples, out),
                None => f.weight_direct(isa, grad, x, samples, out),
            }
        });
        let work = &*work;
        let at = |i: usize| work[i..].iter().step_by(size).fold(T::ZERO, |sum, &p| sum + p);
        const PIECE: usize = 1024;
        if form.is_some() {
            let (table, pairs) = (winograd::table::<T>(f.taps), f.outputs * f.rows);
            call.cpu.pieces(call.out, f.taps * PIECE, parts * size, |piece, out| {
                for (i, out) in out.chunks_exact_mut(f.taps).enumerate() {
                    let points: [T; POINTS] = std::array::from_fn(|j| at(j * pairs + piece * PIECE + i));
                    for (k, out) in out.iter_mut().enumerate() {
                        *out = (0..POINTS).fold(T::ZERO, |sum, j| sum + table[j][k] * points[j]);
                    }
                }
            });
        } else {
            call.cpu.pieces(call.out, PIECE, parts * size, |piece, out| {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = at(piece * PIECE + i);
                }
            });
        }
    }

    fn multiply_adds(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
        self.conv.filter(inputs[1], output).work()
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], precision: Precision) -> usize {
        let filter = self.conv.filter(inputs[1], output);
        let parts = filter.weight_parts(precision);
        if parts > 1 { parts * output.iter().product::<usize>() } else { 0 }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let f = self.conv.filter(at.shapes[1], at.shape);
        let (n, operands) = (at.length(), at.arguments());
        let Filter { batch, groups, rows, outputs, taps, left, time, places, .. } = f;
        let parts = f.weight_parts(at.precision);
        let each = f.weight_rows();
        let out = if parts > 1 { at.work } else { at.out };
        let sizes = format!(
            "{batch}, {groups}, {rows}, {outputs}, {taps}, {left}, {time}, {places}, {parts}, {each}"
        );
        if let Some(operand) = at.precision.operand()
            && let Some(tiles) = f.weight_tensor_tiles(operand)
        {
            f.weight_tensor(at, operand, &tiles);
        } else if f.weight_fills() {
            at.grid(f.weight_tiles() * parts, 128, format!("conv_weight<{sizes}>({operands}, {out})"));
        } else {
            let sizes =
                format!("{batch}, {groups}, {rows}, {outputs}, {taps}, {left}, {time}, {places}, {parts}");
            at.each(32 * n * parts, f.work(), format!("conv_weight_rows(at, {operands}, {out}, {sizes})"));
        }
        if parts > 1 {
            at.aside(n, n * parts, format!("sum_parts(at, {}, {}, {n}, {parts})", at.work, at.out));
        }
    }
}
