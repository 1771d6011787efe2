//! Left and right exchanged.

use ptsm_signal::Layout;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Augmentation, Trial};
use crate::error::{Error, Result};

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "mirror",
    about: "share of trials whose channels change sides about the midline, and whose label does where the classes are \
            lateral; at test time both views are averaged",
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

/// Which channel and which class is which in the mirror.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    pub(crate) channels: Vec<usize>,
    /// For each class the one it becomes.
    pub(crate) classes: Vec<u32>,
}

impl Mirror {
    /// Channels by the montage, classes by their names: `left` becomes `right`. A class with a side and no partner is refused.
    pub fn new(layout: &Layout) -> Result<Mirror> {
        let place = |(i, name): (usize, &String)| match other_side(name) {
            None => Ok(i as u32),
            Some(other) => {
                layout.classes.iter().position(|c| c.to_lowercase() == other).map(|c| c as u32).ok_or_else(
                    || {
                        Error::trials(
                            format!("class `{name}` has no partner `{other}` on the other side"),
                            "mirroring needs both sides; switch it off with `--set augment.mirror=0`",
                        )
                    },
                )
            }
        };
        let classes = layout.classes.iter().enumerate().map(place).collect::<Result<_>>()?;
        Ok(Mirror { classes, channels: ptsm_signal::mirror(&layout.channels)? })
    }

    /// Whether a mirrored trial of one class is known to be one of another, and every channel has its partner.
    pub fn is_meant(layout: &Layout) -> bool {
        Mirror::new(layout).is_ok_and(|m| m.classes.iter().enumerate().any(|(i, c)| i as u32 != *c))
    }

    /// Writes the mirror image of a trial `[C, T]`.
    pub fn signal(&self, from: &[f32], to: &mut [f32]) {
        let samples = from.len() / self.channels.len();
        for (row, &source) in to.chunks_exact_mut(samples).zip(&self.channels) {
            row.copy_from_slice(&from[source * samples..][..samples]);
        }
    }
}

/// The class on the other side, in lower case; none where the name tells no side.
fn other_side(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    match (name.contains("left"), name.contains("right")) {
        (true, false) => Some(name.replace("left", "right")),
        (false, true) => Some(name.replace("right", "left")),
        _ => None,
    }
}
