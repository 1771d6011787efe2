//! Probes of features: a classifier is fitted to some trials and tested on others.

mod curved;
mod discriminant;

use nalgebra::DMatrix;
use ptsm_decode::classic::{Logistic, Regularisation};
use ptsm_eval::{ALPHA, Interval, Result, chance_threshold, mean};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::features::{Features, Standardisation, TrialSplit, members, refused};
use crate::intervals::{over_groups, wilson};
use curved::curved;
use discriminant::{Discriminant, largest};

/// A kind of classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Logistic regression of standardised features with an L2 penalty; classes weigh the same. scikit-learn's with `C=1`.
    Linear,
    /// Discriminant analysis with a Gaussian kernel, which finds curved borders too.
    Nonlinear,
}

/// What is asked of features.
#[derive(Clone, Copy, Debug)]
pub struct ProbeInput<'a> {
    /// A trial a row.
    pub features: &'a Features,
    /// What is to be decoded: one number for each trial, such as its class or its subject.
    pub labels: &'a [u32],
    /// Whose each trial is. Intervals say how much the answer would change with other subjects.
    pub groups: &'a [u32],
    /// Where labels are exchanged to see what chance does: only among trials of one block. For the class of the task blocks are subjects; for
    /// the subject they are the classes of the task, or all trials are one block.
    pub blocks: &'a [u32],
}

/// How chance is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermutationSettings {
    /// How often labels are exchanged; 0 for never.
    pub draws: usize,
    /// The same seed gives the same numbers.
    pub seed: u64,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeResult {
    /// Which one.
    pub probe: Probe,
    /// Training trials.
    pub trained: usize,
    /// Trials asked about.
    pub tested: usize,
    /// Number of different labels.
    pub classes: usize,
    /// The share of right answers.
    pub accuracy: f64,
    /// The mean over classes of the share of right answers: what the numbers below are about.
    pub balanced_accuracy: f64,
    /// The chance level: 1/K of K classes.
    pub chance: f64,
    /// What always naming the most frequent class reaches in `accuracy`.
    pub majority: f64,
    /// Of the balanced accuracy, 95 %: from groups drawn anew, and not narrower than from independent trials. Few groups alone make it too narrow.
    pub interval: Interval,
    /// The balanced accuracy that is exceeded by chance in as many independent trials with a probability of 5 % or less.
    pub threshold: f64,
    /// Whether the balanced accuracy is above it.
    pub above_threshold: bool,
    /// What happens when labels are exchanged.
    pub shuffled: PermutationTest,
}

/// Balanced accuracies of discriminant analysis on the same features (it can be fitted hundreds of times) with the labels as they are, and after
/// those of training trials have been exchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermutationTest {
    /// With labels as they are. For the nonlinear probe this is its own.
    pub observed: f64,
    /// One for each draw.
    pub draws: Vec<f64>,
    /// How often chance reaches what was observed, which counts as a draw; NaN without draws.
    pub p: f64,
}

const REGULARISATION: Regularisation =
    Regularisation { inverse_penalty: 1.0, balanced: true, tolerance: 1e-7 };

/// Asks a question of the features of some trials after learning from others.
pub fn probe(
    question: &ProbeInput<'_>,
    split: &TrialSplit,
    probe: Probe,
    shuffles: PermutationSettings,
) -> Result<ProbeResult> {
    let task = Task::new(question, split)?;
    let (train, test) = task.rows(question.features, split);
    let (answers, shuffled) = match probe {
        Probe::Linear => {
            let labels: Vec<u32> = task.train.iter().map(|&l| l as u32).collect();
            let scores = scores(&Logistic::fit(&train, &labels, task.classes, REGULARISATION)?, &test);
            (largest(&scores, |score, _| score), task.shuffled(&Discriminant::new(train, test), shuffles)?)
        }
        Probe::Nonlinear => {
            let [train, test] = curved(&train, &test);
            let analysis = Discriminant::new(train, test);
            (analysis.answers(&task.train, task.classes), task.shuffled(&analysis, shuffles)?)
        }
    };
    Ok(task.judged(probe, &answers, shuffled, shuffles.seed))
}

/// The probabilities `[test, K]` that the linear probe gives to each test trial, row by row, classes in the order of their labels.
pub fn linear_probabilities(question: &ProbeInput<'_>, split: &TrialSplit) -> Result<Vec<f64>> {
    let task = Task::new(question, split)?;
    let (train, test) = task.rows(question.features, split);
    let labels: Vec<u32> = task.train.iter().map(|&l| l as u32).collect();
    let found = Logistic::fit(&train, &labels, task.classes, REGULARISATION)?;
    let mut probabilities = vec![];
    for row in test.row_iter() {
        let row: Vec<f64> = row.iter().copied().collect();
        probabilities.extend(found.probabilities(&row)?.iter());
    }
    Ok(probabilities)
}

/// `[n, K]`: what a regression says for each class.
fn scores(found: &Logistic, rows: &DMatrix<f64>) -> DMatrix<f64> {
    let mut scores = rows * found.weights.transpose();
    for (mut column, bias) in scores.column_iter_mut().zip(found.biases.iter()) {
        column.add_scalar_mut(*bias);
    }
    // Of two classes the first has no weights.
    if scores.ncols() == 1 { scores.insert_column(0, 0.0) } else { scores }
}

/// Labels as numbers from 0, divided.
struct Task {
    classes: usize,
    train: Vec<usize>,
    test: Vec<usize>,
    /// Places in `train` among which labels are exchanged.
    blocks: Vec<Vec<usize>>,
    /// Places in `test` of each group.
    groups: Vec<Vec<usize>>,
}

impl Task {
    fn new(question: &ProbeInput<'_>, split: &TrialSplit) -> Result<Task> {
        let ProbeInput { features, labels, groups, blocks } = *question;
        features.fits("labels", labels)?;
        features.fits("groups", groups)?;
        features.fits("blocks", blocks)?;
        split.check(features.len())?;
        let of = |list: &[u32], places: &[usize]| -> Vec<u32> { places.iter().map(|&i| list[i]).collect() };
        let mut known = of(labels, &split.train);
        known.sort_unstable();
        known.dedup();
        let named = |places: &[usize]| -> Result<Vec<usize>> {
            let place = |label: u32| {
                known.binary_search(&label).map_err(|_| {
                    refused(
                        format!("label {label} is asked about and no trial to learn from has it"),
                        "divide so that every label is on both sides, within each subject by time",
                    )
                })
            };
            places.iter().map(|&i| place(labels[i])).collect()
        };
        if known.len() < 2 {
            return Err(refused("all trials to learn from have the same label", "give trials of two labels"));
        }
        Ok(Task {
            classes: known.len(),
            train: named(&split.train)?,
            test: named(&split.test)?,
            blocks: members(&of(blocks, &split.train)),
            groups: members(&of(groups, &split.test)),
        })
    }

    /// Standardised by the training trials.
    fn rows(&self, features: &Features, split: &TrialSplit) -> (DMatrix<f64>, DMatrix<f64>) {
        let train = features.rows.select_rows(&split.train);
        let standard = Standardisation::of(&train);
        (standard.apply(train), standard.apply(features.rows.select_rows(&split.test)))
    }

    fn counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.classes];
        self.test.iter().for_each(|&label| counts[label] += 1.0);
        counts
    }

    /// What each test trial counts, so that classes count the same; together 1.
    fn weights(&self) -> Vec<f64> {
        let counts = self.counts();
        let present = counts.iter().filter(|&&n| n > 0.0).count() as f64;
        self.test.iter().map(|&label| 1.0 / (present * counts[label])).collect()
    }

    fn balanced(&self, answers: &[usize]) -> f64 {
        let mut right = vec![0.0; self.classes];
        answers.iter().zip(&self.test).filter(|(a, b)| a == b).for_each(|(_, &label)| right[label] += 1.0);
        let shares = right.iter().zip(self.counts()).filter(|(_, n)| *n > 0.0).map(|(right, n)| right / n);
        let shares: Vec<f64> = shares.collect();
        mean(&shares)
    }

    fn shuffled(&self, analysis: &Discriminant, shuffles: PermutationSettings) -> Result<PermutationTest> {
        let once = |labels: &[usize]| self.balanced(&analysis.answers(labels, self.classes));
        let observed = once(&self.train);
        let idle = |own: &Vec<usize>| own.iter().all(|&i| self.train[i] == self.train[own[0]]);
        if shuffles.draws > 0 && self.blocks.iter().all(idle) {
            return Err(refused(
                "labels are the same in every block, so that exchanging them changes nothing",
                "for the subject give the classes of the task as blocks, or one block for all trials",
            ));
        }
        let mut random = ChaCha8Rng::seed_from_u64(shuffles.seed);
        let mut draws = Vec::with_capacity(shuffles.draws);
        for _ in 0..shuffles.draws {
            let mut labels = self.train.clone();
            for own in &self.blocks {
                let mut exchanged: Vec<usize> = own.iter().map(|&i| self.train[i]).collect();
                exchanged.shuffle(&mut random);
                own.iter().zip(exchanged).for_each(|(&i, label)| labels[i] = label);
            }
            draws.push(once(&labels));
        }
        let p = chance_p(observed, &draws);
        Ok(PermutationTest { observed, draws, p })
    }

    fn judged(&self, probe: Probe, answers: &[usize], shuffled: PermutationTest, seed: u64) -> ProbeResult {
        let (counts, weights) = (self.counts(), self.weights());
        let right: Vec<bool> = answers.iter().zip(&self.test).map(|(a, b)| a == b).collect();
        let n = right.len() as f64;
        let balanced_accuracy = self.balanced(answers);
        // Scores by chance spread around the chance level as in so many trials, were classes equally frequent.
        let worth = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let chance = 1.0 / self.classes as f64;
        let threshold = chance_threshold(worth.round() as usize, chance, ALPHA);
        let groups: Vec<(f64, f64)> = self
            .groups
            .iter()
            .map(|own| {
                let all = own.iter().map(|&i| weights[i]).sum();
                (own.iter().filter(|&&i| right[i]).map(|&i| weights[i]).sum(), all)
            })
            .collect();
        ProbeResult {
            probe,
            trained: self.train.len(),
            tested: right.len(),
            classes: self.classes,
            accuracy: right.iter().filter(|r| **r).count() as f64 / n,
            balanced_accuracy,
            chance,
            majority: counts.iter().copied().fold(0.0, f64::max) / n,
            interval: match (over_groups(&groups, seed), wilson(balanced_accuracy, worth)) {
                (Some(a), b) => Interval { low: a.low.min(b.low), high: a.high.max(b.high) },
                (None, alone) => alone,
            },
            threshold,
            above_threshold: balanced_accuracy > threshold + 1e-9 / n,
            shuffled,
        }
    }
}

/// How often chance reaches what was observed, which counts as a draw; NaN without draws.
pub(crate) fn chance_p(observed: f64, draws: &[f64]) -> f64 {
    if draws.is_empty() {
        return f64::NAN;
    }
    let reached = draws.iter().filter(|&&draw| draw >= observed - 1e-12).count();
    (1 + reached) as f64 / (1 + draws.len()) as f64
}

#[cfg(test)]
mod tests;
