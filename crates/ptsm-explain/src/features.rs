//! Features of trials, as a network makes them, and trials divided into those to learn from and those to be asked about.

use nalgebra::DMatrix;
use ptsm_decode::FittedDecoder;
use ptsm_eval::{Error, Result};
use ptsm_signal::Subset;

/// Sums of squares of larger values are no numbers.
const LARGEST: f64 = 1e100;

/// Features of trials, a trial a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    pub(crate) rows: DMatrix<f64>,
}

impl Features {
    /// From values row by row, `width` of them for each trial.
    pub fn new<V: Copy + Into<f64>>(values: &[V], width: usize) -> Result<Features> {
        if width == 0 || values.is_empty() || !values.len().is_multiple_of(width) {
            return Err(refused(
                format!("{} values are no rows of {width} features", values.len()),
                "give as many values as trials times features",
            ));
        }
        let values: Vec<f64> = values.iter().map(|&v| v.into()).collect();
        if let Some(at) = values.iter().position(|v| !v.is_finite() || v.abs() > LARGEST) {
            return Err(refused(
                format!("feature {} of trial {} is {}, no usable number", at % width, at / width, values[at]),
                "leave the trial out, or look for missing samples in the signal",
            ));
        }
        Ok(Features { rows: DMatrix::from_row_slice(values.len() / width, width, &values) })
    }

    /// What a decoder makes of trials, by the first of these names it knows; none where it knows none.
    pub fn of(fitted: &dyn FittedDecoder, trials: &Subset<'_>, names: &[&str]) -> Result<Option<Features>> {
        for name in names {
            if let Some(values) = fitted.intermediate_values(trials, &[name])?.and_then(|mut all| all.pop()) {
                return Features::new(&values, values.len() / trials.len()).map(Some);
            }
        }
        Ok(None)
    }

    /// Number of trials, never 0.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.rows.nrows()
    }

    /// Number of features of each trial.
    pub fn width(&self) -> usize {
        self.rows.ncols()
    }

    /// Refuses a list that has not one entry for each trial.
    pub(crate) fn fits<T>(&self, what: &str, list: &[T]) -> Result<()> {
        if list.len() == self.len() {
            return Ok(());
        }
        Err(refused(
            format!("{} {what} do not fit {} trials", list.len(), self.len()),
            format!("give one of the {what} for each trial"),
        ))
    }
}

/// What is wrong with trials, and one thing to do about it.
pub(crate) fn refused(message: impl Into<String>, hint: impl Into<String>) -> Error {
    ptsm_decode::Error::Trials { message: message.into(), hint: hint.into() }.into()
}

/// What makes columns of mean 0 and deviation 1, fitted to some rows. A column that is constant there becomes 0.
pub(crate) struct Standardisation {
    means: Vec<f64>,
    deviations: Vec<f64>,
}

impl Standardisation {
    pub(crate) fn of(rows: &DMatrix<f64>) -> Standardisation {
        let n = rows.nrows() as f64;
        let means: Vec<f64> = rows.column_iter().map(|column| column.sum() / n).collect();
        let deviation = |(column, mean): (nalgebra::DVectorView<'_, f64>, &f64)| {
            let deviation = (column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
            // What rounding leaves of a constant is no deviation.
            if deviation > 1e-14 * mean.abs() { deviation } else { f64::INFINITY }
        };
        let deviations = rows.column_iter().zip(&means).map(deviation).collect();
        Standardisation { means, deviations }
    }

    pub(crate) fn apply(&self, mut rows: DMatrix<f64>) -> DMatrix<f64> {
        for ((mut column, mean), deviation) in rows.column_iter_mut().zip(&self.means).zip(&self.deviations) {
            column.apply(|v| *v = (*v - mean) / deviation);
        }
        rows
    }
}

/// Trials, by their places: some to learn from, others to be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialSplit {
    /// Trials to fit to.
    pub train: Vec<usize>,
    /// Asked about.
    pub test: Vec<usize>,
}

impl TrialSplit {
    /// The first part of every group's trials, `share` of them, is fitted to, the rest is tested. Trials are in the order of time.
    /// What a session has of its own, such as a loose electrode, is on both sides and counts as the subject's.
    pub fn by_time(groups: &[u32], share: f64) -> TrialSplit {
        let mut split = TrialSplit { train: vec![], test: vec![] };
        for own in members(groups) {
            let first = (share.clamp(0.0, 1.0) * own.len() as f64).round() as usize;
            split.train.extend(&own[..first]);
            split.test.extend(&own[first..]);
        }
        split.train.sort_unstable();
        split.test.sort_unstable();
        split
    }

    /// The trials of some groups are tested, all others are fitted to.
    pub fn by_group(groups: &[u32], tested: &[u32]) -> TrialSplit {
        let (test, train) = (0..groups.len()).partition(|&i| tested.contains(&groups[i]));
        TrialSplit { train, test }
    }

    /// Refuses places where no trial is, trials on both sides, and empty sides.
    pub(crate) fn check(&self, trials: usize) -> Result<()> {
        let mut seen = vec![false; trials];
        for &i in self.train.iter().chain(&self.test) {
            match seen.get_mut(i) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => {
                    return Err(refused(format!("trial {i} is used twice"), "put each trial on one side"));
                }
                None => {
                    return Err(refused(
                        format!("there is no trial {i} among {trials}"),
                        "count trials from 0",
                    ));
                }
            }
        }
        if self.train.is_empty() || self.test.is_empty() {
            return Err(refused(
                format!("{} trials to learn from, {} to ask about", self.train.len(), self.test.len()),
                "both sides need trials; give more trials or another share",
            ));
        }
        Ok(())
    }
}

/// The places of every group's trials, groups in the order of their numbers.
pub(crate) fn members(groups: &[u32]) -> Vec<Vec<usize>> {
    let mut found: std::collections::BTreeMap<u32, Vec<usize>> = Default::default();
    for (i, group) in groups.iter().enumerate() {
        found.entry(*group).or_default().push(i);
    }
    found.into_values().collect()
}

/// `count` divisions in which every trial is asked about once, all trials of a group together; fewer where there are fewer groups. The
/// largest groups are given out first, each to the side with the fewest trials.
pub(crate) fn group_folds(groups: &[u32], count: usize) -> Vec<Vec<usize>> {
    let mut own = members(groups);
    // A stable sort: of equally large groups the one with the lower number comes first.
    own.sort_by_key(|trials| std::cmp::Reverse(trials.len()));
    let mut folds = vec![vec![]; count.min(own.len())];
    for trials in own {
        if let Some(smallest) = folds.iter_mut().min_by_key(|fold: &&mut Vec<usize>| fold.len()) {
            smallest.extend(trials);
        }
    }
    folds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_trials() {
        let features = Features::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], 3).unwrap();
        assert_eq!((features.len(), features.width(), features.rows[(1, 0)]), (2, 3, 4.0));
    }

    #[test]
    fn what_is_no_table_of_numbers_is_refused() {
        assert!(Features::new(&[1.0, 2.0, 3.0], 2).is_err());
        assert!(Features::new::<f64>(&[], 2).is_err() && Features::new(&[1.0], 0).is_err());
        let error = Features::new(&[1.0, 2.0, 3.0, f64::NAN], 2).unwrap_err();
        assert_eq!(error.to_string(), "feature 1 of trial 1 is NaN, no usable number");
        assert!(Features::new(&[1.0, 1e200], 2).is_err());
        assert!(error.hint().is_some());
    }

    #[test]
    fn columns_get_one_scale_and_constants_go() {
        let rows = DMatrix::from_row_slice(2, 2, &[1.0, 0.3, 5.0, 0.3]);
        let found = Standardisation::of(&rows).apply(rows);
        assert_eq!(found.as_slice(), [-1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn time_divides_inside_every_group() {
        let split = TrialSplit::by_time(&[7, 7, 3, 7, 7, 3], 0.5);
        assert_eq!(split, TrialSplit { train: vec![0, 1, 2], test: vec![3, 4, 5] });
        assert!(split.check(6).is_ok() && split.check(5).is_err());
        assert!(TrialSplit::by_time(&[1, 1], 1.0).check(2).is_err());
        assert!(TrialSplit { train: vec![0, 1], test: vec![1] }.check(2).is_err());
    }

    #[test]
    fn groups_stay_together() {
        assert_eq!(TrialSplit::by_group(&[1, 2, 1], &[2]), TrialSplit { train: vec![0, 2], test: vec![1] });
        let groups = [5, 5, 5, 1, 1, 2, 2, 3];
        let folds = group_folds(&groups, 2);
        assert_eq!(folds, [vec![0, 1, 2, 7], vec![3, 4, 5, 6]]);
        assert_eq!(group_folds(&groups, 9).len(), 4);
    }
}
