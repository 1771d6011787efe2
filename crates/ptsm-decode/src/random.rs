//! Random numbers whose place decides them: who draws, for which epoch, for which trial.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What a stream of numbers is for; two purposes never share one.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Batches = 1,
    Augmentation = 2,
    Target = 3,
    Start = 4,
    Pairs = 5,
    Pretence = 6,
}

/// A stream that depends on these numbers and on nothing else, so that a run continued draws what an undisturbed one would.
pub(crate) fn stream(seed: u64, purpose: Purpose, epoch: usize, place: usize) -> ChaCha8Rng {
    let mut key = [0; 32];
    for (bytes, word) in key.chunks_exact_mut(8).zip([seed, purpose as u64, epoch as u64, place as u64]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}
