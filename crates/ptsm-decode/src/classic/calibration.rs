//! From scores to decisions.

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
}
