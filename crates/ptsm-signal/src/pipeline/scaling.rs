//! Dividing a trial by what its scaling says.

use std::array::from_fn;

use super::Scaling;
use crate::lanes::{Isa, divide};

impl Scaling {
    /// Scales trials of so many values each in place.
    pub(super) fn apply(self, trials: &mut [f32], each: usize) {
        let isa = Isa::best();
        match self {
            Scaling::None => {}
            Scaling::By(divisor) => divide(isa, trials, divisor),
            Scaling::TrialDeviation => {
                for trials in trials.chunks_mut(each * TOGETHER) {
                    let found = deviations(trials, each);
                    for (trial, by) in trials.chunks_exact_mut(each).zip(found).filter(|(_, by)| *by > 0.0) {
                        divide(isa, trial, by);
                    }
                }
            }
        }
    }
}

/// Trials whose sums are made at once: one sum waits for its own last addition most of the time.
const TOGETHER: usize = 8;

/// Standard deviations over all channels and samples of up to [`TOGETHER`] trials.
fn deviations(trials: &[f32], each: usize) -> [f64; TOGETHER] {
    // Where there are fewer the first stands in.
    let trial = |i: usize| trials.get(i * each..(i + 1) * each).unwrap_or(&trials[..each]);
    let trials = from_fn(trial);
    let middle = means(trials, |_, x| x);
    means(trials, |i, x| (x - middle[i]).powi(2)).map(f64::sqrt)
}

/// The mean of a function of each trial's samples.
fn means(trials: [&[f32]; TOGETHER], value: impl Fn(usize, f64) -> f64) -> [f64; TOGETHER] {
    let each = trials[0].len();
    let sums =
        (0..each).fold([0.0; TOGETHER], |sums, t| from_fn(|i| sums[i] + value(i, f64::from(trials[i][t]))));
    sums.map(|sum| sum / each as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_divided_and_flat_ones_left_alone() {
        let mut trials = [1.0, 5.0, 1.0, 5.0, 3.0, 3.0, 3.0, 3.0];
        Scaling::TrialDeviation.apply(&mut trials, 4);
        assert_eq!(trials, [0.5, 2.5, 0.5, 2.5, 3.0, 3.0, 3.0, 3.0]);
        Scaling::By(0.5).apply(&mut trials, 4);
        assert_eq!(trials, [1.0, 5.0, 1.0, 5.0, 6.0, 6.0, 6.0, 6.0]);
        Scaling::None.apply(&mut trials, 4);
        assert_eq!(trials, [1.0, 5.0, 1.0, 5.0, 6.0, 6.0, 6.0, 6.0]);
        Scaling::TrialDeviation.apply(&mut [], 4);
    }

    #[test]
    fn a_trial_is_divided_alike_whatever_stands_beside_it() {
        let all: Vec<f32> =
            (0..19 * 50).map(|i| ((i * i) as f32 * 0.37).sin() * (1 + i / 50) as f32).collect();
        let mut together = all.clone();
        Scaling::TrialDeviation.apply(&mut together, 50);
        for (trial, scaled) in all.chunks(50).zip(together.chunks(50)) {
            let mut alone = trial.to_vec();
            Scaling::TrialDeviation.apply(&mut alone, 50);
            assert_eq!(alone, scaled);
        }
    }
}
