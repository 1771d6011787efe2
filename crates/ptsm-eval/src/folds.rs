//! Two models on the same folds of one subject's trials.

use crate::normal::student_upper_tail;
use crate::statistics::{deviation, mean};

/// How often differences over folds come out as far above 0 by chance, when neither side is better: Student's t-test with the
/// variance corrected for folds that share training trials (Nadeau & Bengio 2003, doi:10.1023/A:1024068626366). `differences` has one value
/// for each fold of each repetition; a fold has `train` and `test` trials. Above 0 and below 1, as MOABB gives it. None of fewer
/// than two folds, of folds without trials and of what is no number.
///
/// Folds of one subject are no sample of subjects: tests over subjects are made by [`crate::one_sided_p`].
pub fn corrected_fold_p(differences: &[f64], train: usize, test: usize) -> Option<f64> {
    if train == 0 || test == 0 || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let deviation = deviation(differences)?;
    let n = differences.len();
    let error = (1.0 / n as f64 + test as f64 / train as f64).sqrt() * deviation;
    let t = mean(differences) / error;
    // Neither side is better in any fold.
    let t = if t.is_nan() { 0.0 } else { t };
    Some(student_upper_tail(t, n - 1).clamp(f64::EPSILON, 1.0 - f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.t.sf(mean / sqrt((1/10 + 10/90) * variance), 9)`, SciPy 1.17.
    #[test]
    fn shared_training_trials_are_considered() {
        let differences = [0.02, 0.05, -0.01, 0.03, 0.04, 0.0, 0.01, 0.02, -0.02, 0.06];
        let p = corrected_fold_p(&differences, 90, 10).unwrap();
        assert!((p - 0.06305163191362465).abs() < 1e-14, "{p}");
        let reversed = differences.map(|d| -d);
        assert!((corrected_fold_p(&reversed, 90, 10).unwrap() - (1.0 - p)).abs() < 1e-14);
    }

    #[test]
    fn p_stays_between_0_and_1() {
        assert_eq!(corrected_fold_p(&[0.0; 5], 8, 2), Some(0.5));
        assert_eq!(corrected_fold_p(&[0.5; 5], 8, 2), Some(f64::EPSILON));
        assert_eq!(corrected_fold_p(&[-0.5; 5], 8, 2), Some(1.0 - f64::EPSILON));
    }

    #[test]
    fn what_is_no_fold_is_refused() {
        assert_eq!(corrected_fold_p(&[0.5], 8, 2), None);
        assert_eq!(corrected_fold_p(&[0.5, 0.1], 0, 2), None);
        assert_eq!(corrected_fold_p(&[0.5, f64::NAN], 8, 2), None);
    }
}
