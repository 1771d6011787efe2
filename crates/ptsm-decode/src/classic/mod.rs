//! Classic decoding, without gradients: spatial filters and linear classifiers in double precision.
//!
//! The parts are plain values with public numbers, so that they can be saved, drawn and put together:
//! covariances of trials ([`ptsm_signal::covariance`]) to log powers ([`Csp`]) or tangent vectors ([`ptsm_signal::spd`]) to probabilities
//! ([`Lda`], [`Logistic`]). For responses to events there are [`Xdawn`] and [`TimeBins`], and [`Sparse`] learns filters and classifier together.

pub(crate) mod band;
mod bins;
pub(crate) mod calibration;
mod cholesky;
mod csp;
pub(crate) mod decoder;
#[cfg(test)]
pub(crate) mod golden;
mod information;
mod lda;
pub(crate) mod linear;
mod logistic;
pub(crate) mod matrices;
mod sparse;
mod tangent;
mod xdawn;

pub use bins::TimeBins;
pub use csp::Csp;
pub use information::mutual_information;
pub use lda::{Lda, Shrinkage};
pub use logistic::{Logistic, Regularisation};
pub use sparse::{RegressionStep, RegressionTarget, Sparse, SparseEvidence, SparseFeatures, normalised};
pub use tangent::Tangent;
pub use xdawn::{TrialMoments, Xdawn};
