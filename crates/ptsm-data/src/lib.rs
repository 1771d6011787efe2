//! Where trials come from: simulated cohorts, arrays of the user's own and data sets of recordings.
//!
//! [`Source`] is what `--data ID [--root DIR]` means: the simulated cohort ([`simulate`]), [`arrays`] of the user's own, or a data set
//! of recordings ([`catalogue`]).
//! [`download`] gets data sets of recordings. [`Source::load`] gives trials.

pub mod arrays;
pub mod catalogue;
pub mod check;
mod cohort;
pub mod download;
mod error;
mod fetch;
mod findings;
mod fingerprint;
mod identity;
mod loaded;
mod own;
mod recordings;
mod source;
mod stamp;
mod subjects;
mod walk;

pub use cohort::{COHORT_FILE, MANIFEST_FILE, TRUTH_FILE, read_cohort, save_cohort, save_recordings};
pub use error::{Error, Result, reasons};
pub use findings::Duplicate;
pub use identity::SubjectIdentity;
pub use loaded::LoadedData;
pub use own::{AddOptions, AddReport, EventCode, UnreadableFile, add_folder, add_folder_with};
/// The crate `ptsm-simulate`, whose settings and truth stand in [`Source::Simulated`] and [`LoadedData::truth`].
pub use ptsm_simulate as simulate;
pub use recordings::{Cache, LoadOptions, Recordings, map_stored_trials, store_trials};
pub use source::{CohortRelation, Source, SourceEntry, sources};
pub use subjects::SubjectList;
