//! What holds for every decoder, and golden numbers of networks and losses. Tests that need a GPU are in `tests/gpu_training.rs`.
//!
//! One program, because linking one for each file took most of the time.

#![allow(clippy::unwrap_used)]

mod acon;
mod adaptation;
mod common;
mod cslp_ae;
mod decoders;
mod distillation;
mod drawing;
mod ensemble;
mod ensemble_calibration;
mod fitting;
mod golden;
mod known_differences;
mod networks;
mod norms;
mod recipes;
mod symmetry;
mod trainer;
mod two_steps;
