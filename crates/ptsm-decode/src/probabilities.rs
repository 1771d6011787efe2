//! From scores to probabilities, and how sure those should be.

use ptsm_engine::Real;

/// Probabilities of classes from their scores: `exp(s) / sum exp(s)`, free of overflow.
pub fn softmax<T: Real>(scores: &[T]) -> Vec<T> {
    let most = scores.iter().copied().reduce(|a, b| if b > a { b } else { a }).unwrap_or(T::ZERO);
    let powers: Vec<T> = scores.iter().map(|&s| (s - most).exp()).collect();
    let sum = powers.iter().fold(T::ZERO, |sum, &p| sum + p);
    powers.iter().map(|&p| p / sum).collect()
}

/// The logarithm of the sum of exponentials.
pub(crate) fn log_sum_exp(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + values.iter().map(|v| (v - most).exp()).sum::<f64>().ln()
}

/// The index of the largest number, the first of equals.
pub(crate) fn largest<T: Real>(values: &[T]) -> usize {
    let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    (1..values.len()).fold(0, better)
}

/// Inverse temperatures between which the best is looked for: chance even for large scores, and certainty even for small ones.
const INVERSE_TEMPERATURES: [f64; 2] = [0.01, 100.0];

/// Which of equally likely inverse temperatures is taken. Where every trial is decoded right, all large ones are equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The smallest, which makes the least certain probabilities.
    LeastCertain,
    /// The largest.
    MostCertain,
}

/// Temperature scaling (Guo et al. 2017): what scores are best multiplied with before their softmax is taken, by the likelihood of the
/// labels. It changes no decision. Fit it on subjects who were neither trained on nor are scored.
///
/// Each trial is its scores `[K]` and its label.
pub fn inverse_temperature<'a>(trials: impl Iterator<Item = (&'a [f64], usize)> + Clone, ties: Ties) -> f64 {
    // The loss is convex in the inverse temperature: its derivative rises and is 0 once.
    let falls = |inverse: f64| -> bool {
        let one = |(scores, label): (&[f64], usize)| -> f64 {
            let p = softmax(&scores.iter().map(|s| s * inverse).collect::<Vec<f64>>());
            p.iter().zip(scores).map(|(p, s)| p * s).sum::<f64>() - scores[label]
        };
        let slope = trials.clone().map(one).sum::<f64>();
        slope < 0.0 || (slope == 0.0 && ties == Ties::MostCertain)
    };
    let [mut low, mut high] = INVERSE_TEMPERATURES.map(f64::ln);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if falls(middle.exp()) { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_temperature_is_as_certain_as_the_scores_are_right() {
        let found = |labels: &[usize]| {
            inverse_temperature(labels.iter().map(|&l| (&[-1.0, 1.0][..], l)), Ties::LeastCertain)
        };
        // Three of four are right: softmax(2 a) = 3 / 4.
        let three = found(&[1, 1, 1, 0]);
        assert!((three - 0.5 * 3f64.ln()).abs() < 1e-12, "{three}");
        assert!((15.0..50.0).contains(&found(&[1; 4])) && found(&[0; 4]) < 0.0101);
        let sure = inverse_temperature([(&[-1.0, 1.0][..], 1)].into_iter(), Ties::MostCertain);
        assert!((sure - 100.0).abs() < 1e-9, "{sure}");
    }

    #[test]
    fn large_scores_do_not_overflow() {
        assert_eq!(softmax(&[1000.0, 1000.0]), [0.5, 0.5]);
        assert!((log_sum_exp(&[1000.0, 1000.0]) - 1000.0 - 2f64.ln()).abs() < 1e-12);
        assert_eq!(largest(&[1.0, 3.0, 3.0]), 1);
    }
}
