//! What a decoder looked at, and whether to believe it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod masks;
mod ranks;
mod signals;

pub use masks::{Masks, masks};
pub use ranks::{favours, rank_correlation};
pub use signals::{BANDS, EXTREME, Signals, signals};
