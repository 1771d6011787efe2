//! Rows: sums along one, in four vectors of partial sums (the order depends on the instruction set only), and changes
//! in place.

use super::lanes::{Lanes, PortableLanes};
use super::versions::f32_paths;
use crate::kernels::{Isa, Real};

/// Which sum.
#[derive(Clone, Copy)]
pub enum RowSum<'a, T> {
    /// Of x.
    Values(&'a [T]),
    /// Of x * y.
    Dot(&'a [T], &'a [T]),
    /// Of x * y * z.
    Triple(&'a [T], &'a [T], &'a [T]),
    /// Of (x - a) * (x - a).
    Squares(&'a [T], T),
    /// Of (x - a) * y.
    DotFrom(&'a [T], T, &'a [T]),
}

impl<T: Real> RowSum<'_, T> {
    /// The sum. Slices of one call have one length; the shortest counts.
    #[inline]
    pub(crate) fn on(self, isa: Isa) -> T {
        T::sum(isa, self)
    }

    fn length(self) -> usize {
        match self {
            RowSum::Values(x) | RowSum::Squares(x, _) => x.len(),
            RowSum::Dot(x, y) | RowSum::DotFrom(x, _, y) => x.len().min(y.len()),
            RowSum::Triple(x, y, z) => x.len().min(y.len()).min(z.len()),
        }
    }
}

/// # Safety
/// The lanes' instruction set is available.
#[inline(always)]
pub(crate) unsafe fn sum<T: Real, L: Lanes<T>>(what: RowSum<'_, T>) -> T {
    let n = what.length();
    // SAFETY: `load` reads WIDTH elements at i with i + WIDTH <= n, `load_part` the rest; n is the least length.
    unsafe {
        match what {
            RowSum::Values(x) => fold::<T, L>(
                n,
                #[inline(always)]
                |i, acc| acc.plus(L::load(x.as_ptr().add(i))),
                #[inline(always)]
                |i, left, acc| acc.plus(L::load_part(x.as_ptr().add(i), left)),
            ),
            RowSum::Dot(x, y) => fold::<T, L>(
                n,
                #[inline(always)]
                |i, acc| L::load(x.as_ptr().add(i)).fma(L::load(y.as_ptr().add(i)), acc),
                #[inline(always)]
                |i, left, acc| {
                    L::load_part(x.as_ptr().add(i), left).fma(L::load_part(y.as_ptr().add(i), left), acc)
                },
            ),
            RowSum::Triple(x, y, z) => fold::<T, L>(
                n,
                #[inline(always)]
                |i, acc| {
                    let xy = L::load(x.as_ptr().add(i)).times(L::load(y.as_ptr().add(i)));
                    xy.fma(L::load(z.as_ptr().add(i)), acc)
                },
                #[inline(always)]
                |i, left, acc| {
                    let xy =
                        L::load_part(x.as_ptr().add(i), left).times(L::load_part(y.as_ptr().add(i), left));
                    xy.fma(L::load_part(z.as_ptr().add(i), left), acc)
                },
            ),
            RowSum::Squares(x, a) => {
                // Lanes past the end of the row must subtract nothing.
                let many = [-a; crate::kernels::product::SLACK];
                let minus = L::splat(-a);
                fold::<T, L>(
                    n,
                    #[inline(always)]
                    |i, acc| {
                        let d = L::load(x.as_ptr().add(i)).plus(minus);
                        d.fma(d, acc)
                    },
                    #[inline(always)]
                    |i, left, acc| {
                        let d = L::load_part(x.as_ptr().add(i), left).plus(L::load_part(many.as_ptr(), left));
                        d.fma(d, acc)
                    },
                )
            }
            RowSum::DotFrom(x, a, y) => {
                let minus = L::splat(-a);
                fold::<T, L>(
                    n,
                    #[inline(always)]
                    |i, acc| L::load(x.as_ptr().add(i)).plus(minus).fma(L::load(y.as_ptr().add(i)), acc),
                    #[inline(always)]
                    |i, left, acc| {
                        let d = L::load_part(x.as_ptr().add(i), left).plus(minus);
                        d.fma(L::load_part(y.as_ptr().add(i), left), acc)
                    },
                )
            }
        }
    }
}

/// # Safety
/// `whole(i, ..)` may be called for `i + WIDTH <= n`, `part(i, left, ..)` for `i + left == n`, `left < WIDTH`.
#[inline(always)]
unsafe fn fold<T: Real, L: Lanes<T>>(
    n: usize,
    whole: impl Fn(usize, L) -> L,
    part: impl Fn(usize, usize, L) -> L,
) -> T {
    // SAFETY: the instruction set is granted by the caller.
    unsafe {
        let mut sums = [L::splat(T::ZERO); 4];
        let mut i = 0;
        while i + 4 * L::WIDTH <= n {
            for (v, sum) in sums.iter_mut().enumerate() {
                *sum = whole(i + v * L::WIDTH, *sum);
            }
            i += 4 * L::WIDTH;
        }
        let mut v = 0;
        while i + L::WIDTH <= n {
            sums[v] = whole(i, sums[v]);
            (i, v) = (i + L::WIDTH, v + 1);
        }
        if i < n {
            sums[3] = part(i, n - i, sums[3]);
        }
        sums[0].plus(sums[1]).plus(sums[2].plus(sums[3])).sum()
    }
}

/// What a row goes through, in place.
pub enum RowChange<'a, T> {
    /// `x` above zero, `exp(x) - 1` below.
    Elu,
    /// Times the derivative of that at the points given.
    EluSlope(&'a [T]),
    /// Times `scale`, or zero where `(words[j / 16 % 4][j % 16] >> (j / 64 * bits)) & (2^bits - 1) < below`.
    Drop { words: &'a [[u32; 16]; 4], bits: u32, below: u32, scale: T },
}

impl<T: Real> RowChange<'_, T> {
    /// Changes a row. Points must be as many as values, and a row to be dropped from not longer than its words last.
    pub(crate) fn on(self, isa: Isa, values: &mut [T]) {
        match self {
            RowChange::EluSlope(x) => assert_eq!(x.len(), values.len()),
            RowChange::Drop { bits, .. } => assert!(values.len() * bits as usize <= 16 * 128 && bits <= 16),
            RowChange::Elu => {}
        }
        T::change(isa, self, values);
    }
}

/// # Safety
/// The lanes' instruction set is available; [`RowChange::on`] has checked the lengths.
#[inline(always)]
pub(crate) unsafe fn change<T: Real, L: Lanes<T>>(what: RowChange<'_, T>, values: &mut [T]) {
    // SAFETY: `each` stays inside `values`; the points are as many; WIDTH divides 16, so a vector's words lie in one
    // array of 16, and `j / 64 * bits < 32` by the checked length.
    unsafe {
        let one = L::splat(T::ONE);
        match what {
            RowChange::Elu => each::<T, L>(
                values,
                #[inline(always)]
                |_, x, _| x.where_positive(x, x.exp().plus(L::splat(-T::ONE))),
            ),
            RowChange::EluSlope(points) => each::<T, L>(
                values,
                #[inline(always)]
                |i, g, n| {
                    let at = points.as_ptr().add(i);
                    let x = if n == L::WIDTH { L::load(at) } else { L::load_part(at, n) };
                    g.times(x.where_positive(one, x.exp()))
                },
            ),
            RowChange::Drop { words, bits, below, scale } => {
                let (scale, mask) = (L::splat(scale), (1u32 << bits) - 1);
                each::<T, L>(
                    values,
                    #[inline(always)]
                    |i, x, _| {
                        let group = i / 16;
                        let word = words[group % 4].as_ptr().add(i % 16);
                        x.times(scale).unless(word, (group / 4) as u32 * bits, mask, below)
                    },
                );
            }
        }
    }
}

/// # Safety
/// The lanes' instruction set is available.
#[inline(always)]
unsafe fn each<T: Real, L: Lanes<T>>(values: &mut [T], f: impl Fn(usize, L, usize) -> L) {
    let n = values.len();
    let p = values.as_mut_ptr();
    let mut i = 0;
    // SAFETY: whole vectors end at or before n, the part at n.
    unsafe {
        while i + L::WIDTH <= n {
            f(i, L::load(p.add(i)), L::WIDTH).store(p.add(i));
            i += L::WIDTH;
        }
        if i < n {
            f(i, L::load_part(p.add(i), n - i), n - i).store_part(p.add(i), n - i);
        }
    }
}

pub(crate) fn sum_portable<T: Real>(what: RowSum<'_, T>) -> T {
    // SAFETY: plain arrays need no instruction set.
    unsafe { sum::<T, PortableLanes<T>>(what) }
}

pub(crate) fn change_portable<T: Real>(what: RowChange<'_, T>, values: &mut [T]) {
    // SAFETY: plain arrays need no instruction set.
    unsafe { change::<T, PortableLanes<T>>(what, values) }
}

f32_paths! {
    fn sum_f32(what: RowSum<'_, f32>) -> f32 = sum;
    fn change_f32(what: RowChange<'_, f32>, values: &mut [f32]) = change;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_on_every_path() {
        let wave = |k: f64| (0..300).map(|i| (f64::from(i) * 0.7 + k).sin()).collect::<Vec<f64>>();
        let (x, y, z) = (wave(0.0), wave(1.0), wave(2.0));
        let narrow = |v: &[f64]| v.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let (xs, ys, zs) = (narrow(&x), narrow(&y), narrow(&z));
        for n in 0..300 {
            let a = 0.3f32;
            let exact = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
            let wide = f64::from(a);
            let cases = [
                (RowSum::Values(&xs[..n]), exact(&|i| x[i])),
                (RowSum::Dot(&xs[..n], &ys[..n]), exact(&|i| x[i] * y[i])),
                (RowSum::Triple(&xs[..n], &ys[..n], &zs[..n]), exact(&|i| x[i] * y[i] * z[i])),
                (RowSum::Squares(&xs[..n], a), exact(&|i| (x[i] - wide) * (x[i] - wide))),
                (RowSum::DotFrom(&xs[..n], a, &ys[..n]), exact(&|i| (x[i] - wide) * y[i])),
            ];
            for isa in Isa::available() {
                for (case, (what, expected)) in cases.iter().enumerate() {
                    let got = f64::from(what.on(isa));
                    assert!((got - expected).abs() < 1e-4, "{isa:?} case {case} n {n}: {got} {expected}");
                }
            }
        }
    }

    #[test]
    fn values_that_are_not_finite_stay_so_on_every_path() {
        for isa in Isa::available() {
            let mut y = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1e20, 1e20, -100.0];
            let x = y;
            RowChange::Elu.on(isa, &mut y);
            assert!(y[0].is_nan() && y[1] == f32::INFINITY, "{isa:?} {y:?}");
            assert!(y[2..].iter().zip([-1.0, -1.0, 1e20, -1.0]).all(|(y, e)| *y == e), "{isa:?} {y:?}");
            let mut g = [1.0f32; 6];
            RowChange::EluSlope(&x).on(isa, &mut g);
            assert!(g[0].is_nan() && g[1] == 1.0 && g[4] == 1.0, "{isa:?} {g:?}");
            assert!([g[2], g[3], g[5]].iter().all(|g| *g >= 0.0 && *g < 1e-37), "{isa:?} {g:?}");
        }
    }

    #[test]
    fn every_change_on_every_path() {
        for n in [1, 3, 15, 16, 17, 64, 100, 333] {
            let x: Vec<f32> = (0..n).map(|i| (i as f32 * 0.77).sin() * 20.0).collect();
            let elu = |x: f32| if x > 0.0 { f64::from(x) } else { f64::from(x).exp() - 1.0 };
            let slope = |x: f32| if x > 0.0 { 1.0 } else { f64::from(x).exp() };
            for isa in Isa::available() {
                let mut y = x.clone();
                RowChange::Elu.on(isa, &mut y);
                let mut g = vec![3.0f32; n];
                RowChange::EluSlope(&x).on(isa, &mut g);
                for i in 0..n {
                    assert!((f64::from(y[i]) - elu(x[i])).abs() < 2e-6, "{isa:?} {}", x[i]);
                    assert!((f64::from(g[i]) - 3.0 * slope(x[i])).abs() < 2e-6, "{isa:?} {}", x[i]);
                }
            }
        }
    }
}
