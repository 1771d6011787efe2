//! What a decoder looked at, and whether to believe it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod features;
mod intervals;
mod masks;
mod probes;
#[cfg(test)]
mod random;
mod ranks;

pub use features::{Features, Split};
pub use intervals::wilson;
pub use masks::{Masks, masks};
pub use probes::{Probe, Probed, Question, Shuffled, Shuffles, linear_probabilities, probe};
pub use ranks::{favours, rank_correlation};
