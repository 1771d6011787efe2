//! Left and right exchanged.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Augmentation, Trial};

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "mirror",
    about: "share of trials whose channels change sides about the midline, and whose class changes as the data declare \
            (`--symmetry`), without which it is refused; at test time both views are averaged",
    most: 1.0,
    apply: |trial, strength, rng| {
        if chosen(strength, rng)
            && let Some(mirror) = trial.mirror
        {
            let Trial { x, spare, label, .. } = trial;
            spare.clear();
            spare.extend_from_slice(x);
            mirror.signal(spare, x);
            **label = mirror.classes[**label as usize];
        }
    },
};

/// Whether a trial is one of those that are mirrored.
pub(super) fn chosen(share: f64, rng: &mut ChaCha8Rng) -> bool {
    rng.random::<f64>() < share
}
