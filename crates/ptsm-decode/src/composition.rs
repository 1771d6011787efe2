//! Decoders that are made of fits of another decoder without fitting again: the mean of some members, recentred logits.

use crate::decoder::{Fit, TrainingData};
use crate::ensemble::{member_seed, together};
use crate::error::{Error, Result};
use crate::recentring::{Recentring, recentred};

/// What is made of fits ([`Method::composition`](crate::Method::composition)): a mean over so many members, whose logits are then recentred
/// where that is asked for. Decoders that differ in nothing else can be made of the same fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    pub(crate) members: usize,
    pub(crate) recentring: Option<Recentring>,
}

impl Composition {
    /// The seeds of the fits that the decoder with a seed is made of, in their order.
    pub fn seeds(&self, seed: u64) -> Vec<u64> {
        (0..self.members).map(|member| member_seed(seed, member)).collect()
    }

    /// The decoder with a seed, of the fits with its [seeds](Composition::seeds) to these data.
    pub fn compose(&self, data: &TrainingData<'_>, seed: u64, mut fits: Vec<Fit>) -> Result<Fit> {
        let given: Vec<u64> = fits.iter().map(|fit| fit.seed).collect();
        let needed = self.seeds(seed);
        if given != needed {
            return Err(Error::Configuration(format!(
                "the decoder with seed {seed} is made of fits with the seeds {needed:?}, and given were {given:?}"
            )));
        }
        let fit = match fits.pop() {
            Some(single) if fits.is_empty() => single,
            last => together(data, seed, fits.into_iter().chain(last).collect())?,
        };
        match &self.recentring {
            Some(recentring) => recentred(fit, recentring),
            None => Ok(fit),
        }
    }
}
