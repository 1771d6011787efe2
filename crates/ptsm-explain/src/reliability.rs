//! Reliability: whether what is measured of subjects is the same when it is measured again.

use ptsm_eval::{ALPHA, Interval, Result, chance_threshold, fisher_quantile, mean};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::features::{Features, refused};
use crate::probes::{PermutationSettings, chance_p};

/// Intervals cover 95 %.
const UPPER: f64 = 0.975;

/// An intraclass correlation and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intraclass {
    /// 1 where everything that differs is the targets, 0 where they do not differ more than chance makes them; NaN where nothing differs.
    pub value: f64,
    /// 95 %, from Fisher's distribution.
    pub interval: Interval,
}

/// How well measurements of the same targets agree (Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; McGraw & Wong 1996,
/// doi:10.1037/1082-989X.1.1.30).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stability {
    /// Targets measured every time. Those with a value that is missing are left out.
    pub targets: usize,
    /// How often they were measured.
    pub measured: usize,
    /// ICC(2,1): whether single measurements are the same. A shift of all targets from one time to the other counts against it.
    pub absolute: Intraclass,
    /// ICC(3,1): whether single measurements are the same but for such a shift.
    pub consistent: Intraclass,
}

/// How well the measurements of targets agree, `[targets][measured]`: subjects, channels or times; sessions or seeds.
pub fn stability(table: &[Vec<f64>]) -> Result<Stability> {
    let k = table.first().map_or(0, Vec::len);
    if table.iter().any(|row| row.len() != k) {
        return Err(refused("targets were measured unequally often", "mark missing values as NaN"));
    }
    let whole: Vec<&Vec<f64>> = table.iter().filter(|row| row.iter().all(|v| v.is_finite())).collect();
    let n = whole.len();
    if n < 2 || k < 2 {
        return Err(refused(
            format!("{n} targets measured {k} times say nothing about stability"),
            "give two of each or more",
        ));
    }
    let (targets, measured) = (n as f64, k as f64);
    let by_target: Vec<f64> = whole.iter().map(|row| mean(row)).collect();
    let by_time: Vec<f64> = (0..k).map(|j| whole.iter().map(|row| row[j]).sum::<f64>() / targets).collect();
    let all = mean(&by_target);
    let squares = |means: &[f64]| means.iter().map(|m| (m - all).powi(2)).sum::<f64>();
    let mut rest = 0.0;
    for (row, of_target) in whole.iter().zip(&by_target) {
        rest +=
            row.iter().zip(&by_time).map(|(v, of_time)| (v - of_target - of_time + all).powi(2)).sum::<f64>();
    }
    let squares = Squares {
        n: targets,
        k: measured,
        targets: measured * squares(&by_target) / (targets - 1.0),
        times: targets * squares(&by_time) / (measured - 1.0),
        rest: rest / ((targets - 1.0) * (measured - 1.0)),
    };
    Ok(Stability { targets: n, measured: k, absolute: squares.absolute(), consistent: squares.consistent() })
}

/// Mean squares of a two-way analysis of variance.
struct Squares {
    n: f64,
    k: f64,
    targets: f64,
    times: f64,
    rest: f64,
}

impl Squares {
    fn absolute(&self) -> Intraclass {
        let Squares { n, k, targets, times, rest } = *self;
        let value = (targets - rest) / (targets + (k - 1.0) * rest + k * (times - rest) / n);
        if rest == 0.0 && times == 0.0 {
            return Intraclass { value, interval: Interval { low: value, high: value } };
        }
        // Degrees of freedom of the sum of two variances, after Satterthwaite.
        let ratio = times / rest;
        let part = n * (1.0 + (k - 1.0) * value) - k * value;
        let freedom = (n - 1.0) * (k - 1.0) * (k * value * ratio + part).powi(2)
            / ((n - 1.0) * (k * value * ratio).powi(2) + part * part);
        let down = fisher_quantile(UPPER, n - 1.0, freedom);
        let up = fisher_quantile(UPPER, freedom, n - 1.0);
        let noise = k * times + (k * n - k - n) * rest;
        let low = n * (targets - down * rest) / (down * noise + n * targets);
        let high = n * (up * targets - rest) / (noise + n * up * targets);
        Intraclass { value, interval: Interval { low, high } }
    }

    fn consistent(&self) -> Intraclass {
        let Squares { n, k, targets, rest, .. } = *self;
        let value = (targets - rest) / (targets + (k - 1.0) * rest);
        if rest == 0.0 {
            return Intraclass { value, interval: Interval { low: value, high: value } };
        }
        let (above, below) = (n - 1.0, (n - 1.0) * (k - 1.0));
        let of = |ratio: f64| (ratio - 1.0) / (ratio + k - 1.0);
        let ratio = targets / rest;
        let low = of(ratio / fisher_quantile(UPPER, above, below));
        let high = of(ratio * fisher_quantile(UPPER, below, above));
        Intraclass { value, interval: Interval { low, high } }
    }
}

/// Whether subjects are recognised by what was measured of them in another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identification {
    /// The share of subjects whose nearest in the other session is themselves, in both directions.
    pub accuracy: f64,
    /// The chance level: 1/N of N subjects.
    pub chance: f64,
    /// The accuracy that is exceeded by chance with a probability of 5 % or less.
    pub threshold: f64,
    /// The mean correlation of subjects with themselves.
    pub own: f64,
    /// The mean correlation with others.
    pub others: f64,
    /// How often subjects of the other session in another order are recognised as well; NaN without draws.
    pub p: f64,
}

/// Looks for each subject of one session, a row, among those of another, in the same order: the nearest has the highest correlation (Finn et al. 2015,
/// doi:10.1038/nn.4135).
pub fn identify_subjects(
    one: &Features,
    other: &Features,
    shuffles: PermutationSettings,
) -> Result<Identification> {
    other.fits("subjects", &vec![(); one.len()])?;
    let (n, width) = (one.len(), one.width());
    if n < 2 || width < 3 || width != other.width() {
        return Err(refused(
            format!("{n} subjects with {width} and {} values cannot be correlated", other.width()),
            "give two subjects or more and the same three values or more of each",
        ));
    }
    let [a, b] = [one, other].map(|features| {
        let mut rows = features.rows.clone();
        for mut row in rows.row_iter_mut() {
            row.add_scalar_mut(-row.mean());
            let size = row.norm();
            // A subject without any differences is like no other.
            row.scale_mut(if size > 0.0 { 1.0 / size } else { 0.0 });
        }
        rows
    });
    let correlations = a * b.transpose();
    let nearest: Vec<usize> = correlations.row_iter().map(|row| row.transpose().argmax().0).collect();
    let back: Vec<usize> = correlations.column_iter().map(|column| column.argmax().0).collect();
    let share = |order: &[usize]| {
        let there = nearest.iter().zip(order).filter(|(found, subject)| found == subject).count();
        let back = order.iter().enumerate().filter(|(i, subject)| back[**subject] == *i).count();
        (there + back) as f64 / (2 * n) as f64
    };
    let mut order: Vec<usize> = (0..n).collect();
    let accuracy = share(&order);
    let mut random = ChaCha8Rng::seed_from_u64(shuffles.seed);
    let mut draws = Vec::with_capacity(shuffles.draws);
    for _ in 0..shuffles.draws {
        order.shuffle(&mut random);
        draws.push(share(&order));
    }
    let own = correlations.trace() / n as f64;
    let chance = 1.0 / n as f64;
    Ok(Identification {
        accuracy,
        chance,
        threshold: chance_threshold(n, chance, ALPHA),
        own,
        others: (correlations.sum() - correlations.trace()) / (n * (n - 1)) as f64,
        p: chance_p(accuracy, &draws),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    /// Six targets and four judges, Shrout & Fleiss 1979, table 2.
    fn published() -> Vec<Vec<f64>> {
        let table = [
            [9., 2., 5., 8.],
            [6., 1., 3., 2.],
            [8., 4., 6., 8.],
            [7., 1., 2., 6.],
            [10., 5., 6., 9.],
            [6., 2., 4., 7.],
        ];
        table.map(|row| row.to_vec()).to_vec()
    }

    #[test]
    fn the_published_example_comes_out() {
        let found = stability(&published()).unwrap();
        // 0.29 and 0.71 in their table 4; pingouin 0.5 gives the intervals 0.02 to 0.76 and 0.34 to 0.95.
        near(found.absolute.value, 0.289763779528);
        near(found.absolute.interval.low, 0.018786513375);
        near(found.absolute.interval.high, 0.761084369649);
        near(found.consistent.value, 0.714840714841);
        near(found.consistent.interval.low, 0.342464765034);
        near(found.consistent.interval.high, 0.945858259955);
    }

    #[test]
    fn a_target_that_misses_a_measurement_is_left_out() {
        let mut table = published();
        table.insert(2, vec![1.0, f64::NAN, 1.0, 1.0]);
        assert_eq!(stability(&table).unwrap(), stability(&published()).unwrap());
        assert!(stability(&[vec![1.0, 2.0], vec![1.0]]).is_err() && stability(&table[2..4]).is_err());
    }

    #[test]
    fn a_shift_counts_against_the_absolute_one_only() {
        let shifted: Vec<Vec<f64>> = (0..10).map(|i| vec![f64::from(i), f64::from(i) + 100.0]).collect();
        let found = stability(&shifted).unwrap();
        assert_eq!((found.consistent.value, found.consistent.interval.low), (1.0, 1.0));
        assert!(found.absolute.value < 0.01);
        let same: Vec<Vec<f64>> = (0..10).map(|i| vec![f64::from(i); 3]).collect();
        assert_eq!(stability(&same).unwrap().absolute.interval, Interval { low: 1.0, high: 1.0 });
        assert!(stability(&vec![vec![1.0; 3]; 4]).unwrap().absolute.value.is_nan());
    }

    #[test]
    fn noise_does_not_agree() {
        let noise = normal(60, 3, 1);
        let table: Vec<Vec<f64>> = noise.row_iter().map(|row| row.iter().copied().collect()).collect();
        let found = stability(&table).unwrap().consistent;
        assert!(
            found.value.abs() < 0.2 && found.interval.low < 0.0 && found.interval.high > 0.0,
            "{found:?}"
        );
    }

    #[test]
    fn subjects_are_recognised_by_their_pattern_only() {
        let (own, first, second) = (normal(20, 30, 1), normal(20, 30, 2), normal(20, 30, 3));
        let shuffles = PermutationSettings { draws: 99, seed: 1 };
        let [one, other] = [&own + &first * 0.5, &own + &second * 0.5].map(|rows| Features { rows });
        let found = identify_subjects(&one, &other, shuffles).unwrap();
        assert!(found.accuracy == 1.0 && found.p == 0.01 && found.own > found.others + 0.5, "{found:?}");
        let noise =
            identify_subjects(&Features { rows: first }, &Features { rows: second }, shuffles).unwrap();
        assert!(noise.accuracy <= noise.threshold && noise.p > 0.05 && noise.chance == 0.05, "{noise:?}");
        assert!(identify_subjects(&one, &Features { rows: normal(19, 30, 1) }, shuffles).is_err());
    }
}
