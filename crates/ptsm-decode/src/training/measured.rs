//! What a network measures of its trials before it learns.

use crate::network::Measure;

/// Measures trials `[C, T]` of so many channels.
pub(super) fn measure(what: Measure, trials: &[&[f32]], channels: usize) -> Vec<f32> {
    let narrow = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
    let each = trials.first().map_or(0, |trial| trial.len());
    match what {
        Measure::Channels => {
            let (mut mean, variance) = moments(trials, channels);
            mean.extend(variance);
            narrow(mean)
        }
        Measure::Mean => narrow(moments(trials, each).0),
        Measure::Deviation => narrow(moments(trials, each).1.into_iter().map(f64::sqrt).collect()),
    }
}

/// Mean and variance over trials of their parts, each trial being divided into so many of one length. A variance of 0 is told as 1: what
/// never changes has no size to divide by.
fn moments(trials: &[&[f32]], parts: usize) -> (Vec<f64>, Vec<f64>) {
    let mean_of = |term: &dyn Fn(usize, f64) -> f64| {
        let (mut sums, mut samples) = (vec![0.0; parts], 0);
        for trial in trials {
            let length = trial.len() / parts;
            samples += length;
            for (part, (sum, own)) in sums.iter_mut().zip(trial.chunks_exact(length)).enumerate() {
                *sum += own.iter().map(|&x| term(part, f64::from(x))).sum::<f64>();
            }
        }
        sums.into_iter().map(|sum| sum / samples.max(1) as f64).collect::<Vec<f64>>()
    };
    let mean = mean_of(&|_, x| x);
    let variance = mean_of(&|part, x| (x - mean[part]).powi(2));
    (mean, variance.into_iter().map(|v| if v > 0.0 { v } else { 1.0 }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_measured_over_trials_and_time_and_samples_over_trials() {
        let trials: [&[f32]; 2] = [&[1.0, 3.0, 10.0, 10.0], &[5.0, 3.0, 10.0, 14.0]];
        assert_eq!(measure(Measure::Channels, &trials, 2), [3.0, 11.0, 2.0, 3.0]);
        assert_eq!(measure(Measure::Mean, &trials, 2), [3.0, 3.0, 10.0, 12.0]);
        assert_eq!(measure(Measure::Deviation, &trials, 2), [2.0, 1.0, 1.0, 2.0]);
        let still: [&[f32]; 2] = [&[4.0, 4.0]; 2];
        assert_eq!(measure(Measure::Channels, &still, 1), [4.0, 1.0]);
        // Small changes of large values are not lost.
        let far: [&[f32]; 2] = [&[1e7 + 1.0], &[1e7 + 3.0]];
        assert_eq!(measure(Measure::Deviation, &far, 1), [1.0]);
    }
}
