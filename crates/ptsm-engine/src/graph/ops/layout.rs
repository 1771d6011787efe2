//! Shapes, orders, parts: operations that move numbers or only rename them.

use super::{Backward, Call, Operation, count, operands};
use crate::codegen::{Emit, OperandSource, index};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;

/// The same elements in the same order under another shape. Costs nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Reshape {
    shape: Vec<usize>,
}

/// Axes in another order.
#[derive(Clone, Debug, PartialEq)]
pub struct Transpose {
    order: Vec<usize>,
}

/// `length` places from `start` on along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    axis: usize,
    start: usize,
    length: usize,
}

/// The part among zeros, `total` places in all: padding, and the gradient of a [`Slice`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unslice {
    pub(super) axis: usize,
    pub(super) start: usize,
    pub(super) total: usize,
}

/// Two values one after the other along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Concat {
    axis: usize,
}

impl Concat {
    /// The axis along which the values stand.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }
}

/// Lets values pass unchanged and decides about gradients. Costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// No gradient passes.
    Stop,
    /// Gradients pass with the sign turned and scaled by the second operand (a scalar).
    Reverse,
}

impl Graph {
    /// The same elements under another shape.
    pub fn reshape(&mut self, x: Id, shape: &[usize]) -> Result<Id> {
        if self.shape(x) == shape {
            return Ok(x);
        }
        self.apply(Reshape { shape: shape.to_vec() }, &[x])
    }

    /// All axes after the first as one.
    pub fn flatten(&mut self, x: Id) -> Result<Id> {
        let shape = self.shape(x).to_vec();
        let first = shape.first().copied().unwrap_or(1);
        self.reshape(x, &[first, count(&shape) / first])
    }

    /// Axes in another order: axis `i` of the result is axis `order[i]` of `x`.
    pub fn transpose(&mut self, x: Id, order: &[usize]) -> Result<Id> {
        self.apply(Transpose { order: order.to_vec() }, &[x])
    }

    /// A part of an axis.
    pub fn slice(&mut self, x: Id, axis: usize, start: usize, length: usize) -> Result<Id> {
        self.apply(Slice { axis, start, length }, &[x])
    }

    /// Two values one after the other along an axis.
    pub fn concat(&mut self, a: Id, b: Id, axis: usize) -> Result<Id> {
        self.apply(Concat { axis }, &[a, b])
    }

    /// The value, without a gradient.
    pub fn stop_gradient(&mut self, x: Id) -> Result<Id> {
        self.apply(Barrier::Stop, &[x])
    }

    /// The value; its gradient is multiplied by minus `factor`, a scalar node (so that it can be ramped).
    pub fn reverse_gradient(&mut self, x: Id, factor: Id) -> Result<Id> {
        self.apply(Barrier::Reverse, &[x, factor])
    }
}

impl Operation for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let expected = self.shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        if expected != Some(count(x)) {
            let has = expected.map_or("too many".into(), |n| n.to_string());
            return Err(format!("{x:?} has {} elements, {:?} has {has}", count(x), self.shape));
        }
        Ok(self.shape.clone())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let shape = at.graph.shape(at.inputs[0]).to_vec();
        Ok(vec![Some(at.graph.reshape(at.grad, &shape)?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        call.out.copy_from_slice(call.inputs[0]);
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        view(at);
    }
}

impl Operation for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        if sorted != (0..x.len()).collect::<Vec<_>>() {
            return Err(format!("{:?} is no order of the axes of {x:?}", self.order));
        }
        Ok(self.order.iter().map(|&a| x[a]).collect())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let mut back = vec![0; self.order.len()];
        for (to, &from) in self.order.iter().enumerate() {
            back[from] = to;
        }
        Ok(vec![Some(at.graph.transpose(at.grad, &back)?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (x, from) = (call.inputs[0], call.shapes[0]);
        let Some((&last, outer)) = self.order.split_last() else { return };
        let step = |axis: usize| from[axis + 1..].iter().product::<usize>();
        let (inner, inner_step) = (from[last], step(last));
        let work = call.out.len();
        call.cpu.pieces(call.out, inner, work, |row, out| {
            let (mut left, mut start) = (row, 0);
            for &axis in outer.iter().rev() {
                start += left % from[axis] * step(axis);
                left /= from[axis];
            }
            for (j, o) in out.iter_mut().enumerate() {
                *o = x[start + j * inner_step];
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let from = at.shapes[0];
        let steps: Vec<usize> = self.order.iter().map(|&axis| count(&from[axis + 1..])).collect();
        let index = index(at.shape, &steps);
        at.pointwise(vec![OperandSource { place: at.inputs[0].clone(), index }], "$0".into());
    }
}

impl Operation for Slice {
    fn name(&self) -> &'static str {
        "slice"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let end = self.start.saturating_add(self.length);
        if self.axis >= x.len() || end > x[self.axis] {
            return Err(format!("{x:?} has no places {}..{end} along axis {}", self.start, self.axis));
        }
        let mut shape = x.to_vec();
        shape[self.axis] = self.length;
        Ok(shape)
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let total = at.graph.shape(at.inputs[0])[self.axis];
        let whole = Unslice { axis: self.axis, start: self.start, total };
        Ok(vec![Some(at.graph.apply(whole, &[at.grad])?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let inner = count(&call.shape[self.axis + 1..]);
        let whole = call.shapes[0][self.axis] * inner;
        for (out, x) in call.out.chunks_exact_mut(self.length * inner).zip(call.inputs[0].chunks_exact(whole))
        {
            out.copy_from_slice(&x[self.start * inner..][..self.length * inner]);
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let inner = count(&at.shape[self.axis + 1..]);
        let (whole, start, part) = (at.shapes[0][self.axis] * inner, self.start * inner, self.length * inner);
        let index = Some(format!("i / {part} * {whole} + {start} + i % {part}"));
        at.pointwise(vec![OperandSource { place: at.inputs[0].clone(), index }], "$0".into());
    }
}

impl Operation for Unslice {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let mut shape = x.to_vec();
        shape[self.axis] = self.total;
        Ok(shape)
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let length = at.graph.shape(at.inputs[0])[self.axis];
        Ok(vec![Some(at.graph.slice(at.grad, self.axis, self.start, length)?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let inner = count(&call.shape[self.axis + 1..]);
        let part = call.shapes[0][self.axis] * inner;
        for (out, x) in call.out.chunks_exact_mut(self.total * inner).zip(call.inputs[0].chunks_exact(part)) {
            out.fill(T::ZERO);
            out[self.start * inner..][..part].copy_from_slice(x);
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (n, inner) = (at.length(), count(&at.shape[self.axis + 1..]));
        let (whole, start, part) = (self.total * inner, self.start * inner, at.shapes[0][self.axis] * inner);
        at.each(n, n, format!("unslice(at, {}, {}, {n}, {whole}, {start}, {part})", at.inputs[0], at.out));
    }
}

impl Operation for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [a, b] = operands(inputs)?;
        let fits =
            a.len() == b.len() && self.axis < a.len() && (0..a.len()).all(|i| i == self.axis || a[i] == b[i]);
        if !fits {
            return Err(format!("{a:?} and {b:?} do not join along axis {}", self.axis));
        }
        let mut shape = a.to_vec();
        shape[self.axis] += b[self.axis];
        Ok(shape)
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let mut start = 0;
        let mut grads = Vec::new();
        for (&input, &requires_grad) in at.inputs.iter().zip(at.requires_grad) {
            let length = at.graph.shape(input)[self.axis];
            grads.push(if requires_grad {
                Some(at.graph.slice(at.grad, self.axis, start, length)?)
            } else {
                None
            });
            start += length;
        }
        Ok(grads)
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let inner = count(&call.shape[self.axis + 1..]);
        let (na, nb) = (call.shapes[0][self.axis] * inner, call.shapes[1][self.axis] * inner);
        let parts = call.inputs[0].chunks_exact(na).zip(call.inputs[1].chunks_exact(nb));
        for (out, (a, b)) in call.out.chunks_exact_mut(na + nb).zip(parts) {
            out[..na].copy_from_slice(a);
            out[na..].copy_from_slice(b);
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (n, inner) = (at.length(), count(&at.shape[self.axis + 1..]));
        let [a, b] = [0, 1].map(|i| at.shapes[i][self.axis] * inner);
        at.each(n, n, format!("concat(at, {}, {}, {n}, {a}, {b})", at.arguments(), at.out));
    }
}

impl Operation for Barrier {
    fn name(&self) -> &'static str {
        match self {
            Barrier::Stop => "stop gradient",
            Barrier::Reverse => "reverse gradient",
        }
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        match (self, inputs) {
            (Barrier::Stop, [x]) => Ok(x.to_vec()),
            (Barrier::Reverse, [x, []]) => Ok(x.to_vec()),
            (Barrier::Reverse, [_, factor]) => Err(format!("the factor must be a scalar, got {factor:?}")),
            _ => Err(format!("got {} operands", inputs.len())),
        }
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        match self {
            Barrier::Stop => Ok(vec![None]),
            Barrier::Reverse => {
                let turned = at.graph.mul(at.grad, at.inputs[1])?;
                Ok(vec![Some(at.graph.negate(turned)?), None])
            }
        }
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        call.out.copy_from_slice(call.inputs[0]);
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        view(at);
    }
}

/// A view is its operand's memory and never runs, but for its own test.
fn view(at: &mut Emit<'_>) {
    let n = at.length();
    at.each(n, n, format!("copy(at, {}, {}, {n})", at.inputs[0], at.out));
}
