//! Convolution along time (a cross-correlation, no kernel flip), stride 1, with groups.
//!
//!   x `[B, C, T]`, weight `[O, C / groups, K]`, bias `[O]`  ->  `[B, O, T + left + right - K + 1]`
//!
//! No im2col: a sample is copied once into a row-padded scratch that stays in the second-level cache, and the
//! product kernels read it at shifted places. Kernels of 5 and 7 between wide layers, in f32, take Winograd's way with 2.5 and
//! 1.75 times fewer multiplications (see [`winograd`]).

mod tensor;

use std::ops::Range;

use super::{Backward, Call, Operation};
use crate::cpu::{Cpu, Isa, scratch};
use crate::cuda::{Emit, Precision};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::product::{Dots, Panel, SLACK, Strides, heights, pack};
use crate::kernels::winograd::{self, Form, POINTS, Transform};
use crate::real::Real;

/// Zeros added in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// None: the result is `K - 1` samples shorter.
    Valid,
    /// As many samples as before: `floor((K - 1) / 2)` zeros on the left, the rest on the right.
    Same,
    /// So many.
    Zeros {
        /// Before the first sample.
        left: usize,
        /// After the last.
        right: usize,
    },
}

impl Padding {
    pub(crate) fn sides(self, taps: usize) -> (usize, usize) {
        match self {
            Padding::Valid => (0, 0),
            Padding::Same => ((taps - 1) / 2, taps / 2),
            Padding::Zeros { left, right } => (left, right),
        }
    }
}

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conv1d {
    pub(crate) groups: usize,
    pub(crate) left: usize,
    pub(crate) right: usize,
}

/// `(grad [B, O, T'], weight) -> [B, C, T]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvInput {
    conv: Conv1d,
}

/// `(grad [B, O, T'], x [B, C, T]) -> [O, C / groups, K]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvWeight {
    conv: Conv1d,
    taps: usize,
}

impl Graph {
    /// Convolution along time.
    ///
    /// # Shapes
    /// x `[B, C, T]`, weight `[O, C / groups, K]`, bias `[O]` -> `[B, O, T']`
    pub fn conv1d(
        &mut self,
        x: Id,
        weight: Id,
        bias: Option<Id>,
        groups: usize,
        padding: Padding,
    ) -> Result<Id> {
        let taps = self.shape(weight).last().copied().unwrap_or(1);
        let (left, right) = padding.sides(taps);
        let inputs: Vec<Id> = [x, weight].into_iter().chain(bias).collect();
        self.apply(Conv1d { groups, left, right }, &inputs)
    }
}

/// A signal `[batch, groups * rows, time]`, zeros added, filtered to `[batch, groups * outputs, places]`: a convolution,
/// or the gradient of its input.
struct Filter {
    batch: usize,
    groups: usize,
    rows: usize,
    outputs: usize,
    taps: usize,
    left: usize,
    right: usize,
    time: usize,
    places: usize,
}

/// Tiles one Winograd product takes at a time: three vectors of the widest instruction set.
const TILES: usize = 48;
/// Distance between rows of such a product, with room for a last vector.
const TILES_LD: usize = 64;

/// A row length that is a whole number of cache lines and does not map all rows to one cache set.
fn row_stride(length: usize) -> usize {
    let lines = length.div_ceil(16);
    if lines.is_multiple_of(16) { (lines + 1) * 16 } else { lines * 16 }
}

/// Copies rows of `length` into rows of `ld`, with `left` zeros before and `right` after.
fn pad_rows<T: Real>(from: &[T], length: usize, left: usize, right: usize, ld: usize, to: &mut [T]) {
    for (from, to) in from.chunks_exact(length).zip(to.chunks_mut(ld)) {
        to[..left].fill(T::ZERO);
        to[left..left + length].copy_from_slice(from);
        to[left + length..left + length + right].fill(T::ZERO);
    }
}

impl Filter {
    fn work(&self) -> usize {
        self.batch * self.groups * self.outputs * self.rows * self.taps * self.places
    }

    /// Winograd's form, where it is used. It pays where the transforms are shared by many rows; f64 is for golden numbers.
    fn winograd_form<T>(&self) -> Option<Form> {
        if size_of::<T>() == 4 { self.winograd_fits() } else { None }
    }

    fn winograd_fits(&self) -> Option<Form> {
        let form = Form::of(self.taps)?;
        // Seven taps save less, so they want more rows to share the transforms.
        let least = if form == Form::Five { 16 } else { 32 };
        let wide = self.groups == 1 && self.rows.min(self.outputs) >= least;
        (wide && self.places >= 16).then_some(form)
    }

    fn workspace(&self) -> usize {
        let per_pair = if self.winograd_fits().is_some() { POINTS } else { self.taps };
        self.groups * self.outputs * self.rows * per_pair
    }

    /// Lays weights out as `apply` wants them. `weight[o, row, tap]` of the first group stands at `at`; groups follow each
    /// other.
    fn pack<T: Real>(&self, isa: Isa, weight: &[T], at: Strides, packed: &mut [T]) {
        if self.winograd_form::<T>().is_some() {
            return pack_points(isa, weight, at, self, packed);
        }
        let per_group = self.outputs * self.rows * self.taps;
        for (g, packed) in packed.chunks_exact_mut(per_group).take(self.groups).enumerate() {
            let at = Strides { start: at.start + g * per_group, ..at };
            pack(isa, weight, at, self.outputs, self.rows, self.taps, packed);
        }
    }

    fn apply<T: Real>(&self, cpu: &Cpu, signal: &[T], packed: &[T], bias: Option<&[T]>, out: &mut [T]) {
        match self.winograd_form::<T>() {
            Some(form) => self.winograd(form, cpu, signal, packed, bias, out),
            None => self.direct(cpu, signal, packed, bias, out),
        }
    }

    fn direct<T: Real>(&self, cpu: &Cpu, signal: &[T], packed: &[T], bias: Option<&[T]>, out: &mut [T]) {
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

    fn winograd<T: Real>(
        &self,
        form: Form,
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
}

/// How a GPU's blocks divide a convolution.
struct Blocks {
    /// Outputs of 8 places that a thread makes.
    each: usize,
    /// Threads of a block over outputs, and over places.
    over_outputs: usize,
    over_places: usize,
    /// Rows that a block takes at a time.
    chunk: usize,
}

impl Filter {
    fn blocks(&self) -> Blocks {
        let Filter { rows, outputs, taps, places, .. } = *self;
        let each = if outputs >= 3 { 4 } else { outputs };
        let all = outputs.div_ceil(each);
        let most = if all >= 8 { 128 } else { 512 };
        let over_places = places.div_ceil(places.div_ceil(most)).div_ceil(8);
        let most = (256 / over_places).clamp(1, 32);
        let over_outputs = all.div_ceil(all.div_ceil(most));
        // Rows that fit 40 KiB of a block's memory together with their weights.
        let row = over_places * 8 + taps + 8 + taps * each * over_outputs;
        Blocks { each, over_outputs, over_places, chunk: (10_240 / row).clamp(1, 8).min(rows) }
    }

    /// Numbers of the weights as the blocks read them.
    fn cuda_weights(&self) -> usize {
        let Blocks { each, over_outputs, chunk, .. } = self.blocks();
        let tile = each * over_outputs;
        self.groups * self.outputs.div_ceil(tile) * self.rows.next_multiple_of(chunk) * self.taps * tile
    }

    fn cuda_workspace(&self, precision: Precision) -> usize {
        let on_tensor_cores = precision.operand().and_then(|operand| Some((operand, self.tiles(operand)?)));
        on_tensor_cores
            .map_or_else(|| self.cuda_weights(), |(operand, tiles)| self.tensor_weights(operand, &tiles))
    }

    fn cuda(&self, at: &mut Emit<'_>, backwards: bool) {
        if let Some(operand) = at.precision.operand()
            && let Some(tiles) = self.tiles(operand)
        {
            return self.tensor(at, operand, &tiles, backwards);
        }
        let Filter { batch, groups, rows, outputs, taps, left, time, places, .. } = *self;
        let Blocks { each, over_outputs, over_places, chunk } = self.blocks();
        let (tile, all_rows, n) = (each * over_outputs, rows.next_multiple_of(chunk), self.cuda_weights());
        let tiles = outputs.div_ceil(tile);
        let sizes = format!("{n}, {rows}, {all_rows}, {outputs}, {tiles}, {tile}, {taps}, {backwards}");
        at.aside(n, n, format!("conv_weights(at, {}, {}, {sizes})", at.inputs[1], at.work));
        let sizes = format!(
            "{groups}, {rows}, {outputs}, {taps}, {left}, {time}, {places}, {each}, {over_outputs}, {over_places}, {chunk}"
        );
        let bias = at.inputs.get(2).map_or("nullptr", |bias| bias);
        let call = format!("conv<{sizes}>({}, {}, {bias}, {})", at.inputs[0], at.work, at.out);
        at.grid(batch * groups * tiles * places.div_ceil(over_places * 8), over_outputs * over_places, call);
    }

    /// Rows that a thread takes of the weight gradient.
    fn weight_rows(&self) -> usize {
        if self.taps <= 8 && self.rows > 16 { 2 } else { 1 }
    }

    fn weight_tiles(&self) -> usize {
        self.groups * self.outputs.div_ceil(32) * self.rows.div_ceil(16 * self.weight_rows())
    }

    /// Whether tiles of 32 outputs and some rows are worth it.
    fn weight_fills(&self) -> bool {
        self.taps <= 16 && self.outputs >= 8 && self.rows >= 8
    }

    /// Parts of the batch whose weight gradients are summed by themselves.
    fn weight_parts(&self, precision: Precision) -> usize {
        if let Some(tiles) = precision.operand().and_then(|operand| self.weight_tensor_tiles(operand)) {
            return tiles.parts;
        }
        if !self.weight_fills() {
            // A warp for each weight and part; a warp with little to do is not worth a place to write to.
            let weights = self.groups * self.outputs * self.rows * self.taps;
            let enough = (self.work() / weights).div_ceil(1 << 11);
            return (4096 / weights).clamp(1, self.batch.min(enough).max(1));
        }
        (128 / self.weight_tiles()).clamp(1, self.batch)
    }
}

/// Weights at Winograd's points, each point packed for its product.
fn pack_points<T: Real>(isa: Isa, weight: &[T], at: Strides, filter: &Filter, packed: &mut [T]) {
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

impl Conv1d {
    fn filter(&self, x: &[usize], weight: &[usize]) -> Filter {
        Filter {
            batch: x[0],
            groups: self.groups,
            rows: weight[1],
            outputs: weight[0] / self.groups,
            taps: weight[2],
            left: self.left,
            right: self.right,
            time: x[2],
            places: x[2] + self.left + self.right + 1 - weight[2],
        }
    }
}

impl Operation for Conv1d {
    fn name(&self) -> &'static str {
        "conv1d"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let (x, w, bias) = match inputs {
            [x, w] => (*x, *w, None),
            [x, w, b] => (*x, *w, Some(*b)),
            _ => return Err(format!("takes 2 or 3 operands, got {}", inputs.len())),
        };
        if x.len() != 3 || w.len() != 3 {
            return Err(format!("wants an input [B, C, T] and a weight [O, C, K], got {x:?} and {w:?}"));
        }
        let g = self.groups;
        if g == 0 || x[1] % g != 0 || w[0] % g != 0 || w[1] * g != x[1] {
            return Err(format!("input {x:?} and weight {w:?} do not fit {g} groups of channels"));
        }
        if bias.is_some_and(|b| b != [w[0]]) {
            return Err(format!("bias {:?} does not fit weight {w:?}", bias.unwrap_or_default()));
        }
        if self.left >= w[2] || self.right >= w[2] {
            return Err(format!("padding {} + {} is too wide for weight {w:?}", self.left, self.right));
        }
        let padded = x[2] + self.left + self.right;
        if padded < w[2] {
            return Err(format!(
                "input {x:?} has {} samples{}, the kernel {w:?} needs {}",
                x[2],
                if padded > x[2] { format!(" ({padded} padded)") } else { String::new() },
                w[2]
            ));
        }
        Ok(vec![x[0], w[0], padded + 1 - w[2]])
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let (x, w) = (at.inputs[0], at.inputs[1]);
        let mut grads = vec![None; at.inputs.len()];
        if at.wanted[1] {
            let taps = at.graph.shape(w)[2];
            grads[1] = Some(at.graph.apply(ConvWeight { conv: *self, taps }, &[at.grad, x])?);
        }
        if at.wanted.get(2) == Some(&true) {
            grads[2] = Some(at.graph.sum_axes(at.grad, &[0, 2])?);
        }
        if at.wanted[0] {
            grads[0] = Some(at.graph.apply(ConvInput { conv: *self }, &[at.grad, w])?);
        }
        Ok(grads)
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).workspace()
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.filter(call.shapes[0], call.shapes[1]);
        let at = Strides { start: 0, output: filter.rows * filter.taps, row: filter.taps, tap: 1 };
        let bias = call.inputs.get(2).copied();
        filter.pack(call.cpu.isa, call.inputs[1], at, call.work);
        filter.apply(call.cpu, call.inputs[0], call.work, bias, call.out);
    }

    fn multiply_adds(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).work()
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], _: &[usize], precision: Precision) -> usize {
        self.filter(inputs[0], inputs[1]).cuda_workspace(precision)
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let filter = self.filter(at.shapes[0], at.shapes[1]);
        filter.cuda(at, false);
    }
}

/// A convolution whose weights are laid out beforehand; made by [`prepack`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packed {
    conv: Conv1d,
    x: [usize; 3],
    weight: [usize; 3],
}

/// `weight -> packed`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackConv(Packed);

/// `(x, packed, bias) -> as `[`Conv1d`]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedConv(Packed);

/// The two steps of a convolution that is only ever applied: laying out its weights, which need not be done again while
/// they stay the same, and the rest.
pub(crate) fn prepack(conv: Conv1d, x: &[usize], weight: &[usize]) -> Option<(PackConv, PackedConv)> {
    let packed = Packed { conv, x: x.try_into().ok()?, weight: weight.try_into().ok()? };
    Some((PackConv(packed), PackedConv(packed)))
}

impl Operation for PackConv {
    fn name(&self) -> &'static str {
        "conv1d weights"
    }

    fn shape(&self, _: &[&[usize]]) -> Result<Vec<usize>, String> {
        Ok(vec![self.0.conv.filter(&self.0.x, &self.0.weight).workspace()])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.0.conv.filter(&self.0.x, &self.0.weight);
        let at = Strides { start: 0, output: filter.rows * filter.taps, row: filter.taps, tap: 1 };
        filter.pack(call.cpu.isa, call.inputs[0], at, call.out);
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("weights are laid out for the CPU only, got {}", at.length())
    }
}

impl Operation for PackedConv {
    fn name(&self) -> &'static str {
        "conv1d"
    }

    fn shape(&self, _: &[&[usize]]) -> Result<Vec<usize>, String> {
        let filter = self.0.conv.filter(&self.0.x, &self.0.weight);
        Ok(vec![filter.batch, filter.groups * filter.outputs, filter.places])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.0.conv.filter(&self.0.x, &self.0.weight);
        filter.apply(call.cpu, call.inputs[0], call.inputs[1], call.inputs.get(2).copied(), call.out);
    }

    fn multiply_adds(&self, _: &[&[usize]], _: &[usize]) -> usize {
        self.0.conv.filter(&self.0.x, &self.0.weight).work()
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("weights are laid out for the CPU only, got {}", at.length())
    }
}

impl ConvInput {
    /// The gradient runs backwards through the same weights: flipped in time, outputs and rows exchanged.
    fn filter(&self, grad: &[usize], weight: &[usize]) -> Filter {
        let groups = self.conv.groups;
        let (left, right) = (weight[2] - 1 - self.conv.left, weight[2] - 1 - self.conv.right);
        Filter {
            batch: grad[0],
            groups,
            rows: weight[0] / groups,
            outputs: weight[1],
            taps: weight[2],
            left,
            right,
            time: grad[2],
            places: grad[2] + left + right + 1 - weight[2],
        }
    }
}

impl Operation for ConvInput {
    fn name(&self) -> &'static str {
        "conv1d input gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [grad, w] = super::operands(inputs)?;
        let filter = self.filter(grad, w);
        Ok(vec![grad[0], w[1] * self.conv.groups, filter.places])
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).workspace()
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.filter(call.shapes[0], call.shapes[1]);
        let (taps, outputs) = (filter.taps, filter.outputs);
        let at = Strides { start: taps - 1, output: taps, row: outputs * taps, tap: -1 };
        filter.pack(call.cpu.isa, call.inputs[1], at, call.work);
        filter.apply(call.cpu, call.inputs[0], call.work, None, call.out);
    }

    fn multiply_adds(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        self.filter(inputs[0], inputs[1]).work()
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], _: &[usize], precision: Precision) -> usize {
        self.filter(inputs[0], inputs[1]).cuda_workspace(precision)
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let filter = self.filter(at.shapes[0], at.shapes[1]);
        filter.cuda(at, true);
    }
}

impl ConvWeight {
    /// Samples are summed in this many parts, whatever the number of threads, and the parts in order.
    fn parts(&self, f: &Filter) -> usize {
        if f.work() < 1 << 18 { 1 } else { f.batch.min(8) }
    }
}

/// The gradient of a filter's weights.
impl Filter {
    /// The part of the weight gradient that a range of samples makes, by direct sums.
    fn weight_direct<T: Real>(&self, isa: Isa, grad: &[T], x: &[T], samples: Range<usize>, out: &mut [T]) {
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
                    Dots {
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

    /// The same at Winograd's points: `[8, O, C]`.
    fn weight_winograd<T: Real>(
        &self,
        form: Form,
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
                    Dots {
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

impl Operation for ConvWeight {
    fn name(&self) -> &'static str {
        "conv1d weight gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [grad, x] = super::operands(inputs)?;
        Ok(vec![grad[1], x[1] / self.conv.groups, self.taps])
    }

    fn workspace(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
        let filter = self.conv.filter(inputs[1], output);
        self.parts(&filter) * filter.workspace()
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let f = self.conv.filter(call.shapes[1], call.shape);
        let (grad, x, isa) = (call.inputs[0], call.inputs[1], call.cpu.isa);
        let form = f.winograd_form::<T>();
        let parts = self.parts(&f);
        let size = if form.is_some() { POINTS * f.outputs * f.rows } else { call.out.len() };
        let work = &mut call.work[..parts * size];
        call.cpu.pieces(work, size, f.work(), |p, out| {
            let samples = p * f.batch / parts..(p + 1) * f.batch / parts;
            out.fill(T::ZERO);
            match form {
                Some(form) => f.weight_winograd(form, isa, grad, x, samples, out),
                None => f.weight_direct(isa, grad, x, samples, out),
            }
        });
        let work = &*work;
        let at = |i: usize| work[i..].iter().step_by(size).fold(T::ZERO, |sum, &p| sum + p);
        const PIECE: usize = 1024;
        if form.is_some() {
            let (table, pairs) = (winograd::table::<T>(f.taps), f.outputs * f.rows);
            call.cpu.pieces(call.out, f.taps * PIECE, parts * size, |piece, out| {
                for (i, out) in out.chunks_exact_mut(f.taps).enumerate() {
                    let points: [T; POINTS] = std::array::from_fn(|j| at(j * pairs + piece * PIECE + i));
                    for (k, out) in out.iter_mut().enumerate() {
                        *out = (0..POINTS).fold(T::ZERO, |sum, j| sum + table[j][k] * points[j]);
                    }
                }
            });
        } else {
            call.cpu.pieces(call.out, PIECE, parts * size, |piece, out| {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = at(piece * PIECE + i);
                }
            });
        }
    }

    fn multiply_adds(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
        self.conv.filter(inputs[1], output).work()
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], precision: Precision) -> usize {
        let filter = self.conv.filter(inputs[1], output);
        let parts = filter.weight_parts(precision);
        if parts > 1 { parts * output.iter().product::<usize>() } else { 0 }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let f = self.conv.filter(at.shapes[1], at.shape);
        let (n, operands) = (at.length(), at.arguments());
        let Filter { batch, groups, rows, outputs, taps, left, time, places, .. } = f;
        let parts = f.weight_parts(at.precision);
        let each = f.weight_rows();
        let out = if parts > 1 { at.work } else { at.out };
        let sizes = format!(
            "{batch}, {groups}, {rows}, {outputs}, {taps}, {left}, {time}, {places}, {parts}, {each}"
        );
        if let Some(operand) = at.precision.operand()
            && let Some(tiles) = f.weight_tensor_tiles(operand)
        {
            f.weight_tensor(at, operand, &tiles);
        } else if f.weight_fills() {
            at.grid(f.weight_tiles() * parts, 128, format!("conv_weight<{sizes}>({operands}, {out})"));
        } else {
            let sizes =
                format!("{batch}, {groups}, {rows}, {outputs}, {taps}, {left}, {time}, {places}, {parts}");
            at.each(32 * n * parts, f.work(), format!("conv_weight_rows(at, {operands}, {out}, {sizes})"));
        }
        if parts > 1 {
            at.aside(n, n * parts, format!("sum_parts(at, {}, {}, {n}, {parts})", at.work, at.out));
        }
    }
}
