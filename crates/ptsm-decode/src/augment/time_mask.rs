//! A segment of the trial is set to zero.

use rand::RngExt;

use super::Augmentation;

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "time_mask",
    about: "longest segment, in seconds, in which all channels of a trial are set to zero",
    most: 10.0,
    apply: |trial, strength, rng| {
        let most = ((strength * trial.rate_hz).round() as usize).min(trial.samples);
        let length = rng.random_range(0..=most);
        let start = rng.random_range(0..=trial.samples - length);
        for row in trial.x.chunks_exact_mut(trial.samples) {
            row[start..start + length].fill(0.0);
        }
    },
};
