//! Rows of a table by index: `(table [N, ..], labels [B]) -> [B, ..]`.

use super::{Backward, Call, Operation, count, operands};
use crate::codegen::Emit;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gather;

/// `(grad [B, ..], labels [B]) -> [rows, ..]`, adding up what falls on one row in the order of the batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    rows: usize,
}

impl Graph {
    /// Rows of a table by label.
    ///
    /// # Shapes
    /// table `[N, ..]`, labels `[B]` with values below N -> `[B, ..]`
    pub fn gather(&mut self, table: Id, labels: Id) -> Result<Id> {
        let rows = self.shape(table).first().copied().unwrap_or(0);
        let classes = self.label_classes(labels);
        if classes.is_none_or(|c| c > rows) {
            let message = format!("a table of {rows} rows needs labels declared with at most {rows} classes");
            return Err(self.misfit("gather", message));
        }
        self.apply(Gather, &[table, labels])
    }
}

impl Operation for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [table, labels] = operands(inputs)?;
        if table.is_empty() || labels.len() != 1 {
            return Err(format!("wants a table [N, ..] and labels [B], got {table:?} and {labels:?}"));
        }
        let mut shape = table.to_vec();
        shape[0] = labels[0];
        Ok(shape)
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let rows = at.graph.shape(at.inputs[0])[0];
        Ok(vec![Some(at.graph.apply(Scatter { rows }, &[at.grad, at.inputs[1]])?), None])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let n = count(&call.shape[1..]);
        for (out, label) in call.out.chunks_exact_mut(n).zip(call.inputs[1]) {
            out.copy_from_slice(&call.inputs[0][label.wide() as usize * n..][..n]);
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (rows, n) = (at.shape[0], count(&at.shape[1..]));
        at.each(rows * n, rows * n, format!("gather(at, {}, {}, {rows}, {n})", at.arguments(), at.out));
    }
}

impl Operation for Scatter {
    fn name(&self) -> &'static str {
        "gather gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [grad, _] = operands(inputs)?;
        let mut shape = grad.to_vec();
        shape[0] = self.rows;
        Ok(shape)
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let n = count(&call.shape[1..]);
        call.out.fill(T::ZERO);
        for (grad, label) in call.inputs[0].chunks_exact(n).zip(call.inputs[1]) {
            let row = &mut call.out[label.wide() as usize * n..][..n];
            row.iter_mut().zip(grad).for_each(|(o, &g)| *o += g);
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (batch, n) = (at.shapes[0][0], count(&at.shape[1..]));
        let call = format!("scatter(at, {}, {}, {batch}, {}, {n})", at.arguments(), at.out, self.rows);
        at.each(self.rows * n, self.rows * n * batch, call);
    }
}
