//! Where trials come from, and who is learnt from and who is tested.
//!
//! [`Source`] is what `--data ID [--root DIR]` means: the simulated cohort ([`simulate`]) or [`arrays`] of the user's own.
//! [`Source::load`] gives trials. A [`Protocol`] divides people into [`Split`]s: whole people, nobody on two sides.

pub mod arrays;
mod cohort;
mod error;
mod fingerprint;
mod protocol;
pub mod simulate;
mod source;
mod split;
mod subjects;

pub use cohort::{COHORT_FILE, TRUTH_FILE, read_cohort, save_cohort};
pub use error::{Error, Result};
pub use protocol::Protocol;
pub use source::{Entry, Loaded, SOURCES, Source};
pub use split::{Side, Sources, Split};
pub use subjects::SubjectList;
