//! Fewer multiplications for kernels of 5: Winograd's minimal filtering F(4, 5) (Winograd 1980; Lavin and Gray 2016).
//!
//! Four neighbouring outputs of a 5-tap filter need 8 products instead of 20: with the points 0, ±1, ±2, ±1/2 and
//! infinity, `y = A^T [(G w) * (B^T x)]` for 8 inputs x. Per point, the sum over channels is a plain matrix product of
//! the transformed weights `[O, C]` with the transformed signal `[C, tiles]`. In f32 the error is about twice that of
//! direct summation (a test holds it); f64 stays with the direct form.
//!
//! A signal is kept in four phases, `phase[p][i] = x[4 i + p]`, so that tile `i` reads its inputs `x[4 i .. 4 i + 8]` as
//! neighbours of a vector over tiles.

use super::lanes::{Lanes, Plain};
use crate::cpu::Isa;
use crate::real::Real;

/// Products per tile.
pub const POINTS: usize = 8;
/// Outputs per tile.
pub const TILE: usize = 4;
/// Taps of the kernel.
pub const TAPS: usize = 5;

/// `G`: from taps to points.
const G: [[f64; TAPS]; POINTS] = [
    [-1.0, 0.0, 0.0, 0.0, 0.0],
    [-2.0 / 9.0, -2.0 / 9.0, -2.0 / 9.0, -2.0 / 9.0, -2.0 / 9.0],
    [-2.0 / 9.0, 2.0 / 9.0, -2.0 / 9.0, 2.0 / 9.0, -2.0 / 9.0],
    [1.0 / 90.0, 2.0 / 90.0, 4.0 / 90.0, 8.0 / 90.0, 16.0 / 90.0],
    [1.0 / 90.0, -2.0 / 90.0, 4.0 / 90.0, -8.0 / 90.0, 16.0 / 90.0],
    [32.0 / 45.0, 16.0 / 45.0, 8.0 / 45.0, 4.0 / 45.0, 2.0 / 45.0],
    [32.0 / 45.0, -16.0 / 45.0, 8.0 / 45.0, -4.0 / 45.0, 2.0 / 45.0],
    [0.0, 0.0, 0.0, 0.0, 1.0],
];

/// The weight of one (output, channel) pair at every point.
pub fn weight_to_points<T: Real>(taps: [T; TAPS]) -> [T; POINTS] {
    std::array::from_fn(|j| (0..TAPS).fold(T::ZERO, |sum, k| sum + T::of(G[j][k]) * taps[k]))
}

/// The transposed way: from gradients at points to gradients of taps.
pub fn points_to_weight<T: Real>(points: [T; POINTS]) -> [T; TAPS] {
    std::array::from_fn(|k| (0..POINTS).fold(T::ZERO, |sum, j| sum + T::of(G[j][k]) * points[j]))
}

/// Splits a row into its phases, `to[p * ld + i] = row[4 i + p - left]`, zero outside the row, for `i < length`.
pub fn phases<T: Real>(isa: Isa, row: &[T], left: usize, length: usize, ld: usize, to: &mut [T]) {
    assert!(length <= ld && to.len() >= (TILE - 1) * ld + length, "phases do not fit");
    T::phases(isa, Phases { row, left, length, ld, to });
}

/// What [`phases`] works on.
pub struct Phases<'a, T> {
    row: &'a [T],
    left: usize,
    length: usize,
    ld: usize,
    to: &'a mut [T],
}

/// # Safety
/// The lanes' instruction set is available; [`phases`] has checked the slices.
#[inline(always)]
pub(crate) unsafe fn split_phases<T: Real, L: Lanes<T>>(call: Phases<'_, T>) {
    let Phases { row, left, length, ld, to } = call;
    let mut i = 0;
    while i < length {
        // Places i .. i + WIDTH of all phases read the samples from 4 i - left on.
        let start = (TILE * i).wrapping_sub(left);
        if TILE * i >= left && start + TILE * L::WIDTH <= row.len() && i + L::WIDTH <= length {
            // SAFETY: the samples and the places are inside, by the line above and the caller's check.
            unsafe {
                for (p, part) in L::split(row.as_ptr().add(start)).into_iter().enumerate() {
                    part.store(to.as_mut_ptr().add(p * ld + i));
                }
            }
            i += L::WIDTH;
        } else {
            for p in 0..TILE {
                let sample = (TILE * i + p).checked_sub(left).and_then(|at| row.get(at));
                to[p * ld + i] = sample.copied().unwrap_or(T::ZERO);
            }
            i += 1;
        }
    }
}

/// One transform of `tiles` tiles; `from` and `to` are arrays of rows at fixed distances.
pub enum Transform<'a, T> {
    /// `B^T`: from phases (`from`, readable one place past the tiles and on to a whole vector) to points.
    Signal { from: &'a [T], from_ld: usize, to: &'a mut [T], to_ld: usize },
    /// `A`: from the phases of an output's gradient to points.
    Gradient { from: &'a [T], from_ld: usize, to: &'a mut [T], to_ld: usize },
    /// `A^T`: from points to the row of samples `to`, at most four per tile, plus a start value.
    Output { from: &'a [T], from_ld: usize, to: &'a mut [T], start: T },
}

impl<T: Real> Transform<'_, T> {
    /// Checks the slices and runs. Rows are read, and points written, up to the next whole vector.
    pub fn run(self, isa: Isa, tiles: usize) {
        let whole = tiles.next_multiple_of(super::product::SLACK);
        let (read, ahead, rows) = match &self {
            Transform::Signal { from, from_ld, .. } => (from.len(), 1, (TILE - 1) * from_ld),
            Transform::Gradient { from, from_ld, .. } => (from.len(), 0, (TILE - 1) * from_ld),
            Transform::Output { from, from_ld, .. } => (from.len(), 0, (POINTS - 1) * from_ld),
        };
        assert!(read >= rows + whole + ahead, "winograd reads past its rows");
        match &self {
            Transform::Signal { to, to_ld, .. } | Transform::Gradient { to, to_ld, .. } => {
                assert!(to.len() >= (POINTS - 1) * to_ld + whole, "winograd writes past its rows");
            }
            Transform::Output { to, .. } => {
                assert!(to.len() <= tiles * TILE, "winograd makes four samples per tile")
            }
        }
        T::transform(isa, self, tiles);
    }
}

/// # Safety
/// The lanes' instruction set is available; [`Transform::run`] has checked the slices.
#[inline(always)]
pub(crate) unsafe fn transform<T: Real, L: Lanes<T>>(mut what: Transform<'_, T>, tiles: usize) {
    // SAFETY: every access is at row * ld + i + v, v < WIDTH <= SLACK, i < tiles a multiple of WIDTH, and one more for
    // the second half of a signal's tile: what `run` has checked.
    unsafe {
        let of = |x: f64| L::splat(T::of(x));
        let mut i = 0;
        while i < tiles {
            match &mut what {
                Transform::Signal { from, from_ld, to, to_ld } => {
                    let at = |p: usize, next: usize| L::load(from.as_ptr().add(p * *from_ld + i + next));
                    let d: [L; 8] =
                        [at(0, 0), at(1, 0), at(2, 0), at(3, 0), at(0, 1), at(1, 1), at(2, 1), at(3, 1)];
                    let minus = of(-1.0);
                    let v0 = d[4].fma(minus, d[2]).fma(of(5.25), d[0].fma(minus, d[6]));
                    let v7 = d[5].fma(minus, d[3]).fma(of(5.25), d[1].fma(minus, d[7]));
                    let even = d[4].fma(of(-4.25), d[2].plus(d[6]));
                    let odd = d[3].fma(of(-4.25), d[1].plus(d[5]));
                    let (v1, v2) = (even.plus(odd), odd.fma(minus, even));
                    let even = d[2].fma(of(0.25), d[4].fma(of(-1.25), d[6]));
                    let odd = d[1].fma(of(0.5), d[3].fma(of(-2.5), d[5].plus(d[5])));
                    let (v3, v4) = (even.plus(odd), odd.fma(minus, even));
                    let even = d[2].fma(of(4.0), d[4].fma(of(-5.0), d[6]));
                    let odd = d[5].fma(of(0.5), d[3].fma(of(-2.5), d[1].plus(d[1])));
                    let (v5, v6) = (even.plus(odd), odd.fma(minus, even));
                    for (j, v) in [v0, v1, v2, v3, v4, v5, v6, v7].into_iter().enumerate() {
                        v.store(to.as_mut_ptr().add(j * *to_ld + i));
                    }
                }
                Transform::Gradient { from, from_ld, to, to_ld } => {
                    let at = |p: usize| L::load(from.as_ptr().add(p * *from_ld + i));
                    let y: [L; 4] = [at(0), at(1), at(2), at(3)];
                    let minus = of(-1.0);
                    let (even, odd) = (y[0].plus(y[2]), y[1].plus(y[3]));
                    let (v1, v2) = (even.plus(odd), odd.fma(minus, even));
                    let even = y[2].fma(of(4.0), y[0]);
                    let odd = y[3].fma(of(8.0), y[1].plus(y[1]));
                    let (v3, v4) = (even.plus(odd), odd.fma(minus, even));
                    let even = y[2].fma(of(0.25), y[0]);
                    let odd = y[3].fma(of(0.125), y[1].times(of(0.5)));
                    let (v5, v6) = (even.plus(odd), odd.fma(minus, even));
                    for (j, v) in [y[0], v1, v2, v3, v4, v5, v6, y[3]].into_iter().enumerate() {
                        v.store(to.as_mut_ptr().add(j * *to_ld + i));
                    }
                }
                Transform::Output { from, from_ld, to, start } => {
                    let at = |j: usize| L::load(from.as_ptr().add(j * *from_ld + i));
                    let m: [L; 8] = [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)];
                    let (minus, start) = (of(-1.0), L::splat(*start));
                    let (s1, d1) = (m[1].plus(m[2]), m[2].fma(minus, m[1]));
                    let (s2, d2) = (m[3].plus(m[4]), m[4].fma(minus, m[3]));
                    let (s3, d3) = (m[5].plus(m[6]), m[6].fma(minus, m[5]));
                    let y = [
                        m[0].plus(s1).plus(s2.plus(s3)).plus(start),
                        d2.fma(of(2.0), d3.fma(of(0.5), d1)).plus(start),
                        s2.fma(of(4.0), s3.fma(of(0.25), s1)).plus(start),
                        d2.fma(of(8.0), d3.fma(of(0.125), d1)).plus(m[7]).plus(start),
                    ];
                    let left = to.len().saturating_sub(TILE * i);
                    if left >= TILE * L::WIDTH {
                        L::join(y, to.as_mut_ptr().add(TILE * i));
                    } else {
                        let mut last = [T::ZERO; TILE * super::product::SLACK];
                        L::join(y, last.as_mut_ptr());
                        to[TILE * i..].copy_from_slice(&last[..left]);
                    }
                }
            }
            i += L::WIDTH;
        }
    }
}

pub(crate) fn transform_portable<T: Real>(what: Transform<'_, T>, tiles: usize) {
    // SAFETY: plain arrays need no instruction set; the slices were checked by `run`.
    unsafe { transform::<T, Plain<T>>(what, tiles) }
}

pub(crate) fn phases_portable<T: Real>(call: Phases<'_, T>) {
    // SAFETY: plain arrays need no instruction set; the slices were checked by `phases`.
    unsafe { split_phases::<T, Plain<T>>(call) }
}

pub(crate) fn phases_f32(isa: Isa, call: Phases<'_, f32>) {
    #[cfg(target_arch = "x86_64")]
    {
        use super::lanes::x86::{Avx2, Avx512};
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        unsafe fn avx512(call: Phases<'_, f32>) {
            // SAFETY: the features are enabled here; the slices were checked by `phases`.
            unsafe { split_phases::<f32, Avx512>(call) }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(call: Phases<'_, f32>) {
            // SAFETY: as above.
            unsafe { split_phases::<f32, Avx2>(call) }
        }
        match isa {
            // SAFETY: these variants exist only where detection found the features.
            Isa::Avx512 => return unsafe { avx512(call) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(call) },
            _ => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if isa == Isa::Neon {
        // SAFETY: NEON is part of every aarch64 target; the slices were checked by `phases`.
        return unsafe { split_phases::<f32, super::lanes::arm::Neon>(call) };
    }
    let _ = isa;
    phases_portable(call)
}

pub(crate) fn transform_f32(isa: Isa, what: Transform<'_, f32>, tiles: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use super::lanes::x86::{Avx2, Avx512};
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        unsafe fn avx512(what: Transform<'_, f32>, tiles: usize) {
            // SAFETY: the features are enabled here; the slices were checked by `run`.
            unsafe { transform::<f32, Avx512>(what, tiles) }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(what: Transform<'_, f32>, tiles: usize) {
            // SAFETY: as above.
            unsafe { transform::<f32, Avx2>(what, tiles) }
        }
        match isa {
            // SAFETY: these variants exist only where detection found the features.
            Isa::Avx512 => return unsafe { avx512(what, tiles) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(what, tiles) },
            _ => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if isa == Isa::Neon {
        // SAFETY: NEON is part of every aarch64 target; the slices were checked by `run`.
        return unsafe { transform::<f32, super::lanes::arm::Neon>(what, tiles) };
    }
    let _ = isa;
    transform_portable(what, tiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One channel through the three transforms equals the plain filter, and the gradient of the taps too.
    fn one_channel<T: Real>(isa: Isa, n: usize, left: usize, tolerance: f64) {
        let x: Vec<T> = (0..n).map(|i| T::of((i as f64 * 0.9).sin())).collect();
        let w = [0.3, -0.2, 0.5, 0.7, -0.4];
        let places = n; // as with a padding of 4 in all
        let padded = |t: usize| t.checked_sub(left).and_then(|t| x.get(t)).map_or(0.0, |x| x.wide());
        let tiles = places.div_ceil(TILE);
        let ld = tiles.next_multiple_of(16) + 17;
        let mut split = vec![T::ZERO; TILE * ld];
        phases(isa, &x, left, tiles + 1, ld, &mut split);
        let mut points = vec![T::ZERO; POINTS * ld];
        Transform::Signal { from: &split, from_ld: ld, to: &mut points, to_ld: ld }.run(isa, tiles);
        let weight = weight_to_points(w.map(T::of));
        let mut product = points.clone();
        for j in 0..POINTS {
            product[j * ld..][..ld].iter_mut().for_each(|v| *v *= weight[j]);
        }
        let mut out = vec![T::ZERO; places];
        Transform::Output { from: &product, from_ld: ld, to: &mut out, start: T::of(0.25) }.run(isa, tiles);
        for (t, out) in out.iter().enumerate() {
            let expected = 0.25 + (0..TAPS).map(|k| w[k] * padded(t + k)).sum::<f64>();
            assert!((out.wide() - expected).abs() < tolerance, "{isa:?} n {n} left {left} t {t}");
        }
        let y: Vec<T> = (0..places).map(|t| T::of((t as f64 * 0.7).cos())).collect();
        phases(isa, &y, 0, tiles, ld, &mut split);
        let mut grads = vec![T::ZERO; POINTS * ld];
        Transform::Gradient { from: &split, from_ld: ld, to: &mut grads, to_ld: ld }.run(isa, tiles);
        let dot =
            |j: usize| (0..tiles).map(|i| points[j * ld + i].wide() * grads[j * ld + i].wide()).sum::<f64>();
        for (k, got) in points_to_weight(std::array::from_fn(|j| T::of(dot(j)))).into_iter().enumerate() {
            let expected: f64 = (0..places).map(|t| y[t].wide() * padded(t + k)).sum();
            assert!(
                (got.wide() - expected).abs() < tolerance * n as f64,
                "{isa:?} n {n} left {left} tap {k}"
            );
        }
    }

    #[test]
    fn one_channel_equals_the_plain_filter() {
        for n in [1usize, 3, 4, 5, 17, 63, 64, 65, 99, 130, 300] {
            for left in 0..5 {
                one_channel::<f64>(Isa::best(), n, left, 1e-13);
                for isa in Isa::available() {
                    one_channel::<f32>(isa, n, left, 5e-6);
                }
            }
        }
    }
}
