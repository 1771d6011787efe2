//! Channels that fall silent, as electrodes do.

use rand::RngExt;

use super::Augmentation;

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "channel_dropout",
    about: "probability with which each channel of a trial is set to zero",
    most: 0.9,
    apply: |trial, strength, rng| {
        for row in trial.x.chunks_exact_mut(trial.samples) {
            if rng.random::<f64>() < strength {
                row.fill(0.0);
            }
        }
    },
};
