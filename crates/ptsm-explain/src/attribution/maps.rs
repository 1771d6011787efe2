//! Relevance of every sample by the gradient.
//!
//! Papers: Sundararajan et al. 2017, arXiv:1703.01365 (integrated gradients); Smilkov et al. 2017, arXiv:1706.03825 (smooth gradients).

use ptsm_decode::{DecoderOutput, Error, FittedDecoder, Sensitivity};
use ptsm_eval::Result;
use ptsm_signal::Subset;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::legendre;

/// How relevance follows from gradients.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributionMethod {
    /// The gradient times the trial.
    TimesInput,
    /// The mean gradient along the straight line from an empty trial, all zero, to the trial, times the trial. The sum over a trial is the answer to
    /// it less the answer to an empty one, but for what the steps miss.
    Integrated {
        /// Steps of Gauss and Legendre's rule.
        steps: usize,
    },
    /// The mean gradient at noisy copies of the trial.
    Smooth {
        /// Copies of each trial.
        copies: usize,
        /// Standard deviation of the noise, as a share of the trial's own.
        noise: f64,
        /// Decides the noise.
        seed: u64,
    },
}

impl Default for AttributionMethod {
    fn default() -> AttributionMethod {
        AttributionMethod::Integrated { steps: 32 }
    }
}

/// The relevance of every sample of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct RelevanceMap {
    /// `[C, T]`
    pub values: Vec<f64>,
    /// The answer to the trial less the answer to an empty one, less the sum of the values; not a number but for [`AttributionMethod::Integrated`].
    pub residual: f64,
}

/// Copies of trials whose gradients are taken together; more would only take memory.
const AT_ONCE: usize = 256;

/// Hands over the relevance of every sample, trial by trial in their order, so that all trials together need no memory. False, and nothing
/// handed over, for a decoder without gradients.
pub fn maps(
    fitted: &dyn FittedDecoder,
    trials: &Subset<'_>,
    of: DecoderOutput,
    method: &AttributionMethod,
    each: &mut dyn FnMut(RelevanceMap),
) -> Result<bool> {
    let points = points(method)?;
    let places: Vec<usize> = (0..trials.len()).collect();
    for group in places.chunks((AT_ONCE / points.len()).max(1)) {
        let copies = trials.at(&group.iter().flat_map(|&p| vec![p; points.len()]).collect::<Vec<_>>());
        let mut x =
            Vec::with_capacity(copies.len() * trials.layout().channels.len() * trials.layout().samples);
        for (signal, &place) in trials.at(group).signals().zip(group) {
            points.iter().enumerate().for_each(|(i, point)| point.copy(signal, (place, i), &mut x));
        }
        let copies = copies.with_samples(x).map_err(Error::from)?;
        let Some(sensitivity) = fitted.sensitivity(&copies.all(), of)? else { return Ok(false) };
        for (i, signal) in trials.at(group).signals().enumerate() {
            each(map(&sensitivity, i, signal, &points, method));
        }
    }
    Ok(true)
}

/// A copy of a trial whose gradient is taken.
enum Point {
    /// The trial times a number, and how much its gradient counts.
    Times(f64, f64),
    /// The trial with noise of a deviation and a seed. All gradients count the same.
    Noisy(f64, u64),
}

impl Point {
    fn weight(&self) -> f64 {
        match self {
            Point::Times(_, weight) => *weight,
            Point::Noisy(..) => 1.0,
        }
    }

    /// Appends the copy number `i` of the trial at a place.
    fn copy(&self, signal: &[f32], (place, i): (usize, usize), x: &mut Vec<f32>) {
        match *self {
            Point::Times(factor, _) => {
                x.extend(signal.iter().map(|v| (f64::from(*v) * factor) as f32));
            }
            Point::Noisy(share, seed) => {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(((place as u64) << 32) + i as u64);
                let deviation = share * spread(signal);
                let noise = |v: &f32| {
                    let deviate: f64 = StandardNormal.sample(&mut rng);
                    (f64::from(*v) + deviation * deviate) as f32
                };
                x.extend(signal.iter().map(noise));
            }
        }
    }
}

/// Standard deviation over all samples of a trial.
fn spread(signal: &[f32]) -> f64 {
    let n = signal.len() as f64;
    let mean = signal.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
    (signal.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// The copies of one trial whose gradients are taken.
fn points(method: &AttributionMethod) -> Result<Vec<Point>> {
    let wrong = |message: &str| Err(Error::Configuration(message.into()).into());
    match *method {
        AttributionMethod::TimesInput => Ok(vec![Point::Times(1.0, 1.0)]),
        AttributionMethod::Integrated { steps: 0 } | AttributionMethod::Smooth { copies: 0, .. } => {
            wrong("attribution needs at least 1 step or copy")
        }
        AttributionMethod::Smooth { noise, .. } if !(noise.is_finite() && noise >= 0.0) => {
            wrong("the noise of smooth gradients must be a number not below 0")
        }
        AttributionMethod::Integrated { steps } => {
            // The ends are where the answers are compared.
            let ways = [(0.0, 0.0), (1.0, 0.0)].into_iter().chain(legendre::rule(steps));
            Ok(ways.map(|(factor, weight)| Point::Times(factor, weight)).collect())
        }
        AttributionMethod::Smooth { copies, noise, seed } => {
            Ok((0..copies).map(|_| Point::Noisy(noise, seed)).collect())
        }
    }
}

/// The map of the trial number `i` of those that were explained.
fn map(
    sensitivity: &Sensitivity,
    i: usize,
    signal: &[f32],
    points: &[Point],
    method: &AttributionMethod,
) -> RelevanceMap {
    let (one, n) = (signal.len(), points.len());
    let mut mean = vec![0.0; one];
    let total: f64 = points.iter().map(Point::weight).sum();
    for (point, gradient) in points.iter().zip(sensitivity.gradient[i * n * one..].chunks_exact(one)) {
        let weight = point.weight() / total;
        mean.iter_mut().zip(gradient).for_each(|(m, g)| *m += weight * f64::from(*g));
    }
    if !matches!(method, AttributionMethod::Smooth { .. }) {
        mean.iter_mut().zip(signal).for_each(|(m, v)| *m *= f64::from(*v));
    }
    let residual = match method {
        AttributionMethod::Integrated { .. } => {
            let answers = &sensitivity.answers[i * n..][..n];
            f64::from(answers[1]) - f64::from(answers[0]) - mean.iter().sum::<f64>()
        }
        _ => f64::NAN,
    };
    RelevanceMap { values: mean, residual }
}
