//! SBLEST: spatio-temporal filters and a linear classifier learnt together, sparse in rank by its evidence.
//!
//! Paper: Wang et al. 2023, doi:10.1109/TPAMI.2023.3299568. A trial becomes the logarithm of its whitened covariance over channels and their
//! delayed copies ([`SparseFeatures`]); a symmetric matrix W maps it to +1 or -1 ([`SparseEvidence`]). The columns of W have a normal
//! prior whose covariance is learnt, which leaves W few directions: its eigenvectors are the filters, its eigenvalues their weights.

mod evidence;
mod features;

pub use evidence::{RegressionStep, RegressionTarget, Sparse, SparseEvidence};
pub use features::{SparseFeatures, normalised};
