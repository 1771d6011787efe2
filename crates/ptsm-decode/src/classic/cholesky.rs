//! Triangular factors of large positive matrices, block by block, so that almost all work is products of matrices.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut, DVector, Dyn};
use rayon::prelude::*;

/// Rows and columns of a block.
const BLOCK: usize = 64;
/// Columns of a right side that are solved together: more make better products, fewer serve more threads.
const WIDE: usize = 192;

/// `A = L L^T`.
pub(crate) struct Cholesky {
    /// L; what is above its diagonal has no meaning.
    lower: DMatrix<f64>,
    /// Inverses of the blocks on its diagonal.
    diagonal: Vec<DMatrix<f64>>,
}

/// One column of blocks of a matrix with `size` rows: a column of a matrix lies in memory as one piece.
fn view(columns: &mut [f64], size: usize) -> DMatrixViewMut<'_, f64> {
    let width = columns.len() / size;
    DMatrixViewMut::from_slice_generic(columns, Dyn(size), Dyn(width))
}

impl Cholesky {
    /// Reads the lower triangle; nothing where the matrix is not positive.
    pub(crate) fn new(mut matrix: DMatrix<f64>) -> Option<Cholesky> {
        let size = matrix.nrows();
        let mut diagonal = vec![];
        for start in (0..size).step_by(BLOCK) {
            let width = BLOCK.min(size - start);
            let below = size - start - width;
            let block = matrix.view((start, start), (width, width)).into_owned();
            let factor = block.cholesky()?.unpack();
            let inverse = factor.solve_lower_triangular(&DMatrix::identity(width, width))?;
            matrix.view_mut((start, start), (width, width)).copy_from(&factor);
            let panel = matrix.view((start + width, start), (below, width)) * inverse.transpose();
            matrix.view_mut((start + width, start), (below, width)).copy_from(&panel);
            diagonal.push(inverse);
            let across = panel.transpose();
            let rest = &mut matrix.as_mut_slice()[(start + width) * size..];
            rest.par_chunks_mut(BLOCK * size).enumerate().for_each(|(i, columns)| {
                let (mut columns, from) = (view(columns, size), i * BLOCK);
                let width = columns.ncols();
                let rows = below - from;
                columns.rows_mut(size - rows, rows).gemm(
                    -1.0,
                    &panel.rows(from, rows),
                    &across.columns(from, width),
                    1.0,
                );
            });
        }
        Some(Cholesky { lower: matrix, diagonal })
    }

    /// `ln det A`.
    pub(crate) fn ln_determinant(&self) -> f64 {
        2.0 * self.lower.diagonal().iter().map(|v| v.ln()).sum::<f64>()
    }

    /// The least entry on the diagonal of L as a share of the largest.
    pub(crate) fn least_pivot(&self) -> f64 {
        let pivots = self.lower.diagonal();
        pivots.min() / pivots.max()
    }

    /// `L^-1 B`.
    pub(crate) fn solve_lower(&self, mut right: DMatrix<f64>) -> DMatrix<f64> {
        let size = self.lower.nrows();
        right.as_mut_slice().par_chunks_mut((WIDE * size).max(1)).for_each(|columns| {
            self.forwards(&mut view(columns, size), 0);
        });
        right
    }

    /// `A^-1 b`.
    pub(crate) fn solve(&self, right: &DVector<f64>) -> DVector<f64> {
        let mut solved = right.clone();
        self.lower.solve_lower_triangular_mut(&mut solved);
        self.lower.tr_solve_lower_triangular_mut(&mut solved);
        solved
    }

    /// `L^-1` of some columns that are zero above row `from`, a multiple of the block.
    fn forwards(&self, columns: &mut DMatrixViewMut<'_, f64>, from: usize) {
        let size = self.lower.nrows();
        for start in (from..size).step_by(BLOCK) {
            let inverse = &self.diagonal[start / BLOCK];
            let width = inverse.nrows();
            let mut own = columns.rows(start, width).into_owned();
            if start > from {
                let known = columns.rows(from, start - from);
                own.gemm(-1.0, &self.lower.view((start, from), (width, start - from)), &known, 1.0);
            }
            columns.rows_mut(start, width).copy_from(&(inverse * own));
        }
    }

    /// `A^-1`, exactly symmetric.
    pub(crate) fn inverse(&self) -> DMatrix<f64> {
        let size = self.lower.nrows();
        let mut half = DMatrix::identity(size, size);
        half.as_mut_slice().par_chunks_mut((BLOCK * size).max(1)).enumerate().for_each(|(i, columns)| {
            self.forwards(&mut view(columns, size), i * BLOCK);
        });
        let across = half.transpose();
        let mut inverse = DMatrix::zeros(size, size);
        inverse.as_mut_slice().par_chunks_mut((BLOCK * size).max(1)).enumerate().for_each(|(i, columns)| {
            let mut columns = view(columns, size);
            let width = columns.ncols();
            // Blocks on and below the diagonal; rows of L^-1 above a block do not reach it.
            for start in (i * BLOCK..size).step_by(BLOCK) {
                let rows = BLOCK.min(size - start);
                let left: DMatrixView<'_, f64> = across.view((start, start), (rows, size - start));
                let right = half.view((start, i * BLOCK), (size - start, width));
                columns.rows_mut(start, rows).gemm(1.0, &left, &right, 0.0);
            }
        });
        inverse.fill_upper_triangle_with_lower_triangle();
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive matrix that is not like any other.
    fn positive(size: usize) -> DMatrix<f64> {
        let x = DMatrix::from_fn(size, size + 5, |i, j| ((i * 31 + j * 17 + i * j) as f64 * 0.7).sin());
        &x * x.transpose() + DMatrix::identity(size, size)
    }

    #[test]
    fn blocks_are_put_together_rightly() {
        for size in [1, 5, 63, 64, 65, 128, 200] {
            let matrix = positive(size);
            let found = Cholesky::new(matrix.clone()).unwrap();
            let plain = matrix.clone().cholesky().unwrap();
            let determinant = 2.0 * plain.l().diagonal().map(f64::ln).sum();
            assert!(
                (found.ln_determinant() - determinant).abs() < 1e-9 * determinant.abs().max(1.0),
                "{size}"
            );
            let identity = DMatrix::identity(size, size);
            assert!((found.inverse() * &matrix - &identity).amax() < 1e-10, "{size}");
            let vector = DVector::from_fn(size, |i, _| i as f64);
            assert!((&matrix * found.solve(&vector) - &vector).amax() < 1e-8, "{size}");
            let half = found.solve_lower(positive(size));
            assert!((half.transpose() * &half - &matrix * found.inverse() * &matrix).amax() < 1e-8, "{size}");
        }
    }

    #[test]
    fn what_is_not_positive_has_no_factor() {
        let mut matrix = positive(100);
        matrix[(80, 80)] = -1.0;
        assert!(Cholesky::new(matrix).is_none());
        assert!(Cholesky::new(DMatrix::from_element(3, 3, f64::NAN)).is_none());
    }
}
