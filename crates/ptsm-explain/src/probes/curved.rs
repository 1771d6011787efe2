//! Features in which curved borders are straight.
//!
//! Those of a Gaussian kernel, `exp(-|x - y|^2 / F)` with F standardised features, on the span of some of the trials (Williams & Seeger 2000,
//! "Using the Nyström method to speed up kernel machines").

use nalgebra::{DMatrix, SymmetricEigen};

/// Most trials that others are compared with.
const LANDMARKS: usize = 300;
/// Directions that are smaller than this, in parts of the largest, are rounding.
const SMALLEST: f64 = 1e-10;

/// New features of the trials to learn from, and of others.
pub(super) fn curved(train: &DMatrix<f64>, test: &DMatrix<f64>) -> [DMatrix<f64>; 2] {
    let count = LANDMARKS.min(train.nrows());
    // Evenly over all trials, which come subject after subject and in the order of time.
    let places: Vec<usize> = (0..count).map(|i| i * train.nrows() / count).collect();
    let landmarks = train.select_rows(&places);
    let eigen = SymmetricEigen::new(kernel(&landmarks, &landmarks));
    let least = SMALLEST * eigen.eigenvalues.max();
    let kept: Vec<usize> = (0..count).filter(|&i| eigen.eigenvalues[i] > least).collect();
    let mut whitening = eigen.eigenvectors.select_columns(&kept);
    for (mut column, &i) in whitening.column_iter_mut().zip(&kept) {
        column /= eigen.eigenvalues[i].sqrt();
    }
    [train, test].map(|rows| kernel(rows, &landmarks) * &whitening)
}

fn kernel(rows: &DMatrix<f64>, landmarks: &DMatrix<f64>) -> DMatrix<f64> {
    let sizes = |m: &DMatrix<f64>| -> Vec<f64> { m.row_iter().map(|r| r.norm_squared()).collect() };
    let (of_rows, of_landmarks) = (sizes(rows), sizes(landmarks));
    let width = rows.ncols() as f64;
    let mut found = rows * landmarks.transpose();
    for (mut column, landmark) in found.column_iter_mut().zip(of_landmarks) {
        for (value, row) in column.iter_mut().zip(&of_rows) {
            let distance = (row + landmark - 2.0 * *value).max(0.0);
            *value = libm::exp(-distance / width);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_the_new_features_are_the_kernel() {
        let train = DMatrix::from_fn(20, 3, |i, j| ((i * 3 + j) as f64).sin());
        let [found, same] = curved(&train, &train);
        assert_eq!(found, same);
        let expected = kernel(&train, &train);
        assert!((&found * found.transpose() - &expected).amax() < 1e-8);
        let squares: f64 = (0..3).map(|j| (train[(0, j)] - train[(5, j)]).powi(2)).sum();
        assert!((expected[(0, 5)] - (-squares / 3.0).exp()).abs() < 1e-14);
    }
}
