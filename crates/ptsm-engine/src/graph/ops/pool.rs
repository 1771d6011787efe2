//! Pooling along the last axis.

use super::{Backward, Call, Operation, operands};
use crate::codegen::Emit;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::rows::RowSum;
use crate::kernels::versions::vectorised;
use crate::kernels::{Isa, Real};

/// What becomes of a window of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean of windows of `size`, `stride` apart; an incomplete last window is dropped.
    Average {
        /// Samples in a window.
        size: usize,
        /// Samples from one window to the next.
        stride: usize,
    },
    /// The largest of a window; its gradient goes to the first one.
    Max {
        /// Samples in a window.
        size: usize,
        /// Samples from one window to the next.
        stride: usize,
    },
    /// To exactly `length` places: place `j` is the mean of samples `floor(j*L/P) .. ceil((j+1)*L/P)`.
    Adaptive {
        /// Number of places.
        length: usize,
    },
}

impl Pooling {
    pub(crate) fn length(self, time: usize) -> Result<usize, String> {
        match self {
            Pooling::Average { size: 0, .. } | Pooling::Max { size: 0, .. } => {
                Err("the window is empty".into())
            }
            Pooling::Average { stride: 0, .. } | Pooling::Max { stride: 0, .. } => {
                Err("the stride is 0".into())
            }
            Pooling::Average { size, stride } | Pooling::Max { size, stride } => {
                if time < size {
                    return Err(format!("{time} samples are fewer than the window of {size}"));
                }
                Ok((time - size) / stride + 1)
            }
            Pooling::Adaptive { length } if length == 0 || length > time => {
                Err(format!("{time} samples cannot be pooled to {length}"))
            }
            Pooling::Adaptive { length } => Ok(length),
        }
    }

    /// The samples of place `j`.
    #[inline(always)]
    fn window(self, j: usize, time: usize) -> std::ops::Range<usize> {
        match self {
            Pooling::Average { size, stride } | Pooling::Max { size, stride } => {
                j * stride..j * stride + size
            }
            Pooling::Adaptive { length } => j * time / length..((j + 1) * time).div_ceil(length),
        }
    }

    /// The size of the windows where they lie side by side without a gap.
    fn tiling(self, time: usize) -> Option<usize> {
        match self {
            Pooling::Average { size, stride } | Pooling::Max { size, stride } => {
                (size == stride).then_some(size)
            }
            Pooling::Adaptive { length } => time.is_multiple_of(length).then_some(time / length),
        }
    }

    pub(crate) fn row<T: Real>(self, isa: Isa, x: &[T], out: &mut [T]) {
        let is_max = matches!(self, Pooling::Max { .. });
        // The common small windows, unrolled.
        match (self.tiling(x.len()), is_max) {
            (Some(4), false) => {
                return tiles::<T, 4>(isa, x, out, |w| (w[0] + w[1] + (w[2] + w[3])) * T::of(0.25));
            }
            (Some(3), true) => return tiles::<T, 3>(isa, x, out, |w| most(most(w[0], w[1]), w[2])),
            (Some(2), true) => return tiles::<T, 2>(isa, x, out, |w| most(w[0], w[1])),
            _ => {}
        }
        if let Pooling::Adaptive { length } = self {
            let windows = AdaptiveWindows::new(x.len(), length);
            let shares = windows.shares();
            for (out, window) in out.iter_mut().zip(windows) {
                let share = shares[window.len() - windows.whole];
                *out = sum(isa, &x[window]) * share;
            }
            return;
        }
        for (j, out) in out.iter_mut().enumerate() {
            let window = &x[self.window(j, x.len())];
            *out = match self {
                Pooling::Max { .. } => window.iter().fold(window[0], |m, &x| most(m, x)),
                _ => sum(isa, window) * T::of(1.0 / window.len() as f64),
            };
        }
    }

    /// Hands each place's gradient back to its samples; `x` is read for maxima only.
    pub(crate) fn row_back<T: Real>(self, isa: Isa, x: &[T], grad: &[T], out: &mut [T]) {
        let time = out.len();
        if let (Some(4), false) = (self.tiling(time), self.needs_values()) {
            return vectorised(
                isa,
                #[inline(always)]
                || {
                    let (windows, rest) = out.as_chunks_mut::<4>();
                    windows.iter_mut().zip(grad).for_each(|(w, &g)| *w = [g * T::of(0.25); 4]);
                    rest.fill(T::ZERO);
                },
            );
        }
        match (self.tiling(time), self.needs_values()) {
            (Some(3), true) => return first_of_tiles::<T, 3>(isa, x, grad, out),
            (Some(2), true) => return first_of_tiles::<T, 2>(isa, x, grad, out),
            _ => {}
        }
        out.fill(T::ZERO);
        if let Pooling::Adaptive { length } = self {
            let windows = AdaptiveWindows::new(time, length);
            let shares = windows.shares::<T>();
            for (&g, window) in grad.iter().zip(windows) {
                let share = g * shares[window.len() - windows.whole];
                out[window].iter_mut().for_each(|o| *o += share);
            }
            return;
        }
        for (j, &g) in grad.iter().enumerate() {
            let window = self.window(j, time);
            if let Pooling::Max { .. } = self {
                out[window.start + first_largest(&x[window])] += g;
            } else {
                let share = g * T::of(1.0 / window.len() as f64);
                out[window].iter_mut().for_each(|o| *o += share);
            }
        }
    }

    /// As CUDA names it.
    pub(crate) fn cuda(self, time: usize) -> String {
        let places = self.length(time).unwrap_or(1);
        match self {
            Pooling::Average { size, stride } => format!("Average{{{{{size}, {stride}, {time}, {places}}}}}"),
            Pooling::Max { size, stride } => format!("Max{{{{{size}, {stride}, {time}, {places}}}}}"),
            Pooling::Adaptive { length } => format!("Adaptive{{{time}, {length}}}"),
        }
    }

    pub(crate) fn needs_values(self) -> bool {
        matches!(self, Pooling::Max { .. })
    }
}

/// The windows of adaptive pooling one after the other, as [`Pooling::window`] has them, without a division for each: rows are short.
#[derive(Clone, Copy)]
struct AdaptiveWindows {
    length: usize,
    /// Samples of a window that are whole, and what is left over, in parts of `length`.
    whole: usize,
    left_over: usize,
    /// Where the next one begins, and what of a sample comes on top.
    start: usize,
    part: usize,
}

impl AdaptiveWindows {
    fn new(time: usize, length: usize) -> AdaptiveWindows {
        AdaptiveWindows { length, whole: time / length, left_over: time % length, start: 0, part: 0 }
    }

    /// One over the size of a window that has so many samples more than `whole`: at most two.
    fn shares<T: Real>(&self) -> [T; 3] {
        [0, 1, 2].map(|more| T::of(1.0 / (self.whole + more) as f64))
    }
}

impl Iterator for AdaptiveWindows {
    type Item = std::ops::Range<usize>;

    #[inline(always)]
    fn next(&mut self) -> Option<std::ops::Range<usize>> {
        let start = self.start;
        self.start += self.whole;
        self.part += self.left_over;
        if self.part >= self.length {
            self.start += 1;
            self.part -= self.length;
        }
        Some(start..self.start + usize::from(self.part > 0))
    }
}

#[inline(always)]
fn sum<T: Real>(isa: Isa, window: &[T]) -> T {
    match window.len() < 24 {
        true => window.iter().fold(T::ZERO, |sum, &x| sum + x),
        false => RowSum::Values(window).on(isa),
    }
}

/// The larger one, or NaN if either is: an overflow must not be pooled away.
#[inline(always)]
fn most<T: Real>(a: T, b: T) -> T {
    let larger = if a < b { b } else { a };
    // Comparisons with NaN are false, so only one in `b` is still to be let through.
    if b.partial_cmp(&b).is_none() { b } else { larger }
}

/// One value per window of `N`.
fn tiles<T: Real, const N: usize>(isa: Isa, x: &[T], out: &mut [T], f: impl Fn(&[T; N]) -> T) {
    vectorised(
        isa,
        #[inline(always)]
        || out.iter_mut().zip(x.as_chunks::<N>().0).for_each(|(o, w)| *o = f(w)),
    );
}

/// Each gradient to the first largest sample of its window of `N`, without a branch.
fn first_of_tiles<T: Real, const N: usize>(isa: Isa, x: &[T], grad: &[T], out: &mut [T]) {
    vectorised(
        isa,
        #[inline(always)]
        || {
            let (windows, rest) = out.as_chunks_mut::<N>();
            for ((out, x), &g) in windows.iter_mut().zip(x.as_chunks::<N>().0).zip(grad) {
                for i in 0..N {
                    let mut first = true;
                    for j in 0..N {
                        first &= if j < i { x[i] > x[j] } else { x[i] >= x[j] };
                    }
                    out[i] = if first { g } else { T::ZERO };
                }
            }
            rest.fill(T::ZERO);
        },
    );
}

#[inline(always)]
fn first_largest<T: Real>(x: &[T]) -> usize {
    let mut best = 0;
    for (i, v) in x.iter().enumerate() {
        if *v > x[best] {
            best = i;
        }
    }
    best
}

/// `[.., T] -> [.., P]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool(pub(crate) Pooling);

/// `(x, grad) -> [.., T]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolGrad(Pooling);

impl Graph {
    /// Pooling along the last axis.
    pub fn pool(&mut self, x: Id, pooling: Pooling) -> Result<Id> {
        self.apply(Pool(pooling), &[x])
    }
}

impl Operation for Pool {
    fn name(&self) -> &'static str {
        "pool"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        let Some((&time, outer)) = x.split_last() else { return Err("a scalar has no time axis".into()) };
        let mut shape = outer.to_vec();
        shape.push(self.0.length(time).map_err(|e| format!("input {x:?}: {e}"))?);
        Ok(shape)
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        Ok(vec![Some(at.graph.apply(PoolGrad(self.0), &[at.inputs[0], at.grad])?)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (Some(&time), Some(&length)) = (call.shapes[0].last(), call.shape.last()) else { return };
        let (x, isa) = (call.inputs[0], call.cpu.isa);
        call.cpu.pieces(call.out, length, x.len(), |i, out| self.0.row(isa, &x[i * time..][..time], out));
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (Some(&time), Some(&places)) = (at.shapes[0].last(), at.shape.last()) else { return };
        let n = at.length();
        let (rows, pool) = (n / places, self.0.cuda(time));
        let call = format!("pool_rows(at, {pool}, {}, {}, {rows}, {time}, {places})", at.inputs[0], at.out);
        at.each(n, rows * time, call);
    }
}

impl Operation for PoolGrad {
    fn name(&self) -> &'static str {
        "pool gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, _] = operands(inputs)?;
        Ok(x.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (Some(&time), Some(&length)) = (call.shape.last(), call.shapes[1].last()) else { return };
        let (x, grad, isa) = (call.inputs[0], call.inputs[1], call.cpu.isa);
        call.cpu.pieces(call.out, time, x.len(), |i, out| {
            self.0.row_back(isa, &x[i * time..][..time], &grad[i * length..][..length], out);
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let (Some(&time), Some(&places)) = (at.shape.last(), at.shapes[1].last()) else { return };
        let n = at.length();
        let (rows, pool) = (n / time, self.0.cuda(time));
        let call = format!("pool_grad(at, {pool}, {}, {}, {rows}, {time}, {places})", at.arguments(), at.out);
        at.each(n, n, call);
    }
}

#[cfg(test)]
mod tests {
    use super::{AdaptiveWindows, Pooling};
    use crate::kernels::Isa;

    #[test]
    fn adaptive_windows_follow_the_convention() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        let mut out = [0.0; 4];
        Pooling::Adaptive { length: 4 }.row(Isa::best(), &x, &mut out);
        assert_eq!(out, [1.0, 3.0, 6.0, 8.0]);
    }

    #[test]
    fn adaptive_windows_are_found_without_a_division() {
        for time in 1..80 {
            for length in 1..=time {
                let pool = Pooling::Adaptive { length };
                let windows = AdaptiveWindows::new(time, length);
                assert!(
                    windows.take(length).eq((0..length).map(|j| pool.window(j, time))),
                    "{time} {length}"
                );
                let share = |n: usize| windows.shares::<f64>()[n - windows.whole];
                assert!((0..length).all(|j| {
                    let n = pool.window(j, time).len();
                    share(n) == 1.0 / n as f64
                }));
            }
        }
    }

    #[test]
    fn the_first_of_equal_maxima_gets_the_gradient() {
        let mut out = [0.0; 6];
        Pooling::Max { size: 3, stride: 3 }.row_back(Isa::best(), &[2.0f64; 6], &[5.0, 7.0], &mut out);
        assert_eq!(out, [5.0, 0.0, 0.0, 7.0, 0.0, 0.0]);
    }
}
