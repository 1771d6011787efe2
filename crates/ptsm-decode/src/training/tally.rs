//! How well trials were decoded, counted one by one.

use ptsm_engine::Real;

use crate::probabilities::largest;

/// Balanced accuracy and cross-entropy; none where there is no trial.
pub(crate) type Score = Option<(f64, f64)>;

/// What came of some trials.
#[derive(Clone)]
pub(crate) struct Tally {
    /// Of each class: trials decoded as it, and all.
    right: Vec<usize>,
    all: Vec<usize>,
    loss: f64,
}

impl Tally {
    /// Of nothing yet.
    pub(crate) fn new(classes: usize) -> Tally {
        Tally { right: vec![0; classes], all: vec![0; classes], loss: 0.0 }
    }

    /// Adds a trial by its probabilities.
    pub(crate) fn add<T: Real>(&mut self, p: &[T], label: u32) {
        let label = label as usize;
        self.right[label] += usize::from(largest(p) == label);
        self.all[label] += 1;
        self.loss -= p[label].wide().max(f64::from(f32::MIN_POSITIVE)).ln();
    }

    /// Adds what came of other trials.
    pub(crate) fn join(&mut self, other: &Tally) {
        self.right.iter_mut().zip(&other.right).for_each(|(sum, n)| *sum += n);
        self.all.iter_mut().zip(&other.all).for_each(|(sum, n)| *sum += n);
        self.loss += other.loss;
    }

    /// Classes that no trial is of do not count.
    pub(crate) fn score(&self) -> Score {
        let present = self.all.iter().filter(|n| **n > 0).count();
        let recalls = self.right.iter().zip(&self.all).filter(|(_, n)| **n > 0);
        let balanced = recalls.map(|(right, n)| *right as f64 / *n as f64).sum::<f64>() / present as f64;
        let n: usize = self.all.iter().sum();
        (n > 0).then(|| (balanced, self.loss / n as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_counts_as_much_and_those_without_trials_not() {
        let mut tally = Tally::new(3);
        assert_eq!(tally.score(), None);
        for (p, label) in [([0.5f32, 0.25, 0.25], 0), ([0.25, 0.5, 0.25], 0), ([0.5, 0.25, 0.25], 0)] {
            tally.add(&p, label);
        }
        let mut other = Tally::new(3);
        other.add(&[0.0f64, 1.0, 0.0], 1);
        tally.join(&other);
        let (balanced, loss) = tally.score().unwrap();
        assert!((balanced - 5.0 / 6.0).abs() < 1e-12);
        assert!((loss - 4.0 * 2f64.ln() / 4.0).abs() < 1e-12);
        // A class that was thought impossible costs much, not everything.
        tally.add(&[0.0f32, 0.5, 0.5], 0);
        assert!(tally.score().unwrap().1.is_finite());
    }
}
