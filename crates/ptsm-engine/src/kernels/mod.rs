//! The inner loops. `unsafe` lives here and nowhere else in the crate.
//!
//! Two register-tiled kernels carry all heavy work, because a 1-D convolution is a matrix product whose
//! second operand is read at shifted places instead of being copied out (no im2col):
//!
//! - [`product::Panel`]: `out[m, t] = sum over (row, tap) of a[m, row, tap] * b[row, t + tap]`, vectors along
//!   `t`. Convolution forward, its input gradient (flipped weights), matrix products.
//! - [`product::DotProducts`]: `out[m, row, tap] += sum over t of a[m, t] * b[row, t + tap]`, vectors along the
//!   reduction. Convolution weight gradients, products with a transposed second operand.

mod isa;
#[allow(unsafe_code)]
pub(crate) mod lanes;
#[allow(unsafe_code, unreachable_pub)] // named by the sealed supertrait of `Real`
pub mod product;
mod real;
#[allow(unsafe_code, unreachable_pub)]
pub mod rows;
#[allow(unsafe_code)]
pub(crate) mod versions;
#[allow(unsafe_code, unreachable_pub)]
pub mod winograd;

pub use isa::Isa;
pub use real::Real;
