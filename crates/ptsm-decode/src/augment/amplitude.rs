//! The trial a little larger or smaller.

use rand::RngExt;

use super::Augmentation;

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "amplitude",
    about: "a trial is multiplied by a number within 1 plus or minus this",
    most: 1.0,
    apply: |trial, strength, rng| {
        let factor = (1.0 + rng.random_range(-strength..=strength)) as f32;
        trial.x.iter_mut().for_each(|v| *v *= factor);
    },
};
