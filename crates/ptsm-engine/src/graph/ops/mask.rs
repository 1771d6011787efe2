//! A trial weighed by a mask over channels and a mask over time, without forming their outer product.
//!
//!   x `[B, C, T]`, space `[B, C]`, time `[B, T]`  ->  `x[b, c, t] * space[b, c] * time[b, t]`

use super::{Backward, Call, Operation, operands};
use crate::codegen::{Emit, OperandSource};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::kernels::rows::RowSum;
use crate::kernels::versions::vectorised;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OuterMask;

/// `(x, other mask, grad) -> the gradient of one mask`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterMaskGrad {
    /// Of the mask over channels; the other one is over time.
    Space,
    /// Of the mask over time; the other one is over channels.
    Time,
}

impl Graph {
    /// Weighs a trial by a mask over channels and one over time.
    ///
    /// # Shapes
    /// x `[B, C, T]`, space `[B, C]`, time `[B, T]` -> `[B, C, T]`
    pub fn outer_mask(&mut self, x: Id, space: Id, time: Id) -> Result<Id> {
        self.apply(OuterMask, &[x, space, time])
    }
}

impl Operation for OuterMask {
    fn name(&self) -> &'static str {
        "outer_mask"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, space, time] = operands(inputs)?;
        if x.len() != 3 || space != &x[..2] || time != [x[0], x[2]] {
            return Err(format!(
                "input {x:?} does not fit masks {space:?} over channels and {time:?} over time"
            ));
        }
        Ok(x.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let (x, space, time, g) = (at.inputs[0], at.inputs[1], at.inputs[2], at.graph);
        Ok(vec![
            if at.requires_grad[0] { Some(g.apply(OuterMask, &[at.grad, space, time])?) } else { None },
            if at.requires_grad[1] {
                Some(g.apply(OuterMaskGrad::Space, &[x, time, at.grad])?)
            } else {
                None
            },
            if at.requires_grad[2] {
                Some(g.apply(OuterMaskGrad::Time, &[x, space, at.grad])?)
            } else {
                None
            },
        ])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [_, c, t] = *call.shape else { return };
        let (x, space, time, isa) = (call.inputs[0], call.inputs[1], call.inputs[2], call.cpu.isa);
        call.cpu.pieces(call.out, c * t, x.len(), |b, out| {
            let (x, time) = (&x[b * c * t..][..c * t], &time[b * t..][..t]);
            vectorised(
                isa,
                #[inline(always)]
                || {
                    for (i, (out, x)) in out.chunks_exact_mut(t).zip(x.chunks_exact(t)).enumerate() {
                        let s = space[b * c + i];
                        for (o, (&x, &m)) in out.iter_mut().zip(x.iter().zip(time)) {
                            *o = x * (s * m);
                        }
                    }
                },
            );
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [_, c, t] = *at.shape else { return };
        let index = [None, Some(format!("i / {t}")), Some(format!("i / {} * {t} + i % {t}", c * t))];
        let operands =
            at.inputs.iter().zip(index).map(|(place, index)| OperandSource { place: place.clone(), index });
        at.pointwise(operands.collect(), "$0 * ($1 * $2)".into());
    }
}

impl Operation for OuterMaskGrad {
    fn name(&self) -> &'static str {
        "outer_mask gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, _, _] = operands(inputs)?;
        Ok(match self {
            OuterMaskGrad::Space => x[..2].to_vec(),
            OuterMaskGrad::Time => vec![x[0], x[2]],
        })
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [_, c, t] = *call.shapes[0] else { return };
        let (x, other, grad, isa) = (call.inputs[0], call.inputs[1], call.inputs[2], call.cpu.isa);
        let piece = if *self == OuterMaskGrad::Space { c } else { t };
        call.cpu.pieces(call.out, piece, x.len(), |b, out| {
            let (x, grad) = (&x[b * c * t..][..c * t], &grad[b * c * t..][..c * t]);
            vectorised(
                isa,
                #[inline(always)]
                || {
                    let rows = x.chunks_exact(t).zip(grad.chunks_exact(t));
                    match self {
                        OuterMaskGrad::Space => {
                            let time = &other[b * t..][..t];
                            for (o, (x, g)) in out.iter_mut().zip(rows) {
                                *o = RowSum::Triple(x, g, time).on(isa);
                            }
                        }
                        OuterMaskGrad::Time => {
                            out.fill(T::ZERO);
                            for (i, (x, g)) in rows.enumerate() {
                                let s = other[b * c + i];
                                for (o, (&x, &g)) in out.iter_mut().zip(x.iter().zip(g)) {
                                    *o += x * g * s;
                                }
                            }
                        }
                    }
                },
            );
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, c, t] = *at.shapes[0] else { return };
        let (n, operands) = (at.length(), at.arguments());
        let (name, threads) = match self {
            OuterMaskGrad::Space => ("outer_mask_space", 32 * n),
            OuterMaskGrad::Time => ("outer_mask_time", n),
        };
        at.each(threads, b * c * t, format!("{name}(at, {operands}, {}, {n}, {c}, {t})", at.out));
    }
}
