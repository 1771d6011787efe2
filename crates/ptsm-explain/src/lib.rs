//! What a decoder looked at, and whether to believe it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

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
