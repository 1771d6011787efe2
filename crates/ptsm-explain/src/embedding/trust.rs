//! How much of a picture is true.

use nalgebra::DMatrix;

use super::squared_distances;
use crate::features::Features;

/// How far the nearest `neighbours` of a point are near in the features as well, scikit-learn's `trustworthiness`: 1 where all are; others count the
/// more the farther off they are (Venna & Kaski 2001, doi:10.1007/3-540-44668-0_68). NaN where there are not more than twice as many points.
pub fn trustworthiness(features: &Features, points: &[[f64; 2]], neighbours: usize) -> f64 {
    let n = points.len();
    if n != features.len() || neighbours == 0 || 2 * neighbours >= n {
        return f64::NAN;
    }
    let in_features = squared_distances(&features.rows);
    let on_paper = squared_distances(&DMatrix::from_row_slice(n, 2, points.as_flattened()));
    let mut intruders = 0.0;
    for i in 0..n {
        // Others, nearest first; of equally near ones the first.
        let sorted = |distances: &[f64]| -> Vec<usize> {
            let own = &distances[i * n..(i + 1) * n];
            let mut order: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            order.sort_by(|&a, &b| own[a].total_cmp(&own[b]));
            order
        };
        let mut rank = vec![0; n];
        for (place, j) in sorted(&in_features).into_iter().enumerate() {
            rank[j] = place + 1;
        }
        for j in sorted(&on_paper).into_iter().take(neighbours) {
            intruders += rank[j].saturating_sub(neighbours) as f64;
        }
    }
    let (n, k) = (n as f64, neighbours as f64);
    1.0 - 2.0 * intruders / (n * k * (2.0 * n - 3.0 * k - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_is_trusted_and_its_disorder_is_not() {
        let points: Vec<[f64; 2]> = (0..12).map(|i| [f64::from(i * i), f64::from(i)]).collect();
        let features = Features::new(points.as_flattened(), 2).unwrap();
        assert_eq!(trustworthiness(&features, &points, 3), 1.0);
        let mixed: Vec<[f64; 2]> = (0..12).map(|i| points[i * 5 % 12]).collect();
        // sklearn.manifold.trustworthiness(features, mixed, n_neighbors=3), scikit-learn 1.9
        let found = trustworthiness(&features, &mixed, 3);
        assert!((found - 0.43253968253968256).abs() < 1e-12, "{found}");
    }

    #[test]
    fn few_points_say_nothing() {
        let features = Features::new(&[1.0, 2.0, 3.0, 4.0], 1).unwrap();
        assert!(trustworthiness(&features, &[[0.0; 2]; 4], 2).is_nan());
        assert!(trustworthiness(&features, &[[0.0; 2]; 3], 1).is_nan());
    }
}
