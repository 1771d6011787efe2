//! Batch normalisation and what follows it, in one pass over memory.
//!
//!   x `[B, C, T]`, moments `[2, C]` (mean, variance), scale `[C]`, shift `[C]`
//!     -> normalise -> activation -> dropout -> pooling ->  `[B, C, P]`
//!
//! A row (one trial, one channel) fits the first-level cache, so the whole chain costs one read of x and one write
//! of the result. The gradient recomputes the chain from x instead of storing its parts: two passes, one for
//! the sums over the batch, one for the input's gradient.

use super::variance::row_moments;
use super::{Backward, Call, Operation, Pooling, UnaryKind, operands};
use crate::codegen::{Emit, number};
use crate::cpu::scratch;
use crate::error::Result;
use crate::graph::{Graph, Id, Init};
use crate::kernels::rows::RowSum;
use crate::kernels::versions::vectorised;
use crate::kernels::{Isa, Real};
use crate::random::{Draw, cuda_drop, drop_row};

/// Rows that a thread takes at a time, at most.
const PIECE: usize = 64;
/// On a GPU, from so many values on, a warp takes each row.
const ROWS: usize = 1 << 14;
/// Rows longer than this do not fit the memory that eight warps share there.
const LONGEST: usize = 1400;

/// Mean and biased variance of each channel: `[B, C, T] -> [2, C]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Trials in the batch, which the check below speaks of; `T` may hold them (see `lower`). None where any number will do.
    pub(crate) batch: Option<usize>,
}

/// `(running [2, C], moments [2, C]) -> [2, C]`: `(1 - m) * running + m * moments`, the variance made unbiased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningStats {
    pub(crate) momentum: f64,
    /// Samples each moment was taken over.
    pub(crate) samples: usize,
}

/// The chain of the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalise {
    pub(crate) eps: f64,
    pub(crate) activation: Option<UnaryKind>,
    /// Probability and random stream.
    pub(crate) drop: Option<(f64, u32)>,
    pub(crate) pool: Option<Pooling>,
    /// The moments are those of x itself, so the gradient flows through them too.
    pub(crate) batch: bool,
}

/// `(x, moments, scale, shift, grad) -> [2, C]`: gradients of shift and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormaliseSums(Normalise);

/// `(x, moments, scale, shift, grad, sums) -> [B, C, T]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormaliseInput(Normalise);

impl Graph {
    /// Mean and biased variance of each channel over all other axes. No gradient flows through them.
    ///
    /// # Shapes
    /// x `[B, C, ..]` -> `[2, C]`
    pub fn moments(&mut self, x: Id) -> Result<Id> {
        let shape = self.shape(x).to_vec();
        let [b, c, rest @ ..] = &shape[..] else {
            return Err(self.misfit("moments", format!("wants [B, C, ..], got {shape:?}")));
        };
        let rows = self.reshape(x, &[*b, *c, rest.iter().product()])?;
        self.apply(Moments { batch: None }, &[rows])
    }

    /// Normalisation of each trial's each channel over time, with `scale` and `shift` for each channel.
    ///
    /// # Shapes
    /// x `[B, C, T]` -> the same; T is at least 2
    pub fn instance_norm(&mut self, x: Id, eps: f64) -> Result<Id> {
        let (&[b, c, t], true) = (self.shape(x), eps > 0.0 && eps.is_finite()) else {
            let message = format!("wants [B, C, T] and an eps above 0, got {:?} and {eps}", self.shape(x));
            return Err(self.misfit("instance_norm", message));
        };
        if t < 2 {
            return Err(self.misfit("instance_norm", format!("needs at least 2 places in time, got {t}")));
        }
        let rows = self.reshape(x, &[1, b * c, t])?;
        let moments = self.apply(Moments { batch: None }, &[rows])?;
        let mut operands = vec![rows, moments];
        for (name, start) in [("scale", 1.0), ("shift", 0.0)] {
            let each = self.parameter(name, &[c], Init::Constant(start))?;
            let all = self.repeat(each, 0, b)?;
            operands.push(self.reshape(all, &[b * c])?);
        }
        let alone = Normalise { eps, activation: None, drop: None, pool: None, batch: true };
        let y = self.apply(alone, &operands)?;
        self.reshape(y, &[b, c, t])
    }
}

impl Operation for Moments {
    fn name(&self) -> &'static str {
        "batch_norm"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        if x.len() != 3 {
            return Err(format!("wants [B, C, T], got {x:?}"));
        }
        if let Some(batch @ ..2) = self.batch {
            return Err(format!("a training step needs a batch of at least 2, got {batch}"));
        }
        Ok(vec![2, x[1]])
    }

    // The gradient is part of `Normalise` with `batch`.
    fn gradient(&self, _: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![None])
    }

    fn workspace(&self, _: &[&[usize]], output: &[usize]) -> usize {
        2 * output[1]
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [b, c, t] = *call.shapes[0] else { return };
        let (x, isa) = (call.inputs[0], call.cpu.isa);
        call.cpu.pieces(call.work, 2, x.len() * 2, |channel, out| {
            let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
            for trial in 0..b {
                let row = &x[(trial * c + channel) * t..][..t];
                let (m, s) = row_moments(isa, row);
                // Chan's rule for joining two samples; exact where sums of squares would cancel.
                let distance = m.wide() - mean;
                let joined = n + t as f64;
                mean += distance * t as f64 / joined;
                squares += s.wide() + distance * distance * n * t as f64 / joined;
                n = joined;
            }
            out[0] = T::of(mean);
            out[1] = T::of(squares / n);
        });
        for (i, pair) in call.work.chunks_exact(2).enumerate() {
            call.out[i] = pair[0];
            call.out[c + i] = pair[1];
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, c, t] = *at.shapes[0] else { return };
        at.grid(c, 256, format!("moments({}, {}, {b}, {c}, {t})", at.inputs[0], at.out));
    }
}

impl Operation for RunningStats {
    fn name(&self) -> &'static str {
        "running statistics"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [running, moments] = operands(inputs)?;
        if running != moments {
            return Err(format!("running {running:?} and moments {moments:?} differ"));
        }
        Ok(running.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let c = call.shape[1];
        let n = self.samples as f64;
        for (i, out) in call.out.iter_mut().enumerate() {
            let unbiased = if i < c { 1.0 } else { n / (n - 1.0) };
            let new = call.inputs[1][i].wide() * unbiased;
            *out = T::of((1.0 - self.momentum) * call.inputs[0][i].wide() + self.momentum * new);
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (c, n) = (at.shape[1], self.samples as f64);
        let (momentum, unbiased) = (number(self.momentum), number(n / (n - 1.0)));
        let call = format!("running(at, {}, {}, {c}, {momentum}, {unbiased})", at.arguments(), at.out);
        at.each(2 * c, 2 * c, call);
    }
}

/// One row's part of the chain.
struct Row<'a, T> {
    chain: &'a Normalise,
    isa: Isa,
    draw: Draw,
    /// `(x - mean) * factor + shift`: centred first, or a large mean would cost digits.
    mean: T,
    factor: T,
    shift: T,
    index: u32,
}

impl<'a, T: Real> Row<'a, T> {
    fn new(chain: &'a Normalise, call: &Affine<'a, T>, index: usize) -> Row<'a, T> {
        let channel = index % call.channels;
        let deviation = (call.moments[call.channels + channel].wide() + chain.eps).sqrt();
        Row {
            chain,
            isa: call.isa,
            draw: call.draw,
            mean: call.moments[channel],
            factor: T::of(call.scale[channel].wide() / deviation),
            shift: call.shift[channel],
            index: index as u32,
        }
    }

    #[inline(always)]
    fn normalise(&self, x: &[T], z: &mut [T]) {
        let (mean, factor, shift) = (self.mean, self.factor, self.shift);
        vectorised(
            self.isa,
            #[inline(always)]
            || z.iter_mut().zip(x).for_each(|(z, &x)| *z = (x - mean) * factor + shift),
        );
    }

    /// Activation and dropout, in place.
    fn finish(&self, z: &mut [T]) {
        if let Some(kind) = self.chain.activation {
            kind.apply(self.isa, z);
        }
        self.drop(z);
    }

    fn drop(&self, values: &mut [T]) {
        if let Some((p, stream)) = self.chain.drop {
            drop_row(self.isa, self.draw, stream, self.index, p, values);
        }
    }

    /// From the gradient of the row's result to that of its normalised value. `z` and `y` are memory.
    fn back(&self, x: &[T], grad: &[T], z: &mut [T], y: &mut [T], out: &mut [T]) {
        self.normalise(x, z);
        match self.chain.pool {
            Some(pool) => {
                if pool.needs_values() {
                    y.copy_from_slice(z);
                    self.finish(y);
                }
                pool.row_back(self.isa, y, grad, out);
            }
            None => out.copy_from_slice(grad),
        }
        self.drop(out);
        if let Some(kind) = self.chain.activation {
            kind.chain(self.isa, z, out);
        }
    }
}

impl Normalise {
    /// Activation, dropout and pooling as CUDA names them.
    fn cuda_chain(&self, time: usize) -> String {
        let activation = self.activation.map_or("Same{}".into(), UnaryKind::cuda);
        let drop = self.drop.map_or("Keep{}".into(), |(p, stream)| cuda_drop(p, stream));
        let pool = self.pool.map_or("Whole{}".into(), |pool| pool.cuda(time));
        format!("{activation}, {drop}, {pool}")
    }
}

/// The operands that make up a row's normalisation.
struct Affine<'a, T> {
    moments: &'a [T],
    scale: &'a [T],
    shift: &'a [T],
    channels: usize,
    isa: Isa,
    draw: Draw,
}

impl<'a, T: Real> Affine<'a, T> {
    fn of(call: &Call<'a, T>) -> Affine<'a, T> {
        Affine {
            moments: call.inputs[1],
            scale: call.inputs[2],
            shift: call.inputs[3],
            channels: call.shapes[2][0],
            isa: call.cpu.isa,
            draw: call.draw,
        }
    }
}

impl Operation for Normalise {
    fn name(&self) -> &'static str {
        "batch_norm"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, moments, scale, shift] = operands(inputs)?;
        if x.len() != 3 || moments != [2, x[1]] || scale != [x[1]] || shift != scale {
            return Err(format!(
                "input {x:?} does not fit statistics {moments:?}, scale {scale:?}, shift {shift:?}"
            ));
        }
        let time = match self.pool {
            Some(pool) => pool.length(x[2]).map_err(|e| format!("input {x:?}: {e}"))?,
            None => x[2],
        };
        Ok(vec![x[0], x[1], time])
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let [x, moments, scale, shift] = *at.inputs else {
            return Err(at.graph.misfit(self.name(), "takes 4 operands".into()));
        };
        let g = at.graph;
        let affine = at.requires_grad[2] || at.requires_grad[3];
        let mut inputs = vec![x, moments, scale, shift, at.grad];
        let mut grads = vec![None; 4];
        if affine || (self.batch && at.requires_grad[0]) {
            let sums = g.apply(NormaliseSums(*self), &inputs)?;
            inputs.push(sums);
            let c = g.shape(scale)[0];
            if affine {
                for (grad, row) in [(3, 0), (2, 1)] {
                    let part = g.slice(sums, 0, row, 1)?;
                    grads[grad] = Some(g.reshape(part, &[c])?);
                }
            }
        }
        if at.requires_grad[0] {
            let inputs = if self.batch { &inputs[..] } else { &inputs[..5] };
            grads[0] = Some(g.apply(NormaliseInput(*self), inputs)?);
        }
        Ok(grads)
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [_, c, t] = *call.shapes[0] else { return };
        let length = call.shape[2];
        let affine = Affine::of(&call);
        let x = call.inputs[0];
        let rows = c.min(PIECE);
        call.cpu.pieces(call.out, rows * length, x.len() * 8, |piece, out| {
            for (i, out) in out.chunks_exact_mut(length).enumerate() {
                let index = piece * rows + i;
                let (row, x) = (Row::new(self, &affine, index), &x[index * t..][..t]);
                match self.pool {
                    None => {
                        row.normalise(x, out);
                        row.finish(out);
                    }
                    Some(pool) => scratch(t, |z| {
                        row.normalise(x, z);
                        row.finish(z);
                        pool.row(row.isa, z, out);
                    }),
                }
            }
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, c, t] = *at.shapes[0] else { return };
        let (n, places) = (at.length(), at.shape[2]);
        let (chain, eps) = (self.cuda_chain(t), number(self.eps));
        let operands = at.arguments();
        if b * c * t > ROWS && t <= LONGEST {
            let call = format!(
                "normalise_rows<{t}>(at, own, {chain}, {operands}, {}, {b}, {c}, {places}, {eps})",
                at.out
            );
            return at.grid((b * c).div_ceil(8), 256, call);
        }
        let sizes = format!("{b}, {c}, {t}, {places}, {eps}");
        at.each(n, b * c * t, format!("normalise(at, own, {chain}, {operands}, {}, {sizes})", at.out));
    }
}

impl Operation for NormaliseSums {
    fn name(&self) -> &'static str {
        "batch_norm parameter gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, ..] = operands::<5>(inputs)?;
        Ok(vec![2, x[1]])
    }

    fn workspace(&self, _: &[&[usize]], output: &[usize]) -> usize {
        2 * output[1]
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [b, c, t] = *call.shapes[0] else { return };
        let length = call.shapes[4][2];
        let affine = Affine::of(&call);
        let (x, grad) = (call.inputs[0], call.inputs[4]);
        call.cpu.pieces(call.work, 2, x.len() * 8, |channel, out| {
            let (mut sum, mut along) = (0.0, 0.0);
            let mean = affine.moments[channel];
            let deviation = (affine.moments[c + channel].wide() + self.0.eps).sqrt();
            scratch(3 * t, |memory| {
                let (z, rest) = memory.split_at_mut(t);
                let (y, g) = rest.split_at_mut(t);
                for trial in 0..b {
                    let index = trial * c + channel;
                    let x = &x[index * t..][..t];
                    let row = Row::new(&self.0, &affine, index);
                    row.back(x, &grad[index * length..][..length], z, y, g);
                    sum += RowSum::Values(g).on(row.isa).wide();
                    along += RowSum::DotFrom(x, mean, g).on(row.isa).wide();
                }
            });
            out[0] = T::of(sum);
            out[1] = T::of(along / deviation);
        });
        for (i, pair) in call.work.chunks_exact(2).enumerate() {
            call.out[i] = pair[0];
            call.out[c + i] = pair[1];
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, c, t] = *at.shapes[0] else { return };
        let (places, eps) = (at.shapes[4][2], number(self.0.eps));
        let (chain, operands) = (self.0.cuda_chain(t), at.arguments());
        let sizes = format!("{b}, {c}, {places}, {eps}");
        // Where the largest are pooled, each warp holds its row.
        let warps =
            if self.0.pool.is_some_and(Pooling::needs_values) { (8 * LONGEST / t).clamp(1, 8) } else { 8 };
        let call = format!("normalise_sums<{t}, {warps}>(at, own, {chain}, {operands}, {}, {sizes})", at.out);
        at.grid(c, 32 * warps, call);
    }
}

impl Operation for NormaliseInput {
    fn name(&self) -> &'static str {
        "batch_norm input gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let x = inputs.first().ok_or("takes operands")?;
        Ok(x.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [b, c, t] = *call.shape else { return };
        let length = call.shapes[4][2];
        let affine = Affine::of(&call);
        let (x, grad, sums) = (call.inputs[0], call.inputs[4], call.inputs.get(5));
        let share = 1.0 / (b * t) as f64;
        let rows = c.min(PIECE);
        call.cpu.pieces(call.out, rows * t, x.len() * 8, |piece, out| {
            scratch(2 * t, |memory| {
                let (z, y) = memory.split_at_mut(t);
                for (i, out) in out.chunks_exact_mut(t).enumerate() {
                    let index = piece * rows + i;
                    let channel = index % c;
                    let x = &x[index * t..][..t];
                    let row = Row::new(&self.0, &affine, index);
                    row.back(x, &grad[index * length..][..length], z, y, out);
                    // factor * (g - mean(g) - unit * mean(g * unit)), unit = (x - mean) / deviation
                    let (mut centre, mut slope) = (T::ZERO, T::ZERO);
                    if let Some(sums) = sums {
                        let deviation = (affine.moments[c + channel].wide() + self.0.eps).sqrt();
                        slope = T::of(sums[c + channel].wide() * share / deviation);
                        centre = T::of(sums[channel].wide() * share);
                    }
                    let (mean, factor) = (row.mean, row.factor);
                    vectorised(
                        row.isa,
                        #[inline(always)]
                        || {
                            for (o, &x) in out.iter_mut().zip(x) {
                                *o = factor * ((*o - centre) - slope * (x - mean));
                            }
                        },
                    );
                }
            });
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, c, t] = *at.shape else { return };
        let (n, places, eps) = (at.length(), at.shapes[4][2], number(self.0.eps));
        let chain = self.0.cuda_chain(t);
        let operands = at.inputs[..5].join(", ");
        let sums = at.inputs.get(5).map_or("nullptr", |sums| sums);
        if n > ROWS && t <= LONGEST {
            let sizes = format!("{b}, {c}, {places}, {eps}");
            let call = format!(
                "normalise_input_rows<{t}>(at, own, {chain}, {operands}, {sums}, {}, {sizes})",
                at.out
            );
            return at.grid((b * c).div_ceil(8), 256, call);
        }
        let sizes = format!("{b}, {c}, {t}, {places}, {eps}");
        at.each(n, n, format!("normalise_input(at, own, {chain}, {operands}, {sums}, {}, {sizes})", at.out));
    }
}
