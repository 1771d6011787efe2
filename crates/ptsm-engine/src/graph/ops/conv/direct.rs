//! Convolution on the CPU by the plain definition: the product kernels read a padded copy of the signal at shifted places.

use std::ops::Range;

use super::filter::{Filter, pad_rows, row_stride};
use crate::cpu::{Cpu, scratch};
use crate::kernels::product::{DotProducts, Panel, SLACK};
use crate::kernels::{Isa, Real};

impl Filter {
    pub(super) fn direct<T: Real>(
        &self,
        cpu: &Cpu,
        signal: &[T],
        packed: &[T],
        bias: Option<&[T]>,
        out: &mut [T],
    ) {
        let Filter { rows, outputs, taps, places, .. } = *self;
        let (isa, per_group) = (cpu.isa, outputs * rows * taps);
        let ld = row_stride(self.time + self.left + self.right);
        let sample = self.groups * rows * self.time;
        cpu.pieces(out, self.groups * outputs * places, self.work(), |b, out| {
            scratch(self.groups * rows * ld + SLACK, |padded| {
                pad_rows(&signal[b * sample..][..sample], self.time, self.left, self.right, ld, padded);
                for (g, out) in out.chunks_exact_mut(outputs * places).enumerate() {
                    Panel {
                        packed: &packed[g * per_group..][..per_group],
                        outputs,
                        rows,
                        taps,
                        b: &padded[g * rows * ld..],
                        ld,
                        columns: places,
                        out,
                        ld_out: places,
                        bias: bias.map(|b| &b[g * outputs..][..outputs]),
                    }
                    .run(isa);
                }
            });
        });
    }

    /// The part of the weight gradient that a range of samples makes, by direct sums.
    pub(super) fn weight_direct<T: Real>(
        &self,
        isa: Isa,
        grad: &[T],
        x: &[T],
        samples: Range<usize>,
        out: &mut [T],
    ) {
        let Filter { rows, outputs, places, .. } = *self;
        let (channels, all) = (self.groups * rows, self.groups * outputs);
        let ld = row_stride(self.time + self.left + self.right);
        // Two samples at a time halve the horizontal sums; more would not fit the second-level cache.
        let together = if channels * ld * size_of::<T>() <= 192 << 10 { 2 } else { 1 };
        scratch(together * channels * ld, |padded| {
            let mut first = samples.start;
            while first < samples.end {
                let items = together.min(samples.end - first);
                for (i, padded) in padded.chunks_mut(channels * ld).take(items).enumerate() {
                    let x = &x[(first + i) * channels * self.time..][..channels * self.time];
                    pad_rows(x, self.time, self.left, self.right, ld, padded);
                }
                for (g, out) in out.chunks_exact_mut(outputs * rows * self.taps).enumerate() {
                    DotProducts {
                        a: &grad[(first * all + g * outputs) * places..],
                        lda: places,
                        a_item: all * places,
                        outputs,
                        b: &padded[g * rows * ld..],
                        ldb: ld,
                        b_item: channels * ld,
                        rows,
                        taps: self.taps,
                        step: 1,
                        length: places,
                        items,
                        out,
                        ld_out: rows * self.taps,
                    }
                    .run(isa);
                }
                first += items;
            }
        });
    }
}
