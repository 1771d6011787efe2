//! From scores to decisions and probabilities.

use nalgebra::DVector;

/// The score above which examples are best taken as a class's own, both sides weighing the same. Between two scores it lies in the
/// middle; of equally good ones it is the one nearest to 0.
pub(crate) fn threshold(scores: &[f64], own: &[bool]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let ours = own.iter().filter(|&&own| own).count();
    let (each_own, each_other) = (1.0 / ours.max(1) as f64, 1.0 / (own.len() - ours).max(1) as f64);
    let mut best = (f64::MIN, 0.0);
    let mut gained = 0.0;
    for pair in order.windows(2) {
        gained += if own[pair[0]] { -each_own } else { each_other };
        let (low, high) = (scores[pair[0]], scores[pair[1]]);
        // No threshold lies between equal scores.
        if low == high {
            continue;
        }
        let middle = low + 0.5 * (high - low);
        if gained > best.0 + 1e-12 || (gained > best.0 - 1e-12 && middle.abs() < f64::abs(best.1)) {
            best = (gained, middle);
        }
    }
    best.1
}

/// Slopes between which the best is looked for: chance even for large scores, and certainty even for small ones.
const SLOPES: [f64; 2] = [1e-2, 1e2];

/// What scores `[K]` are best multiplied with before their softmax is taken, by the likelihood of the labels; of equally good ones the
/// smaller.
pub(crate) fn slope(scores: &[DVector<f64>], labels: &[u32]) -> f64 {
    let loss = |ln_slope: f64| -> f64 {
        let slope = ln_slope.exp();
        let one = |(scores, &label): (&DVector<f64>, &u32)| {
            let largest = scores.max();
            let sum: f64 = scores.iter().map(|s| (slope * (s - largest)).exp()).sum();
            sum.ln() - slope * (scores[label as usize] - largest)
        };
        scores.iter().zip(labels).map(one).sum()
    };
    // The loss is convex in the slope, so that it has one valley: the golden section finds its ground.
    let share = 0.5 * (5f64.sqrt() - 1.0);
    let [mut low, mut high] = SLOPES.map(f64::ln);
    for _ in 0..60 {
        let (a, b) = (high - share * (high - low), low + share * (high - low));
        if loss(a) <= loss(b) { high = b } else { low = a }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_tells_apart_best() {
        let own = [false, false, false, true, false, true];
        assert_eq!(threshold(&[-3.0, -2.5, -2.0, -1.0, -0.5, 0.5], &own), -1.5);
        assert_eq!(threshold(&[3.0, 5.0], &[false, true]), 4.0);
        // Equal scores are not parted, and one side alone needs nothing.
        assert_eq!(threshold(&[1.0, 1.0], &[false, true]), 0.0);
        assert_eq!(threshold(&[], &[]), 0.0);
    }

    #[test]
    fn a_slope_is_as_certain_as_the_scores_are_right() {
        let scores = |n: usize| vec![DVector::from_vec(vec![-1.0, 1.0]); n];
        // Three of four are right: softmax(2 a) = 3 / 4.
        let found = slope(&scores(4), &[1, 1, 1, 0]);
        assert!((found - 0.5 * 3f64.ln()).abs() < 1e-6, "{found}");
        assert!(slope(&scores(4), &[1; 4]) > 15.0 && slope(&scores(4), &[0; 4]) < 0.0101);
    }
}
