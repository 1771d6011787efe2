//! What exchanging the two sides of the head does to channels and classes.

use ptsm_signal::{Layout, Symmetry};

use crate::error::{Error, Result};

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
