//! Attribution against golden numbers, and explanations of simulated subjects whose truth is known.
//!
//! One program, because linking one for each file took most of the time.

#![allow(clippy::unwrap_used)]

mod captum;
mod eyes;
mod simulated;
