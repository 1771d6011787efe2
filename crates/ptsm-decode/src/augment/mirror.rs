//! Left and right exchanged.

use ptsm_signal::{Layout, Symmetry};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Augmentation, Trial};
use crate::error::{Error, Result};

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

/// Which channel and which class becomes which by left-right mirroring.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    pub(crate) channels: Vec<usize>,
    /// For each class the one it becomes.
    pub(crate) classes: Vec<u32>,
}

impl Mirror {
    /// Channels by the montage, classes as the data set or the user declares; without a declaration it is refused.
    pub fn new(layout: &Layout) -> Result<Mirror> {
        let Some(classes) = layout.task.symmetry.permutation(&layout.classes)? else {
            return Err(Error::trials(
                "nothing declares which classes swap when left and right are exchanged, so epochs cannot be mirrored",
                "declare it, `--symmetry left_hand=right_hand` (`invariant` where no class changes), or leave mirroring off: `--set augment.mirror=0`",
            ));
        };
        Ok(Mirror { classes, channels: ptsm_signal::mirror_permutation(&layout.channels)? })
    }

    /// Whether a mirrored trial of one class is declared to be one of another, and every channel has its partner.
    pub fn is_meant(layout: &Layout) -> bool {
        matches!(layout.task.symmetry, Symmetry::Swaps(_)) && Mirror::new(layout).is_ok()
    }

    /// Writes the mirror image of a trial `[C, T]`.
    pub fn signal(&self, from: &[f32], to: &mut [f32]) {
        let samples = from.len() / self.channels.len();
        for (row, &source) in to.chunks_exact_mut(samples).zip(&self.channels) {
            row.copy_from_slice(&from[source * samples..][..samples]);
        }
    }
}
