//! Means, spreads and intervals.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// How many times subjects are drawn for an interval.
pub const RESAMPLES: usize = 10_000;

/// The mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation with n - 1 below; none of fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Bootstrap interval of the mean that covers the share `level`: values (one per subject) are drawn with replacement
/// `resamples` times, and the percentiles of the means taken. The same seed gives the same interval. None of fewer than two
/// values.
pub fn bootstrap_interval(values: &[f64], level: f64, resamples: usize, seed: u64) -> Option<Interval> {
    if values.len() < 2 || resamples == 0 {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| {
            let sum: f64 = (0..values.len()).map(|_| values[random.random_range(0..values.len())]).sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    Some(Interval { low: percentile(&means, tail), high: percentile(&means, 1.0 - tail) })
}

/// NumPy's default percentile: linear between the two nearest of the sorted values. NaN of nothing.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_numpy() {
        // numpy.percentile([1, 2, 4, 8], [2.5, 50, 97.5]) = 1.075, 3, 7.7
        for (share, value) in [(0.025, 1.075), (0.5, 3.0), (0.975, 7.7), (1.0, 8.0)] {
            assert!((percentile(&[1.0, 2.0, 4.0, 8.0], share) - value).abs() < 1e-12);
        }
    }

    #[test]
    fn an_interval_is_repeatable_and_about_two_standard_errors_wide() {
        let values: Vec<f64> = (0..54).map(|i| 0.7 + 0.14 * (1.7 * i as f64).sin()).collect();
        let interval = bootstrap_interval(&values, 0.95, RESAMPLES, 1).unwrap();
        assert_eq!(Some(interval), bootstrap_interval(&values, 0.95, RESAMPLES, 1));
        assert_ne!(Some(interval), bootstrap_interval(&values, 0.95, RESAMPLES, 2));
        let half = 1.96 * deviation(&values).unwrap() / 54f64.sqrt();
        assert!((interval.low - (mean(&values) - half)).abs() < 0.05 * half, "{interval:?}");
        assert!((interval.high - (mean(&values) + half)).abs() < 0.05 * half, "{interval:?}");
    }

    #[test]
    fn one_value_has_no_spread() {
        assert_eq!(deviation(&[0.7]), None);
        assert_eq!(bootstrap_interval(&[0.7], 0.95, 10, 0), None);
        assert!(mean(&[]).is_nan() && percentile(&[], 0.5).is_nan());
    }
}
