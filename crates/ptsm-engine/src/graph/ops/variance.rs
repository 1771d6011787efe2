//! Biased variance over the last axis: `[.., T] -> [..]`.

use super::{Backward, Call, Operation, operands};
use crate::codegen::Emit;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::rows::RowSum;
use crate::kernels::{Isa, Real};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance;

/// `(x, grad) -> 2 / T * (x - mean) * grad`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceGrad;

impl Graph {
    /// Biased variance over the last axis, which disappears.
    pub fn variance(&mut self, x: Id) -> Result<Id> {
        self.apply(Variance, &[x])
    }
}

/// Mean and sum of squared distances from it, in two passes over a row that is in the cache.
pub(crate) fn row_moments<T: Real>(isa: Isa, x: &[T]) -> (T, T) {
    let mean = RowSum::Values(x).on(isa) * T::of(1.0 / x.len() as f64);
    (mean, RowSum::Squares(x, mean).on(isa))
}

impl Operation for Variance {
    fn name(&self) -> &'static str {
        "variance"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let Some((_, outer)) = x.split_last() else { return Err("a scalar has no last axis".into()) };
        Ok(outer.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![Some(at.graph.apply(VarianceGrad, &[at.inputs[0], at.grad])?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let Some(&t) = call.shapes[0].last() else { return };
        let (x, isa) = (call.inputs[0], call.cpu.isa);
        const ROWS: usize = 16;
        call.cpu.pieces(call.out, ROWS, x.len(), |i, out| {
            for (o, x) in out.iter_mut().zip(x[i * ROWS * t..].chunks_exact(t)) {
                *o = row_moments(isa, x).1 * T::of(1.0 / t as f64);
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some(&n) = at.shapes[0].last() else { return };
        let rows = at.length();
        at.each(32 * rows, rows * n, format!("variance(at, {}, {}, {rows}, {n})", at.inputs[0], at.out));
    }
}

impl Operation for VarianceGrad {
    fn name(&self) -> &'static str {
        "variance gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, _] = operands(inputs)?;
        Ok(x.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let Some(&t) = call.shape.last() else { return };
        let (x, grad, isa) = (call.inputs[0], call.inputs[1], call.cpu.isa);
        call.cpu.pieces(call.out, t, x.len(), |i, out| {
            let x = &x[i * t..][..t];
            let (mean, _) = row_moments(isa, x);
            let factor = grad[i] * T::of(2.0 / t as f64);
            out.iter_mut().zip(x).for_each(|(o, &x)| *o = (x - mean) * factor);
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some(&n) = at.shape.last() else { return };
        let rows = at.length() / n;
        at.each(
            32 * rows,
            rows * n,
            format!("variance_grad(at, {}, {}, {rows}, {n})", at.arguments(), at.out),
        );
    }
}
