//! Random numbers for tests.

use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Nearly normal numbers: sums of twelve even ones.
pub(crate) fn normal(rows: usize, columns: usize, seed: u64) -> DMatrix<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    DMatrix::from_fn(rows, columns, |_, _| (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0)
}
