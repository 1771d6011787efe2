//! Who is trained on and who is tested: [`Protocol`]s divide subjects into [`Split`]s, [`Transfer`]s divide their sessions and runs.
//!
//! No subject is ever on both sides: a [`Split`] that has one there cannot be built.

mod protocol;
mod split;
mod units;

pub use protocol::Protocol;
pub use split::{Sources, Split};
pub use units::{Transfer, Units};
