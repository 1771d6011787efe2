//! Classic decoding, without gradients: spatial filters and linear classifiers in double precision.
//!
//! The parts are plain values with public numbers, so that they can be saved, drawn and put together:
//! covariances of trials ([`ptsm_signal::covariance`]) to log powers ([`Csp`]) to probabilities ([`Lda`]).

pub(crate) mod band;
mod csp;
pub(crate) mod decoder;
#[cfg(test)]
mod golden;
mod lda;
mod linear;
pub(crate) mod matrices;

pub use csp::Csp;
pub use lda::{Lda, Shrinkage};
