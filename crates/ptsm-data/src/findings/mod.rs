//! What can be wrong with recordings and epochs, alone and beside each other.
//!
//! `ptsm data check` tells all of it, and loading tells it before anything is trained. Thresholds stand beside the measures.

mod compare;
mod duplicates;
mod faults;
mod measure;
mod problem;
pub(crate) mod scale;
mod steps;
mod windows;

pub(crate) use compare::{Parts, ReportScope, add_cases, problems, same_samples};
pub use duplicates::Duplicate;
pub(crate) use duplicates::{Sketch, between, sketches, within};
pub(crate) use measure::{RecordingMeasures, measure, measure_with};
pub use problem::{Case, Problem, ProblemKind};
