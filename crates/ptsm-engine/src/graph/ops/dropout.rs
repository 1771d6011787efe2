//! Dropout: zeroes a value with probability p and scales the others by 1 / (1 - p). In inference it is
//! not there at all. The mask is never stored: it is a function of (seed, stream, step, place), so the gradient
//! is the same operation again.

use super::{Backward, Call, Operation, operands};
use crate::codegen::Emit;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::random::{cuda_drop, drop_row};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    pub(crate) p: f64,
    pub(crate) stream: u32,
}

impl Graph {
    /// Dropout with probability `p`; with 0 the value itself.
    pub fn dropout(&mut self, x: Id, p: f64) -> Result<Id> {
        if p == 0.0 {
            return Ok(x);
        }
        // Beyond this, nothing would be left at the resolution of 2^-16.
        if !(0.0..=1.0 - 1.0 / 32768.0).contains(&p) {
            return Err(self.misfit("dropout", format!("the probability must be in 0..1, got {p}")));
        }
        let stream = self.stream();
        self.apply(Dropout { p, stream }, &[x])
    }
}

impl Operation for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        Ok(x.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![Some(at.graph.apply(*self, &[at.grad])?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (x, isa, draw) = (call.inputs[0], call.cpu.isa, call.draw);
        let row = call.shape.last().copied().unwrap_or(1);
        call.cpu.pieces(call.out, row, x.len() * 4, |i, out| {
            out.copy_from_slice(&x[i * row..][..row]);
            drop_row(isa, draw, self.stream, i as u32, self.p, out);
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (row, drop) = (at.shape.last().copied().unwrap_or(1), cuda_drop(self.p, self.stream));
        at.pointwise(at.same(), format!("$0 * {drop}.at(own, i / {row}, i % {row})"));
    }
}
