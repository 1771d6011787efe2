//! How a metric is distributed where a decoder knows nothing, beyond the share of right trials (see [`crate::chance_threshold`]).
//!
//! | metric | what "knows nothing" means | distribution |
//! | --- | --- | --- |
//! | balanced accuracy | classes are named at fixed rates, whatever the trial | recalls are binomial, each with its class's rate; their mean has the expectation 1/K whatever the rates. The rates are those of the largest variance, so that the test is on the safe side |
//! | AUC, two classes | probabilities are independent of the classes | Mann and Whitney's U over pairs: exact for few pairs, else normal with the variance (n1 + n0 + 1) / (12 n1 n0). Ties make it smaller |
//!
//! Trials must be independent, as for accuracy.

use crate::normal::upper_quantile;

/// The balanced accuracy that a decoder at chance level exceeds with probability `alpha` or less, by the number of trials of each class. NaN where a
/// class has no trial, or where there are fewer than two classes.
pub fn balanced_accuracy_threshold(trials_by_class: &[usize], alpha: f64) -> f64 {
    if trials_by_class.len() < 2 || trials_by_class.contains(&0) {
        return f64::NAN;
    }
    quantile(&mean_of_recalls(trials_by_class), alpha)
}

/// The AUC of two classes that a decoder at chance level exceeds with probability `alpha` or less. NaN where a class has no trial.
pub fn auc_threshold(positive: usize, negative: usize, alpha: f64) -> f64 {
    if positive == 0 || negative == 0 {
        return f64::NAN;
    }
    let pairs = positive.saturating_mul(negative);
    if pairs > MOST_PAIRS {
        return normal_threshold(0.5, auc_variance(positive, negative), alpha);
    }
    let chances = mann_whitney(positive, negative);
    let points: Vec<(f64, f64)> =
        chances.into_iter().enumerate().map(|(u, p)| (u as f64 / pairs as f64, p)).collect();
    quantile(&points, alpha)
}

/// The variance of the AUC of trials that are ranked without regard to their class, no two of them equal.
pub(crate) fn auc_variance(positive: usize, negative: usize) -> f64 {
    let (positive, negative) = (positive as f64, negative as f64);
    (positive + negative + 1.0) / (12.0 * positive * negative)
}

/// The largest variance of the balanced accuracy of trials whose classes are named at fixed rates.
pub(crate) fn balanced_accuracy_variance(trials_by_class: &[usize]) -> f64 {
    let rates = widest_rates(trials_by_class);
    let sum: f64 = trials_by_class.iter().zip(rates).map(|(&n, q)| q * (1.0 - q) / n as f64).sum();
    sum / (trials_by_class.len() as f64).powi(2)
}

/// What a normal number of this mean and variance exceeds with probability `alpha`.
pub(crate) fn normal_threshold(mean: f64, variance: f64, alpha: f64) -> f64 {
    mean + upper_quantile(alpha) * variance.sqrt()
}

/// Pairs up to which U is counted out. Of more, the normal distribution is as good to three digits, and its tails are longer.
const MOST_PAIRS: usize = 2_000;
/// Probabilities below it change no quantile that anybody asks for.
const NEGLIGIBLE: f64 = 1e-15;
/// Sums that are told apart; of more, those within one of [`STEPS`] are made one.
const MOST_SUMS: usize = 1 << 16;
/// Steps from 0 to 1 that values are rounded up to where they are too many.
const STEPS: usize = 1 << 13;

/// The smallest value that is exceeded with probability `alpha` or less, of values in ascending order with their probabilities.
fn quantile(points: &[(f64, f64)], alpha: f64) -> f64 {
    let mut above = 0.0;
    for &(value, probability) in points.iter().rev() {
        above += probability;
        if above > alpha {
            return value;
        }
    }
    points.first().map_or(f64::NAN, |first| first.0)
}

/// At which rates classes are named so that the balanced accuracy varies most: of K classes with shares s, `(1 - (K - 2) s) / 2`, by
/// Lagrange; classes that would be named at a negative rate are never named, and the others share out the rest.
fn widest_rates(trials_by_class: &[usize]) -> Vec<f64> {
    let mut named: Vec<bool> = vec![true; trials_by_class.len()];
    loop {
        let own = || trials_by_class.iter().zip(&named).filter(|(_, named)| **named).map(|(n, _)| *n as f64);
        let (classes, all) = (own().count() as f64, own().sum::<f64>());
        let rate = |(&n, &named): (&usize, &bool)| match named {
            true => (1.0 - (classes - 2.0) * n as f64 / all) / 2.0,
            false => 0.0,
        };
        let rates: Vec<f64> = trials_by_class.iter().zip(&named).map(rate).collect();
        if rates.iter().all(|rate| *rate >= 0.0) {
            return rates;
        }
        named.iter_mut().zip(&rates).for_each(|(named, rate)| *named &= *rate > 0.0);
    }
}

/// The mean of the classes' recalls, each of a binomial number of hits: values in ascending order with their probabilities.
fn mean_of_recalls(trials_by_class: &[usize]) -> Vec<(f64, f64)> {
    let weight = 1.0 / trials_by_class.len() as f64;
    let mut points = vec![(0.0, 1.0)];
    for (&n, &rate) in trials_by_class.iter().zip(&widest_rates(trials_by_class)) {
        let own: Vec<(f64, f64)> =
            binomial(n, rate).into_iter().map(|(hits, p)| (weight * hits as f64 / n as f64, p)).collect();
        points =
            if points.len() * own.len() > MOST_SUMS { rounded(&points, &own) } else { summed(&points, &own) };
    }
    points
}

/// Every sum with its probability, in ascending order, equal ones as one.
fn summed(points: &[(f64, f64)], own: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sums: Vec<(f64, f64)> =
        points.iter().flat_map(|(a, p)| own.iter().map(move |(b, q)| (a + b, p * q))).collect();
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut all: Vec<(f64, f64)> = vec![];
    for (value, probability) in sums {
        match all.last_mut() {
            Some(last) if value - last.0 <= 1e-12 => last.1 += probability,
            _ => all.push((value, probability)),
        }
    }
    all.retain(|(_, probability)| *probability > NEGLIGIBLE);
    all
}

/// The same where sums are too many: each rounded up to the next step, which is the safe side.
fn rounded(points: &[(f64, f64)], own: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut steps = vec![0.0; STEPS + 2];
    for (a, p) in points {
        for (b, q) in own {
            // A value that lies on a step but for rounding stays on it.
            let step = ((a + b) * STEPS as f64 - 1e-6).ceil().max(0.0);
            steps[(step as usize).min(STEPS + 1)] += p * q;
        }
    }
    let all = steps.into_iter().enumerate().map(|(step, p)| (step as f64 / STEPS as f64, p));
    all.filter(|(_, probability)| *probability > NEGLIGIBLE).collect()
}

/// Numbers of hits with their probabilities, without the negligible ones.
fn binomial(n: usize, rate: f64) -> Vec<(usize, f64)> {
    if rate <= 0.0 {
        return vec![(0, 1.0)];
    }
    let (hit, miss) = (rate.ln(), (-rate).ln_1p());
    let mut log_probability = n as f64 * miss;
    let mut points = vec![];
    for hits in 0..=n {
        let probability = log_probability.exp();
        if probability > NEGLIGIBLE {
            points.push((hits, probability));
        }
        log_probability += ((n - hits) as f64 / (hits + 1) as f64).ln() + hit - miss;
    }
    points
}

/// The distribution of U, the number of pairs that a class wins, where all orders are equally likely: the highest trial is of the one
/// class and wins all pairs with the other, or is of the other and wins none (Mann & Whitney 1947, doi:10.1214/aoms/1177730491). All
/// terms are positive, so that small chances keep their digits.
fn mann_whitney(positive: usize, negative: usize) -> Vec<f64> {
    let mut by_size: Vec<Vec<f64>> =
        (0..=positive).map(|size| [vec![1.0], vec![0.0; size * negative]].concat()).collect();
    for others in 1..=negative {
        for size in 1..=positive {
            let (before, own) = by_size.split_at_mut(size);
            let (smaller, own) = (&before[size - 1], &mut own[0]);
            let share = size as f64 / (size + others) as f64;
            for u in 0..=size * others {
                let won = if u >= others { smaller[u - others] } else { 0.0 };
                own[u] = share * won + (1.0 - share) * own[u];
            }
        }
    }
    by_size.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, slack: f64) {
        assert!((found - expected).abs() <= slack, "{found} instead of {expected}");
    }

    #[test]
    fn distributions_are_whole() {
        for (positive, negative) in [(1, 1), (3, 5), (20, 100), (100, 20), (1, 2000)] {
            let chances = mann_whitney(positive, negative);
            near(chances.iter().sum::<f64>(), 1.0, 1e-9);
            assert!(chances.iter().all(|p| *p > 0.0), "{positive} {negative}");
            let mean: f64 = chances.iter().enumerate().map(|(u, p)| u as f64 * p).sum();
            near(mean, (positive * negative) as f64 / 2.0, 1e-6);
        }
        for trials in [&[20, 100][..], &[5, 5, 5, 5], &[144, 72, 72, 72], &[719, 3601], &[70, 71, 72, 73]] {
            let points = mean_of_recalls(trials);
            near(points.iter().map(|(_, p)| p).sum(), 1.0, 1e-9);
            // Rounding up may move it by a step for each class.
            near(points.iter().map(|(v, p)| v * p).sum(), 1.0 / trials.len() as f64, 4.0 / STEPS as f64);
        }
    }

    #[test]
    fn the_rates_are_those_of_the_largest_variance() {
        assert_eq!(widest_rates(&[20, 100]), [0.5, 0.5]);
        assert_eq!(widest_rates(&[9, 9, 9, 9]), [0.25; 4]);
        // Of three classes, the rarest is named most.
        let rates = widest_rates(&[10, 20, 50]);
        near(rates.iter().sum(), 1.0, 1e-12);
        let variance = |rates: &[f64]| -> f64 {
            rates.iter().zip([10.0, 20.0, 50.0]).map(|(q, n)| q * (1.0 - q) / n).sum()
        };
        for i in 0..=50 {
            for j in 0..=50 - i {
                let other = [f64::from(i) / 50.0, f64::from(j) / 50.0, f64::from(50 - i - j) / 50.0];
                assert!(variance(&other) <= variance(&rates) + 1e-12, "{other:?}");
            }
        }
        // A class that makes up most of four is never named.
        let rates = widest_rates(&[1, 1, 1, 97]);
        assert_eq!(rates[3], 0.0);
        near(rates.iter().sum(), 1.0, 1e-12);
    }

    /// `scipy.stats.binom.pmf` of each class, summed out; SciPy 1.17.
    #[test]
    fn thresholds_of_balanced_accuracy_are_scipys() {
        for (trials, at_5, at_01) in [
            (&[20, 100][..], 0.6, 0.685),
            (&[60, 300], 0.558_333_333_333, 0.608_333_333_333),
            (&[22, 23], 0.622_529_644_269, 0.732_213_438_735),
            (&[10; 4], 0.375, 0.475),
            (&[72; 4], 0.291_666_666_667, 0.329_861_111_112),
        ] {
            near(balanced_accuracy_threshold(trials, 0.05), at_5, 1e-9);
            near(balanced_accuracy_threshold(trials, 0.001), at_01, 1e-9);
        }
        // Many trials: normal, `0.5 + norm.isf(alpha) * sqrt((0.25 / n).sum()) / 2`.
        near(balanced_accuracy_threshold(&[240, 1200], 0.05), 0.529_077, 2e-4);
        near(balanced_accuracy_threshold(&[240, 1200], 0.001), 0.554_628, 4e-4);
    }

    /// Counted out by another recursion and held against `scipy.stats.mannwhitneyu(method="exact")`; SciPy 1.17.
    #[test]
    fn thresholds_of_auc_are_scipys() {
        for (positive, negative, at_5, at_01) in
            [(3, 5, 13.0 / 15.0, 1.0), (10, 10, 0.72, 0.89), (20, 100, 0.617, 0.7155)]
        {
            near(auc_threshold(positive, negative, 0.05), at_5, 1e-12);
            near(auc_threshold(negative, positive, 0.001), at_01, 1e-12);
        }
        // Counted out they would be 0.5673 and 0.6258.
        near(auc_threshold(100, 100, 0.05), 0.5673, 1e-3);
        near(auc_threshold(100, 100, 0.001), 0.6258, 1e-3);
        near(auc_threshold(240, 1200, 0.05), 0.533_587_090_176_859, 1e-12);
        near(auc_threshold(240, 1200, 0.001), 0.563_101_001_471_521, 1e-12);
    }

    #[test]
    fn what_cannot_be_tested_has_no_threshold() {
        assert!(balanced_accuracy_threshold(&[5, 0], 0.05).is_nan());
        assert!(balanced_accuracy_threshold(&[5], 0.05).is_nan());
        assert!(auc_threshold(0, 5, 0.05).is_nan());
        // One pair is no proof, however it is ranked.
        assert_eq!(auc_threshold(1, 1, 0.05), 1.0);
        assert_eq!(balanced_accuracy_threshold(&[1, 1], 0.05), 1.0);
    }
}
