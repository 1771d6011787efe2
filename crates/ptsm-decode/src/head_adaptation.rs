//! Few-shot adaptation of a decoder's head: a hierarchical model around what the decoder says of a trial.
//!
//! ```text
//! f_u(x) = s_u f(x) + b_u + W_u phi(x)      s_u ~ N(1, scale^2), b_u ~ N(0, bias^2 I), W_u ~ N(0, features^2 I)
//! ```
//!
//! `f` are the decoder's calibrated logits and `phi` its task features, centred and scaled so that in unseen subjects each has a mean square
//! of one over their number: whatever their number is, `features` is what they add to a logit. The maximum a posteriori is a Gaussian-process logistic regression on a few dozen trials: the problem is convex, the answer unique, and found by a few
//! steps of Newton's method in milliseconds. What is not seen in the labelled trials stays as it was: without evidence the prior keeps the
//! decoder.
//!
//! How far subjects may differ ([`HeadPrior`]) is chosen by playing adaptation on subjects of the training side who did not train the
//! network: each in turn is the new one, adapted by their first trials and scored on their later ones.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use serde::{Deserialize, Serialize};

use crate::probabilities::{log_sum_exp, softmax};

/// By how much the heads of subjects differ: standard deviations over subjects. 0 where a part stays as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadPrior {
    /// Of the offset of each class's logit.
    pub bias: f64,
    /// Of the factor that all logits are multiplied with, around 1.
    pub scale: f64,
    /// Of what all features together add to a logit.
    pub features: f64,
}

/// What a decoder says of some trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HeadInputs {
    /// Calibrated logits `[n, K]`.
    pub(crate) logits: Vec<f64>,
    /// Features `[n, F]`, centred, and scaled to a mean square of 1 / F.
    pub(crate) features: Vec<f64>,
    /// Classes `[n]`.
    pub(crate) labels: Vec<u32>,
}

/// What is added to a decoder for one subject.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeadShift {
    /// What logits are multiplied with.
    pub(crate) scale: f64,
    /// What is added to each class's.
    pub(crate) bias: Vec<f64>,
    /// What features are multiplied with, `[K, F]`.
    pub(crate) weight: Vec<f64>,
}

/// Steps of Newton's method that are never needed.
const MOST_STEPS: usize = 50;
/// Standard deviations that are tried.
const BIAS: [f64; 4] = [0.0, 0.25, 0.5, 1.0];
const SCALE: [f64; 3] = [0.0, 0.25, 0.5];
const FEATURES: [f64; 5] = [0.0, 0.25, 0.5, 1.0, 2.0];

impl HeadInputs {
    /// The same at some places.
    pub(crate) fn at(&self, places: &[usize], classes: usize) -> HeadInputs {
        let width = self.features.len() / self.labels.len().max(1);
        let rows = |all: &[f64], width: usize| -> Vec<f64> {
            places.iter().flat_map(|&i| all[i * width..(i + 1) * width].iter().copied()).collect()
        };
        HeadInputs {
            logits: rows(&self.logits, classes),
            features: rows(&self.features, width),
            labels: places.iter().map(|&i| self.labels[i]).collect(),
        }
    }

    /// Every class weighs the same, whatever its share among the trials.
    fn weights(&self, classes: usize) -> Vec<f64> {
        let mut counts = vec![0usize; classes];
        self.labels.iter().for_each(|&label| counts[label as usize] += 1);
        let present = counts.iter().filter(|&&n| n > 0).count();
        let of = |&label: &u32| self.labels.len() as f64 / (present * counts[label as usize]) as f64;
        self.labels.iter().map(of).collect()
    }

    /// Mean cross-entropy after a shift, every class weighing the same.
    fn loss(&self, shift: &HeadShift) -> f64 {
        let classes = shift.bias.len();
        let scores = shift.apply(&self.logits, &self.features);
        let each = scores.chunks_exact(classes).zip(&self.labels).zip(self.weights(classes));
        let sum: f64 = each.map(|((s, &label), w)| w * (log_sum_exp(s) - s[label as usize])).sum();
        sum / self.labels.len() as f64
    }
}

impl HeadShift {
    fn nothing(classes: usize, features: usize) -> HeadShift {
        HeadShift { scale: 1.0, bias: vec![0.0; classes], weight: vec![0.0; classes * features] }
    }

    /// Logits as they become, `[n, K]`.
    pub(crate) fn apply(&self, logits: &[f64], features: &[f64]) -> Vec<f64> {
        let classes = self.bias.len();
        let width = self.weight.len() / classes;
        let mut scores = vec![];
        for (i, z) in logits.chunks_exact(classes).enumerate() {
            let own = &features[i * width..(i + 1) * width];
            for (k, z) in z.iter().enumerate() {
                let weight = &self.weight[k * width..(k + 1) * width];
                let sum: f64 = weight.iter().zip(own).map(|(w, f)| w * f).sum();
                scores.push(self.scale * z + self.bias[k] + sum);
            }
        }
        scores
    }
}

impl HeadPrior {
    /// Whether no subject differs: adaptation then leaves every decoder as it was.
    pub fn keeps_all(self) -> bool {
        self == HeadPrior::default()
    }

    /// The most probable shift, given labelled trials of one subject.
    pub(crate) fn fit(self, trials: &HeadInputs, classes: usize) -> HeadShift {
        let n = trials.labels.len();
        let width = trials.features.len().checked_div(n).unwrap_or(0);
        let mut shift = HeadShift::nothing(classes, width);
        if self.keeps_all() || n == 0 {
            return shift;
        }
        // The most probable weights are combinations of the trials' features: as many coordinates as trials are enough.
        let (coordinates, back) = match self.features > 0.0 && width > 0 {
            true => coordinates(&DMatrix::from_row_slice(n, width, &trials.features)),
            false => (DMatrix::zeros(n, 0), DMatrix::zeros(width, 0)),
        };
        let inner = coordinates.ncols();
        // Parameters in units of their standard deviations: the factor, an offset for each class, coordinates for each class.
        let size = 1 + classes + classes * inner;
        let mut design = DMatrix::zeros(n * classes, size);
        for i in 0..n {
            for k in 0..classes {
                let row = i * classes + k;
                design[(row, 0)] = self.scale * trials.logits[row];
                design[(row, 1 + k)] = self.bias;
                for j in 0..inner {
                    design[(row, 1 + classes + k * inner + j)] = self.features * coordinates[(i, j)];
                }
            }
        }
        let at = newton(&design, trials, classes);
        shift.scale = 1.0 + self.scale * at[0];
        for k in 0..classes {
            shift.bias[k] = self.bias * at[1 + k];
            for j in 0..inner {
                let by = self.features * at[1 + classes + k * inner + j];
                for f in 0..width {
                    shift.weight[k * width + f] += by * back[(f, j)];
                }
            }
        }
        shift
    }

    /// The prior under which subjects who play the new one are decoded best: each by trials to adapt to and later ones. One part after the other is
    /// widened, and only where the gain is larger than its standard error over subjects, so that nobody pays for chance.
    pub(crate) fn choose(plays: &[Vec<(HeadInputs, HeadInputs)>], classes: usize) -> HeadPrior {
        let losses = |prior: HeadPrior| -> Vec<f64> {
            let of_subject = |rounds: &Vec<(HeadInputs, HeadInputs)>| {
                let losses = rounds.iter().map(|(first, later)| later.loss(&prior.fit(first, classes)));
                losses.sum::<f64>() / rounds.len() as f64
            };
            plays.iter().filter(|rounds| !rounds.is_empty()).map(of_subject).collect()
        };
        let mut best = HeadPrior::default();
        let mut of_best = losses(best);
        if of_best.len() < 2 {
            return best;
        }
        type Part = fn(&mut HeadPrior, f64);
        let parts: [(&[f64], Part); 3] = [
            (&BIAS, |prior, value| prior.bias = value),
            (&SCALE, |prior, value| prior.scale = value),
            (&FEATURES, |prior, value| prior.features = value),
        ];
        for _ in 0..2 {
            let before = best;
            for (values, set) in parts {
                for &value in values {
                    let mut prior = best;
                    set(&mut prior, value);
                    if prior == best {
                        continue;
                    }
                    let of_prior = losses(prior);
                    if is_gain(&of_best, &of_prior) {
                        (best, of_best) = (prior, of_prior);
                    }
                }
            }
            if best == before {
                break;
            }
        }
        best
    }
}

/// Whether losses are lower by more than the standard error of the difference.
fn is_gain(before: &[f64], after: &[f64]) -> bool {
    let n = before.len() as f64;
    let gains: Vec<f64> = before.iter().zip(after).map(|(b, a)| b - a).collect();
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean > 0.0 && mean > (variance / n).sqrt()
}

/// Coordinates of rows `[n, F]` in the space that they span, and how to come back to features: `[n, r]` and `[F, r]`.
fn coordinates(rows: &DMatrix<f64>) -> (DMatrix<f64>, DMatrix<f64>) {
    if rows.ncols() <= rows.nrows() {
        return (rows.clone(), DMatrix::identity(rows.ncols(), rows.ncols()));
    }
    let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(rows * rows.transpose());
    let largest = eigenvalues.max();
    let kept: Vec<usize> = (0..eigenvalues.len()).filter(|&i| eigenvalues[i] > 1e-10 * largest).collect();
    let mut own = eigenvectors.select_columns(&kept);
    let mut back = rows.transpose() * &own;
    for (j, &i) in kept.iter().enumerate() {
        let root = eigenvalues[i].sqrt();
        own.column_mut(j).scale_mut(root);
        back.column_mut(j).unscale_mut(root);
    }
    (own, back)
}

/// The parameters of the least cross-entropy with a standard normal prior: `design` gives what they add to the logits.
fn newton(design: &DMatrix<f64>, trials: &HeadInputs, classes: usize) -> DVector<f64> {
    let weights = trials.weights(classes);
    let loss = |at: &DVector<f64>| -> f64 {
        let added = design * at;
        let each = trials.labels.iter().zip(&weights).enumerate().map(|(i, (&label, w))| {
            let scores: Vec<f64> =
                (0..classes).map(|k| trials.logits[i * classes + k] + added[i * classes + k]).collect();
            w * (log_sum_exp(&scores) - scores[label as usize])
        });
        each.sum::<f64>() + 0.5 * at.norm_squared()
    };
    let size = design.ncols();
    let mut at = DVector::zeros(size);
    let mut value = loss(&at);
    for _ in 0..MOST_STEPS {
        let added = design * &at;
        let mut slope = DVector::zeros(added.len());
        // Each trial's weight times `diag(p) - p p^T`, times the design.
        let mut curved = DMatrix::zeros(added.len(), size);
        for (i, (&label, w)) in trials.labels.iter().zip(&weights).enumerate() {
            let first = i * classes;
            let scores: Vec<f64> =
                (0..classes).map(|k| trials.logits[first + k] + added[first + k]).collect();
            let p = softmax(&scores);
            for k in 0..classes {
                slope[first + k] = w * (p[k] - f64::from(u8::from(k == label as usize)));
                for l in 0..classes {
                    let by = w * (p[k] * f64::from(u8::from(k == l)) - p[k] * p[l]);
                    for j in 0..size {
                        curved[(first + k, j)] += by * design[(first + l, j)];
                    }
                }
            }
        }
        let gradient = design.transpose() * slope + &at;
        let curvature = design.transpose() * curved + DMatrix::identity(size, size);
        let Some(step) = curvature.cholesky().map(|c| c.solve(&gradient)) else { break };
        let (mut part, mut next) = (1.0, None);
        while part > 1e-8 && next.is_none() {
            let tried = &at - &step * part;
            let of_tried = loss(&tried);
            if of_tried < value {
                next = Some((tried, of_tried));
            }
            part *= 0.5;
        }
        let Some((tried, of_tried)) = next else { break };
        let gained = value - of_tried;
        (at, value) = (tried, of_tried);
        if gained < 1e-12 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const WIDTH: usize = 6;

    /// Trials of a subject whose true logits are the decoder's after a shift.
    fn subject(rng: &mut ChaCha8Rng, n: usize, shift: &HeadShift) -> HeadInputs {
        let mut trials = HeadInputs::default();
        while trials.labels.len() < n {
            let z = 3.0 * (rng.random::<f64>() - 0.5);
            let logits = [z, -z];
            let features: Vec<f64> =
                (0..WIDTH).map(|_| (rng.random::<f64>() - 0.5) * (12.0 / WIDTH as f64).sqrt()).collect();
            let p = softmax(&shift.apply(&logits, &features));
            trials.labels.push(u32::from(rng.random::<f64>() > p[0]));
            trials.logits.extend(logits);
            trials.features.extend(features);
        }
        trials
    }

    fn split(trials: &HeadInputs, first: usize) -> (HeadInputs, HeadInputs) {
        let n = trials.labels.len();
        (trials.at(&(0..first).collect::<Vec<_>>(), 2), trials.at(&(first..n).collect::<Vec<_>>(), 2))
    }

    fn right(trials: &HeadInputs, shift: &HeadShift) -> usize {
        let scores = shift.apply(&trials.logits, &trials.features);
        scores.chunks(2).zip(&trials.labels).filter(|(s, l)| (s[1] > s[0]) == (**l == 1)).count()
    }

    #[test]
    fn its_slope_vanishes_at_the_answer() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let prior = HeadPrior { bias: 0.7, scale: 0.4, features: 1.5 };
        // Fewer trials than features, and more.
        for n in [4, 30] {
            let truth = HeadShift { bias: vec![0.8, -0.8], ..HeadShift::nothing(2, WIDTH) };
            let trials = subject(&mut rng, n, &truth);
            let found = prior.fit(&trials, 2);
            let posterior = |shift: &HeadShift| {
                let squares = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
                trials.loss(shift) * n as f64
                    + 0.5 * ((shift.scale - 1.0) / prior.scale).powi(2)
                    + 0.5 * squares(&shift.bias) / prior.bias.powi(2)
                    + 0.5 * squares(&shift.weight) / prior.features.powi(2)
            };
            let numbers = 1 + 2 + 2 * WIDTH;
            let moved = |place: usize, by: f64| {
                let mut shift = found.clone();
                match place {
                    0 => shift.scale += by,
                    1 | 2 => shift.bias[place - 1] += by,
                    other => shift.weight[other - 3] += by,
                }
                posterior(&shift)
            };
            for place in 0..numbers {
                let slope = (moved(place, 1e-5) - moved(place, -1e-5)) / 2e-5;
                assert!(slope.abs() < 1e-5, "{n} {place}: {slope}");
            }
        }
    }

    #[test]
    fn no_evidence_leaves_the_decoder_as_it_was() {
        let none = HeadPrior { bias: 1.0, scale: 1.0, features: 1.0 }.fit(&HeadInputs::default(), 2);
        assert_eq!(none, HeadShift::nothing(2, 0));
        let trials = subject(&mut ChaCha8Rng::seed_from_u64(2), 10, &HeadShift::nothing(2, WIDTH));
        assert_eq!(HeadPrior::default().fit(&trials, 2), HeadShift::nothing(2, WIDTH));
    }

    /// Of subjects whose decisions are shifted the prior learns offsets, of those who need other features the weights, of those like the
    /// training subjects nothing; and new subjects gain, or lose nothing.
    #[test]
    fn it_is_as_wide_as_subjects_differ() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut draw = |kind: usize| {
            let mut shift = HeadShift::nothing(2, WIDTH);
            let side = if rng.random::<bool>() { 1.5 } else { -1.5 };
            match kind {
                0 => shift.bias = vec![side, -side],
                1 => {
                    for f in 0..WIDTH {
                        let by = 6.0 * (rng.random::<f64>() - 0.5);
                        (shift.weight[f], shift.weight[WIDTH + f]) = (by, -by);
                    }
                }
                _ => {}
            }
            subject(&mut rng, 160, &shift)
        };
        for kind in 0..3 {
            let plays: Vec<Vec<(HeadInputs, HeadInputs)>> = (0..12)
                .map(|_| {
                    let trials = draw(kind);
                    vec![split(&trials, 4), split(&trials, 20)]
                })
                .collect();
            let prior = HeadPrior::choose(&plays, 2);
            match kind {
                0 => assert!(prior.bias >= 0.5, "{prior:?}"),
                1 => assert!(prior.features >= 1.0, "{prior:?}"),
                _ => assert!(prior.bias <= 0.25 && prior.features <= 0.25, "{prior:?}"),
            }
            let (mut before, mut after, mut n) = (0, 0, 0);
            for _ in 0..30 {
                let (first, later) = split(&draw(kind), 20);
                before += right(&later, &HeadShift::nothing(2, WIDTH));
                after += right(&later, &prior.fit(&first, 2));
                n += later.labels.len();
            }
            let gain = (after as f64 - before as f64) / n as f64;
            let enough = if kind < 2 { gain > 0.04 } else { gain > -0.003 };
            assert!(enough, "{kind}: {before} -> {after} of {n} with {prior:?}");
        }
    }

    #[test]
    fn one_subject_is_too_few_to_choose_by() {
        let trials = subject(&mut ChaCha8Rng::seed_from_u64(4), 40, &HeadShift::nothing(2, WIDTH));
        assert!(HeadPrior::choose(&[vec![split(&trials, 10)]], 2).keeps_all());
        assert!(HeadPrior::choose(&[], 2).keeps_all());
    }
}
