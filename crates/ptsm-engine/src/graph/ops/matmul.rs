//! Matrix product of the last two axes; leading axes are a batch and must be equal.
//!
//!   `[.., M, K] x [.., K, N] -> [.., M, N]`, either operand optionally stored transposed.

use super::{Backward, Call, Operation, count, operands};
use crate::codegen::{Emit, Precision};
use crate::cpu::scratch;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::kernels::product::{DotProducts, Panel, SLACK, Strides, pack};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatMul {
    pub(crate) transpose_a: bool,
    pub(crate) transpose_b: bool,
}

/// More multiplications than these are worth a kernel of their own on a GPU.
const SMALL: usize = 1 << 16;
/// Matrices of fewer rows or columns than these leave tensor cores idle.
const TENSOR: usize = 16;

/// How many products of what size.
struct Sizes {
    items: usize,
    m: usize,
    n: usize,
    k: usize,
}

impl Sizes {
    fn of(inputs: &[&[usize]], output: &[usize]) -> Sizes {
        let [.., m, n] = *output else { return Sizes { items: 0, m: 1, n: 1, k: 1 } };
        let items = count(output) / (m * n);
        Sizes { items, m, n, k: count(inputs[0]) / (items * m) }
    }

    /// Parts of the inner axis that a GPU's blocks share where there are few tiles and much to add up.
    fn parts(&self) -> usize {
        let tiles = self.m.div_ceil(64) * self.n.div_ceil(64) * self.items;
        (64 / tiles.max(1)).min(self.k / 64).max(1)
    }
}

/// Output rows one thread takes at a time.
const ROWS: usize = 32;

impl Graph {
    /// Matrix product over the last two axes.
    ///
    /// # Shapes
    /// a `[.., M, K]` (or `[.., K, M]` transposed), b `[.., K, N]` (or `[.., N, K]`) -> `[.., M, N]`
    pub fn matmul(&mut self, a: Id, b: Id, transpose_a: bool, transpose_b: bool) -> Result<Id> {
        self.apply(MatMul { transpose_a, transpose_b }, &[a, b])
    }

    /// Linear layer over the last axis.
    ///
    /// # Shapes
    /// x `[.., N]`, weight `[M, N]`, bias `[M]` -> `[.., M]`
    pub fn linear(&mut self, x: Id, weight: Id, bias: Option<Id>) -> Result<Id> {
        let (xs, ws) = (self.shape(x).to_vec(), self.shape(weight).to_vec());
        if xs.is_empty() || ws.len() != 2 || xs[xs.len() - 1] != ws[1] {
            let message = format!("input {xs:?} does not fit weight {ws:?}");
            return Err(self.misfit("linear", message));
        }
        let flat = self.reshape(x, &[count(&xs) / ws[1], ws[1]])?;
        let mut y = self.matmul(flat, weight, false, true)?;
        if let Some(bias) = bias {
            if self.shape(bias) != [ws[0]] {
                let message = format!("bias {:?} does not fit weight {ws:?}", self.shape(bias));
                return Err(self.misfit("linear", message));
            }
            y = self.add(y, bias)?;
        }
        let mut out = xs;
        if let Some(last) = out.last_mut() {
            *last = ws[0];
        }
        self.reshape(y, &out)
    }
}

impl Operation for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [a, b] = operands(inputs)?;
        let wrong = || {
            let t = |on: bool| if on { " transposed" } else { "" };
            format!("{a:?}{} times {b:?}{} do not fit", t(self.transpose_a), t(self.transpose_b))
        };
        if a.len() < 2 || b.len() != a.len() || a[..a.len() - 2] != b[..b.len() - 2] {
            return Err(wrong());
        }
        let side = |s: &[usize], t: bool| {
            let (p, q) = (s[s.len() - 2], s[s.len() - 1]);
            if t { (q, p) } else { (p, q) }
        };
        let ((m, k), (k2, n)) = (side(a, self.transpose_a), side(b, self.transpose_b));
        if k != k2 {
            return Err(wrong());
        }
        let mut out = a[..a.len() - 2].to_vec();
        out.extend([m, n]);
        Ok(out)
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let (a, b, d) = (at.inputs[0], at.inputs[1], at.grad);
        let (ta, tb) = (self.transpose_a, self.transpose_b);
        let g = at.graph;
        let da = match (at.requires_grad[0], ta) {
            (false, _) => None,
            (true, false) => Some(g.matmul(d, b, false, !tb)?),
            (true, true) => Some(g.matmul(b, d, tb, true)?),
        };
        let db = match (at.requires_grad[1], tb) {
            (false, _) => None,
            (true, false) => Some(g.matmul(a, d, !ta, false)?),
            (true, true) => Some(g.matmul(d, a, true, ta)?),
        };
        Ok(vec![da, db])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [.., m, n] = *call.shape else { return };
        let batch = call.out.len() / (m * n);
        let k = call.inputs[0].len() / (batch * m);
        let (a, b, isa) = (call.inputs[0], call.inputs[1], call.cpu.isa);
        let rows_each = if batch > 1 { m } else { ROWS };
        let per_batch = m.div_ceil(rows_each);
        let work = call.out.len() * k;
        call.cpu.pieces(call.out, rows_each * n, work, |i, out| {
            let (item, first) = (i / per_batch, i % per_batch * rows_each);
            let (a, b) = (&a[item * m * k..][..m * k], &b[item * k * n..][..k * n]);
            let rows = out.len() / n;
            if self.transpose_b && !self.transpose_a {
                out.fill(T::ZERO);
                DotProducts {
                    a: &a[first * k..],
                    lda: k,
                    a_item: 0,
                    outputs: rows,
                    b,
                    ldb: 0,
                    b_item: 0,
                    rows: 1,
                    taps: n,
                    step: k,
                    length: k,
                    items: 1,
                    out,
                    ld_out: n,
                }
                .run(isa);
                return;
            }
            let width = T::panel_columns(isa).min(n.next_multiple_of(SLACK));
            scratch(rows * k + k * width + SLACK, |memory| {
                let (packed, panel) = memory.split_at_mut(rows * k);
                let at = if self.transpose_a {
                    Strides { start: first, output: 1, row: m, tap: 0 }
                } else {
                    Strides { start: first * k, output: k, row: 1, tap: 0 }
                };
                pack(isa, a, at, rows, k, 1, packed);
                let mut column = 0;
                while column < n {
                    let columns = width.min(n - column);
                    for (row, panel) in panel.chunks_mut(width).take(k).enumerate() {
                        if self.transpose_b {
                            for (j, p) in panel.iter_mut().take(columns).enumerate() {
                                *p = b[(column + j) * k + row];
                            }
                        } else {
                            panel[..columns].copy_from_slice(&b[row * n + column..][..columns]);
                        }
                    }
                    Panel {
                        packed,
                        outputs: rows,
                        rows: k,
                        taps: 1,
                        b: panel,
                        ld: width,
                        columns,
                        out: &mut out[column..],
                        ld_out: n,
                        bias: None,
                    }
                    .run(isa);
                    column += columns;
                }
            });
        });
    }

    fn multiply_adds(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
        let Sizes { items, m, n, k } = Sizes::of(inputs, output);
        items * m * n * k
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], _: Precision) -> usize {
        let sizes = Sizes::of(inputs, output);
        let parts = sizes.parts();
        if parts > 1 { parts * count(output) } else { 0 }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let Sizes { items, m, n, k } = Sizes::of(at.shapes, at.shape);
        let (ta, tb) = (self.transpose_a, self.transpose_b);
        let operands = at.arguments();
        if items * m * n * k <= SMALL {
            let call =
                format!("matmul_small(at, {operands}, {}, {items}, {m}, {n}, {k}, {ta}, {tb})", at.out);
            return at.block(call);
        }
        let parts = Sizes { items, m, n, k }.parts();
        let out = if parts > 1 { at.work } else { at.out };
        let blocks = m.div_ceil(64) * n.div_ceil(64) * items * parts;
        let rest = format!("({operands}, {out}, {items}, {m}, {n}, {k}, {parts})");
        match at.precision.operand() {
            Some(operand) if m.min(n).min(k) >= TENSOR => {
                at.grid(blocks, 128, format!("tensor_matmul<{}, {ta}, {tb}>{rest}", operand.name));
            }
            _ => at.grid(blocks, 256, format!("matmul<{ta}, {tb}>{rest}")),
        }
        if parts > 1 {
            let n = at.length();
            at.aside(n, n * parts, format!("sum_parts(at, {}, {}, {n}, {parts})", at.work, at.out));
        }
    }
}
