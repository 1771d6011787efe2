//! Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, doi:10.1145/2063384.2063405).
//!
//! A number is a pure function of (seed, stream, step, position), so it does not matter who computes
//! it, when, or on which device.

use crate::kernels::rows::RowChange;
use crate::kernels::versions::vectorised;
use crate::kernels::{Isa, Real};

const MULTIPLY: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Philox4x32-10 on `N` counters that differ in their first word only.
#[inline(always)]
fn philox<const N: usize>(mut c: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    for _ in 0..10 {
        let mut out = [[0u32; N]; 4];
        for i in 0..N {
            let a = u64::from(c[0][i]) * u64::from(MULTIPLY[0]);
            let b = u64::from(c[2][i]) * u64::from(MULTIPLY[1]);
            out[0][i] = (b >> 32) as u32 ^ c[1][i] ^ key[0];
            out[1][i] = b as u32;
            out[2][i] = (a >> 32) as u32 ^ c[3][i] ^ key[1];
            out[3][i] = a as u32;
        }
        c = out;
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    c
}

fn key(seed: u64) -> [u32; 2] {
    [seed as u32, (seed >> 32) as u32]
}

/// A uniform number in [0, 1) with 53 bits, for the start values of a tensor. Steps never reach the last counter word used here.
pub(crate) fn uniform(seed: u64, tensor: u32, at: u64) -> f64 {
    let counter = [[at as u32], [(at >> 32) as u32], [tensor], [u32::MAX]];
    let [[a], [b], ..] = philox(counter, key(seed));
    ((u64::from(a) << 21) ^ (u64::from(b) >> 11)) as f64 / (1u64 << 53) as f64
}

/// What a step's random numbers depend on, besides stream and position. Two programs over one graph draw the same numbers in
/// their n-th runs: the masks belong to the network and the step, not to who asks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Draw {
    /// The replica's seed.
    pub(crate) seed: u64,
    /// Which step.
    pub(crate) step: u32,
}

/// The fewest random bits (1, 2, 4, 8 or 16) that decide with probability `p`, and the number of their values that mean
/// yes. Probabilities that are no such fraction are resolved to 2^-16.
fn resolution(p: f64) -> (u32, u32) {
    let exact = |bits: &u32| (p * f64::from(1u32 << bits)).fract() == 0.0;
    let bits = [1, 2, 4, 8].into_iter().find(exact).unwrap_or(16);
    (bits, (p * f64::from(1u32 << bits)).round() as u32)
}

/// The same masks, as CUDA draws them.
pub(crate) fn cuda_drop(p: f64, stream: u32) -> String {
    let (bits, below) = resolution(p);
    format!("Drop{{{stream}u, {bits}, {below}u, {}}}", crate::codegen::number(1.0 / (1.0 - p)))
}

/// Zeroes each value with probability `p` and scales the others by `1 / (1 - p)`.
///
/// 16 neighbouring values fill a vector: value `j` of a row belongs to lane `j % 16` and to group `j / 16`. A Philox call gives
/// each lane 4 words; group `i` takes bits `i / 4 * b ..` of word `i % 4`, so one call serves `128 / b` groups, `b`
/// being the fewest bits that can decide (1 for p = 0.5).
pub(crate) fn drop_row<T: Real>(isa: Isa, draw: Draw, stream: u32, row: u32, p: f64, values: &mut [T]) {
    let (bits, below) = resolution(p);
    let scale = T::of(1.0 / (1.0 - p));
    for (block, values) in values.chunks_mut(16 * 128 / bits as usize).enumerate() {
        let first: [u32; 16] = std::array::from_fn(|lane| (block * 16 + lane) as u32);
        let words = vectorised(
            isa,
            #[inline(always)]
            || philox([first, [row; 16], [stream; 16], [draw.step; 16]], key(draw.seed)),
        );
        RowChange::Drop { words: &words, bits, below, scale }.on(isa, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers published with the Random123 library.
    #[test]
    fn philox_known_answers() {
        let flat = |c: [[u32; 1]; 4]| c.map(|w| w[0]);
        assert_eq!(flat(philox([[0]; 4], [0; 2])), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = u32::MAX;
        assert_eq!(
            flat(philox([[ones]; 4], [ones; 2])),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        let pi = [[0x243f_6a88], [0x85a3_08d3], [0x1319_8a2e], [0x0370_7344]];
        assert_eq!(
            flat(philox(pi, [0xa409_3822, 0x299f_31d0])),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn dropped_share_and_scale_are_right_and_every_path_agrees() {
        let draw = Draw { seed: 7, step: 3 };
        for p in [0.1, 0.25, 0.5, 0.9] {
            let mut reference = vec![1.0f32; 100_003];
            drop_row(Isa::Portable, draw, 1, 5, p, &mut reference);
            let kept = reference.iter().filter(|v| **v != 0.0).count() as f64 / reference.len() as f64;
            assert!((kept - (1.0 - p)).abs() < 0.006, "{p}: {kept}");
            for isa in Isa::available() {
                let mut other = vec![1.0f32; 100_003];
                drop_row(isa, draw, 1, 5, p, &mut other);
                assert_eq!(reference, other);
            }
            let mut wide = vec![1.0f64; 100_003];
            drop_row(Isa::best(), draw, 1, 5, p, &mut wide);
            assert!(wide.iter().zip(&reference).all(|(a, b)| (*a == 0.0) == (*b == 0.0)));
        }
    }

    #[test]
    fn rows_streams_steps_and_seeds_differ() {
        let row = |draw, stream, row| {
            let mut v = vec![1.0f32; 256];
            drop_row(Isa::best(), draw, stream, row, 0.5, &mut v);
            v
        };
        let base = row(Draw { seed: 1, step: 1 }, 1, 1);
        assert_eq!(base, row(Draw { seed: 1, step: 1 }, 1, 1));
        assert_ne!(base, row(Draw { seed: 2, step: 1 }, 1, 1));
        assert_ne!(base, row(Draw { seed: 1, step: 2 }, 1, 1));
        assert_ne!(base, row(Draw { seed: 1, step: 1 }, 2, 1));
        assert_ne!(base, row(Draw { seed: 1, step: 1 }, 1, 2));
    }
}
