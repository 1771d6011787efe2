//! The chance level in a finite number of trials.

/// The usual error rate of a test against chance.
pub const ALPHA: f64 = 0.05;
/// The error rate of the claim that unseen subjects are decoded.
pub const STRICT_ALPHA: f64 = 0.001;

/// The accuracy that a decoder at chance level, right with probability `level`, exceeds in `n` independent trials with probability `alpha` or less
/// (Combrisson & Jerbi 2015, doi:10.1016/j.jneumeth.2015.01.010): `binom.isf(alpha, n, level) / n`. NaN for no trials or a level that is no
/// probability between 0 and 1.
///
/// Trials must be independent: overlapping windows of one trial count once.
pub fn chance_threshold(n: usize, level: f64, alpha: f64) -> f64 {
    if n == 0 || !(level > 0.0 && level < 1.0) {
        return f64::NAN;
    }
    upper_quantile(n, level, alpha) as f64 / n as f64
}

/// Whether an accuracy is above [`chance_threshold`].
pub fn above_chance(n: usize, accuracy: f64, level: f64, alpha: f64) -> bool {
    // The slack is far below one trial and above rounding, so that k of n is never above k of n.
    accuracy > chance_threshold(n, level, alpha) + 1e-9 / n as f64
}

/// The chance level: one of K classes, or, where trials of one class are clearly more, always that one. A rare target makes
/// "never" right five times in six; a trial more or less of a class does not.
pub fn chance_level(trials_by_class: &[usize]) -> f64 {
    let all: usize = trials_by_class.iter().sum();
    let even = 1.0 / trials_by_class.len() as f64;
    let most = trials_by_class.iter().copied().max().unwrap_or(0) as f64 / all.max(1) as f64;
    if most > even + CLEARLY { most } else { even }
}

const CLEARLY: f64 = 0.05;

/// The smallest k with `P(X > k) <= alpha` for binomial X.
fn upper_quantile(n: usize, p: f64, alpha: f64) -> usize {
    // In logarithms and from the top: 0.25^1000 is no number, and small terms are added first.
    let odds = ((1.0 - p) / p).ln();
    let mut log_probability = n as f64 * p.ln();
    let (mut k, mut above) = (n, 0.0);
    while k > 0 {
        above += log_probability.exp();
        if above > alpha {
            break;
        }
        log_probability += (k as f64 / (n - k + 1) as f64).ln() + odds;
        k -= 1;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_of_the_known_data_sets() {
        // Trials, classes, per cent at 5 %, 1 %, 0.1 %.
        let table = [
            (45, 2u32, [62.2, 66.7, 73.3]),
            (90, 4, [32.2, 35.6, 40.0]),
            (100, 2, [58.0, 62.0, 65.0]),
            (200, 2, [56.0, 58.0, 61.0]),
            (288, 4, [29.2, 30.9, 33.0]),
            (576, 4, [28.0, 29.3, 30.7]),
        ];
        for (n, classes, percent) in table {
            for (alpha, percent) in [0.05, 0.01, 0.001].into_iter().zip(percent) {
                let threshold = 100.0 * chance_threshold(n, 1.0 / f64::from(classes), alpha);
                assert_eq!(format!("{threshold:.1}"), format!("{percent:.1}"), "{n} {classes} {alpha}");
            }
        }
    }

    #[test]
    fn above_is_not_equal() {
        assert!(!above_chance(45, 28.0 / 45.0, 0.5, 0.05));
        assert!(above_chance(45, 29.0 / 45.0, 0.5, 0.05));
        assert!(!above_chance(0, 1.0, 0.5, 0.05));
        assert!(!above_chance(3, 1.0, 0.5, 0.05), "three right guesses are no proof");
        assert!(!above_chance(45, f64::NAN, 0.5, 0.05));
    }

    #[test]
    fn rare_targets_raise_the_level() {
        assert_eq!(chance_level(&[23, 22]), 0.5);
        assert_eq!(chance_level(&[100, 20]), 100.0 / 120.0);
        assert_eq!(chance_level(&[5, 5, 5, 5]), 0.25);
        // Always naming the larger class is not above chance.
        assert!(!above_chance(120, 100.0 / 120.0, chance_level(&[100, 20]), 0.05));
    }
}
