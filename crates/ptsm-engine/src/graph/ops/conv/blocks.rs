//! How the blocks of a GPU divide a convolution.

use super::filter::Filter;
use crate::codegen::{Emit, Precision};

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
    pub(super) fn cuda_weights(&self) -> usize {
        let Blocks { each, over_outputs, chunk, .. } = self.blocks();
        let tile = each * over_outputs;
        self.groups * self.outputs.div_ceil(tile) * self.rows.next_multiple_of(chunk) * self.taps * tile
    }

    pub(super) fn cuda_workspace(&self, precision: Precision) -> usize {
        let on_tensor_cores = precision.operand().and_then(|operand| Some((operand, self.tiles(operand)?)));
        on_tensor_cores
            .map_or_else(|| self.cuda_weights(), |(operand, tiles)| self.tensor_weights(operand, &tiles))
    }

    pub(super) fn cuda(&self, at: &mut Emit<'_>, backwards: bool) {
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
    pub(super) fn weight_rows(&self) -> usize {
        if self.taps <= 8 && self.rows > 16 { 2 } else { 1 }
    }

    pub(super) fn weight_tiles(&self) -> usize {
        self.groups * self.outputs.div_ceil(32) * self.rows.div_ceil(16 * self.weight_rows())
    }

    /// Whether tiles of 32 outputs and some rows are worth it.
    pub(super) fn weight_fills(&self) -> bool {
        self.taps <= 16 && self.outputs >= 8 && self.rows >= 8
    }

    /// Parts of the batch whose weight gradients are summed by themselves.
    pub(super) fn weight_parts(&self, precision: Precision) -> usize {
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
