//! Convolution on the CPU by Winograd's minimal filtering, with fewer multiplications than the plain definition.

use std::ops::Range;

use super::filter::{Filter, row_stride};
use crate::cpu::{Cpu, scratch};
use crate::kernels::product::{DotProducts, Panel, Strides, heights};
use crate::kernels::winograd::{self, POINTS, Transform, WinogradForm};
use crate::kernels::{Isa, Real};

/// Tiles one Winograd product takes at a time: three vectors of the widest instruction set.
const TILES: usize = 48;
/// Distance between rows of such a product, with room for a last vector.
const TILES_LD: usize = 64;

impl Filter {
    pub(super) fn winograd<T: Real>(
        &self,
        form: WinogradForm,
        cpu: &Cpu,
        signal: &[T],
        packed: &[T],
        bias: Option<&[T]>,
        out: &mut [T],
    ) {
        let Filter { rows, outputs, places, .. } = *self;
        let (isa, per_point) = (cpu.isa, outputs * rows);
        let (tile, tiles) = (form.tile(), places.div_ceil(form.tile()));
        // Short signals share a product.
        let together = (TILES / tiles).clamp(1, self.batch);
        let phase_ld = (tiles + form.ahead()).next_multiple_of(16) + 16;
        let (sizes, sample) = (
            [rows * tile * phase_ld, POINTS * rows * TILES_LD, POINTS * outputs * TILES_LD],
            rows * self.time,
        );
        cpu.pieces(out, together * outputs * places, self.work(), |piece, out| {
            scratch(sizes.iter().sum::<usize>(), |memory| {
                let (split, memory) = memory.split_at_mut(sizes[0]);
                let (points, memory) = memory.split_at_mut(sizes[1]);
                let product = memory;
                let mut column = 0;
                // (place in `out`, tiles from .. to, first column): one sample's part of a product.
                let mut segments = [(0, 0, 0, 0); TILES];
                let mut count = 0;
                let samples = out.len() / (outputs * places);
                for b in 0..samples {
                    let signal = &signal[(piece * together + b) * sample..][..sample];
                    for (row, split) in
                        signal.chunks_exact(self.time).zip(split.chunks_exact_mut(tile * phase_ld))
                    {
                        winograd::phases(isa, form, row, self.left, tiles + form.ahead(), phase_ld, split);
                    }
                    let mut from = 0;
                    while from < tiles {
                        let to = tiles.min(from + TILES);
                        for (r, split) in split.chunks_exact(tile * phase_ld).enumerate() {
                            let (from_ld, to_ld) = (phase_ld, rows * TILES_LD);
                            let to_points = &mut points[r * TILES_LD + column..];
                            Transform::Signal { from: &split[from..], from_ld, to: to_points, to_ld }.run(
                                isa,
                                form,
                                to - from,
                            );
                        }
                        segments[count] = (b, from, to, column);
                        count += 1;
                        column += to - from;
                        from = to;
                        if tiles < TILES && b + 1 < samples {
                            continue; // more samples fit
                        }
                        for j in 0..POINTS {
                            Panel {
                                packed: &packed[j * per_point..][..per_point],
                                outputs,
                                rows,
                                taps: 1,
                                b: &points[j * rows * TILES_LD..],
                                ld: TILES_LD,
                                columns: column,
                                out: &mut product[j * outputs * TILES_LD..],
                                ld_out: TILES_LD,
                                bias: None,
                            }
                            .run(isa);
                        }
                        for o in 0..outputs {
                            let start = bias.map_or(T::ZERO, |b| b[o]);
                            for &(b, first, last, column) in &segments[..count] {
                                let row = &mut out[(b * outputs + o) * places..][..places];
                                let to = &mut row[first * tile..places.min(last * tile)];
                                let (from, from_ld) = (&product[o * TILES_LD + column..], outputs * TILES_LD);
                                Transform::Output { from, from_ld, to, start }.run(isa, form, last - first);
                            }
                        }
                        (column, count) = (0, 0);
                    }
                }
            });
        });
    }

    /// The same at Winograd's points: `[8, O, C]`.
    pub(super) fn weight_winograd<T: Real>(
        &self,
        form: WinogradForm,
        isa: Isa,
        grad: &[T],
        x: &[T],
        samples: Range<usize>,
        out: &mut [T],
    ) {
        let Filter { rows, outputs, places, time, .. } = *self;
        let (tile, tiles) = (form.tile(), places.div_ceil(form.tile()));
        // Enough tiles that horizontal sums do not count; one point's operands still fit the second-level cache.
        let together = (512 / tiles).clamp(1, samples.len());
        let ld = row_stride(together * tiles + 16);
        let phase_ld = (tiles + form.ahead()).next_multiple_of(16) + 16;
        scratch(POINTS * (rows + outputs) * ld + tile * phase_ld, |memory| {
            let (signal, memory) = memory.split_at_mut(POINTS * rows * ld);
            let (slope, split) = memory.split_at_mut(POINTS * outputs * ld);
            let mut first = samples.start;
            while first < samples.end {
                let items = together.min(samples.end - first);
                for i in 0..items {
                    let x = &x[(first + i) * rows * time..][..rows * time];
                    for (r, x) in x.chunks_exact(time).enumerate() {
                        winograd::phases(isa, form, x, self.left, tiles + form.ahead(), phase_ld, split);
                        let to = &mut signal[r * ld + i * tiles..];
                        Transform::Signal { from: split, from_ld: phase_ld, to, to_ld: rows * ld }
                            .run(isa, form, tiles);
                    }
                    let grad = &grad[(first + i) * outputs * places..][..outputs * places];
                    for (o, grad) in grad.chunks_exact(places).enumerate() {
                        winograd::phases(isa, form, grad, 0, tiles, phase_ld, split);
                        let to = &mut slope[o * ld + i * tiles..];
                        Transform::Gradient { from: split, from_ld: phase_ld, to, to_ld: outputs * ld }
                            .run(isa, form, tiles);
                    }
                }
                for (j, out) in out.chunks_exact_mut(outputs * rows).enumerate() {
                    DotProducts {
                        a: &slope[j * outputs * ld..],
                        lda: ld,
                        a_item: 0,
                        outputs,
                        b: &signal[j * rows * ld..],
                        ldb: 0,
                        b_item: 0,
                        rows: 1,
                        taps: rows,
                        step: ld,
                        length: items * tiles,
                        items: 1,
                        out,
                        ld_out: rows,
                    }
                    .run(isa);
                }
                first += items;
            }
        });
    }
}

/// Weights at Winograd's points, each point packed for its product.
pub(super) fn pack_points<T: Real>(isa: Isa, weight: &[T], at: Strides, filter: &Filter, packed: &mut [T]) {
    let Filter { rows, outputs, taps, .. } = *filter;
    let table = winograd::table::<T>(taps);
    let (mut first, mut to) = (0, 0);
    for height in heights(outputs, T::panel_rows(isa)) {
        for row in 0..rows {
            for o in first..first + height {
                let from = at.start + o * at.output + row * at.row;
                for (j, table) in table.iter().enumerate() {
                    let mut sum = T::ZERO;
                    for (k, &factor) in table.iter().enumerate().take(taps) {
                        sum += factor * weight[from.wrapping_add_signed(k as isize * at.tap)];
                    }
                    packed[j * outputs * rows + to] = sum;
                }
                to += 1;
            }
        }
        first += height;
    }
}
