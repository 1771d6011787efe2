//! A convolution in the terms of its kernels: sizes, the way it is computed, the layout of its weights.

use super::winograd::pack_points;
use crate::cpu::Cpu;
use crate::kernels::product::{Strides, pack};
use crate::kernels::winograd::{POINTS, WinogradForm};
use crate::kernels::{Isa, Real};

/// A signal `[batch, groups * rows, time]`, zeros added, filtered to `[batch, groups * outputs, places]`: a convolution,
/// or the gradient of its input.
pub(super) struct Filter {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) rows: usize,
    pub(super) outputs: usize,
    pub(super) taps: usize,
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) time: usize,
    pub(super) places: usize,
}

/// A row length that is a whole number of cache lines and does not map all rows to one cache set.
pub(super) fn row_stride(length: usize) -> usize {
    let lines = length.div_ceil(16);
    if lines.is_multiple_of(16) { (lines + 1) * 16 } else { lines * 16 }
}

/// Copies rows of `length` into rows of `ld`, with `left` zeros before and `right` after.
pub(super) fn pad_rows<T: Real>(
    from: &[T],
    length: usize,
    left: usize,
    right: usize,
    ld: usize,
    to: &mut [T],
) {
    for (from, to) in from.chunks_exact(length).zip(to.chunks_mut(ld)) {
        to[..left].fill(T::ZERO);
        to[left..left + length].copy_from_slice(from);
        to[left + length..left + length + right].fill(T::ZERO);
    }
}

impl Filter {
    pub(super) fn work(&self) -> usize {
        self.batch * self.groups * self.outputs * self.rows * self.taps * self.places
    }

    /// Winograd's form, where it is used. It pays where the transforms are shared by many rows; f64 is for golden numbers.
    pub(super) fn winograd_form<T>(&self) -> Option<WinogradForm> {
        if size_of::<T>() == 4 { self.winograd_fits() } else { None }
    }

    pub(super) fn winograd_fits(&self) -> Option<WinogradForm> {
        let form = WinogradForm::of(self.taps)?;
        // Seven taps save less, so they want more rows to share the transforms.
        let least = if form == WinogradForm::Five { 16 } else { 32 };
        let wide = self.groups == 1 && self.rows.min(self.outputs) >= least;
        (wide && self.places >= 16).then_some(form)
    }

    pub(super) fn workspace(&self) -> usize {
        let per_pair = if self.winograd_fits().is_some() { POINTS } else { self.taps };
        self.groups * self.outputs * self.rows * per_pair
    }

    /// Lays weights out as `apply` wants them. `weight[o, row, tap]` of the first group stands at `at`; groups follow each
    /// other.
    pub(super) fn pack<T: Real>(&self, isa: Isa, weight: &[T], at: Strides, packed: &mut [T]) {
        if self.winograd_form::<T>().is_some() {
            return pack_points(isa, weight, at, self, packed);
        }
        let per_group = self.outputs * self.rows * self.taps;
        for (g, packed) in packed.chunks_exact_mut(per_group).take(self.groups).enumerate() {
            let at = Strides { start: at.start + g * per_group, ..at };
            pack(isa, weight, at, self.outputs, self.rows, self.taps, packed);
        }
    }

    pub(super) fn apply<T: Real>(
        &self,
        cpu: &Cpu,
        signal: &[T],
        packed: &[T],
        bias: Option<&[T]>,
        out: &mut [T],
    ) {
        match self.winograd_form::<T>() {
            Some(form) => self.winograd(form, cpu, signal, packed, bias, out),
            None => self.direct(cpu, signal, packed, bias, out),
        }
    }
}
