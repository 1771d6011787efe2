//! Whether the probabilities of many trials are true: decisions counted in bins by their probability, which can be added up over subjects and fits.

use serde::{Deserialize, Serialize};

/// Bins from 0 to 1, each as wide as the others.
const BINS: usize = 20;

/// Decisions by the probability that the decoder gave them (Guo et al. 2017, "On calibration of modern neural networks").
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecisionBins(Vec<DecisionBin>);

/// Decisions of about the same probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionBin {
    /// How many there are.
    n: usize,
    /// How many of them are right.
    right: usize,
    /// The sum of their probabilities.
    probability: f64,
}

impl DecisionBins {
    /// Adds the decisions of some trials: the most probable class of each, the first of equals.
    ///
    /// # Shapes
    /// `labels: [n]`, `probabilities: [n, classes]`
    pub fn add(&mut self, labels: &[u32], probabilities: &[f32], classes: usize) {
        self.0.resize(BINS, DecisionBin::default());
        for (&label, row) in labels.iter().zip(probabilities.chunks_exact(classes)) {
            let decided =
                row.iter().enumerate().fold(0, |best, (k, p)| if *p > row[best] { k } else { best });
            let probability = f64::from(row[decided]).clamp(0.0, 1.0);
            // The upper edge belongs to a bin, the lower one to the one before.
            let bin = ((probability * BINS as f64).ceil() as usize).clamp(1, BINS) - 1;
            let bin = &mut self.0[bin];
            bin.n += 1;
            bin.right += usize::from(decided == label as usize);
            bin.probability += probability;
        }
    }

    /// Adds those of others.
    pub fn join(&mut self, other: &DecisionBins) {
        self.0.resize(BINS.max(self.0.len()), DecisionBin::default());
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            own.n += other.n;
            own.right += other.right;
            own.probability += other.probability;
        }
    }

    /// Number of decisions.
    pub fn n(&self) -> usize {
        self.0.iter().map(|bin| bin.n).sum()
    }

    /// The mean distance of the share of right decisions from their probability, bins weighted by their decisions; NaN without any.
    pub fn expected_calibration_error(&self) -> f64 {
        let gaps = self.0.iter().map(|bin| (bin.right as f64 - bin.probability).abs());
        gaps.sum::<f64>() / self.n() as f64
    }

    /// The mean probability of decisions less the share of right ones: above 0 where the decoder is over-confident; NaN without any.
    pub fn over_confidence(&self) -> f64 {
        self.0.iter().map(|bin| bin.probability - bin.right as f64).sum::<f64>() / self.n() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_by_hand() {
        let mut bins = DecisionBins::default();
        assert!(bins.expected_calibration_error().is_nan());
        // 0.9 right, 0.9 wrong, 0.75 (of class 0) right, 0.6 right.
        let p = [0.1, 0.9, 0.1, 0.9, 0.75, 0.25, 0.4, 0.6f32];
        bins.add(&[1, 0, 0, 1], &p, 2);
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        near(bins.expected_calibration_error(), (2.0 * 0.4 + 0.25 + 0.4) / 4.0);
        near(bins.over_confidence(), (2.0 * 0.4 - 0.25 - 0.4) / 4.0);
        let mut twice = DecisionBins::default();
        twice.join(&bins);
        twice.join(&bins);
        assert_eq!(twice.n(), 8);
        near(twice.expected_calibration_error(), bins.expected_calibration_error());
        // Certain and impossible ones have a bin, too.
        bins.add(&[0, 1], &[1.0, 0.0, 0.0, 1.0], 2);
        assert_eq!(bins.n(), 6);
    }

    #[test]
    fn errors_of_opposite_subjects_in_one_bin_cancel_and_of_two_bins_do_not() {
        let of = |labels: &[u32], p: f32| {
            let mut bins = DecisionBins::default();
            bins.add(labels, &[p, 1.0 - p].repeat(labels.len()), 2);
            bins
        };
        let mut same = of(&[0, 0, 0, 0], 0.74);
        same.join(&of(&[0, 0, 1, 1], 0.76));
        assert!((same.over_confidence()).abs() < 1e-6, "{same:?}");
        assert!((same.expected_calibration_error() - 0.26).abs() < 1e-6, "two bins: 0.74 and 0.76");
    }
}
