//! How a GPU's tensor cores divide a convolution.
//!
//! A warp multiplies 16 rows by 8 columns at a time, over 8 words of the inner axis. How many of these a warp holds and how many warps a
//! block has is searched for: the least sum of all reads and products, edges that are computed for nothing included.

use super::filter::Filter;
use crate::codegen::Emit;
use crate::codegen::Operand;

/// Fewer multiplications than these are not worth it.
const LEAST: usize = 1 << 18;
/// Words of a block's memory, at most: 40 KiB, so that five blocks fit a multiprocessor.
const SHARED: usize = 10_240;
/// About as many as a large GPU has.
const MULTIPROCESSORS: usize = 128;
/// Warps of a block, at most.
const WARPS: usize = 8;
/// Sums of 16 x 8 that a warp holds, at most: 64 registers of each lane.
const SUMS: usize = 16;

/// Numbers of 16 rows and of 8 columns that a warp may hold.
fn holds() -> impl Iterator<Item = (usize, usize)> {
    [1, 2, 4]
        .into_iter()
        .flat_map(|rows| (1..=8).map(move |columns| (rows, columns)))
        .filter(|(r, c)| r * c <= SUMS)
}

/// What a warp's part of a product over 8 words costs, in thirds of a cycle: reading operands takes a cycle for each 32 words, a product a little
/// more than one and a half.
fn product(sixteens: usize, eights: usize) -> usize {
    (3 * (4 * sixteens + 2 * eights)).max(5 * sixteens * eights)
}

/// What rounding so many words on the way to shared memory costs, in the same unit.
fn staging(words: usize) -> usize {
    words / 2
}

/// What a block of so many warps takes longer, because there are few others to work while one waits.
fn waiting(cost: usize, warps: usize) -> usize {
    cost * (warps + 4) / warps
}

/// The least distance of rows that is `rest` more than a multiple of `of`, as in the kernels.
fn apart(least: usize, of: usize, rest: usize) -> usize {
    (least.max(rest) - rest).next_multiple_of(of) + rest
}

/// The division of a convolution, or of its input's gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tiles {
    /// Groups of 16 outputs and of 8 places that a warp makes.
    sixteens: usize,
    eights: usize,
    /// Warps of a block over outputs, and over places.
    over_outputs: usize,
    over_places: usize,
}

impl Tiles {
    fn outputs(&self) -> usize {
        16 * self.sixteens * self.over_outputs
    }

    fn places(&self) -> usize {
        8 * self.eights * self.over_places
    }
}

/// The division of a weight gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WeightTiles {
    /// Groups of 16 outputs of a block.
    sixteens: usize,
    /// Products of 8 rows and a tap that a warp makes.
    eights: usize,
    /// Groups of 8 rows of a block.
    rows: usize,
    warps: usize,
    /// Places that are taken at a time.
    step: usize,
    /// Parts of the batch that are summed by themselves.
    pub(super) parts: usize,
}

impl Filter {
    /// Whether there is enough to fill the products of a warp.
    fn fills(&self) -> bool {
        self.rows.min(self.outputs).min(self.places) >= 8
            && self.rows * self.taps >= 32
            && self.work() >= LEAST
    }

    /// None where tensor cores do not pay.
    pub(super) fn tiles(&self, operand: Operand) -> Option<Tiles> {
        if !self.fills() {
            return None;
        }
        let warps = (1..=WARPS).flat_map(|o| (1..=WARPS / o).map(move |p| (o, p)));
        let all = warps.flat_map(|(over_outputs, over_places)| {
            holds().map(move |(sixteens, eights)| Tiles { sixteens, eights, over_outputs, over_places })
        });
        let cost = |tiles: &Tiles| {
            let (outputs, width) = (tiles.outputs(), tiles.places() + self.taps - 1);
            let weights = 8 * self.taps * outputs;
            if 8 * apart(width, 16, 8) + weights > SHARED {
                return None;
            }
            let blocks = self.outputs.div_ceil(outputs) * self.places.div_ceil(tiles.places());
            let warps = tiles.over_outputs * tiles.over_places;
            let products = self.taps * warps * product(tiles.sixteens, tiles.eights);
            // Weights are copied four words at a time.
            let staging = staging(8 * width * operand.numbers) + staging(weights / 4);
            let cost = waiting(blocks * (products + staging), warps);
            // A single replica should reach every multiprocessor.
            Some(if self.batch * self.groups * blocks < MULTIPROCESSORS { cost * 5 / 4 } else { cost })
        };
        all.filter_map(|tiles| Some((cost(&tiles)?, tiles)))
            .min_by_key(|(cost, _)| *cost)
            .map(|(_, tiles)| tiles)
    }

    /// Groups of 8 words of rows.
    fn chunks(&self, operand: Operand) -> usize {
        self.rows.div_ceil(8 * operand.numbers)
    }

    /// Words of the weights as the blocks read them.
    pub(super) fn tensor_weights(&self, operand: Operand, tiles: &Tiles) -> usize {
        let outputs = self.outputs.next_multiple_of(tiles.outputs());
        self.groups * outputs * self.chunks(operand) * 8 * self.taps
    }

    pub(super) fn tensor(&self, at: &mut Emit<'_>, operand: Operand, tiles: &Tiles, backwards: bool) {
        let Filter { batch, groups, rows, outputs, taps, left, time, places, .. } = *self;
        let Tiles { sixteens, eights, over_outputs, over_places } = *tiles;
        let (n, chunks, name) = (self.tensor_weights(operand, tiles), self.chunks(operand), operand.name);
        let (over, each) = (outputs.div_ceil(tiles.outputs()), sixteens * over_outputs);
        let sizes = format!("{n}, {rows}, {chunks}, {outputs}, {over}, {each}, {taps}, {backwards}");
        let words = format!("(word *){}", at.work);
        at.aside(n, n, format!("tensor_weights<{name}>(at, {}, {words}, {sizes})", at.inputs[1]));
        let sizes = format!(
            "{name}, {groups}, {rows}, {outputs}, {taps}, {left}, {time}, {places}, {sixteens}, {eights}, {over_outputs}, {over_places}"
        );
        let bias = at.inputs.get(2).map_or("nullptr", |bias| bias);
        let call = format!("tensor_conv<{sizes}>({}, {words}, {bias}, {})", at.inputs[0], at.out);
        let blocks = batch * groups * over * places.div_ceil(tiles.places());
        at.grid(blocks, 32 * over_outputs * over_places, call);
    }

    /// None where tensor cores do not pay.
    pub(super) fn weight_tensor_tiles(&self, operand: Operand) -> Option<WeightTiles> {
        if !self.fills() {
            return None;
        }
        let Filter { batch, groups, rows, outputs, taps, places, .. } = *self;
        let step = places.div_ceil(places.div_ceil(96)).next_multiple_of(8 * operand.numbers);
        let span = step + taps - 1;
        let all = (1..=rows.div_ceil(8).min(16)).flat_map(|tile| holds().map(move |held| (tile, held)));
        let found = all.filter_map(|(tile, (sixteens, eights))| {
            let warps = (tile * taps).div_ceil(eights);
            let gradient = 16 * sixteens * apart(step / operand.numbers, 8, 4);
            let signal = 8 * tile * apart(span.div_ceil(operand.numbers), 8, 4) * operand.numbers;
            if warps > WARPS || gradient + signal > SHARED {
                return None;
            }
            let blocks = outputs.div_ceil(16 * sixteens) * rows.div_ceil(8 * tile);
            let products = warps * (step / (8 * operand.numbers)) * product(sixteens, eights);
            let staging = staging(16 * sixteens * step + 8 * tile * span * operand.numbers);
            let cost = waiting(blocks * (products + staging), warps);
            let parts = (MULTIPROCESSORS / (groups * blocks)).clamp(1, batch);
            Some((cost, WeightTiles { sixteens, eights, rows: tile, warps, step, parts }))
        });
        found.min_by_key(|(cost, _)| *cost).map(|(_, tiles)| tiles)
    }

    pub(super) fn weight_tensor(&self, at: &mut Emit<'_>, operand: Operand, tiles: &WeightTiles) {
        let Filter { batch, groups, rows, outputs, taps, left, time, places, .. } = *self;
        let WeightTiles { sixteens, eights, rows: tile, warps, step, parts } = *tiles;
        let out = if parts > 1 { at.work } else { at.out };
        let sizes = format!(
            "{}, {batch}, {groups}, {rows}, {outputs}, {taps}, {left}, {time}, {places}, {parts}, {step}, {sixteens}, {eights}, {tile}, {warps}",
            operand.name
        );
        let blocks = groups * outputs.div_ceil(16 * sixteens) * rows.div_ceil(8 * tile) * parts;
        let call = format!("tensor_conv_weight<{sizes}>({}, {out})", at.arguments());
        at.grid(blocks, 32 * warps, call);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Conv1d, ConvInput, ConvWeight, Operation};
    use super::*;
    use crate::codegen::{Precision, SlotUses, Work};
    use crate::cost::Cost;

    fn calls(op: &impl Operation, shapes: &[&[usize]], precision: Precision) -> Vec<Work> {
        let inputs: Vec<String> = (0..shapes.len()).map(|i| format!("(m + {i})")).collect();
        let shape = op.shape(shapes).unwrap();
        let mut found = vec![];
        let (out, work) = ("(m + 8)", "(m + 9)");
        op.cuda(&mut Emit {
            shapes,
            shape: &shape,
            inputs: &inputs,
            out,
            work,
            precision,
            kind: "",
            cost: Cost::new::<f32>(0, 0),
            uses: SlotUses::default(),
            found: &mut found,
        });
        found
    }

    /// Names of the functions that a training step of a convolution calls.
    fn names(
        [batch, channels, time, outputs, taps, groups]: [usize; 6],
        precision: Precision,
    ) -> Vec<String> {
        let conv = Conv1d { groups, left: 0, right: 0 };
        let (x, w) = ([batch, channels, time], [outputs, channels / groups, taps]);
        let y = [batch, outputs, time + 1 - taps];
        let mut works = calls(&conv, &[&x, &w], precision);
        works.extend(calls(&ConvInput { conv }, &[&y, &w], precision));
        works.extend(calls(&ConvWeight { conv, taps }, &[&y, &x], precision));
        works.iter().map(|w| w.call.split(['<', '(']).next().unwrap_or_default().to_string()).collect()
    }

    const NETWORKS: [[usize; 6]; 5] = [
        [64, 64, 406, 32, 7, 1],
        [64, 64, 29, 128, 5, 1],
        [64, 62, 1000, 25, 10, 1],
        [64, 100, 32, 200, 10, 1],
        [64, 64, 424, 64, 25, 1],
    ];

    #[test]
    fn large_convolutions_take_tensor_cores_and_f32_never_does() {
        let [forward, weights, gradient] = ["tensor_conv", "tensor_weights", "tensor_conv_weight"];
        for sizes in NETWORKS {
            for precision in [Precision::Tf32, Precision::Bf16] {
                let names = names(sizes, precision);
                assert_eq!(names[..5], [weights, forward, weights, forward, gradient], "{sizes:?}");
            }
            let plain = names(sizes, Precision::F32);
            assert!(plain.iter().all(|name| !name.starts_with("tensor")), "{plain:?}");
        }
        // One row, and next to nothing to do.
        for sizes in [[64, 16, 400, 16, 50, 16], [2, 8, 20, 8, 4, 1]] {
            assert_eq!(names(sizes, Precision::Bf16), names(sizes, Precision::F32));
        }
    }

    #[test]
    fn the_workspace_holds_what_is_written_there() {
        for [batch, channels, time, outputs, taps, groups] in NETWORKS {
            let conv = Conv1d { groups, left: 0, right: 0 };
            let (x, w) = ([batch, channels, time], [outputs, channels / groups, taps]);
            let y = [batch, outputs, time + 1 - taps];
            for precision in [Precision::Tf32, Precision::Bf16] {
                // The number of words is the fourth argument of what lays weights out.
                let first = calls(&conv, &[&x, &w], precision)[0].call.clone();
                let words: usize = first.split(", ").nth(3).unwrap().parse().unwrap();
                assert_eq!(conv.cuda_workspace(&[&x, &w], &y, precision), words);
                let op = ConvWeight { conv, taps };
                let parts = op.cuda_workspace(&[&y, &x], &w, precision) / w.iter().product::<usize>();
                let last = calls(&op, &[&y, &x], precision)[1].call.clone();
                assert!(last.ends_with(&format!(", {parts})")), "{last} {parts}");
            }
        }
    }

    #[test]
    fn blocks_keep_to_their_memory() {
        for [batch, channels, time, outputs, taps, groups] in NETWORKS {
            let conv = Conv1d { groups, left: 0, right: 0 };
            let filter = conv.filter(&[batch, channels, time], &[outputs, channels / groups, taps]);
            for operand in [Precision::Tf32, Precision::Bf16].into_iter().filter_map(Precision::operand) {
                let tiles = filter.tiles(operand).unwrap();
                let words = 8 * apart(tiles.places() + taps - 1, 16, 8) + 8 * taps * tiles.outputs();
                assert!(words <= SHARED && tiles.sixteens * tiles.eights <= SUMS, "{tiles:?}");
                assert!(tiles.over_outputs * tiles.over_places <= WARPS, "{tiles:?}");
                let tiles = filter.weight_tensor_tiles(operand).unwrap();
                assert!(tiles.eights * tiles.warps >= tiles.rows * taps, "{tiles:?}");
                assert!(tiles.step.is_multiple_of(8 * operand.numbers) && tiles.parts <= batch, "{tiles:?}");
            }
        }
    }
}
