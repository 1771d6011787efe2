//! What PTSM's masks look like in each person, and whether they favour where the truth is known to be.

use ptsm_decode::Fitted;
use ptsm_signal::{SubjectId, Subset};

use crate::error::Result;

/// One kind of mask, its mean over each person's trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Masks {
    /// `common`, `personal` or `fused`.
    pub kind: &'static str,
    /// Whose.
    pub people: Vec<SubjectId>,
    /// `[person][channel]`
    pub space: Vec<Vec<f64>>,
    /// `[person][sample]`
    pub time: Vec<Vec<f64>>,
}

impl Masks {
    /// The spatial mask's mean over people.
    pub fn space_mean(&self) -> Vec<f64> {
        mean_over(&self.space)
    }

    /// The temporal mask's mean over people.
    pub fn time_mean(&self) -> Vec<f64> {
        mean_over(&self.time)
    }
}

fn mean_over(rows: &[Vec<f64>]) -> Vec<f64> {
    let length = rows.first().map_or(0, Vec::len);
    (0..length).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / rows.len() as f64).collect()
}

const KINDS: [(&str, [&str; 2]); 3] = [
    ("common", ["mask.common.space", "mask.common.time"]),
    ("personal", ["mask.personal.space", "mask.personal.time"]),
    ("fused", ["mask.space", "mask.time"]),
];

/// The masks a decoder has; none for a decoder without.
pub fn masks(fitted: &dyn Fitted, people: &Subset<'_>) -> Result<Vec<Masks>> {
    let mut found = vec![];
    for (kind, names) in KINDS {
        let (mut space, mut time, mut who) = (vec![], vec![], vec![]);
        for subject in people.subjects() {
            let own = people.only(|t| t.subject == subject);
            let Some(values) = fitted.inner(&own, &names)? else { continue };
            let mut means = values.iter().map(|v| mean_row(v, own.len()));
            space.extend(means.next());
            time.extend(means.next());
            who.push(subject);
        }
        if !who.is_empty() {
            found.push(Masks { kind, people: who, space, time });
        }
    }
    Ok(found)
}

/// The mean of `n` rows that follow each other.
fn mean_row(values: &[f32], n: usize) -> Vec<f64> {
    let length = values.len() / n.max(1);
    let mut mean = vec![0.0; length];
    for row in values.chunks(length.max(1)) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += f64::from(*v) / n as f64);
    }
    mean
}

/// How likely a place of the truth has a higher value than one outside it: 1 always, 0.5 no better than chance, 0 never. Not a
/// number where everything or nothing is truth.
pub fn favours(values: &[f64], truth: &[bool]) -> f64 {
    let side = |which: bool| values.iter().zip(truth).filter(move |(_, t)| **t == which).map(|(v, _)| *v);
    let (mut wins, mut pairs) = (0.0, 0.0);
    for inside in side(true) {
        for outside in side(false) {
            pairs += 1.0;
            wins += if inside > outside {
                1.0
            } else if inside == outside {
                0.5
            } else {
                0.0
            };
        }
    }
    wins / pairs
}

/// Spearman's rank correlation; not a number where either side is constant.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let with =
        |f: fn(f64, f64) -> f64| -> f64 { a.iter().zip(&b).map(|(x, y)| f(x - mean_a, y - mean_b)).sum() };
    with(|x, y| x * y) / (with(|x, _| x * x) * with(|_, y| y * y)).sqrt()
}

/// Each value's place in order; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |v: f64| values.iter().filter(|w| **w < v).count() as f64;
    let equal = |v: f64| values.iter().filter(|w| **w == v).count() as f64;
    values.iter().map(|&v| below(v) + 0.5 * (equal(v) - 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn favouring_is_a_rank_statistic() {
        let truth = [true, true, false, false];
        assert_eq!(favours(&[4.0, 3.0, 2.0, 1.0], &truth), 1.0);
        assert_eq!(favours(&[1.0, 1.0, 1.0, 1.0], &truth), 0.5);
        assert_eq!(favours(&[3.0, 1.0, 2.0, 0.0], &truth), 0.75);
        assert!(favours(&[1.0], &[true]).is_nan());
    }

    #[test]
    fn ranks_are_what_is_correlated() {
        assert!((rank_correlation(&[1.0, 2.0, 9.0], &[0.1, 0.2, 0.3]) - 1.0).abs() < 1e-12);
        // numpy.corrcoef of the ranks
        let r = rank_correlation(&[1.0, 2.0, 2.0, 4.0, 0.0], &[5.0, 3.0, 4.0, 1.0, 2.0]);
        assert!((r - -0.359_092_423_229_803_95).abs() < 1e-12, "{r}");
        assert!(rank_correlation(&[1.0, 1.0], &[0.0, 1.0]).is_nan());
    }

    #[test]
    fn rows_are_averaged() {
        assert_eq!(mean_row(&[1.0, 2.0, 3.0, 6.0], 2), [2.0, 4.0]);
        assert_eq!(mean_row(&[], 0), [0.0; 0]);
    }
}
