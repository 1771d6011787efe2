//! How much two sets of features of the same trials have in common.

use nalgebra::{DMatrix, SymmetricEigen};
use ptsm_eval::{Result, percentile};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::features::{Features, Standardisation, members, refused};
use crate::probes::{PermutationSettings, chance_p};

/// Directions with less variance than this, in parts of the largest, are rounding.
const SMALLEST: f64 = 1e-10;

/// Singular values, largest first, and what they are by chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spectrum {
    /// One for each direction.
    pub values: Vec<f64>,
    /// For each direction, what chance exceeds once in twenty times; NaN without draws.
    pub by_chance: Vec<f64>,
    /// How often chance makes the sum of squares as large; NaN without draws.
    pub p: f64,
}

/// What two sets of features share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSpectra {
    /// Singular values of the matrix of correlations between features of one and of the other: what a penalty on the cross-covariance sees. Loud
    /// directions count more.
    pub correlations: Spectrum,
    /// Canonical correlations: the largest correlations that weighted sums of one have with weighted sums of the other. They are never
    /// 0 in a sample, even of noise: look at what they are by chance.
    pub canonical: Spectrum,
}

/// Compares two sets of features of the same trials with what is left when trials are paired at random, only inside of a block. With all trials
/// in one block chance is "they share nothing"; with subjects as blocks it is "they share nothing but the subject".
pub fn shared_spectra(
    one: &Features,
    other: &Features,
    blocks: &[u32],
    shuffles: PermutationSettings,
) -> Result<SharedSpectra> {
    other.fits("trials", &vec![(); one.len()])?;
    one.fits("blocks", blocks)?;
    if one.len() < 3 {
        return Err(refused("fewer than three trials have no correlations", "give more trials"));
    }
    let [one, other] = [one, other].map(|f| Standardisation::of(&f.rows).apply(f.rows.clone()));
    let pairs = [(one.clone(), other.clone()), (whitened(one), whitened(other))];
    let places = members(blocks);
    let [correlations, canonical] = pairs.map(|(a, b)| spectrum(&a, b, &places, shuffles));
    Ok(SharedSpectra { correlations, canonical })
}

/// Rows in other coordinates, in which all directions have variance 1 and are uncorrelated. Directions without variance are dropped.
fn whitened(rows: DMatrix<f64>) -> DMatrix<f64> {
    let n = rows.nrows() as f64;
    let eigen = SymmetricEigen::new(rows.transpose() * &rows / n);
    let least = SMALLEST * eigen.eigenvalues.max();
    let kept: Vec<usize> = (0..eigen.eigenvalues.len()).filter(|&i| eigen.eigenvalues[i] > least).collect();
    let mut turn = eigen.eigenvectors.select_columns(&kept);
    for (mut column, &i) in turn.column_iter_mut().zip(&kept) {
        column /= eigen.eigenvalues[i].sqrt();
    }
    rows * turn
}

fn spectrum(
    one: &DMatrix<f64>,
    other: DMatrix<f64>,
    blocks: &[Vec<usize>],
    shuffles: PermutationSettings,
) -> Spectrum {
    let across = one.transpose() / one.nrows() as f64;
    let singular = |other: &DMatrix<f64>| -> Vec<f64> {
        // All constant: no direction is left.
        if across.is_empty() || other.is_empty() {
            return vec![];
        }
        let mut values: Vec<f64> = (&across * other).singular_values().iter().copied().collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    };
    let energy = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
    let values = singular(&other);
    let mut random = ChaCha8Rng::seed_from_u64(shuffles.seed);
    let mut order: Vec<usize> = (0..other.nrows()).collect();
    let permuted: Vec<Vec<f64>> = (0..shuffles.draws)
        .map(|_| {
            for own in blocks {
                let mut exchanged = own.clone();
                exchanged.shuffle(&mut random);
                own.iter().zip(exchanged).for_each(|(&i, from)| order[i] = from);
            }
            singular(&other.select_rows(&order))
        })
        .collect();
    let by_chance = (0..values.len())
        .map(|rank| {
            let mut of_rank: Vec<f64> = permuted.iter().map(|values| values[rank]).collect();
            of_rank.sort_by(f64::total_cmp);
            percentile(&of_rank, 0.95)
        })
        .collect();
    let energies: Vec<f64> = permuted.iter().map(|values| energy(values)).collect();
    Spectrum { p: chance_p(energy(&values), &energies), values, by_chance }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    const DRAWS: PermutationSettings = PermutationSettings { draws: 39, seed: 1 };

    #[test]
    fn what_is_the_same_is_found_and_what_is_not_is_left_to_chance() {
        let one = normal(300, 5, 1);
        let mut other = normal(300, 4, 2);
        // One feature of each is the same but for its scale.
        for i in 0..300 {
            other[(i, 2)] = 7.0 * one[(i, 3)] + 1.0;
        }
        let found =
            shared_spectra(&Features { rows: one }, &Features { rows: other }, &[0; 300], DRAWS).unwrap();
        for spectrum in [&found.correlations, &found.canonical] {
            assert_eq!((spectrum.values.len(), spectrum.p), (4, 1.0 / 40.0));
            assert!(spectrum.values[1] < spectrum.by_chance[0] && spectrum.by_chance[0] < 0.3);
        }
        assert!((found.canonical.values[0] - 1.0).abs() < 1e-9);
        assert!(found.correlations.values[0] > 1.0 && found.correlations.values[0] < 1.1);
    }

    #[test]
    fn noise_shares_nothing() {
        let p: Vec<f64> = (0..8)
            .map(|k| {
                let [one, other] = [1, 2].map(|which| Features { rows: normal(100, 6, 10 * k + which) });
                shared_spectra(&one, &other, &[0; 100], DRAWS).unwrap().canonical.p
            })
            .collect();
        assert!(p.iter().filter(|p| **p <= 0.05).count() <= 2, "{p:?}");
    }

    #[test]
    fn the_subject_is_not_counted_when_subjects_are_blocks() {
        let subjects: Vec<u32> = (0..200).map(|i| i / 20).collect();
        let own = normal(10, 1, 3);
        let rows = |seed| {
            let noise = normal(200, 3, seed);
            Features { rows: DMatrix::from_fn(200, 3, |i, j| noise[(i, j)] + 2.0 * own[i / 20]) }
        };
        let (one, other) = (rows(4), rows(5));
        assert_eq!(shared_spectra(&one, &other, &[0; 200], DRAWS).unwrap().correlations.p, 1.0 / 40.0);
        assert!(shared_spectra(&one, &other, &subjects, DRAWS).unwrap().correlations.p > 0.05);
    }

    #[test]
    fn a_copy_and_a_constant_add_no_direction() {
        let rows = normal(50, 2, 1);
        let wide = DMatrix::from_fn(50, 4, |i, j| if j == 3 { 2.0 } else { rows[(i, j % 2)] });
        let none = PermutationSettings { draws: 0, seed: 0 };
        let found = shared_spectra(&Features { rows: wide }, &Features { rows }, &[0; 50], none).unwrap();
        assert_eq!(found.canonical.values.len(), 2);
        assert!(found.canonical.values.iter().all(|v| (v - 1.0).abs() < 1e-9) && found.canonical.p.is_nan());
        assert!(found.canonical.by_chance.iter().all(|v| v.is_nan()));
    }
}
