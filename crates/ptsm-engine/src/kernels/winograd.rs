//! Fewer multiplications for kernels of 5 and 7: Winograd's minimal filtering F(4, 5) and F(2, 7) (Winograd 1980; Lavin
//! and Gray 2016).
//!
//! Four neighbouring outputs of a 5-tap filter need 8 products instead of 20, two of a 7-tap filter 8 instead of 14: with
//! the points 0, ±1, ±2, ±1/2 and infinity, `y = A^T [(G w) * (B^T x)]` for 8 inputs x. Per point, the sum over channels is a
//! plain matrix product of the transformed weights `[O, C]` with the transformed signal `[C, tiles]`. In f32 the error
//! is two to three times that of direct summation (a test holds it); f64 stays with the direct form.
//!
//! A signal is kept in phases, `phase[p][i] = x[N i + p]` for N outputs per tile, so that tile `i` reads its inputs
//! `x[N i .. N i + 8]` as neighbours of a vector over tiles.

use super::lanes::{Lanes, PortableLanes};
use super::versions::f32_paths;
use crate::kernels::{Isa, Real};

/// Products per tile.
pub const POINTS: usize = 8;
/// The most outputs per tile of any form.
pub const MOST_TILE: usize = 4;

/// F(tile, taps) with `tile + taps = 9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinogradForm {
    /// F(4, 5)
    Five,
    /// F(2, 7)
    Seven,
}

impl WinogradForm {
    /// The form for a kernel, if there is one.
    pub fn of(taps: usize) -> Option<WinogradForm> {
        match taps {
            5 => Some(WinogradForm::Five),
            7 => Some(WinogradForm::Seven),
            _ => None,
        }
    }

    /// Outputs per tile.
    pub fn tile(self) -> usize {
        match self {
            WinogradForm::Five => 4,
            WinogradForm::Seven => 2,
        }
    }

    /// How many places past the last tile a tile reads its phases.
    pub fn ahead(self) -> usize {
        POINTS / self.tile() - 1
    }
}

/// `G[point][tap]`: from taps to points, `a^tap / f` with f the product of the point's distances from the others; at infinity
/// the last tap alone.
fn g(point: usize, tap: usize, taps: usize) -> f64 {
    const FINITE: [(f64, f64); POINTS - 1] = [
        (0.0, -1.0),
        (1.0, -4.5),
        (-1.0, -4.5),
        (2.0, 90.0),
        (-2.0, 90.0),
        (0.5, 45.0 / 32.0),
        (-0.5, 45.0 / 32.0),
    ];
    match FINITE.get(point) {
        Some((a, f)) => a.powi(tap as i32) / f,
        None => f64::from(u8::from(tap + 1 == taps)),
    }
}

/// `G` as a table `[8, taps]`, of up to 7 taps.
pub fn table<T: Real>(taps: usize) -> [[T; 7]; POINTS] {
    std::array::from_fn(|j| std::array::from_fn(|k| if k < taps { T::of(g(j, k, taps)) } else { T::ZERO }))
}

/// Splits a row into its phases, `to[p * ld + i] = row[N i + p - left]`, zero outside the row, for `i < length`.
pub fn phases<T: Real>(
    isa: Isa,
    form: WinogradForm,
    row: &[T],
    left: usize,
    length: usize,
    ld: usize,
    to: &mut [T],
) {
    assert!(length <= ld && to.len() >= (form.tile() - 1) * ld + length, "phases do not fit");
    T::phases(isa, Phases { form, row, left, length, ld, to });
}

/// What [`phases`] works on.
pub struct Phases<'a, T> {
    form: WinogradForm,
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
    let Phases { form, row, left, length, ld, to } = call;
    let tile = form.tile();
    let mut i = 0;
    while i < length {
        // Places i .. i + WIDTH of all phases read the samples from N i - left on.
        let start = (tile * i).wrapping_sub(left);
        if tile * i >= left && start + tile * L::WIDTH <= row.len() && i + L::WIDTH <= length {
            // SAFETY: the samples and the places are inside, by the line above and the caller's check.
            unsafe {
                let from = row.as_ptr().add(start);
                match form {
                    WinogradForm::Five => {
                        for (p, part) in L::split(from).into_iter().enumerate() {
                            part.store(to.as_mut_ptr().add(p * ld + i));
                        }
                    }
                    WinogradForm::Seven => {
                        for (p, part) in L::split_two(from).into_iter().enumerate() {
                            part.store(to.as_mut_ptr().add(p * ld + i));
                        }
                    }
                }
            }
            i += L::WIDTH;
        } else {
            for p in 0..tile {
                let sample = (tile * i + p).checked_sub(left).and_then(|at| row.get(at));
                to[p * ld + i] = sample.copied().unwrap_or(T::ZERO);
            }
            i += 1;
        }
    }
}

/// One transform of `tiles` tiles; `from` and `to` are arrays of rows at fixed distances.
pub enum Transform<'a, T> {
    /// `B^T`: from phases (`from`, readable [`WinogradForm::ahead`] past the tiles and on to a whole vector) to points.
    Signal { from: &'a [T], from_ld: usize, to: &'a mut [T], to_ld: usize },
    /// `A`: from the phases of an output's gradient to points.
    Gradient { from: &'a [T], from_ld: usize, to: &'a mut [T], to_ld: usize },
    /// `A^T`: from points to the row of samples `to`, plus a start value.
    Output { from: &'a [T], from_ld: usize, to: &'a mut [T], start: T },
}

impl<T: Real> Transform<'_, T> {
    /// Checks the slices and runs. Rows are read, and points written, up to the next whole vector.
    pub fn run(self, isa: Isa, form: WinogradForm, tiles: usize) {
        let whole = tiles.next_multiple_of(super::product::SLACK);
        let (read, ahead, rows) = match &self {
            Transform::Signal { from, from_ld, .. } => {
                (from.len(), form.ahead(), (form.tile() - 1) * from_ld)
            }
            Transform::Gradient { from, from_ld, .. } => (from.len(), 0, (form.tile() - 1) * from_ld),
            Transform::Output { from, from_ld, .. } => (from.len(), 0, (POINTS - 1) * from_ld),
        };
        assert!(read >= rows + whole + ahead, "winograd reads past its rows");
        match &self {
            Transform::Signal { to, to_ld, .. } | Transform::Gradient { to, to_ld, .. } => {
                assert!(to.len() >= (POINTS - 1) * to_ld + whole, "winograd writes past its rows");
            }
            Transform::Output { to, .. } => {
                assert!(to.len() <= tiles * form.tile(), "too few tiles")
            }
        }
        T::transform(isa, form, self, tiles);
    }
}

/// # Safety
/// The lanes' instruction set is available; [`Transform::run`] has checked the slices.
#[inline(always)]
pub(crate) unsafe fn transform<T: Real, L: Lanes<T>>(
    form: WinogradForm,
    mut what: Transform<'_, T>,
    tiles: usize,
) {
    // SAFETY: every access is at row * ld + i + v, v < WIDTH <= SLACK, i < tiles a multiple of WIDTH, and up to `ahead` more
    // for the later part of a signal's tile: what `run` has checked.
    unsafe {
        let of = |x: f64| L::splat(T::of(x));
        let mut i = 0;
        while i < tiles {
            match &mut what {
                Transform::Signal { from, from_ld, to, to_ld } => {
                    let n = form.tile();
                    let d: [L; 8] =
                        std::array::from_fn(|q| L::load(from.as_ptr().add(q % n * *from_ld + i + q / n)));
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
                    let minus = of(-1.0);
                    // Even and odd powers at ±1, ±2, ±1/2, and the highest phase.
                    let (first, pairs, last) = match form {
                        WinogradForm::Five => {
                            let y: [L; 4] = [at(0), at(1), at(2), at(3)];
                            let pairs = [
                                (y[0].plus(y[2]), y[1].plus(y[3])),
                                (y[2].fma(of(4.0), y[0]), y[3].fma(of(8.0), y[1].plus(y[1]))),
                                (y[2].fma(of(0.25), y[0]), y[3].fma(of(0.125), y[1].times(of(0.5)))),
                            ];
                            (y[0], pairs, y[3])
                        }
                        WinogradForm::Seven => {
                            let y: [L; 2] = [at(0), at(1)];
                            let pairs = [(y[0], y[1]), (y[0], y[1].plus(y[1])), (y[0], y[1].times(of(0.5)))];
                            (y[0], pairs, y[1])
                        }
                    };
                    let [v1, v3, v5] = pairs.map(|(even, odd)| even.plus(odd));
                    let [v2, v4, v6] = pairs.map(|(even, odd)| odd.fma(minus, even));
                    for (j, v) in [first, v1, v2, v3, v4, v5, v6, last].into_iter().enumerate() {
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
                    let y0 = m[0].plus(s1).plus(s2.plus(s3)).plus(start);
                    let y1 = d2.fma(of(2.0), d3.fma(of(0.5), d1)).plus(start);
                    let tile = form.tile();
                    let left = to.len().saturating_sub(tile * i);
                    let mut last = [T::ZERO; MOST_TILE * super::product::SLACK];
                    let whole = left >= tile * L::WIDTH;
                    let out = if whole { to.as_mut_ptr().add(tile * i) } else { last.as_mut_ptr() };
                    match form {
                        WinogradForm::Five => {
                            let y2 = s2.fma(of(4.0), s3.fma(of(0.25), s1)).plus(start);
                            let y3 = d2.fma(of(8.0), d3.fma(of(0.125), d1)).plus(m[7]).plus(start);
                            L::join([y0, y1, y2, y3], out);
                        }
                        WinogradForm::Seven => L::join_two([y0, y1.plus(m[7])], out),
                    }
                    if !whole {
                        to[tile * i..].copy_from_slice(&last[..left]);
                    }
                }
            }
            i += L::WIDTH;
        }
    }
}

pub(crate) fn transform_portable<T: Real>(form: WinogradForm, what: Transform<'_, T>, tiles: usize) {
    // SAFETY: plain arrays need no instruction set; the slices were checked by `run`.
    unsafe { transform::<T, PortableLanes<T>>(form, what, tiles) }
}

pub(crate) fn phases_portable<T: Real>(call: Phases<'_, T>) {
    // SAFETY: plain arrays need no instruction set; the slices were checked by `phases`.
    unsafe { split_phases::<T, PortableLanes<T>>(call) }
}

f32_paths! {
    fn phases_f32(call: Phases<'_, f32>) = split_phases;
    fn transform_f32(form: WinogradForm, what: Transform<'_, f32>, tiles: usize) = transform;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One channel through the three transforms equals the plain filter, and the gradient of the taps too.
    fn one_channel<T: Real>(isa: Isa, form: WinogradForm, n: usize, left: usize, tolerance: f64) {
        let x: Vec<T> = (0..n).map(|i| T::of((i as f64 * 0.9).sin())).collect();
        let w = &[0.3, -0.2, 0.5, 0.7, -0.4, 0.1, 0.6][..9 - form.tile()];
        let places = n; // as with a padding of taps - 1 in all
        let padded = |t: usize| t.checked_sub(left).and_then(|t| x.get(t)).map_or(0.0, |x| x.wide());
        let tiles = places.div_ceil(form.tile());
        let ld = tiles.next_multiple_of(16) + 17;
        let mut split = vec![T::ZERO; form.tile() * ld];
        phases(isa, form, &x, left, tiles + form.ahead(), ld, &mut split);
        let mut points = vec![T::ZERO; POINTS * ld];
        Transform::Signal { from: &split, from_ld: ld, to: &mut points, to_ld: ld }.run(isa, form, tiles);
        let g = table::<f64>(w.len());
        let mut product = points.clone();
        for j in 0..POINTS {
            let weight = T::of((0..w.len()).map(|k| g[j][k] * w[k]).sum());
            product[j * ld..][..ld].iter_mut().for_each(|v| *v *= weight);
        }
        let mut out = vec![T::ZERO; places];
        Transform::Output { from: &product, from_ld: ld, to: &mut out, start: T::of(0.25) }
            .run(isa, form, tiles);
        for (t, out) in out.iter().enumerate() {
            let expected = 0.25 + (0..w.len()).map(|k| w[k] * padded(t + k)).sum::<f64>();
            assert!((out.wide() - expected).abs() < tolerance, "{isa:?} {form:?} n {n} left {left} t {t}");
        }
        let y: Vec<T> = (0..places).map(|t| T::of((t as f64 * 0.7).cos())).collect();
        phases(isa, form, &y, 0, tiles, ld, &mut split);
        let mut grads = vec![T::ZERO; POINTS * ld];
        Transform::Gradient { from: &split, from_ld: ld, to: &mut grads, to_ld: ld }.run(isa, form, tiles);
        let dot =
            |j: usize| (0..tiles).map(|i| points[j * ld + i].wide() * grads[j * ld + i].wide()).sum::<f64>();
        for k in 0..w.len() {
            let got: f64 = g.iter().enumerate().map(|(j, g)| g[k] * dot(j)).sum();
            let expected: f64 = (0..places).map(|t| y[t].wide() * padded(t + k)).sum();
            assert!(
                (got - expected).abs() < tolerance * n as f64,
                "{isa:?} {form:?} n {n} left {left} tap {k}"
            );
        }
    }

    #[test]
    fn one_channel_equals_the_plain_filter() {
        for n in [1usize, 3, 4, 5, 17, 31, 32, 33, 63, 64, 65, 99, 130, 300] {
            for form in [WinogradForm::Five, WinogradForm::Seven] {
                for left in 0..9 - form.tile() {
                    one_channel::<f64>(Isa::best(), form, n, left, 1e-13);
                    for isa in Isa::available() {
                        one_channel::<f32>(isa, form, n, left, 5e-6);
                    }
                }
            }
        }
    }
}
