//! Mean products of a signal with shifted copies of itself, over all rows and output places of a convolution.
//!
//!   x `[B, C, T]` -> `[K + 1, K]`: `m[j] = mean of p[t + j]` in the last row, above it the covariances
//!   `A[i, j] = mean of p[t + i] * p[t + j] - m[i] * m[j]`
//!
//! where p is a row with zeros added on both sides and t runs over the T' output places. A filter h then has
//! output mean `h . m` and variance `h^T A h`: the statistics a batch norm wants after a temporal convolution,
//! without running it. A is nearly constant along diagonals; only the edges differ, and those are
//! corrected exactly.

use super::{Backward, Call, Operation, count, operands};
use crate::codegen::{Emit, Precision};
use crate::cost::Cost;
use crate::cpu::scratch;
use crate::error::Result;
use crate::graph::Id;
use crate::kernels::Real;
use crate::kernels::product::DotProducts;
use crate::kernels::rows::RowSum;

/// See the [module](self). Only for data: it has no gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LagMoments {
    pub(crate) taps: usize,
    pub(crate) left: usize,
    pub(crate) right: usize,
}

impl LagMoments {
    /// Per trial: K products at lag 0.., sums of the first T' places, then at both edges the Gram matrix and sums.
    fn per_trial(&self) -> usize {
        self.taps + 1 + 2 * (self.taps * self.taps + self.taps)
    }
}

impl Operation for LagMoments {
    fn name(&self) -> &'static str {
        "lag_moments"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        if x.len() != 3 || x[2] + self.left + self.right < self.taps {
            return Err(format!("input {x:?} is too short for {} taps", self.taps));
        }
        Ok(vec![self.taps + 1, self.taps])
    }

    fn gradient(&self, _: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![None])
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        inputs[0][0] * self.per_trial()
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [b, c, t] = *call.shapes[0] else { return };
        let k = self.taps;
        let padded = t + self.left + self.right;
        let places = padded + 1 - k;
        let (x, isa) = (call.inputs[0], call.cpu.isa);
        call.cpu.pieces(call.work, self.per_trial(), x.len() * k, |trial, out| {
            out.fill(T::ZERO);
            let (lags, rest) = out.split_at_mut(k);
            let (start, rest) = rest.split_at_mut(1);
            let (head, tail) = rest.split_at_mut(k * k + k);
            scratch(c * padded + k * c, |memory| {
                let (rows, edge) = memory.split_at_mut(c * padded);
                rows.fill(T::ZERO);
                for (row, x) in rows.chunks_exact_mut(padded).zip(x[trial * c * t..].chunks_exact(t)) {
                    row[self.left..self.left + t].copy_from_slice(x);
                    start[0] += RowSum::Values(&row[..places]).on(isa);
                }
                DotProducts {
                    a: rows,
                    lda: 0,
                    a_item: padded,
                    outputs: 1,
                    b: rows,
                    ldb: 0,
                    b_item: padded,
                    rows: 1,
                    taps: k,
                    step: 1,
                    length: places,
                    items: c,
                    out: lags,
                    ld_out: k,
                }
                .run(isa);
                for (from, out) in [(0, head), (places, tail)] {
                    // Places `from..from + k - 1` of every row, transposed so that rows are summed along vectors.
                    let used = k - 1;
                    for (j, edge) in edge.chunks_exact_mut(c).take(used).enumerate() {
                        for (e, row) in edge.iter_mut().zip(rows.chunks_exact(padded)) {
                            *e = row[from + j];
                        }
                        out[k * k + j] = RowSum::Values(edge).on(isa);
                    }
                    DotProducts {
                        a: edge,
                        lda: c,
                        a_item: 0,
                        outputs: used,
                        b: edge,
                        ldb: 0,
                        b_item: 0,
                        rows: 1,
                        taps: used,
                        step: c,
                        length: c,
                        items: 1,
                        out,
                        ld_out: k,
                    }
                    .run(isa);
                }
            });
        });
        let total =
            |i: usize| call.work.iter().skip(i).step_by(self.per_trial()).map(|v| v.wide()).sum::<f64>();
        let scale = 1.0 / (b * c * places) as f64;
        let (head, tail) = (k + 1, k + 1 + k * k + k);
        let mut value = total(k);
        for j in 0..k {
            call.out[k * k + j] = T::of(value * scale);
            if j + 1 < k {
                value += total(tail + k * k + j) - total(head + k * k + j);
            }
        }
        for lag in 0..k {
            let mut value = total(lag);
            for i in 0..k - lag {
                let j = i + lag;
                let covariance =
                    T::of(value * scale - call.out[k * k + i].wide() * call.out[k * k + j].wide());
                call.out[i * k + j] = covariance;
                call.out[j * k + i] = covariance;
                if j + 1 < k {
                    value += total(tail + i * k + j) - total(head + i * k + j);
                }
            }
        }
    }

    fn multiply_adds(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        count(inputs[0]) * self.taps
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], _: Precision) -> usize {
        (inputs[0][0] * self.per_trial()).next_multiple_of(2) + 2 * self.per_trial() + output.len()
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, c, t] = *at.shapes[0] else { return };
        let LagMoments { taps, left, right } = *self;
        let (x, work, edge) = (&at.inputs[0], at.work, 2 * (taps * taps + taps));
        let sizes = format!("{b}, {c}, {t}, {taps}, {left}, {right}");
        let totals = format!("{work} + {}", (b * self.per_trial()).next_multiple_of(2));
        let (padded, edges) = (t + left + right, b * edge);
        let products = format!("lag_products<{padded}, {taps}>({x}, {work}, {c}, {t}, {left})");
        let sums = [
            (edges, edges * c, format!("lag_edges(at, {x}, {work}, {sizes})")),
            (
                self.per_trial(),
                self.per_trial() * b,
                format!("lag_totals(at, {work}, {totals}, {b}, {taps})"),
            ),
        ];
        let last = format!("lag_moments(at, {totals}, {}, {sizes})", at.out);
        at.grid(b, 256, products);
        for (threads, operations, call) in sums {
            at.aside(threads, operations, call);
        }
        at.cost = Cost::new::<f32>(0, self.per_trial() + at.length());
        at.block(last);
    }
}
