//! Where trials come from: the simulated cohort, arrays of the user's own; splits by subject.

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
