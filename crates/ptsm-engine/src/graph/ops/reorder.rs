//! Fixed orders: places along an axis in another order, and labels under another name. Both are known when a graph is built.

use std::fmt::Write;

use super::{Backward, Call, Operation, count, operands};
use crate::codegen::{Emit, OperandSource};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;

/// Place `i` along an axis becomes what place `order[i]` was.
#[derive(Clone, Debug, PartialEq)]
pub struct Reorder {
    axis: usize,
    order: Vec<usize>,
}

/// A label `l` becomes `to[l]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Relabel {
    to: Vec<u32>,
}

impl Reorder {
    /// The axis whose places change.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// Where each place comes from.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }
}

impl Graph {
    /// Places along an axis in another order: place `i` of the result is place `order[i]` of `x`. Every place is named once.
    pub fn reorder(&mut self, x: Id, axis: usize, order: &[usize]) -> Result<Id> {
        self.apply(Reorder { axis, order: order.to_vec() }, &[x])
    }

    /// Labels by other names: label `l` becomes `to[l]`.
    pub fn relabel(&mut self, labels: Id, to: &[u32]) -> Result<Id> {
        let classes = self.label_classes(labels);
        if classes != Some(to.len()) || to.iter().any(|&l| l as usize >= to.len()) {
            let given = classes.map_or("no labels".into(), |n| format!("labels of {n} classes"));
            return Err(self.misfit("relabel", format!("{to:?} does not rename {given}")));
        }
        self.apply(Relabel { to: to.to_vec() }, &[labels])
    }
}

impl Operation for Reorder {
    fn name(&self) -> &'static str {
        "reorder"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        if self.axis >= x.len() || sorted != (0..x[self.axis]).collect::<Vec<_>>() {
            return Err(format!(
                "{:?} is no order of the places of {x:?} along axis {}",
                self.order, self.axis
            ));
        }
        Ok(x.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let mut back = vec![0; self.order.len()];
        for (to, &from) in self.order.iter().enumerate() {
            back[from] = to;
        }
        Ok(vec![Some(at.graph.reorder(at.grad, self.axis, &back)?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let inner = count(&call.shape[self.axis + 1..]);
        let whole = self.order.len() * inner;
        for (out, x) in call.out.chunks_exact_mut(whole).zip(call.inputs[0].chunks_exact(whole)) {
            for (out, &from) in out.chunks_exact_mut(inner).zip(&self.order) {
                out.copy_from_slice(&x[from * inner..][..inner]);
            }
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (places, inner) = (self.order.len(), count(&at.shape[self.axis + 1..]));
        // A function without a name, so that the table is a constant of the kernel.
        let mut table = String::new();
        for from in &self.order {
            // Writing to a string cannot fail.
            let _ = write!(table, "{from}, ");
        }
        let from =
            format!("[](int p) {{ const int o[] = {{{table}}}; return o[p]; }}(i / {inner} % {places})");
        let index =
            Some(format!("i / {} * {} + {from} * {inner} + i % {inner}", places * inner, places * inner));
        at.pointwise(vec![OperandSource { place: at.inputs[0].clone(), index }], "$0".into());
    }
}

impl Operation for Relabel {
    fn name(&self) -> &'static str {
        "relabel"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [labels] = operands(inputs)?;
        Ok(labels.to_vec())
    }

    /// Labels have none.
    fn gradient(&self, _: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![None])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        for (out, label) in call.out.iter_mut().zip(call.inputs[0]) {
            *out = T::of(f64::from(self.to[label.wide() as usize]));
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let renamed = self.to.iter().enumerate().filter(|(from, to)| *from != **to as usize);
        let expression =
            renamed.fold("$0".to_string(), |rest, (from, to)| format!("$0 == {from}.0f ? {to}.0f : {rest}"));
        at.pointwise(at.same(), format!("({expression})"));
    }
}
