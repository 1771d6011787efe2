//! Two models on the same people: is the difference real?
//!
//! The test is MOABB's: by flipping signs with fewer than 20 people, Wilcoxon's of signed ranks with more. It is reported
//! for both sides, because nobody said beforehand which model would be the better one.

use ptsm_signal::TargetAccess;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::statistics::{Interval, RESAMPLES, bootstrap_interval, deviation, mean};
use crate::summary::{BOOTSTRAP_SEED, LEVEL, Summary};

/// With as many people ranks are used.
const RANKS_FROM: usize = 20;
/// Up to as many people all signs are tried.
const ALL_SIGNS_TO: usize = 13;
/// With more people, how many signs are drawn.
const DRAWN_SIGNS: usize = 10_000;

/// One model minus another, person by person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// The model.
    pub model: String,
    /// The one it is compared with.
    pub against: String,
    /// The metric.
    pub metric: &'static str,
    /// People both have scored.
    pub people: usize,
    /// Mean difference.
    pub difference: f64,
    /// 95 % bootstrap interval of it, over people.
    pub interval: Option<Interval>,
    /// Mean difference in parts of the differences' standard deviation.
    pub effect: f64,
    /// What the model has seen of these people, and what the one it is compared with.
    pub target_access: [TargetAccess; 2],
    /// How often differences as large come by chance, to either side.
    pub p: f64,
    /// The same, considering how many comparisons were made at once (Holm).
    pub p_holm: f64,
}

impl Paired {
    /// Every model of the list against the first one, on a metric. What cannot be paired (other data, nobody in common) is left out.
    pub fn against_first(summaries: &[Summary], metric: &'static str) -> Vec<Paired> {
        let Some((first, others)) = summaries.split_first() else { return vec![] };
        let pair = |other: &Summary| {
            let value = |s: &Summary, who| {
                let own = s.subjects.iter().find(|p| p.subject == who);
                own.and_then(|p| p.scores.get(metric).copied()).filter(|v| v.is_finite())
            };
            let both = first
                .subjects
                .iter()
                .filter_map(|p| Some(value(other, p.subject)? - value(first, p.subject)?));
            let differences: Vec<f64> = both.map(rounded).collect();
            let alike = (&first.data, &first.protocol) == (&other.data, &other.protocol);
            if !alike || differences.is_empty() {
                return None;
            }
            let p = p_value(&differences);
            Some(Paired {
                model: other.model.clone(),
                against: first.model.clone(),
                metric,
                people: differences.len(),
                target_access: [other.target_access, first.target_access],
                difference: mean(&differences),
                interval: bootstrap_interval(&differences, LEVEL, RESAMPLES, BOOTSTRAP_SEED),
                effect: effect(&differences),
                p,
                p_holm: p,
            })
        };
        let mut pairs: Vec<Paired> = others.iter().filter_map(pair).collect();
        let adjusted = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
        pairs.iter_mut().zip(adjusted).for_each(|(pair, p)| pair.p_holm = p);
        pairs
    }
}

/// Means over seeds carry rounding: what is equal must be so to the bit, as ranks count ties and leave zeros out.
fn rounded(difference: f64) -> f64 {
    (difference * 1e12).round() / 1e12
}

/// Mean difference in parts of its standard deviation: 0 where neither is better with anybody, not a number where everybody differs by the same.
fn effect(differences: &[f64]) -> f64 {
    match deviation(differences) {
        Some(sd) if sd > 0.0 => mean(differences) / sd,
        _ if differences.iter().all(|d| *d == 0.0) => 0.0,
        _ => f64::NAN,
    }
}

/// How often paired differences come out as far from 0, to either side, when neither is better.
fn p_value(differences: &[f64]) -> f64 {
    if differences.iter().all(|d| *d == 0.0) {
        return 1.0;
    }
    if differences.len() >= RANKS_FROM {
        return wilcoxon(differences);
    }
    let [above, below] = [1.0, -1.0].map(|side| {
        let own: Vec<f64> = differences.iter().map(|d| side * d).collect();
        flipped(&own)
    });
    (2.0 * above.min(below)).min(1.0)
}

/// How often a sum is as large when signs are flipped.
fn flipped(differences: &[f64]) -> f64 {
    let n = differences.len();
    let observed: f64 = differences.iter().sum();
    // Sums of the same numbers in another order are the same sum.
    let rounding = 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>();
    let sum = |signs: &dyn Fn(usize) -> bool| -> f64 {
        differences.iter().enumerate().map(|(i, d)| if signs(i) { *d } else { -d }).sum()
    };
    if n <= ALL_SIGNS_TO {
        let all = 1u32 << n;
        let hits = (0..all).filter(|bits| sum(&|i| bits >> i & 1 == 1) >= observed - rounding).count();
        return hits as f64 / f64::from(all);
    }
    let mut random = ChaCha8Rng::seed_from_u64(BOOTSTRAP_SEED);
    let hits = (0..DRAWN_SIGNS).filter(|_| {
        let bits: u32 = random.random();
        sum(&|i| bits >> i & 1 == 1) >= observed - rounding
    });
    (1 + hits.count()) as f64 / DRAWN_SIGNS as f64
}

/// Wilcoxon's test of signed ranks, two-sided, as SciPy does it: zeros are left out; exact for at most 50 differences without
/// zeros and ties, else the normal distribution with ties considered.
fn wilcoxon(differences: &[f64]) -> f64 {
    let mut sizes: Vec<(f64, bool)> =
        differences.iter().filter(|d| **d != 0.0).map(|d| (d.abs(), *d > 0.0)).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = sizes.len();
    let (mut above, mut ties) = (0.0, 0.0);
    for group in sizes.chunk_by(|a, b| a.0 == b.0) {
        let before = sizes.partition_point(|s| s.0 < group[0].0) as f64;
        let size = group.len() as f64;
        let rank = before + (size + 1.0) / 2.0;
        above += rank * group.iter().filter(|s| s.1).count() as f64;
        ties += size.powi(3) - size;
    }
    if differences.len() <= 50 && n == differences.len() && ties == 0.0 {
        return exact(n, above as usize);
    }
    let n = n as f64;
    let middle = n * (n + 1.0) / 4.0;
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - ties / 2.0) / 24.0;
    let z = (above - middle) / variance.sqrt();
    libm::erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// How often the ranks 1..n with random signs sum up to a number as far from the middle as this one.
fn exact(n: usize, sum: usize) -> f64 {
    let most = n * (n + 1) / 2;
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for at in (0..=most).rev() {
            let with = if at >= rank { chances[at - rank] } else { 0.0 };
            chances[at] = (chances[at] + with) / 2.0;
        }
    }
    let tail = sum.min(most - sum);
    (2.0 * chances[..=tail].iter().sum::<f64>()).min(1.0)
}

/// Holm's correction: what each p is worth when all of them were looked at.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut least: f64 = 0.0;
    for (place, &i) in order.iter().enumerate() {
        least = least.max(((p.len() - place) as f64 * p[i]).min(1.0));
        adjusted[i] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.wilcoxon(d).pvalue`, SciPy 1.17.
    #[test]
    fn signed_ranks_are_scipys() {
        let plain: Vec<f64> =
            (1..=24).map(|i: i32| f64::from((i * 37) % 29 - 9) + 0.01 * f64::from(i)).collect();
        let tied: Vec<f64> = (1..=22).map(|i: i32| f64::from((i * 5) % 9 - 2)).collect();
        let many: Vec<f64> =
            (1..=60).map(|i: i32| f64::from((i * 41) % 61 - 22) + 0.01 * f64::from(i)).collect();
        for (values, expected) in
            [(plain, 0.005897641181945801), (tied, 0.004119889672566682), (many, 0.000853588783144218)]
        {
            let p = p_value(&values);
            assert!((p - expected).abs() < 1e-12 * expected, "{p} instead of {expected}");
        }
    }

    #[test]
    fn signs_are_flipped_with_few_people() {
        // 16 patterns; one sums up to 10 or more, two to 8 or more.
        assert_eq!(flipped(&[1.0, 2.0, 3.0, 4.0]), 1.0 / 16.0);
        assert_eq!(p_value(&[1.0, 2.0, 3.0, 4.0]), 2.0 / 16.0);
        assert_eq!(p_value(&[-1.0, 2.0, 3.0, 4.0]), 4.0 / 16.0);
        assert_eq!(p_value(&[-1.0, 1.0]), 1.0);
        // 15 people: drawn.
        let p = p_value(&[0.5; 15]);
        assert!(p <= 4.0 / 10_000.0, "{p}");
    }

    #[test]
    fn rounding_makes_no_differences_and_breaks_no_ties() {
        assert_eq!(rounded(0.1 + 0.2 - 0.3), 0.0);
        assert_eq!(rounded(0.9 - 0.8), rounded(0.3 - 0.2));
        assert!(effect(&[0.5, 0.5]).is_nan() && effect(&[0.5]).is_nan());
    }

    #[test]
    fn nothing_is_no_difference() {
        for n in [1, 15, 30] {
            assert_eq!(p_value(&vec![0.0; n]), 1.0);
            assert_eq!(effect(&vec![0.0; n]), 0.0);
        }
        assert_eq!(p_value(&[0.0; 19]), 1.0);
        // One of thirty differs.
        let mut one = vec![0.0; 30];
        one[3] = 1.0;
        assert!((p_value(&one) - 0.317_310_507_862_914_2).abs() < 1e-12);
    }

    #[test]
    fn holm_is_that_of_statsmodels() {
        // multipletests([0.01, 0.04, 0.03, 0.005], method="holm")
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (a, b) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((a - b).abs() < 1e-15);
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
