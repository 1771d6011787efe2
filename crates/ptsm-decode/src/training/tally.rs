//! How well trials were decoded, counted one by one.

use ptsm_engine::Real;

use super::Select;
use crate::probabilities::{Ties, inverse_temperature, largest, log_sum_exp};

/// Balanced accuracy and cross-entropy; none where there is no trial.
pub(crate) type Score = Option<(f64, f64)>;

/// What came of some trials.
#[derive(Clone)]
pub(crate) struct Tally {
    /// Of each class: trials decoded as it, and all.
    right: Vec<usize>,
    all: Vec<usize>,
    loss: f64,
    /// Logarithms of probabilities, with labels, where the loss is asked for at the best temperature.
    logarithms: Option<Vec<(Vec<f64>, usize)>>,
}

impl Tally {
    /// Of nothing yet.
    pub(crate) fn new(classes: usize, select: Select) -> Tally {
        let logarithms = (select == Select::CalibratedLoss).then(Vec::new);
        Tally { right: vec![0; classes], all: vec![0; classes], loss: 0.0, logarithms }
    }

    /// Adds a trial by its probabilities.
    pub(crate) fn add<T: Real>(&mut self, p: &[T], label: u32) {
        let label = label as usize;
        self.right[label] += usize::from(largest(p) == label);
        self.all[label] += 1;
        self.loss -= logarithm(p[label]);
        if let Some(all) = &mut self.logarithms {
            all.push((p.iter().map(|&p| logarithm(p)).collect(), label));
        }
    }

    /// Adds what came of other trials.
    pub(crate) fn join(&mut self, other: &Tally) {
        self.right.iter_mut().zip(&other.right).for_each(|(sum, n)| *sum += n);
        self.all.iter_mut().zip(&other.all).for_each(|(sum, n)| *sum += n);
        self.loss += other.loss;
        if let (Some(own), Some(others)) = (&mut self.logarithms, &other.logarithms) {
            own.extend_from_slice(others);
        }
    }

    /// Classes that no trial is of do not count.
    pub(crate) fn score(&self) -> Score {
        let present = self.all.iter().filter(|n| **n > 0).count();
        let recalls = self.right.iter().zip(&self.all).filter(|(_, n)| **n > 0);
        let balanced = recalls.map(|(right, n)| *right as f64 / *n as f64).sum::<f64>() / present as f64;
        let n: usize = self.all.iter().sum();
        let loss = self.logarithms.as_deref().map_or(self.loss, calibrated_loss);
        (n > 0).then(|| (balanced, loss / n as f64))
    }
}

/// A class that was thought impossible costs much, not everything.
fn logarithm<T: Real>(p: T) -> f64 {
    p.wide().max(f64::from(f32::MIN_POSITIVE)).ln()
}

/// The summed cross-entropy at the temperature that makes it least.
fn calibrated_loss(trials: &[(Vec<f64>, usize)]) -> f64 {
    let each = trials.iter().map(|(scores, label)| (&scores[..], *label));
    let inverse = inverse_temperature(each, Ties::LeastCertain);
    let loss = |(scores, label): &(Vec<f64>, usize)| {
        let scaled: Vec<f64> = scores.iter().map(|s| s * inverse).collect();
        log_sum_exp(&scaled) - scaled[*label]
    };
    trials.iter().map(loss).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_counts_as_much_and_those_without_trials_not() {
        let mut tally = Tally::new(3, Select::Accuracy);
        assert_eq!(tally.score(), None);
        for (p, label) in [([0.5f32, 0.25, 0.25], 0), ([0.25, 0.5, 0.25], 0), ([0.5, 0.25, 0.25], 0)] {
            tally.add(&p, label);
        }
        let mut other = Tally::new(3, Select::Accuracy);
        other.add(&[0.0f64, 1.0, 0.0], 1);
        tally.join(&other);
        let (balanced, loss) = tally.score().unwrap();
        assert!((balanced - 5.0 / 6.0).abs() < 1e-12);
        assert!((loss - 4.0 * 2f64.ln() / 4.0).abs() < 1e-12);
        // A class that was thought impossible costs much, not everything.
        tally.add(&[0.0f32, 0.5, 0.5], 0);
        assert!(tally.score().unwrap().1.is_finite());
    }

    /// Of two networks that order trials alike the surer one is no worse.
    #[test]
    fn at_the_best_temperature_it_does_not_matter_how_sure_a_network_is() {
        let loss = |select: Select, sharpness: f64| {
            let mut tally = Tally::new(2, select);
            for (score, label) in [(-2.0, 0), (-1.0, 0), (0.5, 0), (-0.3, 1), (1.0, 1), (2.5, 1)] {
                let p = 1.0 / (1.0 + f64::exp(-score * sharpness));
                let (mut one, mut joined) = (Tally::new(2, select), tally.clone());
                one.add(&[1.0 - p, p], label);
                joined.join(&one);
                tally = joined;
            }
            tally.score().unwrap().1
        };
        let (soft, sharp) = (loss(Select::CalibratedLoss, 1.0), loss(Select::CalibratedLoss, 5.0));
        assert!((soft - sharp).abs() < 1e-9, "{soft} {sharp}");
        assert!(loss(Select::Loss, 5.0) > loss(Select::Loss, 1.0) + 0.1);
        assert!(soft < loss(Select::Loss, 1.0));
    }
}
