//! The two product kernels, see [the module](super).

use super::lanes::{Lanes, PortableLanes};
use super::versions::f32_paths;
use crate::kernels::{Isa, Real};

/// The widest vector of any instruction set: how far past its last column a [`Panel`] may read `b`.
pub const SLACK: usize = 16;

/// Vectors along the columns of one register tile.
const VECTORS: usize = 3;
/// Taps of one dot tile.
const DOT_TAPS: usize = 6;

/// `out[m, t] = start[m, t] + sum over (row, tap) of a[m, row, tap] * b[row, t + tap]`.
pub struct Panel<'a, T> {
    /// `a` as [`pack`] leaves it.
    pub packed: &'a [T],
    /// Output rows.
    pub outputs: usize,
    /// Rows of `b`.
    pub rows: usize,
    /// Neighbouring columns of `b` that enter one output column.
    pub taps: usize,
    /// The second operand, `rows` rows at distance `ld`, readable [`SLACK`] past the last column.
    pub b: &'a [T],
    /// Distance between rows of `b`.
    pub ld: usize,
    /// Output columns.
    pub columns: usize,
    /// The result, `outputs` rows at distance `ld_out`.
    pub out: &'a mut [T],
    /// Distance between rows of `out`.
    pub ld_out: usize,
    /// One start value per output row; none means zero.
    pub bias: Option<&'a [T]>,
}

/// `out[m * ld_out + row * taps + tap] += sum over item, t of a[item, m, t] * b[item, row, t + tap * step]`.
pub struct DotProducts<'a, T> {
    /// The first operand.
    pub a: &'a [T],
    /// Distance between its rows.
    pub lda: usize,
    /// Distance between its items.
    pub a_item: usize,
    /// Its rows.
    pub outputs: usize,
    /// The second operand.
    pub b: &'a [T],
    /// Distance between its rows.
    pub ldb: usize,
    /// Distance between its items.
    pub b_item: usize,
    /// Its rows.
    pub rows: usize,
    /// Shifted copies of each row.
    pub taps: usize,
    /// The shift from one copy to the next.
    pub step: usize,
    /// Length of the sums.
    pub length: usize,
    /// Items summed over.
    pub items: usize,
    /// The result, added to.
    pub out: &'a mut [T],
    /// Distance between output rows.
    pub ld_out: usize,
}

/// Where `a[m, row, tap]` stands in a slice.
#[derive(Clone, Copy)]
pub struct Strides {
    /// Index of `a[0, 0, 0]`.
    pub start: usize,
    /// Step of the output row.
    pub output: usize,
    /// Step of the reduction row.
    pub row: usize,
    /// Step of the tap; negative to flip a kernel.
    pub tap: isize,
}

/// The heights of the register tiles that cover `outputs` rows: as few as possible, as even as possible.
pub(crate) fn heights(outputs: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = outputs.div_ceil(most);
    (0..count).map(move |i| outputs / count + usize::from(i < outputs % count))
}

/// Lays `a` out in the order in which a panel reads it: tile by tile, there by row and tap.
pub fn pack<T: Real>(
    isa: Isa,
    a: &[T],
    at: Strides,
    outputs: usize,
    rows: usize,
    taps: usize,
    packed: &mut [T],
) {
    let mut first = 0;
    let mut to = packed.iter_mut();
    for height in heights(outputs, T::panel_rows(isa)) {
        for row in 0..rows {
            for tap in 0..taps {
                let from = at.start + first * at.output + row * at.row;
                let from = from.wrapping_add_signed(tap as isize * at.tap);
                for (m, to) in to.by_ref().take(height).enumerate() {
                    *to = a[from + m * at.output];
                }
            }
        }
        first += height;
    }
}

impl<T: Real> Panel<'_, T> {
    /// Checks that every access of the kernel is inside its slices, and runs it.
    pub fn run(mut self, isa: Isa) {
        if self.outputs == 0 || self.columns == 0 {
            return;
        }
        assert!(self.rows > 0 && self.taps > 0);
        assert!(self.packed.len() >= self.outputs * self.rows * self.taps);
        let reach = (self.rows - 1) * self.ld + self.taps - 1 + self.columns.next_multiple_of(SLACK);
        assert!(self.b.len() >= reach, "panel reads {reach} of {} elements", self.b.len());
        assert!(self.out.len() >= (self.outputs - 1) * self.ld_out + self.columns);
        assert!(self.bias.is_none_or(|b| b.len() >= self.outputs));
        T::panel(isa, &mut self);
    }
}

impl<T: Real> DotProducts<'_, T> {
    /// Checks that every access of the kernel is inside its slices, and runs it.
    pub fn run(mut self, isa: Isa) {
        if [self.outputs, self.rows, self.taps, self.items, self.length].contains(&0) {
            return;
        }
        assert!(self.a.len() >= (self.items - 1) * self.a_item + (self.outputs - 1) * self.lda + self.length);
        let shift = (self.taps - 1) * self.step;
        assert!(
            self.b.len() >= (self.items - 1) * self.b_item + (self.rows - 1) * self.ldb + shift + self.length
        );
        assert!(self.out.len() >= (self.outputs - 1) * self.ld_out + self.rows * self.taps);
        T::dots(isa, &mut self);
    }
}

/// One `M` by `V * WIDTH` tile from `column` and output row `first` on.
///
/// # Safety
/// The lanes' instruction set is available; [`Panel::run`] has checked the slices; `first + M <= outputs`,
/// `column < columns`, and `packed` points at the tile's own weights.
#[inline(always)]
unsafe fn tile<T: Real, L: Lanes<T>, const M: usize, const V: usize>(
    call: &mut Panel<'_, T>,
    packed: *const T,
    first: usize,
    column: usize,
) {
    // SAFETY: by the contract above: `b` is read at rows < rows, taps < taps and columns below the next
    // multiple of WIDTH <= SLACK; `packed` advances M per (row, tap); stores stop at `columns`.
    unsafe {
        let mut sums = [[L::splat(T::ZERO); V]; M];
        if let Some(bias) = call.bias {
            for (m, row) in sums.iter_mut().enumerate() {
                *row = [L::splat(*bias.as_ptr().add(first + m)); V];
            }
        }
        let mut weight = packed;
        let mut row_start = call.b.as_ptr().add(column);
        for row in 0..call.rows {
            let mut b = row_start;
            for _ in 0..call.taps {
                let mut x = [L::splat(T::ZERO); V];
                for (v, x) in x.iter_mut().enumerate() {
                    *x = L::load(b.add(v * L::WIDTH));
                }
                for (m, sums) in sums.iter_mut().enumerate() {
                    let w = L::splat(*weight.add(m));
                    for (sum, &x) in sums.iter_mut().zip(&x) {
                        *sum = w.fma(x, *sum);
                    }
                }
                weight = weight.add(M);
                b = b.add(1);
            }
            if row + 1 < call.rows {
                row_start = row_start.add(call.ld);
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            let out = call.out.as_mut_ptr().add((first + m) * call.ld_out + column);
            for (v, sum) in sums.iter().enumerate() {
                let left = call.columns - column - v * L::WIDTH;
                if left >= L::WIDTH {
                    sum.store(out.add(v * L::WIDTH));
                } else {
                    sum.store_part(out.add(v * L::WIDTH), left);
                }
            }
        }
    }
}

/// # Safety
/// The lanes' instruction set is available and [`Panel::run`] has checked the slices.
#[inline(always)]
unsafe fn panel<T: Real, L: Lanes<T>>(call: &mut Panel<'_, T>) {
    let mut column = 0;
    while column < call.columns {
        let vectors = (call.columns - column).div_ceil(L::WIDTH).min(VECTORS);
        let mut first = 0;
        for height in heights(call.outputs, L::ROWS) {
            // SAFETY: tiles before this one take first * rows * taps weights.
            let packed = unsafe { call.packed.as_ptr().add(first * call.rows * call.taps) };
            macro_rules! dispatch {
                ($($m:literal)*) => {
                    // SAFETY: passed on; heights sum to `outputs`.
                    unsafe {
                        match (height, vectors) {
                            $(($m, 1) => tile::<T, L, $m, 1>(call, packed, first, column),
                              ($m, 2) => tile::<T, L, $m, 2>(call, packed, first, column),
                              ($m, _) => tile::<T, L, $m, 3>(call, packed, first, column),)*
                            _ => unreachable!("tiles have 1 to 8 rows"),
                        }
                    }
                };
            }
            if L::ROWS > 4 {
                dispatch!(1 2 3 4 5 6 7 8)
            } else {
                dispatch!(1 2 3 4)
            }
            first += height;
        }
        column += vectors * L::WIDTH;
    }
}

/// # Safety
/// As [`tile`]: output rows `first..first + M` and taps `tap..tap + N` exist.
#[inline(always)]
unsafe fn dot_tile<T: Real, L: Lanes<T>, const M: usize, const N: usize>(
    call: &mut DotProducts<'_, T>,
    first: usize,
    row: usize,
    tap: usize,
) {
    // SAFETY: [`DotProducts::run`] has checked that `length` elements from each of these starts are inside.
    unsafe {
        let mut sums = [[L::splat(T::ZERO); N]; M];
        for item in 0..call.items {
            let a = call.a.as_ptr().add(item * call.a_item + first * call.lda);
            let b = call.b.as_ptr().add(item * call.b_item + row * call.ldb + tap * call.step);
            let mut t = 0;
            while t + L::WIDTH <= call.length {
                let mut x = [L::splat(T::ZERO); M];
                for (m, x) in x.iter_mut().enumerate() {
                    *x = L::load(a.add(m * call.lda + t));
                }
                for n in 0..N {
                    let y = L::load(b.add(n * call.step + t));
                    for (sums, x) in sums.iter_mut().zip(&x) {
                        sums[n] = x.fma(y, sums[n]);
                    }
                }
                t += L::WIDTH;
            }
            let left = call.length - t;
            if left > 0 {
                for n in 0..N {
                    let y = L::load_part(b.add(n * call.step + t), left);
                    for (m, sums) in sums.iter_mut().enumerate() {
                        sums[n] = L::load_part(a.add(m * call.lda + t), left).fma(y, sums[n]);
                    }
                }
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            let out = call.out.as_mut_ptr().add((first + m) * call.ld_out + row * call.taps + tap);
            let (fours, rest) = sums.as_chunks::<4>();
            for (i, four) in fours.iter().enumerate() {
                for (n, sum) in L::sums(*four).into_iter().enumerate() {
                    *out.add(4 * i + n) += sum;
                }
            }
            for (n, sum) in rest.iter().enumerate() {
                *out.add(4 * fours.len() + n) += sum.sum();
            }
        }
    }
}

/// # Safety
/// The lanes' instruction set is available and [`DotProducts::run`] has checked the slices.
#[inline(always)]
unsafe fn dots<T: Real, L: Lanes<T>>(call: &mut DotProducts<'_, T>) {
    let mut first = 0;
    for height in heights(call.outputs, L::DOT_ROWS) {
        for row in 0..call.rows {
            let mut tap = 0;
            for width in heights(call.taps, DOT_TAPS) {
                macro_rules! dispatch {
                    ($($m:literal)*) => {
                        // SAFETY: passed on; heights and widths sum to `outputs` and `taps`.
                        unsafe {
                            match (height, width) {
                                $(($m, 1) => dot_tile::<T, L, $m, 1>(call, first, row, tap),
                                  ($m, 2) => dot_tile::<T, L, $m, 2>(call, first, row, tap),
                                  ($m, 3) => dot_tile::<T, L, $m, 3>(call, first, row, tap),
                                  ($m, 4) => dot_tile::<T, L, $m, 4>(call, first, row, tap),
                                  ($m, 5) => dot_tile::<T, L, $m, 5>(call, first, row, tap),
                                  ($m, _) => dot_tile::<T, L, $m, 6>(call, first, row, tap),)*
                                _ => unreachable!("dot tiles have 1 to 4 rows"),
                            }
                        }
                    };
                }
                if L::DOT_ROWS > 2 {
                    dispatch!(1 2 3 4)
                } else {
                    dispatch!(1 2)
                }
                tap += width;
            }
        }
        first += height;
    }
}

pub(crate) fn portable_rows() -> usize {
    <PortableLanes<f64> as Lanes<f64>>::ROWS
}

pub(crate) fn portable_columns() -> usize {
    <PortableLanes<f64> as Lanes<f64>>::WIDTH * VECTORS
}

pub(crate) fn panel_portable<T: Real>(call: &mut Panel<'_, T>) {
    // SAFETY: plain arrays need no instruction set; the slices were checked by `Panel::run`.
    unsafe { panel::<T, PortableLanes<T>>(call) }
}

pub(crate) fn dots_portable<T: Real>(call: &mut DotProducts<'_, T>) {
    // SAFETY: as above, by `DotProducts::run`.
    unsafe { dots::<T, PortableLanes<T>>(call) }
}

pub(crate) fn f32_rows(isa: Isa) -> usize {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => <super::lanes::x86::Avx512 as Lanes<f32>>::ROWS,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => <super::lanes::x86::Avx2 as Lanes<f32>>::ROWS,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => <super::lanes::arm::Neon as Lanes<f32>>::ROWS,
        _ => portable_rows(),
    }
}

pub(crate) fn f32_columns(isa: Isa) -> usize {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => <super::lanes::x86::Avx512 as Lanes<f32>>::WIDTH * VECTORS,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => <super::lanes::x86::Avx2 as Lanes<f32>>::WIDTH * VECTORS,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => <super::lanes::arm::Neon as Lanes<f32>>::WIDTH * VECTORS,
        _ => portable_columns(),
    }
}

f32_paths! {
    fn panel_f32(call: &mut Panel<'_, f32>) = panel;
    fn dots_f32(call: &mut DotProducts<'_, f32>) = dots;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize, k: f64) -> Vec<f64> {
        (0..n).map(|i| (0.37 * (i as f64 + 1.0) + k).sin()).collect()
    }

    fn narrow(x: &[f64]) -> Vec<f32> {
        x.iter().map(|&x| x as f32).collect()
    }

    /// Every tile height, vector remainder and tap count, each instruction set against plain loops.
    #[test]
    fn every_path_equals_plain_loops() {
        for outputs in [1, 2, 3, 5, 7, 8, 9, 13, 25] {
            for (rows, taps, columns) in
                [(1, 1, 1), (3, 5, 17), (2, 7, 48), (4, 1, 50), (1, 16, 95), (2, 3, 640)]
            {
                let ld = columns + taps - 1;
                let a = wave(outputs * rows * taps, 0.1);
                let mut b = wave(rows * ld, 0.7);
                b.resize(rows * ld + SLACK, 0.0);
                let bias = wave(outputs, 2.0);
                let mut expected = vec![0.0; outputs * columns];
                for m in 0..outputs {
                    for t in 0..columns {
                        expected[m * columns + t] = bias[m]
                            + (0..rows * taps)
                                .map(|p| a[m * rows * taps + p] * b[p / taps * ld + t + p % taps])
                                .sum::<f64>();
                    }
                }
                let at = Strides { start: 0, output: rows * taps, row: taps, tap: 1 };
                for isa in Isa::available() {
                    let (a, b, bias) = (narrow(&a), narrow(&b), narrow(&bias));
                    let mut packed = vec![0.0; a.len()];
                    pack(isa, &a, at, outputs, rows, taps, &mut packed);
                    let mut out = vec![0.0f32; outputs * columns];
                    let (packed, b, bias) = (&packed[..], &b[..], Some(&bias[..]));
                    Panel {
                        packed,
                        outputs,
                        rows,
                        taps,
                        b,
                        ld,
                        columns,
                        out: &mut out,
                        ld_out: columns,
                        bias,
                    }
                    .run(isa);
                    for (x, y) in out.iter().zip(&expected) {
                        assert!(
                            (f64::from(*x) - y).abs() < 2e-5,
                            "{isa:?} {outputs} {rows} {taps} {columns}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_dot_path_equals_plain_loops() {
        for outputs in [1, 2, 3, 4, 6, 9] {
            for (rows, taps, step, length, items) in
                [(1, 1, 1, 1, 1), (2, 5, 1, 37, 3), (3, 7, 1, 16, 2), (1, 10, 64, 33, 1), (2, 16, 1, 100, 2)]
            {
                let ldb = length + (taps - 1) * step;
                let a = wave(items * outputs * length, 0.3);
                let b = wave(items * rows * ldb, 1.1);
                let mut expected = vec![1.0; outputs * rows * taps];
                for m in 0..outputs {
                    for row in 0..rows {
                        for tap in 0..taps {
                            for item in 0..items {
                                for t in 0..length {
                                    expected[(m * rows + row) * taps + tap] += a
                                        [(item * outputs + m) * length + t]
                                        * b[(item * rows + row) * ldb + t + tap * step];
                                }
                            }
                        }
                    }
                }
                for isa in Isa::available() {
                    let (a, b) = (narrow(&a), narrow(&b));
                    let mut out = vec![1.0f32; expected.len()];
                    DotProducts {
                        a: &a,
                        lda: length,
                        a_item: outputs * length,
                        outputs,
                        b: &b,
                        ldb,
                        b_item: rows * ldb,
                        rows,
                        taps,
                        step,
                        length,
                        items,
                        out: &mut out,
                        ld_out: rows * taps,
                    }
                    .run(isa);
                    for (x, y) in out.iter().zip(&expected) {
                        assert!((f64::from(*x) - y).abs() < 5e-5, "{isa:?} {outputs} {rows} {taps} {length}");
                    }
                }
            }
        }
    }
}
