//! Simulated cohorts with known truth: EEG of subjects who do not exist, of whom it is known where, when and in whom the task can be seen.
//!
//! A [`Cohort`] holds the settings; [`Cohort::recording`] makes one run of one session of one subject, and [`Cohort::truth`] tells what a
//! decoder or an explanation ought to find.
//!
//! ```
//! use ptsm_signal::SubjectId;
//! use ptsm_simulate::{Cohort, SimulatedTask};
//!
//! let cohort = Cohort { subjects: 3, trials: 4, ..Cohort::of(SimulatedTask::Imagery) };
//! let recording = cohort.recording(SubjectId(1), 1, 1)?;
//! assert_eq!((recording.channels.len(), recording.events.len()), (32, 4));
//! assert_eq!(cohort.truth().subjects.len(), 3);
//! # Ok::<(), ptsm_simulate::SimulateError>(())
//! ```
//!
//! Current dipoles in the cortex ([`Truth::sources`] names those that carry the task) send their activity through a
//! three-sphere head to the electrodes. What they do:
//!
//! - a 1/f background from dipoles all over the cortex, and rhythms (mu, beta, alpha, theta) that wax and wane;
//! - **imagery**: imagined left or right hand movement weakens mu and beta over the other side's hand area;
//! - **erp**: a rare target evokes a P300 on top of the N1 and P2 of every stimulus, stimuli coming faster than responses end;
//! - **attention**: of two talkers, left and right, the attended one is tracked more strongly by the opposite temporal
//!   cortex, and parietal alpha moves to the attended side;
//! - blinks, eye movements, muscle bursts, mains, drifting and popping electrodes.
//!
//! Subjects differ in frequencies, amplitudes, places and directions of dipoles, how the cap sits and how strong the effect is;
//! in some it is absent. Sessions of one subject differ a little. Everything is a function of seed, subject, session and
//! run, so a subject is the same in a cohort of any size.

mod activity;
mod anatomy;
mod artifact;
mod attention;
mod cohort;
mod erp;
mod error;
mod generate;
mod head;
mod imagery;
mod mix;
mod noise;
mod random;
mod schedule;
mod subject;
#[cfg(test)]
mod tests;
mod truth;

pub use cohort::{Cohort, SimulatedTask};
pub use error::SimulateError;
pub use truth::{SourceTruth, SubjectTruth, Truth};
