//! Dividing a trial by what its scaling says.

use super::Scaling;

impl Scaling {
    /// Scales one trial in place.
    pub(super) fn apply(self, trial: &mut [f32]) {
        let divisor = match self {
            Scaling::None => return,
            Scaling::By(divisor) => divisor,
            Scaling::TrialDeviation => deviation(trial),
        };
        if divisor > 0.0 {
            trial.iter_mut().for_each(|x| *x = (f64::from(*x) / divisor) as f32);
        }
    }
}

/// Standard deviation over all channels and samples.
fn deviation(trial: &[f32]) -> f64 {
    let count = trial.len() as f64;
    let mean = trial.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    (trial.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_divided_and_flat_ones_left_alone() {
        let mut trial = [1.0, 5.0, 1.0, 5.0];
        Scaling::TrialDeviation.apply(&mut trial);
        assert_eq!(trial, [0.5, 2.5, 0.5, 2.5]);
        Scaling::By(0.5).apply(&mut trial);
        assert_eq!(trial, [1.0, 5.0, 1.0, 5.0]);
        Scaling::None.apply(&mut trial);
        assert_eq!(trial, [1.0, 5.0, 1.0, 5.0]);
        let mut flat = [3.0; 4];
        Scaling::TrialDeviation.apply(&mut flat);
        assert_eq!(flat, [3.0; 4]);
    }
}
