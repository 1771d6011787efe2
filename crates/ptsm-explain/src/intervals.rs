//! How sure a share is.

use ptsm_eval::{Interval, percentile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a standard normal number exceeds once in forty times: intervals cover 95 %.
const Z: f64 = 1.959_963_984_540_054;
/// How often groups are drawn.
const RESAMPLES: usize = 2000;

/// The interval of a share, found in `n` independent trials, that covers 95 % (Wilson 1927, doi:10.1080/01621459.1927.10502953). NaN of no trials.
pub fn wilson(share: f64, n: f64) -> Interval {
    if n.is_nan() || n <= 0.0 {
        return Interval { low: f64::NAN, high: f64::NAN };
    }
    let square = Z * Z / n;
    let centre = (share + 0.5 * square) / (1.0 + square);
    let half = (share * (1.0 - share) * square + 0.25 * square * square).sqrt() / (1.0 + square);
    Interval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

/// The interval of a share that covers 95 %, from groups drawn with replacement. A group says how much of it is right, and how much it is.
pub(crate) fn over_groups(groups: &[(f64, f64)], seed: u64) -> Option<Interval> {
    if groups.len() < 2 {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut shares: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let draw = (0..groups.len()).map(|_| groups[random.random_range(0..groups.len())]);
            let (right, all) = draw.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            right / all
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    Some(Interval { low: percentile(&shares, 0.025), high: percentile(&shares, 0.975) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`, SciPy 1.17.
    #[test]
    fn wilsons_interval_is_scipys() {
        for (k, n, low, high) in [
            (8.0, 10.0, 0.490_162_471_536_641_8, 0.943_317_848_545_624_8),
            (0.0, 20.0, 0.0, 0.161_125_158_052_819_35),
            (90.0, 90.0, 0.959_064_374_435_673_3, 1.0),
        ] {
            let found = wilson(k / n, n);
            assert!((found.low - low).abs() < 1e-14 && (found.high - high).abs() < 1e-14, "{found:?}");
        }
        assert!(wilson(0.5, 0.0).low.is_nan());
    }

    #[test]
    fn groups_are_drawn_whole() {
        assert_eq!(over_groups(&[(5.0, 10.0)], 1), None);
        let same = over_groups(&[(5.0, 10.0), (1.0, 2.0)], 1).unwrap();
        assert_eq!((same.low, same.high), (0.5, 0.5));
        // Trials would say 0.45 to 0.55; two groups that differ this much say nothing.
        let apart = over_groups(&[(0.0, 200.0), (200.0, 200.0)], 1).unwrap();
        assert_eq!((apart.low, apart.high), (0.0, 1.0));
    }
}
