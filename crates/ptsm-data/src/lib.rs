//! Where trials come from, and who is learnt from and who is tested.
//!
//! Trials come from the simulated cohort ([`simulate`]) or [`arrays`] of the user's own. A [`Protocol`] divides people into [`Split`]s: whole people, nobody on two sides.

pub mod arrays;
mod error;
mod protocol;
pub mod simulate;
mod split;
mod subjects;

pub use error::{Error, Result};
pub use protocol::Protocol;
pub use split::{Side, Sources, Split};
pub use subjects::SubjectList;
