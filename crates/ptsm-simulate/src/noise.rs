//! Processes that signals are made of: rhythms and 1/f noise. Each has variance 1.

use rand_chacha::ChaCha8Rng;

use crate::random::normal;

/// A narrow-band process: a phasor turned each sample, pulled to zero and pushed by noise (a complex first-order
/// autoregression). Its amplitude waxes and wanes within about `1 / bandwidth`.
pub(crate) fn rhythm(
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

/// First-order stages that make the slope.
const STAGES: usize = 7;
/// Where the slope begins; below it the spectrum is flat.
const LOWEST_HZ: f64 = 0.4;

/// Noise whose power falls as `frequency^-exponent` from 0.4 Hz to half the rate: white noise through poles in equal steps of
/// log frequency, each followed by a zero after `exponent / 2` of a step, so that the steps down and up average to the slope.
/// The product of stages is worked out as a sum of first-order filters, which run side by side.
pub(crate) struct ColouredNoise {
    keep: [f64; STAGES],
    push: [f64; STAGES],
    direct: f64,
    /// Samples until the slowest stage has settled: four times its time constant.
    begin: usize,
}

impl ColouredNoise {
    /// Noise of an exponent between 0 and 2.
    pub(crate) fn new(rate_hz: f64, exponent: f64) -> ColouredNoise {
        let step = (0.5 * rate_hz / LOWEST_HZ).powf(1.0 / STAGES as f64);
        let root = |place: f64| (-std::f64::consts::TAU * LOWEST_HZ * step.powf(place) / rate_hz).exp();
        let poles: [f64; STAGES] = std::array::from_fn(|k| root(k as f64));
        let zeros: [f64; STAGES] = std::array::from_fn(|k| root(k as f64 + exponent / 2.0));
        // Partial fractions of prod (1 - zero/z) / prod (1 - pole/z).
        let push: [f64; STAGES] = std::array::from_fn(|k| {
            let above: f64 = zeros.iter().map(|zero| 1.0 - zero / poles[k]).product();
            let below: f64 = (0..STAGES).filter(|j| *j != k).map(|j| 1.0 - poles[j] / poles[k]).product();
            above / below
        });
        let direct: f64 = zeros.iter().zip(&poles).map(|(zero, pole)| zero / pole).product();
        let pairs = (0..STAGES).flat_map(|i| (0..STAGES).map(move |j| (i, j)));
        let variance = direct * (direct + 2.0 * push.iter().sum::<f64>())
            + pairs.map(|(i, j)| push[i] * push[j] / (1.0 - poles[i] * poles[j])).sum::<f64>();
        let scale = 1.0 / variance.sqrt();
        let begin = (4.0 * rate_hz / (std::f64::consts::TAU * LOWEST_HZ)).ceil() as usize;
        ColouredNoise { keep: poles, push: push.map(|p| scale * p), direct: scale * direct, begin }
    }

    /// A segment of it.
    pub(crate) fn draw(&self, length: usize, random: &mut ChaCha8Rng) -> Vec<f32> {
        let mut state = [0.0; STAGES];
        let mut step = || {
            let white = normal(random);
            let mut sum = self.direct * white;
            for ((state, keep), push) in state.iter_mut().zip(&self.keep).zip(&self.push) {
                *state = keep * *state + push * white;
                sum += *state;
            }
            sum as f32
        };
        // The slowest part needs a while to get going.
        (0..self.begin).for_each(|_| {
            step();
        });
        (0..length).map(|_| step()).collect()
    }
}

/// A slow wander: a first-order autoregression with this time constant.
pub(crate) fn wander(length: usize, rate_hz: f64, time_s: f64, random: &mut ChaCha8Rng) -> Vec<f32> {
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::tests::band_power;

    fn deviation(x: &[f32]) -> f64 {
        (x.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / x.len() as f64).sqrt()
    }

    #[test]
    fn coloured_noise_has_its_slope() {
        let random = &mut ChaCha8Rng::seed_from_u64(1);
        for (rate, exponent) in [(128.0, 1.0), (512.0, 1.0), (256.0, 0.6), (256.0, 1.6), (2048.0, 1.0)] {
            let noise = ColouredNoise::new(rate, exponent);
            let x = noise.draw((300.0 * rate) as usize, random);
            assert!((deviation(&x) - 1.0).abs() < 0.15, "{}", deviation(&x));
            // The filter's own gain: a spectrum estimated from the noise would leak from low frequencies to high ones.
            let power = |hz: f64| {
                let (sine, cosine) = (std::f64::consts::TAU * hz / rate).sin_cos();
                let (mut re, mut im) = (noise.direct, 0.0);
                for (keep, push) in noise.keep.iter().zip(&noise.push) {
                    let (a, b) = (1.0 - keep * cosine, keep * sine);
                    re += push * a / (a * a + b * b);
                    im -= push * b / (a * a + b * b);
                }
                re * re + im * im
            };
            for (low, high) in [(1.0, 4.0), (2.0, 16.0), (8.0, 32.0)] {
                let slope = (power(low) / power(high)).ln() / f64::ln(high / low);
                assert!(
                    (slope - exponent).abs() < 0.15,
                    "{slope} from {low} to {high} Hz for {exponent} at {rate} Hz"
                );
            }
        }
    }

    #[test]
    fn a_rhythm_peaks_at_its_frequency_and_waxes_and_wanes() {
        let random = &mut ChaCha8Rng::seed_from_u64(2);
        let x = rhythm(128 * 300, 128.0, 11.0, 1.5, random);
        assert!((deviation(&x) - 1.0).abs() < 0.1);
        let density = |low: f64, high: f64| {
            x.chunks_exact(256).map(|s| band_power(s, 128.0, low, high)).sum::<f64>() / (high - low)
        };
        let at = density(10.0, 12.5);
        assert!(at > 5.0 * density(15.0, 20.0) && at > 5.0 * density(4.0, 7.0));
        // Its amplitude changes: the powers of single seconds spread widely.
        let powers: Vec<f64> = x.chunks_exact(128).map(|s| deviation(s).powi(2)).collect();
        let share = |keep: &dyn Fn(f64) -> bool| {
            powers.iter().filter(|p| keep(**p)).count() as f64 / powers.len() as f64
        };
        let (strong, weak) = (share(&|p| p > 1.5), share(&|p| p < 0.5));
        assert!(strong > 0.1 && weak > 0.05, "{strong} {weak}");
    }
}
