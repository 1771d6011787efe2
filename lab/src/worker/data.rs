//! Random trials, resident for a whole run, and random batches of them.

use std::f64::consts::TAU;

use crate::protocol::Request;

/// Trials a training run draws from.
pub(super) const TRIALS: usize = 256;

/// Labelled trials.
pub(super) struct Data {
    /// `[N, C, T]`, standard normal.
    pub(super) x: Vec<f32>,
    pub(super) task: Vec<u32>,
    pub(super) subject: Vec<u32>,
}

impl Data {
    pub(super) fn new(request: &Request, trials: usize, random: &mut Random) -> Data {
        let mut label = |classes: usize| (0..trials).map(|_| random.below(classes) as u32).collect();
        let (task, subject) = (label(request.classes), label(request.subjects));
        let values = trials * request.shape.channels * request.shape.time;
        Data { x: (0..values).map(|_| random.normal()).collect(), task, subject }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): enough for data that only has to be dull.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A whole number below `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f32 {
        ((-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()) as f32
    }
}

/// Draws batches without repetition within one.
pub(super) struct Batches {
    random: Random,
    order: Vec<u32>,
    batch: usize,
}

impl Batches {
    pub(super) fn new(random: Random, batch: usize) -> Batches {
        Batches { random, order: (0..TRIALS as u32).collect(), batch }
    }

    /// Fills `rows`, `[R, B]`, with a batch for each replica.
    pub(super) fn draw(&mut self, rows: &mut [u32]) {
        for rows in rows.chunks_mut(self.batch) {
            draw(&mut self.random, &mut self.order, rows);
        }
    }
}

/// Fills `rows` with some of `order`, none twice.
pub(super) fn draw(random: &mut Random, order: &mut [u32], rows: &mut [u32]) {
    for (i, row) in rows.iter_mut().enumerate() {
        let other = i + random.below(order.len() - i);
        order.swap(i, other);
        *row = order[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_no_trial_twice_and_the_next_differs() {
        let mut batches = Batches::new(Random(1), 64);
        let (mut one, mut two) = ([0; 128], [0; 128]);
        batches.draw(&mut one);
        batches.draw(&mut two);
        assert_ne!(one, two);
        let mut first = one[..64].to_vec();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 64);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = Random(3);
        let x: Vec<f64> = (0..100_000).map(|_| f64::from(random.normal())).collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
