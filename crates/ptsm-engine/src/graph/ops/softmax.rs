//! Softmax over the last axis.

use super::{Backward, Call, Operation, operands};
use crate::codegen::Emit;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::kernels::rows::RowSum;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax;

/// `(y, grad) -> y * (grad - sum(y * grad))`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxGrad;

impl Graph {
    /// Softmax over the last axis.
    pub fn softmax(&mut self, x: Id) -> Result<Id> {
        self.apply(Softmax, &[x])
    }
}

/// Replaces logits by probabilities and returns the logarithm of their sum of exponentials.
pub(crate) fn softmax_row<T: Real>(row: &mut [T]) -> T {
    let largest = row.iter().fold(row[0], |m, &x| m.larger(x));
    let mut sum = T::ZERO;
    for x in row.iter_mut() {
        *x = (*x - largest).exp();
        sum += *x;
    }
    for x in row.iter_mut() {
        *x = *x / sum;
    }
    largest + sum.ln()
}

impl Operation for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        if x.is_empty() {
            return Err("a scalar has no last axis".into());
        }
        Ok(x.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![Some(at.graph.apply(SoftmaxGrad, &[at.output, at.grad])?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let Some(&n) = call.shape.last() else { return };
        let x = call.inputs[0];
        call.cpu.pieces(call.out, n, x.len() * 8, |i, out| {
            out.copy_from_slice(&x[i * n..][..n]);
            softmax_row(out);
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some(&n) = at.shape.last() else { return };
        let rows = at.length() / n;
        at.each(32 * rows, rows * n * 4, format!("softmax(at, {}, {}, {rows}, {n})", at.arguments(), at.out));
    }
}

impl Operation for SoftmaxGrad {
    fn name(&self) -> &'static str {
        "softmax gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [y, _] = operands(inputs)?;
        Ok(y.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let Some(&n) = call.shape.last() else { return };
        let (y, grad, isa) = (call.inputs[0], call.inputs[1], call.cpu.isa);
        call.cpu.pieces(call.out, n, y.len() * 4, |i, out| {
            let (y, grad) = (&y[i * n..][..n], &grad[i * n..][..n]);
            let common = RowSum::Dot(y, grad).on(isa);
            for (o, (&y, &g)) in out.iter_mut().zip(y.iter().zip(grad)) {
                *o = y * (g - common);
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some(&n) = at.shape.last() else { return };
        let rows = at.length() / n;
        at.each(
            32 * rows,
            rows * n * 4,
            format!("softmax_grad(at, {}, {}, {rows}, {n})", at.arguments(), at.out),
        );
    }
}
