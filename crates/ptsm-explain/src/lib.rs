//! What a decoder looked at, and whether to believe it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod masks;
mod ranks;

pub use masks::{Masks, masks};
pub use ranks::{favours, rank_correlation};
