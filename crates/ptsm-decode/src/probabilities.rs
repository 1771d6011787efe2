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
