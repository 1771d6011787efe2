//! Sums over axes, and the way back.

use super::{Backward, Call, Operation, count, operands};
use crate::codegen::{Emit, OperandSource};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::kernels::rows::RowSum;

/// Sum over axes, which disappear.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    axes: Vec<usize>,
}

/// Repeats a value along new axes: the gradient of [`Sum`]. `shape` is the result's.
#[derive(Clone, Debug, PartialEq)]
pub struct Expand {
    axes: Vec<usize>,
    shape: Vec<usize>,
}

impl Graph {
    /// Sum over some axes, which disappear.
    pub fn sum_axes(&mut self, x: Id, axes: &[usize]) -> Result<Id> {
        self.apply(Sum { axes: axes.to_vec() }, &[x])
    }

    /// Sum of all elements, a scalar.
    pub fn sum(&mut self, x: Id) -> Result<Id> {
        let axes: Vec<usize> = (0..self.shape(x).len()).collect();
        self.sum_axes(x, &axes)
    }

    /// Mean over some axes, which disappear.
    pub fn mean_axes(&mut self, x: Id, axes: &[usize]) -> Result<Id> {
        let total = self.sum_axes(x, axes)?;
        let n = count(self.shape(x)) / count(self.shape(total));
        self.scale(total, 1.0 / n as f64)
    }

    /// Mean of all elements, a scalar.
    pub fn mean(&mut self, x: Id) -> Result<Id> {
        let axes: Vec<usize> = (0..self.shape(x).len()).collect();
        self.mean_axes(x, &axes)
    }

    /// Cosine between corresponding rows; norms below 1e-8 count as 1e-8.
    ///
    /// # Shapes
    /// a, b `[B, N]` -> `[B]`
    pub fn cosine(&mut self, a: Id, b: Id) -> Result<Id> {
        let (sa, sb) = (self.shape(a), self.shape(b));
        if sa != sb || sa.is_empty() {
            let message = format!("wants two values of one shape with a last axis, got {sa:?} and {sb:?}");
            return Err(self.misfit("cosine", message));
        }
        let axis = [sa.len() - 1];
        let product = self.mul(a, b)?;
        let product = self.sum_axes(product, &axis)?;
        let mut cosine = product;
        for side in [a, b] {
            let square = self.square(side)?;
            let square = self.sum_axes(square, &axis)?;
            let square = self.clamp(square, 1e-16, f64::INFINITY)?;
            let norm = self.sqrt(square)?;
            cosine = self.div(cosine, norm)?;
        }
        Ok(cosine)
    }

    /// Covariance between columns over the batch, with `1 / (B - 1)`.
    ///
    /// # Shapes
    /// a `[B, N]`, b `[B, M]` -> `[N, M]`
    pub fn covariance(&mut self, a: Id, b: Id) -> Result<Id> {
        let (sa, sb) = (self.shape(a), self.shape(b));
        if sa.len() != 2 || sb.len() != 2 || sa[0] != sb[0] || sa[0] < 2 {
            let message = format!("wants [B, N] and [B, M] with B of at least 2, got {sa:?} and {sb:?}");
            return Err(self.misfit("covariance", message));
        }
        let batch = sa[0];
        let a = self.centre(a)?;
        let b = self.centre(b)?;
        let product = self.matmul(a, b, true, false)?;
        self.scale(product, 1.0 / (batch - 1) as f64)
    }

    fn centre(&mut self, x: Id) -> Result<Id> {
        let mean = self.mean_axes(x, &[0])?;
        self.sub(x, mean)
    }

    /// Square root of the sum of squares, not below 1e-12 (whose gradient is then 0).
    pub fn frobenius(&mut self, x: Id) -> Result<Id> {
        let square = self.square(x)?;
        let sum = self.sum(square)?;
        let sum = self.clamp(sum, 1e-24, f64::INFINITY)?;
        self.sqrt(sum)
    }
}

/// Neighbouring axes of one kind merged: sizes of reduced, kept, reduced, kept, reduced.
fn groups(shape: &[usize], axes: &[usize]) -> Option<[usize; 5]> {
    let mut sizes = [1; 5];
    let mut at = 0;
    for (axis, &size) in shape.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let reduced = axes.contains(&axis);
        if reduced != (at % 2 == 0) {
            at += 1;
        }
        *sizes.get_mut(at)? *= size;
    }
    // Everything is reduced: one row.
    if sizes[1] == 1 && sizes[3] == 1 {
        return Some([1, 1, 1, 1, sizes[0] * sizes[2] * sizes[4]]);
    }
    // Nothing kept behind the second reduced group: it is the innermost one, whose rows are summed as vectors.
    if sizes[3] == 1 {
        sizes.swap(2, 4);
        sizes[4] *= std::mem::replace(&mut sizes[2], 1);
    }
    Some(sizes)
}

impl Operation for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        if let Some(axis) = self.axes.iter().find(|a| **a >= x.len()) {
            return Err(format!("{x:?} has no axis {axis}"));
        }
        if groups(x, &self.axes).is_none() {
            return Err(format!("axes {:?} of {x:?} alternate too often", self.axes));
        }
        Ok((0..x.len()).filter(|a| !self.axes.contains(a)).map(|a| x[a]).collect())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let shape = at.graph.shape(at.inputs[0]).to_vec();
        Ok(vec![Some(at.graph.apply(Expand { axes: self.axes.clone(), shape }, &[at.grad])?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let x = call.inputs[0];
        let Some([r0, k0, r1, k1, r2]) = groups(call.shapes[0], &self.axes) else { return };
        let isa = call.cpu.isa;
        call.cpu.pieces(call.out, k1, x.len(), |i, out| {
            out.fill(T::ZERO);
            for a in 0..r0 {
                for b in 0..r1 {
                    let x = &x[((a * k0 + i) * r1 + b) * k1 * r2..][..k1 * r2];
                    if r2 == 1 {
                        out.iter_mut().zip(x).for_each(|(o, &x)| *o += x);
                    } else {
                        let rows = x.chunks_exact(r2);
                        out.iter_mut().zip(rows).for_each(|(o, x)| *o += RowSum::Values(x).on(isa));
                    }
                }
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some([r0, k0, r1, k1, r2]) = groups(at.shapes[0], &self.axes) else { return };
        let (results, each) = (k0 * k1, r0 * r1 * r2);
        let (x, out) = (&at.inputs[0], at.out);
        let rest = format!("{x}, {out}, {r0}, {k0}, {r1}, {k1}, {r2})");
        match () {
            // Neighbouring results are read by neighbouring threads, or there is little to add up.
            _ if (r2 == 1 && k1 >= 32 && each <= 512) || each <= 32 => {
                at.each(results, results * each, format!("sum_columns(at, {rest}"));
            }
            _ if results * each <= 1 << 15 && results >= 16 => at.block(format!("sum_rows(at, {rest}")),
            _ if results * each <= 1 << 15 => at.block(format!("sum_wide({rest}")),
            _ => at.grid(results, 256, format!("sum_blocks({rest}")),
        }
    }
}

impl Operation for Expand {
    fn name(&self) -> &'static str {
        "expand"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let kept: Vec<usize> =
            (0..self.shape.len()).filter(|a| !self.axes.contains(a)).map(|a| self.shape[a]).collect();
        if kept != x || groups(&self.shape, &self.axes).is_none() {
            return Err(format!("{x:?} does not repeat along {:?} to {:?}", self.axes, self.shape));
        }
        Ok(self.shape.clone())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![Some(at.graph.sum_axes(at.grad, &self.axes)?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let x = call.inputs[0];
        let Some([_, k0, r1, k1, r2]) = groups(call.shape, &self.axes) else { return };
        let work = call.out.len();
        call.cpu.pieces(call.out, r1 * k1 * r2, work, |i, out| {
            let x = &x[i % k0 * k1..][..k1];
            for out in out.chunks_exact_mut(k1 * r2) {
                for (out, &x) in out.chunks_exact_mut(r2).zip(x) {
                    out.fill(x);
                }
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some([_, k0, r1, k1, r2]) = groups(at.shape, &self.axes) else { return };
        let index = format!("i / {r2} / {} % {k0} * {k1} + i / {r2} % {k1}", r1 * k1);
        at.pointwise(vec![OperandSource { place: at.inputs[0].clone(), index: Some(index) }], "$0".into());
    }
}

impl Graph {
    /// Repeats a value along a new axis of a given size.
    pub fn repeat(&mut self, x: Id, axis: usize, times: usize) -> Result<Id> {
        let mut shape = self.shape(x).to_vec();
        if axis > shape.len() {
            let message = format!("{shape:?} cannot get a new axis {axis}");
            return Err(self.misfit("repeat", message));
        }
        shape.insert(axis, times);
        self.apply(Expand { axes: vec![axis], shape }, &[x])
    }
}
