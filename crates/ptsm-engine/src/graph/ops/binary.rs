//! Elementwise functions of two values. Shapes are broadcast as in NumPy: aligned at the last axis, and an
//! axis of size 1 repeats.

use super::{Backward, Call, Operation, operands};
use crate::codegen::{Emit, OperandSource, index};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::kernels::versions::vectorised;

/// Which function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryKind {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
}

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binary(pub(crate) BinaryKind);

impl Graph {
    /// `a + b`
    pub fn add(&mut self, a: Id, b: Id) -> Result<Id> {
        self.apply(Binary(BinaryKind::Add), &[a, b])
    }

    /// `a - b`
    pub fn sub(&mut self, a: Id, b: Id) -> Result<Id> {
        self.apply(Binary(BinaryKind::Sub), &[a, b])
    }

    /// `a * b`
    pub fn mul(&mut self, a: Id, b: Id) -> Result<Id> {
        self.apply(Binary(BinaryKind::Mul), &[a, b])
    }

    /// `a / b`
    pub fn div(&mut self, a: Id, b: Id) -> Result<Id> {
        self.apply(Binary(BinaryKind::Div), &[a, b])
    }

    /// Sums what was repeated, so that a gradient gets its operand's shape.
    fn unbroadcast(&mut self, grad: Id, like: Id) -> Result<Id> {
        let (from, to) = (self.shape(grad).to_vec(), self.shape(like).to_vec());
        if from == to {
            return Ok(grad);
        }
        let missing = from.len() - to.len();
        let axes: Vec<usize> =
            (0..from.len()).filter(|&i| i < missing || (to[i - missing] == 1 && from[i] != 1)).collect();
        let summed = self.sum_axes(grad, &axes)?;
        self.reshape(summed, &to)
    }
}

impl Operation for Binary {
    fn name(&self) -> &'static str {
        match self.0 {
            BinaryKind::Add => "add",
            BinaryKind::Sub => "sub",
            BinaryKind::Mul => "mul",
            BinaryKind::Div => "div",
        }
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [a, b] = operands(inputs)?;
        let n = a.len().max(b.len());
        let size = |s: &[usize], i: usize| if i + s.len() >= n { s[i + s.len() - n] } else { 1 };
        (0..n)
            .map(|i| match (size(a, i), size(b, i)) {
                (p, q) if p == q || q == 1 => Ok(p),
                (1, q) => Ok(q),
                _ => Err(format!("{a:?} and {b:?} do not fit")),
            })
            .collect()
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let (a, b, d, g) = (at.inputs[0], at.inputs[1], at.grad, at.graph);
        let da = if at.requires_grad[0] {
            let raw = match self.0 {
                BinaryKind::Add | BinaryKind::Sub => d,
                BinaryKind::Mul => g.mul(d, b)?,
                BinaryKind::Div => g.div(d, b)?,
            };
            Some(g.unbroadcast(raw, a)?)
        } else {
            None
        };
        let db = if at.requires_grad[1] {
            let raw = match self.0 {
                BinaryKind::Add => d,
                BinaryKind::Sub => g.negate(d)?,
                BinaryKind::Mul => g.mul(d, a)?,
                BinaryKind::Div => {
                    let share = g.mul(d, at.output)?;
                    let share = g.div(share, b)?;
                    g.negate(share)?
                }
            };
            Some(g.unbroadcast(raw, b)?)
        } else {
            None
        };
        Ok(vec![da, db])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        match self.0 {
            BinaryKind::Add => broadcast(call, |a, b| a + b),
            BinaryKind::Sub => broadcast(call, |a, b| a - b),
            BinaryKind::Mul => broadcast(call, |a, b| a * b),
            BinaryKind::Div => broadcast(call, |a, b| a / b),
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let sign = match self.0 {
            BinaryKind::Add => '+',
            BinaryKind::Sub => '-',
            BinaryKind::Mul => '*',
            BinaryKind::Div => '/',
        };
        let axes = at.shape.len();
        let operands = at.shapes.iter().zip(at.inputs).map(|(shape, place)| {
            let steps: Vec<usize> = (0..axes).map(|axis| step(shape, axis, axes)).collect();
            OperandSource { place: place.clone(), index: index(at.shape, &steps) }
        });
        at.pointwise(operands.collect(), format!("$0 {sign} $1"));
    }
}

const PIECE: usize = 1 << 14;

/// How far an operand goes on along an axis of the result, which has `n`: not at all where it repeats.
fn step(shape: &[usize], axis: usize, n: usize) -> usize {
    let Some(own) = (axis + shape.len()).checked_sub(n) else { return 0 };
    if shape[own] == 1 { 0 } else { shape[own + 1..].iter().product::<usize>() }
}

fn broadcast<T: Real>(call: Call<'_, T>, f: impl Fn(T, T) -> T + Sync + Send + Copy) {
    let (a, b) = (call.inputs[0], call.inputs[1]);
    let isa = call.cpu.isa;
    if a.len() == call.out.len() && b.len() == call.out.len() {
        let work = call.out.len();
        call.cpu.pieces(call.out, PIECE, work, |i, out| {
            let (a, b) = (&a[i * PIECE..][..out.len()], &b[i * PIECE..][..out.len()]);
            vectorised(
                isa,
                #[inline(always)]
                || out.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (&a, &b))| *o = f(a, b)),
            );
        });
        return;
    }
    // The last axis is the inner loop, with step 0 or 1; the others count like an odometer.
    let n = call.shape.len();
    let steps = |shape: &[usize], axis: usize| step(shape, axis, n);
    let inner = call.shape[n - 1];
    let (step_a, step_b) = (steps(call.shapes[0], n - 1), steps(call.shapes[1], n - 1));
    for (row, out) in call.out.chunks_exact_mut(inner).enumerate() {
        let (mut left, mut ia, mut ib) = (row, 0, 0);
        for axis in (0..n - 1).rev() {
            let i = left % call.shape[axis];
            left /= call.shape[axis];
            ia += i * steps(call.shapes[0], axis);
            ib += i * steps(call.shapes[1], axis);
        }
        for (j, o) in out.iter_mut().enumerate() {
            *o = f(a[ia + j * step_a], b[ib + j * step_b]);
        }
    }
}
