//! What a decoder looked at, and whether to believe it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod calibration;
mod distance;
mod embedding;
mod features;
mod intervals;
mod masks;
mod probes;
#[cfg(test)]
mod random;
mod ranks;
mod reliability;
mod spectrum;

pub use calibration::{Bin, Bins, Calibration, Predicted};
pub use distance::{Distance, distance};
pub use embedding::{Embedding, NEIGHBOURS, Picture, embedding, trustworthiness};
pub use features::{Features, Split};
pub use intervals::wilson;
pub use masks::{Masks, masks};
pub use probes::{Probe, Probed, Question, Shuffled, Shuffles, linear_probabilities, probe};
pub use ranks::{favours, rank_correlation};
pub use reliability::{Agreement, Identified, Intraclass, agreement, identified};
pub use spectrum::{Shared, Spectrum, shared};
