//! Scores against golden numbers, the runner of benchmarks, and how hard simulated subjects are.
//!
//! One program, because linking one for each file took most of the time.

#![allow(clippy::unwrap_used)]

mod benchmark;
mod difficulty;
mod golden;
