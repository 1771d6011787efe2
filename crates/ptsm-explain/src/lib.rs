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
mod signals;
mod spectrum;

pub use calibration::{Bin, Bins, Calibration, Predicted};
pub use distance::{Distance, distance};
pub use embedding::{Embedding, Layout, NEIGHBOURS, embedding, trustworthiness};
pub use features::{Features, Split};
pub use intervals::wilson;
pub use masks::{Masks, masks};
pub use probes::{Probe, Probed, Question, Shuffled, Shuffles, linear_probabilities, probe};
pub use ranks::{favours, rank_correlation};
pub use reliability::{Agreement, Identified, Intraclass, agreement, identified};
pub use signals::{BANDS, EXTREME, Signals, signals};
pub use spectrum::{Shared, Spectrum, shared};
mod agreement;
mod attribution;
mod deletion;
mod masks;
mod patterns;
mod randomised;
mod ranks;
mod removal;

pub use agreement::{Agreement, agreement, agreement_in_time};
pub use attribution::{How, Map, Occlusion, Relevance, attribution, maps, occlusion};
pub use deletion::{Areas, Axis, Course, Ranking, Tried, Trying, Way, tried};
pub use masks::{Masks, masks};
pub use patterns::{Compared, Difference, Region, csp_relevance, difference, region, xdawn_relevance};
pub use randomised::{Look, Randomised, randomised};
pub use ranks::{favours, rank_correlation};
pub use removal::Fill;
