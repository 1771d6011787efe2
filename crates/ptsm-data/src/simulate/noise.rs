//! Processes that signals are made of: rhythms and 1/f noise. Each has variance 1.

use rand_chacha::ChaCha8Rng;

use super::random::normal;

/// A narrow-band process: a phasor turned each sample, pulled to zero and pushed by noise (a complex first-order
/// autoregression). Its amplitude waxes and wanes within about `1 / bandwidth`.
pub(super) fn rhythm(
    length: usize,
    rate_hz: f64,
    frequency_hz: f64,
    bandwidth_hz: f64,
    random: &mut ChaCha8Rng,
) -> Vec<f32> {
    let keep = (-std::f64::consts::PI * bandwidth_hz / rate_hz).exp();
    let (sine, cosine) = (std::f64::consts::TAU * frequency_hz / rate_hz).sin_cos();
    let (turn_re, turn_im) = (keep * cosine, keep * sine);
    let push = (1.0 - keep * keep).sqrt();
    let (mut re, mut im) = (normal(random), normal(random));
    (0..length)
        .map(|_| {
            (re, im) = (
                turn_re * re - turn_im * im + push * normal(random),
                turn_re * im + turn_im * re + push * normal(random),
            );
            re as f32
        })
        .collect()
}

/// First-order low-passes whose sum makes the slope, an octave and a half apart.
const STAGES: usize = 7;
/// The slope begins here and goes on to the highest corner.
const LOWEST_HZ: f64 = 0.4;

/// Noise whose power falls as `frequency^-exponent` above 0.4 Hz: one white noise through a sum of first-order low-passes,
/// weighted `corner^(-exponent/2)`.
pub(super) struct Coloured {
    keep: [f64; STAGES],
    push: [f64; STAGES],
    scale: f64,
}

impl Coloured {
    /// Noise of an exponent between 0 and 2.
    pub(super) fn new(rate_hz: f64, exponent: f64) -> Coloured {
        let corner = |k: usize| LOWEST_HZ * 2.8_f64.powi(k as i32);
        let keep: [f64; STAGES] =
            std::array::from_fn(|k| (-std::f64::consts::TAU * corner(k) / rate_hz).exp());
        let push: [f64; STAGES] = std::array::from_fn(|k| corner(k).powf(-exponent / 2.0) * (1.0 - keep[k]));
        // Variance of the sum: covariances of first-order processes with one driver.
        let variance: f64 = (0..STAGES)
            .flat_map(|i| (0..STAGES).map(move |j| (i, j)))
            .map(|(i, j)| push[i] * push[j] / (1.0 - keep[i] * keep[j]))
            .sum();
        Coloured { keep, push, scale: 1.0 / variance.sqrt() }
    }

    /// A stretch of it.
    pub(super) fn draw(&self, length: usize, random: &mut ChaCha8Rng) -> Vec<f32> {
        let mut state = [0.0; STAGES];
        let mut step = || {
            let white = normal(random);
            let mut sum = 0.0;
            for k in 0..STAGES {
                state[k] = self.keep[k] * state[k] + self.push[k] * white;
                sum += state[k];
            }
            (self.scale * sum) as f32
        };
        // The slowest part needs a while to get going: 4 / (2 pi 0.4 Hz) s at 128 Hz are 200 steps; no more are wasted at
        // higher rates, where the start is a little calmer.
        (0..200).for_each(|_| {
            step();
        });
        (0..length).map(|_| step()).collect()
    }
}

/// A slow wander: a first-order autoregression with this time constant.
pub(super) fn wander(length: usize, rate_hz: f64, time_s: f64, random: &mut ChaCha8Rng) -> Vec<f32> {
    let keep = (-1.0 / (time_s * rate_hz)).exp();
    let push = (1.0 - keep * keep).sqrt();
    let mut state = normal(random);
    (0..length)
        .map(|_| {
            state = keep * state + push * normal(random);
            state as f32
        })
        .collect()
}
