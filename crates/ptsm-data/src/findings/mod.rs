//! What can be wrong with recordings and epochs, alone and beside each other.
//!
//! `ptsm data check` tells all of it, and loading tells it before anything is trained. Thresholds stand beside the measures.

mod compare;
mod faults;
mod measure;
mod problem;
pub(crate) mod scale;
mod windows;

pub(crate) use compare::{Told, problems};
pub(crate) use measure::{Measured, measure};
pub use problem::{Case, Problem, ProblemKind};
