//! White noise on top.

use rand_distr::{Distribution, StandardNormal};

use super::Augmentation;

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "noise",
    about: "standard deviation of white noise, as a share of the trial's own",
    most: 10.0,
    apply: |trial, strength, rng| {
        let n = trial.x.len() as f64;
        let mean = trial.x.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        let variance = trial.x.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n;
        let deviation = (strength * variance.sqrt()) as f32;
        for v in trial.x.iter_mut() {
            let noise: f32 = StandardNormal.sample(rng);
            *v += deviation * noise;
        }
    },
};
