//! Whether a ranking agrees with another, or with a known truth.

/// How likely a place of the truth has a higher value than one outside it: 1 always, 0.5 no better than chance, 0 never. Not a
/// number where everything or nothing is truth.
pub fn truth_auc(values: &[f64], truth: &[bool]) -> f64 {
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
        assert_eq!(truth_auc(&[4.0, 3.0, 2.0, 1.0], &truth), 1.0);
        assert_eq!(truth_auc(&[1.0, 1.0, 1.0, 1.0], &truth), 0.5);
        assert_eq!(truth_auc(&[3.0, 1.0, 2.0, 0.0], &truth), 0.75);
        assert!(truth_auc(&[1.0], &[true]).is_nan());
    }

    #[test]
    fn ranks_are_what_is_correlated() {
        assert!((rank_correlation(&[1.0, 2.0, 9.0], &[0.1, 0.2, 0.3]) - 1.0).abs() < 1e-12);
        // numpy.corrcoef of the ranks
        let r = rank_correlation(&[1.0, 2.0, 2.0, 4.0, 0.0], &[5.0, 3.0, 4.0, 1.0, 2.0]);
        assert!((r - -0.359_092_423_229_803_95).abs() < 1e-12, "{r}");
        assert!(rank_correlation(&[1.0, 1.0], &[0.0, 1.0]).is_nan());
    }
}
