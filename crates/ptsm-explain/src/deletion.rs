//! Deletion and insertion tests of a ranking: what is lost when the highest ranked is deleted first, and what is gained when it is inserted first.
//!
//! Papers: Samek et al. 2017, doi:10.1109/TNNLS.2016.2599820; Petsiuk et al. 2018, arXiv:1806.07421. A decoder that is shown trials unlike any it was
//! trained on may fail for that reason alone: random orders say how much of the loss that is.

use std::collections::BTreeMap;

use ptsm_decode::{Error, FittedDecoder};
use ptsm_eval::{Result, mean};
use ptsm_signal::{SubjectId, Subset};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::masks::Masks;
use crate::removal::{Fill, RemovedPart, probabilities_without};

/// What is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedAxis {
    /// Channels.
    Channels,
    /// Samples, in all channels at once.
    Times,
}

/// How much each channel or sample matters; only the order counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Ranking {
    /// The same in all subjects.
    Same(Vec<f64>),
    /// In each subject.
    Each(BTreeMap<SubjectId, Vec<f64>>),
}

impl Ranking {
    /// Of masks, or of saliency in the form of masks, in each subject.
    pub fn of(masks: &Masks, axis: RankedAxis) -> Ranking {
        let rows = match axis {
            RankedAxis::Channels => &masks.space,
            RankedAxis::Times => &masks.time,
        };
        Ranking::Each(masks.subjects.iter().copied().zip(rows.iter().cloned()).collect())
    }

    /// The order of each subject, the highest first.
    fn orders(&self, subjects: &Subset<'_>, length: usize) -> Result<Orders> {
        let mut orders = Orders::new();
        for subject in subjects.subjects() {
            let values = match self {
                Ranking::Same(values) => Some(values),
                Ranking::Each(all) => all.get(&subject),
            };
            let Some(values) = values.filter(|v| v.len() == length && v.iter().all(|v| !v.is_nan())) else {
                let message = format!("a ranking of {subject} needs {length} numbers");
                return Err(Error::Configuration(message).into());
            };
            let mut order: Vec<usize> = (0..length).collect();
            order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
            orders.insert(subject, order);
        }
        Ok(orders)
    }
}

type Orders = BTreeMap<SubjectId, Vec<usize>>;

/// Whether parts are deleted or inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionDirection {
    /// From the whole trial to nothing.
    Deletion,
    /// From nothing to the whole trial.
    Insertion,
}

/// How a ranking is put to the test.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletionSettings {
    /// What is ranked.
    pub axis: RankedAxis,
    /// Whether parts are deleted or inserted.
    pub direction: DeletionDirection,
    /// What stands in the place of what is gone.
    pub fill: Fill,
    /// Shares that are gone, or there, from 0 to 1.
    pub shares: Vec<f64>,
    /// Random orders: channels in any order; times as they are ranked, moved along the trial.
    pub orders: usize,
    /// Decides them.
    pub seed: u64,
}

impl DeletionSettings {
    /// At 0, 5, 10 and every further 10 per cent, against 20 random orders.
    pub fn new(axis: RankedAxis, direction: DeletionDirection) -> DeletionSettings {
        let shares = [0.0, 0.05].into_iter().chain((1..=10).map(|i| f64::from(i) / 10.0)).collect();
        DeletionSettings { axis, direction, fill: Fill::Zero, shares, orders: 20, seed: 1 }
    }
}

/// How well trials are decoded at each share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreCurve {
    /// Mean over classes of the share of trials that are decoded right.
    pub balanced_accuracy: Vec<f64>,
    /// Mean of minus the natural logarithm of the right class's probability, which counts as at least 1e-7.
    pub log_loss: Vec<f64>,
}

/// One measure of the courses. Areas are means over the shares, by the trapezoidal rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveAreas {
    /// The highest ranked first.
    pub highest: f64,
    /// The lowest ranked first.
    pub lowest: f64,
    /// Mean over random orders.
    pub random: f64,
    /// How much more the highest ranked does than the lowest ranked: above 0 where the ranking is right.
    pub between: f64,
    /// How likely a random order does as much as the ranking: the random orders that do, and the ranking itself, as a share of all.
    pub p: f64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeletionResult {
    /// Shares that are gone, or there.
    pub shares: Vec<f64>,
    /// The highest ranked first.
    pub highest: ScoreCurve,
    /// The lowest ranked first.
    pub lowest: ScoreCurve,
    /// Random orders.
    pub random: Vec<ScoreCurve>,
    /// Areas of the balanced accuracy.
    pub balanced_accuracy: CurveAreas,
    /// Areas of the logarithmic loss. Finer than accuracy where trials are few.
    pub log_loss: CurveAreas,
}

/// Puts a ranking to the test, for any decoder. Where a decoder refuses trials of which nothing is left, all
/// classes count as equally likely.
pub fn run_deletion_test(
    fitted: &dyn FittedDecoder,
    trials: &Subset<'_>,
    ranking: &Ranking,
    settings: &DeletionSettings,
) -> Result<DeletionResult> {
    let fine = settings.shares.iter().all(|s| (0.0..=1.0).contains(s)) && settings.shares.is_sorted();
    if !fine || settings.shares.len() < 2 || trials.is_empty() {
        let message = "a ranking is tried on at least 1 trial at 2 shares or more, in order from 0 to 1";
        return Err(Error::Configuration(message.into()).into());
    }
    let length = match settings.axis {
        RankedAxis::Channels => trials.layout().channels.len(),
        RankedAxis::Times => trials.layout().samples,
    };
    let mut walk = Walk { fitted, trials, settings, length, ends: BTreeMap::new() };
    let orders = ranking.orders(trials, length)?;
    let highest = walk.course(&orders)?;
    let turned = orders.iter().map(|(&p, order)| (p, order.iter().rev().copied().collect())).collect();
    let lowest = walk.course(&turned)?;
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut random = vec![];
    for _ in 0..settings.orders {
        let mut shuffled = orders.clone();
        // What every place becomes: the same for all subjects where the ranking is.
        let mut same = None;
        for order in shuffled.values_mut() {
            let places = match (&same, ranking) {
                (Some(places), Ranking::Same(_)) => places,
                _ => same.insert(random_places(settings.axis, length, &mut rng)),
            };
            match settings.axis {
                RankedAxis::Channels => order.clone_from(places),
                RankedAxis::Times => order.iter_mut().for_each(|place| *place = places[*place]),
            }
        }
        random.push(walk.course(&shuffled)?);
    }
    let areas = |pick: fn(&ScoreCurve) -> &[f64], good: bool| {
        let area = |course: &ScoreCurve| area(&settings.shares, pick(course));
        let random: Vec<f64> = random.iter().map(area).collect();
        // Deletion by a right ranking leaves little, insertion gives much; a loss is the other way round.
        let sign = if good == (settings.direction == DeletionDirection::Insertion) { 1.0 } else { -1.0 };
        let (highest, lowest) = (area(&highest), area(&lowest));
        let as_much = random.iter().filter(|r| sign * (**r - highest) >= 0.0).count();
        CurveAreas {
            highest,
            lowest,
            random: mean(&random),
            between: sign * (highest - lowest),
            p: (1 + as_much) as f64 / (1 + random.len()) as f64,
        }
    };
    let balanced_accuracy = areas(|c| &c.balanced_accuracy, true);
    let log_loss = areas(|c| &c.log_loss, false);
    Ok(DeletionResult {
        shares: settings.shares.clone(),
        highest,
        lowest,
        random,
        balanced_accuracy,
        log_loss,
    })
}

/// Channels in any order. Times are moved along the trial together, what leaves at its end coming in at its beginning: a course is smooth, and an
/// order that takes single samples from everywhere would do something else to a trial than any course does.
fn random_places(axis: RankedAxis, length: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    match axis {
        RankedAxis::Channels => places.shuffle(rng),
        RankedAxis::Times => places.rotate_left(rng.random_range(0..length.max(1))),
    }
    places
}

/// The mean over the shares.
fn area(shares: &[f64], values: &[f64]) -> f64 {
    let steps = shares.windows(2).zip(values.windows(2));
    let sum: f64 = steps.map(|(s, v)| (s[1] - s[0]) * 0.5 * (v[0] + v[1])).sum();
    sum / (shares[shares.len() - 1] - shares[0])
}

struct Walk<'a> {
    fitted: &'a dyn FittedDecoder,
    trials: &'a Subset<'a>,
    settings: &'a DeletionSettings,
    length: usize,
    /// Scores where nothing or everything is gone, which no order changes.
    ends: BTreeMap<usize, (f64, f64)>,
}

impl Walk<'_> {
    fn course(&mut self, orders: &Orders) -> Result<ScoreCurve> {
        let mut course = ScoreCurve::default();
        for &share in &self.settings.shares {
            let n = (share * self.length as f64).round() as usize;
            let (accuracy, loss) = self.scored(orders, n)?;
            course.balanced_accuracy.push(accuracy);
            course.log_loss.push(loss);
        }
        Ok(course)
    }

    /// Accuracy and loss once the first `n` of each order are gone, or there.
    fn scored(&mut self, orders: &Orders, n: usize) -> Result<(f64, f64)> {
        let gone = match self.settings.direction {
            DeletionDirection::Deletion => 0..n,
            DeletionDirection::Insertion => n..self.length,
        };
        let end = (gone.is_empty() || gone.len() == self.length).then_some(gone.len());
        if let Some(&scores) = end.and_then(|end| self.ends.get(&end)) {
            return Ok(scores);
        }
        let part = |&i: &usize| match self.settings.axis {
            RankedAxis::Channels => RemovedPart::Channel(i),
            RankedAxis::Times => RemovedPart::Sample(i),
        };
        let parts = |subject: SubjectId| orders[&subject][gone.clone()].iter().map(part).collect();
        let p = match probabilities_without(self.fitted, self.trials, &parts, self.settings.fill) {
            Err(error) if gone.len() == self.length && is_of_signals(&error) => {
                let classes = self.trials.layout().classes.len();
                vec![1.0 / classes as f64; classes * self.trials.len()]
            }
            other => other?,
        };
        let scores = scores(&p, &self.trials.labels(), self.trials.layout().classes.len());
        end.map(|end| self.ends.insert(end, scores));
        Ok(scores)
    }
}

/// Whether an error is about what is in the trials: emptied ones may be no signals to a decoder. Anything else is an error here too.
pub(crate) fn is_of_signals(error: &ptsm_eval::Error) -> bool {
    matches!(error, ptsm_eval::Error::Decode(Error::Trials { .. } | Error::Signal(_)))
}

/// The least probability that is told from none.
const LEAST: f64 = 1e-7;

/// Balanced accuracy and loss. Equally probable classes share a trial.
fn scores(p: &[f64], labels: &[u32], classes: usize) -> (f64, f64) {
    let mut right = vec![(0.0, 0.0); classes];
    let mut loss = 0.0;
    for (p, &label) in p.chunks(classes).zip(labels) {
        let own = p[label as usize];
        loss -= own.max(LEAST).ln() / labels.len() as f64;
        let most = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let equals = p.iter().filter(|q| **q == most).count() as f64;
        let (sum, n) = &mut right[label as usize];
        *sum += if own == most { 1.0 / equals } else { 0.0 };
        *n += 1.0;
    }
    let shares: Vec<f64> = right.iter().filter(|(_, n)| *n > 0.0).map(|(sum, n)| sum / n).collect();
    (mean(&shares), loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_means() {
        assert!((area(&[0.0, 0.5, 1.0], &[1.0, 1.0, 0.0]) - 0.75).abs() < 1e-12);
        assert!((area(&[0.2, 0.4], &[3.0, 3.0]) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn rare_classes_count_as_much_and_ties_are_shared() {
        let p = [0.9, 0.1, 0.8, 0.2, 0.5, 0.5, 0.3, 0.7];
        let (accuracy, loss) = scores(&p, &[0, 0, 0, 1], 2);
        assert!((accuracy - 0.5 * (2.5 / 3.0 + 1.0)).abs() < 1e-12, "{accuracy}");
        let expected = -(0.9f64.ln() + 0.8f64.ln() + 0.5f64.ln() + 0.7f64.ln()) / 4.0;
        assert!((loss - expected).abs() < 1e-12, "{loss}");
        assert!(scores(&[1.0, 0.0], &[1], 2).1 < 17.0);
    }
}
