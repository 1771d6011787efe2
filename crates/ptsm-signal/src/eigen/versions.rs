//! The kernels of eigenvalues, compiled for each instruction set.
#![allow(unsafe_code)] // calling a version that was compiled for what detection found

use crate::eigen;
use crate::lanes::versions;

versions! {
    /// Makes a symmetric matrix tridiagonal.
    fn reduce(columns: &mut [f64], size: usize, stride: usize, diagonal: &mut [f64], beside: &mut [f64], factors: &mut [f64]) = eigen::reduce;

    /// The turn that made it so.
    fn unfold(columns: &[f64], size: usize, stride: usize, factors: &[f64], vectors: &mut [f64]) = eigen::unfold;

    /// A step towards the diagonal of several matrices.
    fn sweep(all: &mut eigen::TridiagonalBatch) = eigen::sweep;

    /// Rotates columns.
    fn rotate(columns: &mut [f64], stride: usize, last: usize, turns: &[[f64; 2]]) = eigen::rotate;
}
