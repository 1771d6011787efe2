//! How far apart two sets of features are: whether a classifier can tell them apart in unseen subjects.

use nalgebra::DMatrix;
use ptsm_decode::classic::{Logistic, Regularisation};
use ptsm_eval::{Result, mean};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::features::{Features, Standardisation, group_folds, members, refused};
use crate::probes::chance_p;

/// Both sets count the same.
const REGULARISATION: Regularisation =
    Regularisation { inverse_penalty: 1.0, balanced: true, tolerance: 1e-6 };

/// The proxy A-distance, `2 (1 - 2 e)` with the error `e` of a linear classifier: 0 where the sets cannot be told apart, 2 where they
/// always can (Ben-David et al. 2010, doi:10.1007/s10994-009-5152-4). Below 0 where the classifier does worse than the chance level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distance {
    /// The mean over divisions.
    pub value: f64,
    /// One for each division of the groups; the classifier was not fitted to those in it.
    pub by_division: Vec<f64>,
    /// The same after groups were exchanged between the sets, one for each draw. Subjects differ, so that any two sets of subjects are apart:
    /// this says by how much.
    pub draws: Vec<f64>,
    /// How often exchanged groups are as far apart; NaN without draws.
    pub p: f64,
}

/// How far `source` and `target` are apart. Each has its groups, one number for each trial: all trials of a group, such as a subject, are either
/// fitted to or tested. There are `divisions` of them, or as many as the side with fewer groups has groups; `draws` exchange groups.
pub fn distance(
    source: (&Features, &[u32]),
    target: (&Features, &[u32]),
    divisions: usize,
    draws: usize,
    seed: u64,
) -> Result<Distance> {
    let (a, b) = (source.0, target.0);
    a.fits("groups", source.1)?;
    b.fits("groups", target.1)?;
    if a.width() != b.width() {
        return Err(refused(
            format!("{} and {} features cannot be compared", a.width(), b.width()),
            "take both from one network",
        ));
    }
    // Groups of the two sides are different ones, whatever their numbers.
    let mut groups = members(source.1);
    let from_source = groups.len();
    groups.extend(members(target.1).into_iter().map(|own| own.into_iter().map(|i| a.len() + i).collect()));
    let fewest = from_source.min(groups.len() - from_source);
    if fewest < 2 || divisions < 2 {
        return Err(refused(
            format!("groups cannot be left out: one side has {fewest}, and there are {divisions} divisions"),
            "two groups on each side are the least; for one subject give runs or sessions as groups",
        ));
    }
    let mut rows = DMatrix::zeros(a.len() + b.len(), a.width());
    rows.rows_mut(0, a.len()).copy_from(&a.rows);
    rows.rows_mut(a.len(), b.len()).copy_from(&b.rows);
    let mut side: Vec<u32> = (0..groups.len()).map(|g| u32::from(g >= from_source)).collect();
    let by_division = divided(&rows, &groups, &side, divisions)?;
    let value = mean(&by_division);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut exchanged = Vec::with_capacity(draws);
    for _ in 0..draws {
        side.shuffle(&mut random);
        exchanged.push(mean(&divided(&rows, &groups, &side, divisions)?));
    }
    Ok(Distance { value, by_division, p: chance_p(value, &exchanged), draws: exchanged })
}

/// The distance in each division. `groups` are places of trials, `side` says to which set each group belongs.
fn divided(rows: &DMatrix<f64>, groups: &[Vec<usize>], side: &[u32], divisions: usize) -> Result<Vec<f64>> {
    let mut belongs = vec![(0, 0); rows.nrows()];
    for (g, own) in groups.iter().enumerate() {
        own.iter().for_each(|&i| belongs[i] = (g as u32, side[g]));
    }
    // Each side is divided on its own, so that both are in every division.
    let side_of =
        |which: u32| -> Vec<usize> { (0..belongs.len()).filter(|&i| belongs[i].1 == which).collect() };
    let sides = [0, 1].map(|which| {
        let places = side_of(which);
        let groups: Vec<u32> = places.iter().map(|&i| belongs[i].0).collect();
        (places, groups)
    });
    let count = sides.iter().map(|(_, groups)| members(groups).len()).fold(divisions, usize::min);
    let folds = sides.map(|(places, groups)| -> Vec<Vec<usize>> {
        let named = |fold: Vec<usize>| fold.into_iter().map(|i| places[i]).collect();
        group_folds(&groups, count).into_iter().map(named).collect()
    });
    let mut found = Vec::with_capacity(count);
    for (of_source, of_target) in folds[0].iter().zip(&folds[1]) {
        let mut left_out = vec![false; rows.nrows()];
        of_source.iter().chain(of_target).for_each(|&i| left_out[i] = true);
        let train: Vec<usize> = (0..rows.nrows()).filter(|&i| !left_out[i]).collect();
        let labels: Vec<u32> = train.iter().map(|&i| belongs[i].1).collect();
        let train_rows = rows.select_rows(&train);
        let standard = Standardisation::of(&train_rows);
        let classifier = Logistic::fit(&standard.apply(train_rows), &labels, 2, REGULARISATION)?;
        let wrong = |places: &[usize], target: bool| -> f64 {
            let scores = standard.apply(rows.select_rows(places)) * classifier.weights.row(0).transpose();
            let wrong = scores.iter().filter(|s| (**s + classifier.biases[0] > 0.0) != target).count();
            wrong as f64 / places.len() as f64
        };
        let error = 0.5 * (wrong(of_source, false) + wrong(of_target, true));
        found.push(2.0 * (1.0 - 2.0 * error));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// Subjects of 20 trials, each with a place of their own.
    fn subjects(count: usize, shift: f64, seed: u64) -> (Features, Vec<u32>) {
        let (noise, own) = (normal(20 * count, 6, seed), normal(count, 6, seed + 1));
        let rows = DMatrix::from_fn(20 * count, 6, |i, j| {
            noise[(i, j)] + own[(i / 20, j)] + if j == 0 { shift } else { 0.0 }
        });
        (Features { rows }, (0..20 * count).map(|i| (i / 20) as u32).collect())
    }

    fn between(a: &(Features, Vec<u32>), b: &(Features, Vec<u32>)) -> Distance {
        distance((&a.0, &a.1), (&b.0, &b.1), 3, 39, 7).unwrap()
    }

    #[test]
    fn a_shift_of_everybody_is_a_distance() {
        let found = between(&subjects(12, 0.0, 1), &subjects(6, 12.0, 2));
        assert!(found.value > 1.9 && found.p == 1.0 / 40.0, "{found:?}");
        assert_eq!((found.by_division.len(), found.draws.len()), (3, 39));
    }

    #[test]
    fn other_subjects_alone_are_none() {
        let ps: Vec<f64> =
            (0..6).map(|k| between(&subjects(7, 0.0, 10 * k), &subjects(5, 0.0, 10 * k + 5)).p).collect();
        assert!(ps.iter().filter(|p| **p <= 0.05).count() <= 2, "{ps:?}");
    }

    #[test]
    fn a_training_subject_is_not_tested() {
        // Only subjects differ. Trials of the same subjects on both sides of a division would be told apart.
        let own = normal(8, 6, 3);
        let noise = normal(160, 6, 4);
        let rows = DMatrix::from_fn(160, 6, |i, j| 0.1 * noise[(i, j)] + 5.0 * own[(i / 20, j)]);
        let half = |from| Features { rows: rows.rows(from, 80).into_owned() };
        let groups: Vec<u32> = (0..80).map(|i| i / 20).collect();
        let found = distance((&half(0), &groups), (&half(80), &groups), 4, 0, 0).unwrap();
        assert!(found.value < 1.5 && found.p.is_nan(), "{found:?}");
        let shuffled: Vec<u32> = (0..80).map(|i| i % 4).collect();
        let leaking = distance((&half(0), &shuffled), (&half(80), &shuffled), 4, 0, 0).unwrap();
        assert_eq!(leaking.value, 2.0);
    }

    #[test]
    fn one_subject_cannot_be_left_out() {
        let (a, b) = (subjects(3, 0.0, 1), subjects(1, 0.0, 2));
        let error = distance((&a.0, &a.1), (&b.0, &b.1), 5, 0, 0).unwrap_err();
        assert!(error.to_string().contains("one side has 1") && error.hint().unwrap().contains("sessions"));
    }
}
