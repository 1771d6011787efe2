//! Left and right exchanged.

use ptsm_signal::Layout;
use rand::RngExt;

use super::{Augmentation, Trial};
use crate::error::Result;

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "mirror",
    about: "share of trials whose channels change sides about the midline, and whose label does where the classes are \
            lateral; at test time both views are averaged",
    most: 1.0,
    apply: |trial, strength, rng| {
        if rng.random::<f64>() < strength
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

/// Which channel and which class is which in the mirror.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    channels: Vec<usize>,
    /// For each class the one it becomes.
    pub(crate) classes: Vec<u32>,
}

impl Mirror {
    /// Channels by the montage, classes by their names: `left` becomes `right` where there is such a class.
    pub fn new(layout: &Layout) -> Result<Mirror> {
        let classes = layout.classes.iter().enumerate().map(|(i, name)| {
            let other = swap_sides(name);
            layout.classes.iter().position(|c| *c == other).unwrap_or(i) as u32
        });
        Ok(Mirror { classes: classes.collect(), channels: ptsm_signal::mirror(&layout.channels)? })
    }

    /// Writes the mirror image of a trial `[C, T]`.
    pub fn signal(&self, from: &[f32], to: &mut [f32]) {
        let samples = from.len() / self.channels.len();
        for (row, &source) in to.chunks_exact_mut(samples).zip(&self.channels) {
            row.copy_from_slice(&from[source * samples..][..samples]);
        }
    }
}

fn swap_sides(name: &str) -> String {
    if name.contains("left") { name.replace("left", "right") } else { name.replace("right", "left") }
}
