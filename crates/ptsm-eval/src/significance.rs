//! MOABB's tests of paired differences, one for each subject.
//!
//! With fewer than 20 subjects signs are flipped, with more Wilcoxon's test of signed ranks is made. Several data sets are combined
//! by Stouffer's method. (MOABB 1.7, `moabb.analysis.meta_analysis`; Jayaram & Barachant 2018, doi:10.1088/1741-2552/aadea0.)

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::normal::{upper_quantile, upper_tail};
use crate::statistics::{deviation, mean};
use crate::summary::BOOTSTRAP_SEED;

/// With as many subjects ranks are used.
const RANKS_FROM: usize = 20;
/// Up to as many subjects all signs are tried.
const ALL_SIGNS_TO: usize = 13;
/// With more subjects, how many signs are drawn.
const SIGN_DRAWS: usize = 10_000;
/// Scores carry rounding, as means over seeds do. Differences of scores that are nearer to each other are the same: ranks count ties
/// and leave zeros out.
const SAME: f64 = 1e-12;

/// How often differences of subjects come out as far above 0 by chance, when neither side is better. Above 0 and below 1, so that
/// data sets can be combined; NaN where there are no subjects or a difference is no number.
pub fn one_sided_p(differences: &[f64]) -> f64 {
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return f64::NAN;
    }
    if differences.len() < RANKS_FROM {
        return flipped(differences);
    }
    if differences.iter().all(|d| d.abs() <= SAME) {
        return 0.5;
    }
    let half = wilcoxon(differences) / 2.0;
    let p = if mean(differences) < -SAME { 1.0 - half } else { half };
    p.clamp(0f64.next_up(), 1f64.next_down())
}

/// The same to either side: for those who did not say beforehand which side would be the better one.
pub fn two_sided_p(differences: &[f64]) -> f64 {
    let reversed: Vec<f64> = differences.iter().map(|d| -d).collect();
    (2.0 * one_sided_p(differences).min(one_sided_p(&reversed))).clamp(0.0, 1.0)
}

/// Mean difference in parts of the differences' standard deviation: 0 where neither side is better in any subject, infinite where
/// all subjects differ by the same.
pub fn effect_size(differences: &[f64]) -> f64 {
    let centre = mean(differences);
    let same = differences.iter().all(|d| (d - centre).abs() <= SAME);
    match deviation(differences) {
        Some(sd) if !same => centre / sd,
        _ if centre.abs() <= SAME => 0.0,
        _ => centre * f64::INFINITY,
    }
}

/// One-sided p of several data sets and the number of subjects in each, as one (Stouffer's method, weighted by the root of the
/// number of subjects). NaN of nothing.
pub fn combined_p(data: &[(f64, usize)]) -> f64 {
    if let [(p, _)] = data {
        return *p;
    }
    let subjects: usize = data.iter().map(|(_, subjects)| subjects).sum();
    let sum: f64 = data.iter().map(|(p, subjects)| (*subjects as f64).sqrt() * upper_quantile(*p)).sum();
    upper_tail(sum / (subjects as f64).sqrt())
}

/// Effects on several data sets and the number of subjects in each, as one: the mean, weighted by the root of the number of subjects.
/// NaN of nothing.
pub fn combined_effect(data: &[(f64, usize)]) -> f64 {
    let weights: f64 = data.iter().map(|(_, subjects)| (*subjects as f64).sqrt()).sum();
    data.iter().map(|(effect, subjects)| effect * (*subjects as f64).sqrt()).sum::<f64>() / weights
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

/// How often a sum is as large when signs are flipped.
fn flipped(differences: &[f64]) -> f64 {
    let n = differences.len();
    let least = differences.iter().sum::<f64>() - SAME;
    let reaches = |bits: u32| {
        let signed = differences.iter().enumerate().map(|(i, d)| if bits >> i & 1 == 1 { *d } else { -d });
        signed.sum::<f64>() >= least
    };
    let (hits, all) = if n <= ALL_SIGNS_TO {
        let all = 1u32 << n;
        ((0..all).filter(|bits| reaches(*bits)).count(), all as usize)
    } else {
        let mut random = ChaCha8Rng::seed_from_u64(BOOTSTRAP_SEED);
        (1 + (0..SIGN_DRAWS).filter(|_| reaches(random.random())).count(), SIGN_DRAWS)
    };
    // A p of 1 could not be combined with others.
    hits.min(all - 1) as f64 / all as f64
}

/// Wilcoxon's test of signed ranks, two-sided, as SciPy does it: zeros are left out; exact for at most 50 differences without
/// zeros and ties, else the normal distribution with ties considered.
fn wilcoxon(differences: &[f64]) -> f64 {
    let mut sizes: Vec<(f64, bool)> =
        differences.iter().filter(|d| d.abs() > SAME).map(|d| (d.abs(), *d > 0.0)).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = sizes.len();
    let (mut before, mut above, mut ties) = (0.0, 0.0, 0.0);
    for group in sizes.chunk_by(|a, b| b.0 - a.0 <= SAME) {
        let size = group.len() as f64;
        let rank = before + (size + 1.0) / 2.0;
        above += rank * group.iter().filter(|s| s.1).count() as f64;
        ties += size.powi(3) - size;
        before += size;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found} instead of {expected}");
    }

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
            near(two_sided_p(&values), expected);
            near(one_sided_p(&values), expected / 2.0);
            let reversed: Vec<f64> = values.iter().map(|d| -d).collect();
            near(one_sided_p(&reversed), 1.0 - expected / 2.0);
        }
    }

    #[test]
    fn the_side_of_ranks_is_that_of_the_mean() {
        // Nineteen subjects are a little better with one side, one is far worse.
        let mut values: Vec<f64> = (1..=19).map(|i| 0.01 * f64::from(i)).collect();
        values.push(-5.0);
        let two_sided = two_sided_p(&values);
        assert!(two_sided < 0.01, "{two_sided}");
        near(one_sided_p(&values), 1.0 - two_sided / 2.0);
    }

    #[test]
    fn signs_are_flipped_with_few_subjects() {
        // 16 patterns; one sums up to 10 or more, two to 8 or more.
        assert_eq!(one_sided_p(&[1.0, 2.0, 3.0, 4.0]), 1.0 / 16.0);
        assert_eq!(two_sided_p(&[1.0, 2.0, 3.0, 4.0]), 2.0 / 16.0);
        assert_eq!(two_sided_p(&[-1.0, 2.0, 3.0, 4.0]), 4.0 / 16.0);
        // All patterns reach the least sum: one less is said.
        assert_eq!(one_sided_p(&[-1.0, -2.0, -3.0, -4.0]), 15.0 / 16.0);
        assert_eq!(one_sided_p(&[-1.0, 1.0]), 3.0 / 4.0);
        assert_eq!(two_sided_p(&[-1.0, 1.0]), 1.0);
        // 15 subjects: drawn.
        assert!(one_sided_p(&[0.5; 15]) <= 4.0 / 10_000.0);
        assert_eq!(one_sided_p(&[-0.5; 15]), 0.9999);
    }

    #[test]
    fn nothing_is_no_difference() {
        for n in [1, 15, 19, 20, 30] {
            assert_eq!(two_sided_p(&vec![0.0; n]), 1.0);
            assert_eq!(effect_size(&vec![0.0; n]), 0.0);
        }
        assert_eq!(one_sided_p(&[0.0; 4]), 15.0 / 16.0);
        assert_eq!(one_sided_p(&[0.0; 15]), 0.9999);
        assert_eq!(one_sided_p(&[0.0; 30]), 0.5);
        // One of thirty differs.
        let mut one = vec![0.0; 30];
        one[3] = 1.0;
        near(two_sided_p(&one), 0.317_310_507_862_914_2);
    }

    #[test]
    fn rounding_makes_no_differences_and_breaks_no_ties() {
        let noise = 0.1 + 0.2 - 0.3;
        assert!(noise != 0.0);
        assert_eq!((one_sided_p(&[noise; 4]), one_sided_p(&[-noise; 25])), (15.0 / 16.0, 0.5));
        assert_eq!((effect_size(&[noise; 4]), effect_size(&[0.9 - 0.8, 0.3 - 0.2])), (0.0, f64::INFINITY));
        // Whole numbers of trials, and shares of 45 trials that mean the same.
        for n in [12, 25] {
            let trials: Vec<i32> = (0..n).map(|i| (i * 7) % 11 - 4).collect();
            let whole: Vec<f64> = trials.iter().map(|d| f64::from(*d)).collect();
            let shares: Vec<f64> = trials.iter().map(|d| f64::from(30 + d) / 45.0 - 30.0 / 45.0).collect();
            assert_eq!(one_sided_p(&shares), one_sided_p(&whole));
        }
    }

    #[test]
    fn what_is_no_number_has_no_p() {
        assert!(one_sided_p(&[]).is_nan() && two_sided_p(&[0.1, f64::NAN]).is_nan());
        assert!(effect_size(&[]).is_nan() && combined_p(&[]).is_nan() && combined_effect(&[]).is_nan());
    }

    #[test]
    fn effects_are_standardised() {
        near(effect_size(&[1.0, 2.0, 3.0]), 2.0);
        assert_eq!(effect_size(&[0.5, 0.5]), f64::INFINITY);
        assert_eq!(effect_size(&[-0.5]), f64::NEG_INFINITY);
    }

    /// `scipy.stats.combine_pvalues(p, "stouffer", weights=sqrt(n))`, SciPy 1.17.
    #[test]
    fn data_sets_are_combined_as_scipy_does() {
        near(combined_p(&[(0.03, 9), (0.2, 54), (0.6, 14)]), 0.107_527_436_940_169_75);
        near(combined_p(&[(1e-10, 109), (0.9999, 19)]), 4.552_447_247_739_919e-6);
        assert_eq!(combined_p(&[(0.3, 9)]), 0.3);
        near(combined_effect(&[(0.5, 9), (-0.1, 16)]), (3.0 * 0.5 - 4.0 * 0.1) / 7.0);
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
