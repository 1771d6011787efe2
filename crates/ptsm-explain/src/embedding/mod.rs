//! Features as points on paper, and how much to believe of what is seen there.

mod neighbours;
mod principal;
mod trust;

use ptsm_eval::Result;
use serde::{Deserialize, Serialize};

use crate::features::{Features, refused};
pub use trust::trustworthiness;

/// How trials are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingKind {
    /// The two directions in which trials differ most. Distances are real, but for what is not shown.
    Principal,
    /// Neighbours stay neighbours (t-SNE, van der Maaten & Hinton 2008). Distances between groups, and their sizes, mean nothing.
    Neighbours,
}

/// Trials as points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    /// How they were laid out.
    pub picture: EmbeddingKind,
    /// Which trials are shown.
    pub trials: Vec<usize>,
    /// Where each of them is.
    pub points: Vec<[f64; 2]>,
    /// The share of the variance along each of the two axes; only of principal directions.
    pub explained: Option<[f64; 2]>,
    /// How far neighbours on paper are neighbours in truth: 1 all of them, about 0.5 none but by chance. NaN of fewer than 12 trials.
    pub trustworthiness: f64,
}

/// Of how many neighbours trustworthiness speaks; scikit-learn's default.
pub const NEIGHBOURS: usize = 5;

/// Lays trials out. Of more than `most` trials as many are taken, evenly over all of them. The same features give the same picture.
pub fn embedding(features: &Features, picture: EmbeddingKind, most: usize) -> Result<Embedding> {
    let trials = thinned(features.len(), most);
    if trials.len() < 4 {
        return Err(refused(format!("{} trials make no picture", trials.len()), "give four trials or more"));
    }
    let shown = Features { rows: features.rows.select_rows(&trials) };
    let found = principal::principal(&shown.rows);
    let (points, explained) = match picture {
        EmbeddingKind::Principal => (found.points, Some(found.explained)),
        EmbeddingKind::Neighbours => (neighbours::neighbours(&shown.rows, &found.points), None),
    };
    let trustworthiness = trustworthiness(&shown, &points, NEIGHBOURS);
    Ok(Embedding { picture, trials, points, explained, trustworthiness })
}

/// Places of at most so many of `n`, evenly over all.
fn thinned(n: usize, most: usize) -> Vec<usize> {
    let count = n.min(most);
    (0..count).map(|i| i * n / count).collect()
}

/// Squared distances between rows, `[n, n]`.
fn squared_distances(rows: &nalgebra::DMatrix<f64>) -> Vec<f64> {
    let n = rows.nrows();
    let across = rows.transpose();
    let mut found = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            let pairs = across.column(i).into_iter().zip(across.column(j));
            let distance = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
            found[i * n + j] = distance;
            found[j * n + i] = distance;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::*;
    use crate::random::normal;

    /// Eight groups far from each other in ten dimensions, more than two directions can show.
    fn groups() -> Features {
        let (noise, centres) = (normal(160, 10, 1), normal(8, 10, 2));
        Features { rows: DMatrix::from_fn(160, 10, |i, j| 0.5 * noise[(i, j)] + 4.0 * centres[(i % 8, j)]) }
    }

    #[test]
    fn neighbours_are_kept_better_than_by_two_directions() {
        let features = groups();
        let [principal, neighbours] = [EmbeddingKind::Principal, EmbeddingKind::Neighbours]
            .map(|picture| embedding(&features, picture, 500).unwrap());
        assert!(neighbours.trustworthiness > principal.trustworthiness, "{principal:?}");
        assert!(neighbours.trustworthiness > 0.9 && neighbours.explained.is_none());
        // The nearest point is of the same group.
        let points = &neighbours.points;
        let far = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
        let right = (0..160)
            .filter(|&i| {
                let others = (0..160).filter(|&j| j != i);
                let nearest =
                    others.min_by(|&a, &b| far(points[i], points[a]).total_cmp(&far(points[i], points[b])));
                nearest.unwrap() % 8 == i % 8
            })
            .count();
        assert!(right >= 158, "{right}");
    }

    #[test]
    fn noise_is_not_to_be_believed_much() {
        let features = Features { rows: normal(200, 30, 4) };
        let found = embedding(&features, EmbeddingKind::Principal, 200).unwrap();
        assert!(found.trustworthiness < 0.7, "{}", found.trustworthiness);
        assert_eq!(found, embedding(&features, EmbeddingKind::Principal, 200).unwrap());
    }

    #[test]
    fn many_trials_are_thinned_evenly() {
        assert_eq!(thinned(10, 4), [0, 2, 5, 7]);
        assert_eq!(thinned(3, 4), [0, 1, 2]);
        let found = embedding(&groups(), EmbeddingKind::Neighbours, 40).unwrap();
        assert_eq!((found.points.len(), found.trials[39]), (40, 156));
        assert!(embedding(&groups(), EmbeddingKind::Neighbours, 3).is_err());
    }

    #[test]
    fn trials_that_are_all_the_same_do_no_harm() {
        let same = Features { rows: DMatrix::from_element(20, 3, 0.7) };
        for picture in [EmbeddingKind::Principal, EmbeddingKind::Neighbours] {
            let found = embedding(&same, picture, 100).unwrap();
            assert!(found.points.as_flattened().iter().all(|v| v.is_finite()), "{found:?}");
        }
    }
}
