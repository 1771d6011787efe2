//! A simulated cohort: people who do not exist, with electroencephalograms that behave.
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
//! People differ in frequencies, amplitudes, places and directions of dipoles, how the cap sits and how strong the effect is;
//! in some it is absent. Sessions of one person differ a little. Everything is a function of seed, subject, session and
//! run, so a person is the same in a cohort of any size.

mod anatomy;
mod artifact;
mod attention;
mod cohort;
mod erp;
mod error;
mod head;
mod imagery;
mod mix;
mod noise;
mod person;
mod random;
mod schedule;
#[cfg(test)]
mod tests;
mod truth;

pub use cohort::{Cohort, Task};
pub use error::SimulateError;
pub use truth::{SourceTruth, SubjectTruth, Truth};
