//! Normalisation over the last axis: `(x [.., N], scale [N], shift [N]) -> [.., N]`.

use super::variance::row_moments;
use super::{Backward, Call, Operation, operands};
use crate::codegen::{Emit, Precision, number};
use crate::error::Result;
use crate::graph::{Graph, Id, Init};
use crate::kernels::{Isa, Real};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    eps: f64,
}

/// `(x, scale, grad) -> [.., N]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormInput {
    eps: f64,
}

/// `(x, grad) -> [2, N]`: gradients of scale and shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormSums {
    eps: f64,
}

impl Graph {
    /// Normalisation over the last axis with scale and shift of its own, named `scale` and `shift`.
    pub fn layer_norm(&mut self, x: Id, eps: f64) -> Result<Id> {
        let Some(&n) = self.shape(x).last().filter(|_| eps > 0.0 && eps.is_finite()) else {
            let message = format!("wants a last axis and an eps above 0, got {:?} and {eps}", self.shape(x));
            return Err(self.misfit("layer_norm", message));
        };
        let scale = self.parameter("scale", &[n], Init::Constant(1.0))?;
        let shift = self.parameter("shift", &[n], Init::Constant(0.0))?;
        self.apply(LayerNorm { eps }, &[x, scale, shift])
    }
}

/// The row's mean and one over its standard deviation.
fn standard<T: Real>(isa: Isa, x: &[T], eps: f64) -> (T, T) {
    let (mean, squares) = row_moments(isa, x);
    (mean, T::ONE / (squares * T::of(1.0 / x.len() as f64) + T::of(eps)).sqrt())
}

impl Operation for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, scale, shift] = operands(inputs)?;
        if x.is_empty() || scale != &x[x.len() - 1..] || shift != scale {
            return Err(format!("input {x:?} does not fit scale {scale:?} and shift {shift:?}"));
        }
        Ok(x.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let (x, scale, g, eps) = (at.inputs[0], at.inputs[1], at.graph, self.eps);
        let dx = if at.requires_grad[0] {
            Some(g.apply(LayerNormInput { eps }, &[x, scale, at.grad])?)
        } else {
            None
        };
        if !at.requires_grad[1] && !at.requires_grad[2] {
            return Ok(vec![dx, None, None]);
        }
        let sums = g.apply(LayerNormSums { eps }, &[x, at.grad])?;
        let n = g.shape(scale)[0];
        let mut grads = vec![dx];
        for row in 0..2 {
            let part = g.slice(sums, 0, row, 1)?;
            grads.push(Some(g.reshape(part, &[n])?));
        }
        Ok(grads)
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (x, scale, shift) = (call.inputs[0], call.inputs[1], call.inputs[2]);
        let (n, isa) = (scale.len(), call.cpu.isa);
        call.cpu.pieces(call.out, n, x.len() * 4, |i, out| {
            let x = &x[i * n..][..n];
            let (mean, inverse) = standard(isa, x, self.eps);
            for (j, o) in out.iter_mut().enumerate() {
                *o = (x[j] - mean) * inverse * scale[j] + shift[j];
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some(&n) = at.shape.last() else { return };
        let rows = at.length() / n;
        let call =
            format!("layer_norm(at, {}, {}, {rows}, {n}, {})", at.arguments(), at.out, number(self.eps));
        at.each(32 * rows, rows * n, call);
    }
}

impl Operation for LayerNormInput {
    fn name(&self) -> &'static str {
        "layer_norm input gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, _, _] = operands(inputs)?;
        Ok(x.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (x, scale, grad) = (call.inputs[0], call.inputs[1], call.inputs[2]);
        let (n, isa) = (scale.len(), call.cpu.isa);
        call.cpu.pieces(call.out, n, x.len() * 4, |i, out| {
            let (x, grad) = (&x[i * n..][..n], &grad[i * n..][..n]);
            let (mean, inverse) = standard(isa, x, self.eps);
            let (mut sum, mut along) = (T::ZERO, T::ZERO);
            for j in 0..n {
                let g = grad[j] * scale[j];
                sum += g;
                along += g * (x[j] - mean) * inverse;
            }
            let share = T::of(1.0 / n as f64);
            for (j, o) in out.iter_mut().enumerate() {
                let unit = (x[j] - mean) * inverse;
                *o = inverse * (grad[j] * scale[j] - (sum + unit * along) * share);
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Some(&n) = at.shape.last() else { return };
        let rows = at.length() / n;
        let call = format!(
            "layer_norm_input(at, {}, {}, {rows}, {n}, {})",
            at.arguments(),
            at.out,
            number(self.eps)
        );
        at.each(32 * rows, rows * n, call);
    }
}

impl Operation for LayerNormSums {
    fn name(&self) -> &'static str {
        "layer_norm parameter gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, _] = operands(inputs)?;
        Ok(vec![2, x[x.len() - 1]])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (n, isa) = (call.shape[1], call.cpu.isa);
        call.out.fill(T::ZERO);
        let (scale, shift) = call.out.split_at_mut(n);
        for (x, grad) in call.inputs[0].chunks_exact(n).zip(call.inputs[1].chunks_exact(n)) {
            let (mean, inverse) = standard(isa, x, self.eps);
            for j in 0..n {
                scale[j] += grad[j] * (x[j] - mean) * inverse;
                shift[j] += grad[j];
            }
        }
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], _: Precision) -> usize {
        2 * inputs[0].iter().product::<usize>() / output[1]
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let n = at.shape[1];
        let rows = at.shapes[0].iter().product::<usize>() / n;
        let (operands, eps) = (at.arguments(), number(self.eps));
        at.block(format!("layer_norm_sums(at, {operands}, {}, {}, {rows}, {n}, {eps})", at.out, at.work));
    }
}
