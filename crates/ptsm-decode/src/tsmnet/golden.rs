//! The deterministic numbers of the specification, and comparisons.

use nalgebra::DMatrix;

/// `s sin(0.13 (i + 1) + 0.9 k)`
pub(super) fn fill(n: usize, k: usize, s: f64) -> Vec<f64> {
    (0..n).map(|i| s * (0.13 * (i as f64 + 1.0) + 0.9 * k as f64).sin()).collect()
}

/// The same as a matrix, row by row.
pub(super) fn matrix(rows: usize, columns: usize, k: usize, s: f64) -> DMatrix<f64> {
    DMatrix::from_row_slice(rows, columns, &fill(rows * columns, k, s))
}

/// `sin(0.05 (t+1)(c+1) + 0.3 b) + 0.5 cos(0.11 (t+1) + c + 0.2 b)`
pub(super) fn input(b: usize, c: usize, t: usize) -> f64 {
    let (b, c, t) = (b as f64, c as f64, t as f64 + 1.0);
    (0.05 * t * (c + 1.0) + 0.3 * b).sin() + 0.5 * (0.11 * t + c + 0.2 * b).cos()
}

pub(super) fn two(a: f64, b: f64, c: f64) -> DMatrix<f64> {
    DMatrix::from_row_slice(2, 2, &[a, b, b, c])
}

/// The three matrices of the checks.
pub(super) fn three() -> [DMatrix<f64>; 3] {
    [two(2.0, 0.5, 1.0), two(1.0, -0.3, 3.0), two(4.0, 1.0, 1.0)]
}

/// Orthonormal columns by Gram and Schmidt.
pub(super) fn orthonormal(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    matrix.clone().qr().q()
}

#[track_caller]
pub(super) fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!(
            (got - expected).abs() <= tolerance * expected.abs().max(1.0),
            "got {got:.12}, expected {expected:.12}"
        );
    }
}
