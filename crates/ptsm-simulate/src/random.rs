//! Random numbers that depend on what they are for, and on nothing drawn before.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// What a stream of random numbers is for. A new purpose leaves all others as they were.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Subject = 1,
    Effect,
    Cap,
    Session,
    Electrode,
    Schedule,
    Task,
    Rhythm,
    Background,
    Artifact,
    Sensor,
}

/// Where a recording stands: enough to name each of its streams. Session and run are 0 in what does not change with them.
#[derive(Clone, Copy)]
pub(crate) struct Streams {
    pub(crate) seed: u64,
    pub(crate) subject: u32,
    pub(crate) session: u32,
    pub(crate) run: u32,
}

impl Streams {
    /// The stream for a purpose and a number (a source, a channel). The key of the cipher is all that names it, so streams
    /// are independent and any of them can be made alone.
    pub(crate) fn stream(&self, purpose: Purpose, index: usize) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..12].copy_from_slice(&self.subject.to_le_bytes());
        key[12..16].copy_from_slice(&self.session.to_le_bytes());
        key[16..20].copy_from_slice(&self.run.to_le_bytes());
        key[20..24].copy_from_slice(&(purpose as u32).to_le_bytes());
        key[24..].copy_from_slice(&(index as u64).to_le_bytes());
        ChaCha8Rng::from_seed(key)
    }
}

/// A standard normal number.
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(random)
}

/// A positive factor around 1; its logarithm has this deviation.
pub(crate) fn factor(random: &mut ChaCha8Rng, deviation: f64) -> f64 {
    (deviation * normal(random)).exp()
}

/// 0 in this share of draws and 1 in the others: nobody minds the task all the time.
pub(crate) fn attended(random: &mut ChaCha8Rng, lapses: f64) -> f64 {
    if random.random_bool(lapses) { 0.0 } else { 1.0 }
}

/// Times of a Poisson process, in seconds.
pub(crate) fn poisson_times(random: &mut ChaCha8Rng, per_second: f64, duration_s: f64) -> Vec<f64> {
    let mut times = Vec::new();
    if per_second <= 0.0 {
        return times;
    }
    let mut at = 0.0;
    loop {
        let wait: f64 = rand_distr::Exp1.sample(random);
        at += wait / per_second;
        if at >= duration_s {
            return times;
        }
        times.push(at);
    }
}
