//! The directions in which trials differ most.

use nalgebra::{DMatrix, SymmetricEigen};

/// Where trials are along the first two principal directions.
pub(super) struct Principal {
    pub(super) points: Vec<[f64; 2]>,
    /// The share of the variance along each; NaN where nothing varies.
    pub(super) explained: [f64; 2],
}

/// Centred and turned, not scaled. A direction points to where its largest entry is positive.
pub(super) fn principal(rows: &DMatrix<f64>) -> Principal {
    let mut centred = rows.clone();
    let mean = rows.row_mean();
    for mut row in centred.row_iter_mut() {
        row -= &mean;
    }
    let eigen = SymmetricEigen::new(centred.transpose() * &centred);
    let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let mut points = vec![[0.0; 2]; rows.nrows()];
    let mut explained = [0.0; 2];
    let all = centred.norm_squared();
    for (axis, &which) in order.iter().take(2).enumerate() {
        let direction = eigen.eigenvectors.column(which);
        let sign = direction[direction.iamax()].signum();
        for (point, value) in points.iter_mut().zip((&centred * direction).iter()) {
            point[axis] = sign * value;
        }
        explained[axis] = eigen.eigenvalues[which].max(0.0) / all;
    }
    Principal { points, explained }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_direction() {
        let rows = DMatrix::from_fn(5, 3, |i, j| 2.0 + i as f64 * [3.0, -4.0, 0.0][j]);
        let found = principal(&rows);
        for (i, point) in found.points.iter().enumerate() {
            // The largest entry of the direction, the second, becomes positive.
            assert!((point[0] - 5.0 * (2.0 - i as f64)).abs() < 1e-12 && point[1].abs() < 1e-12);
        }
        assert!((found.explained[0] - 1.0).abs() < 1e-12 && found.explained[1] < 1e-12);
    }

    #[test]
    fn one_feature_has_no_second_direction() {
        let found = principal(&DMatrix::from_column_slice(3, 1, &[1.0, 2.0, 6.0]));
        assert_eq!(found.points, [[-2.0, 0.0], [-1.0, 0.0], [3.0, 0.0]]);
        assert_eq!(found.explained[1], 0.0);
    }
}
