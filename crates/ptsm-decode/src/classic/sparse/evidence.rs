//! Evidence maximisation.
//!
//! `y = <L, W> + noise(lambda)` with L the trial's symmetric matrix, column j of W drawn from N(0, Psi). Vectors hold the upper triangle with entries
//! beside the diagonal times the square root of 2 ([`spd::upper`]), so that `<L, W>` is their product; the prior covariance then
//! is the operator `Q: L -> (Psi L + L Psi) / 2`, and the trials' covariance `Sigma = H Q H^T + lambda I`, H being the trials' vectors.
//!
//! Where there are more trials than entries h of a vector, nothing per step depends on their number: with `G = H^T H` and
//! `T = (lambda G^-1 + Q)^-1`, `H^T Sigma^-1 H = T` and `H^T Sigma^-1 y = T G^-1 H^T y`.

use nalgebra::{DMatrix, DMatrixViewMut, DVector, Dyn};
use ptsm_signal::spd::upper;
use rayon::prelude::*;

use super::super::cholesky::Cholesky;
use super::super::linear::eigen;
use crate::error::{Error, Result};

/// The least noise: data that can be told apart without any must not divide by nothing.
const LEAST_NOISE: f64 = 1e-8;
/// The least pivot of `G` that may be inverted.
const INVERTIBLE: f64 = 1e-4;
/// Share of the largest eigenvalue of W that a filter must have.
const KEPT: f64 = 0.05;

/// Trials whose covariances with all others one thread takes at once.
const BLOCK: usize = 128;

/// What all classes' regressions have in common.
pub struct SparseEvidence {
    size: usize,
    trials: DMatrix<f64>,
    form: EvidenceForm,
    /// For each column j `R_j^T R_j`, R_j being column j of every trial's matrix.
    columns: Vec<DMatrix<f64>>,
}

enum EvidenceForm {
    /// As written in the paper, with a matrix of trials by trials. Holds `H^T`, a trial a column.
    Trials { across: DMatrix<f64> },
    /// With `G`, its inverse and the logarithm of its determinant.
    Entries { gram: DMatrix<f64>, inverse: DMatrix<f64>, ln_determinant: f64 },
}

/// What one regression is to explain.
pub struct RegressionTarget {
    y: DVector<f64>,
    power: f64,
    /// `H^T y`.
    seen: DVector<f64>,
    /// `G^-1 H^T y`, where that is used.
    solved: Option<DVector<f64>>,
}

/// One regression on its way.
#[derive(Clone, Debug)]
pub struct RegressionStep {
    /// Steps done.
    pub done: usize,
    /// `y^T Sigma^-1 y + ln det Sigma`, of the covariance before this step.
    pub loss: f64,
    /// The noise after this step.
    pub noise: f64,
    /// The prior covariance of W's columns after this step.
    pub prior: DMatrix<f64>,
    /// W.
    pub weights: DMatrix<f64>,
}

/// A fitted regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    /// W, symmetric, n x n.
    pub weights: DMatrix<f64>,
}

/// What a covariance with prior Psi and noise lambda says.
struct Posterior {
    loss: f64,
    /// `H^T Sigma^-1 y`.
    pull: DVector<f64>,
    /// For each column j `R_j^T Sigma^-1 R_j`.
    columns: Vec<DMatrix<f64>>,
}

impl SparseEvidence {
    /// From vectors of trials, `[M, h]`, a trial a row, of matrices of `size` rows.
    pub fn new(trials: DMatrix<f64>, size: usize) -> Result<SparseEvidence> {
        if trials.ncols() != size * (size + 1) / 2 || size == 0 || trials.nrows() == 0 {
            let (rows, entries) = trials.shape();
            return Err(Error::Configuration(format!(
                "{rows} vectors of {entries} entries are none of matrices of {size} rows"
            )));
        }
        if trials.iter().any(|v| !v.is_finite()) {
            return Err(Error::trials(
                "a feature is not a number",
                "look for missing samples and for flat channels in the signal",
            ));
        }
        let entries = (trials.nrows() >= trials.ncols()).then(|| EvidenceForm::entries(&trials)).flatten();
        let form = entries.unwrap_or_else(|| EvidenceForm::trials(&trials));
        Ok(SparseEvidence::of(trials, size, form))
    }

    fn of(trials: DMatrix<f64>, size: usize, form: EvidenceForm) -> SparseEvidence {
        let columns = blocks(&trials, size);
        SparseEvidence { size, trials, form, columns }
    }

    /// Labels, +1 or -1 of each trial.
    pub fn target(&self, y: Vec<f64>) -> Result<RegressionTarget> {
        if y.len() != self.trials.nrows() {
            let (n, labels) = (self.trials.nrows(), y.len());
            return Err(Error::Configuration(format!("{n} examples do not fit {labels} labels")));
        }
        let y = DVector::from_vec(y);
        let seen = self.trials.tr_mul(&y);
        let solved = match &self.form {
            EvidenceForm::Trials { .. } => None,
            EvidenceForm::Entries { inverse, .. } => Some(inverse * &seen),
        };
        Ok(RegressionTarget { power: y.norm_squared(), y, seen, solved })
    }

    /// Before the first step.
    pub fn start(&self) -> RegressionStep {
        RegressionStep {
            done: 0,
            loss: 1e12,
            noise: 1.0,
            prior: DMatrix::identity(self.size, self.size),
            weights: DMatrix::zeros(self.size, self.size),
        }
    }

    /// One step.
    pub fn step(&self, step: &RegressionStep, target: &RegressionTarget) -> Result<RegressionStep> {
        let (size, psi) = (self.size as f64, &step.prior);
        let at = self.posterior(psi, step.noise, target).ok_or_else(|| {
            Error::trials(
                format!("the evidence has no value after {} steps", step.done),
                "look for trials that are copies of each other and for channels of very different size",
            )
        })?;
        // The symmetric part of `Psi C`, C being the pull as a matrix.
        let weights = self.smoothed(psi, &at.pull);
        let all: DMatrix<f64> = at.columns.iter().sum();
        let prior = (&weights * &weights + psi * size - psi * all * psi) / size;
        let uncertain: Vec<f64> = self
            .columns
            .par_iter()
            .zip(&at.columns)
            .map(|(seen, known)| {
                let seen = psi * seen;
                seen.trace() - (psi * known).component_mul(&seen.transpose()).sum()
            })
            .collect();
        let vector = DVector::from_vec(upper(&weights));
        let off = self.off(&vector, target) + uncertain.iter().sum::<f64>();
        Ok(RegressionStep {
            done: step.done + 1,
            loss: at.loss,
            noise: (off / self.trials.nrows() as f64).max(LEAST_NOISE),
            prior: (&prior + prior.transpose()) * 0.5,
            weights,
        })
    }

    /// Steps until the loss changes by less than `tolerance` of itself, or so many. Each is taken by `take`, which may do so elsewhere
    /// or refuse to.
    pub fn learn(
        &self,
        tolerance: f64,
        steps: usize,
        mut take: impl FnMut(&RegressionStep) -> Result<RegressionStep>,
    ) -> Result<RegressionStep> {
        let mut step = self.start();
        while step.done < steps {
            let next = take(&step)?;
            let change = (step.loss - next.loss).abs() / step.loss.abs();
            step = next;
            if change < tolerance {
                break;
            }
        }
        Ok(step)
    }

    /// `(Psi C + C Psi) / 2`, C being the matrix of a vector.
    fn smoothed(&self, psi: &DMatrix<f64>, vector: &DVector<f64>) -> DMatrix<f64> {
        let product = psi * matrix(vector.as_slice(), self.size);
        (&product + product.transpose()) * 0.5
    }

    /// `||y - H w||^2`.
    fn off(&self, w: &DVector<f64>, target: &RegressionTarget) -> f64 {
        match &self.form {
            EvidenceForm::Trials { .. } => (&target.y - &self.trials * w).norm_squared(),
            EvidenceForm::Entries { gram, .. } => {
                target.power - 2.0 * w.dot(&target.seen) + w.dot(&(gram * w))
            }
        }
    }

    /// `H Q H^T + lambda I`, on and below the diagonal: blocks of columns at once, each from its own trials with the prior laid over them.
    fn covariance(&self, across: &DMatrix<f64>, psi: &DMatrix<f64>, noise: f64) -> DMatrix<f64> {
        let (count, entries) = self.trials.shape();
        let mut sigma = DMatrix::zeros(count, count);
        sigma.as_mut_slice().par_chunks_mut(BLOCK * count).enumerate().for_each(|(i, columns)| {
            let (from, width) = (i * BLOCK, columns.len() / count);
            let mut smooth = DMatrix::zeros(entries, width);
            for (m, mut column) in smooth.column_iter_mut().enumerate() {
                let own = across.column(from + m).into_owned();
                column.copy_from_slice(&upper(&self.smoothed(psi, &own)));
            }
            let mut columns = DMatrixViewMut::from_slice_generic(columns, Dyn(count), Dyn(width));
            let rows = count - from;
            columns.rows_mut(from, rows).gemm(1.0, &self.trials.rows(from, rows), &smooth, 0.0);
            (0..width).for_each(|m| columns[(from + m, m)] += noise);
        });
        sigma
    }

    fn posterior(&self, psi: &DMatrix<f64>, noise: f64, target: &RegressionTarget) -> Option<Posterior> {
        let size = self.size;
        match &self.form {
            EvidenceForm::Trials { across } => {
                let factors = Cholesky::new(self.covariance(across, psi, noise))?;
                let solved = factors.solve(&target.y);
                Some(Posterior {
                    loss: target.y.dot(&solved) + factors.ln_determinant(),
                    pull: across * solved,
                    columns: blocks(&factors.solve_lower(self.trials.clone()), size),
                })
            }
            EvidenceForm::Entries { inverse, ln_determinant, .. } => {
                let (h, count) = (inverse.nrows() as f64, self.trials.nrows() as f64);
                let factors = Cholesky::new(with_prior(inverse * noise, psi))?;
                let whole = factors.inverse();
                let pull = &whole * target.solved.as_ref()?;
                let explained = target.seen.dot(&DVector::from_vec(upper(&self.smoothed(psi, &pull))));
                let ln_ratio = factors.ln_determinant() + ln_determinant - h * noise.ln();
                Some(Posterior {
                    loss: (target.power - explained) / noise + count * noise.ln() + ln_ratio,
                    pull,
                    columns: (0..size).map(|j| block(&whole, size, j)).collect(),
                })
            }
        }
    }
}

impl EvidenceForm {
    fn trials(trials: &DMatrix<f64>) -> EvidenceForm {
        EvidenceForm::Trials { across: trials.transpose() }
    }

    fn entries(trials: &DMatrix<f64>) -> Option<EvidenceForm> {
        let gram = trials.transpose() * trials;
        let factors = Cholesky::new(gram.clone()).filter(|f| f.least_pivot() > INVERTIBLE)?;
        Some(EvidenceForm::Entries {
            gram,
            inverse: factors.inverse(),
            ln_determinant: factors.ln_determinant(),
        })
    }
}

impl Sparse {
    /// Filters and their weights: the eigenvectors of W as rows, with their eigenvalues in ascending order. Those below 5 % of the
    /// largest are left out.
    pub fn filters(&self) -> Result<(DVector<f64>, DMatrix<f64>)> {
        let (values, vectors) = eigen(&self.weights, "the weights")?;
        let largest = values.amax();
        let kept: Vec<usize> = (0..values.len()).filter(|&i| values[i].abs() > KEPT * largest).collect();
        Ok((values.select_rows(&kept), vectors.select_columns(&kept).transpose()))
    }
}

/// The place of a pair in [`upper`]'s order.
fn pair(size: usize, a: usize, b: usize) -> usize {
    let (a, b) = (a.min(b), a.max(b));
    a * (2 * size - a - 1) / 2 + b
}

/// What an entry of a vector is multiplied with to be one of the matrix.
fn shrunk(a: usize, b: usize) -> f64 {
    if a == b { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 }
}

/// The symmetric matrix of a vector.
fn matrix(vector: &[f64], size: usize) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(size, size);
    let mut rest = vector;
    for a in 0..size {
        let (row, after) = rest.split_at(size - a);
        rest = after;
        // The lower triangle of column a is row a of the upper one.
        let column = &mut matrix.as_mut_slice()[a * size + a..(a + 1) * size];
        column.iter_mut().zip(row).for_each(|(to, v)| *to = std::f64::consts::FRAC_1_SQRT_2 * v);
        column[0] = row[0];
    }
    matrix.fill_upper_triangle_with_lower_triangle();
    matrix
}

/// The part of an operator on vectors that stays in column j.
fn block(whole: &DMatrix<f64>, size: usize, j: usize) -> DMatrix<f64> {
    DMatrix::from_fn(size, size, |a, b| {
        shrunk(a, j) * shrunk(b, j) * whole[(pair(size, a, j), pair(size, b, j))]
    })
}

/// For each column j of the matrices whose vectors are the rows `[M, h]`: `X_j^T X_j`.
fn blocks(rows: &DMatrix<f64>, size: usize) -> Vec<DMatrix<f64>> {
    let one = |j: usize| {
        let mut column = DMatrix::zeros(rows.nrows(), size);
        for (a, mut to) in column.column_iter_mut().enumerate() {
            to.axpy(shrunk(a, j), &rows.column(pair(size, a, j)), 0.0);
        }
        column.transpose() * column
    };
    (0..size).into_par_iter().map(one).collect()
}

/// Adds Q to a matrix: entries of two pairs that share an index x meet in `Psi`.
fn with_prior(mut matrix: DMatrix<f64>, psi: &DMatrix<f64>) -> DMatrix<f64> {
    let size = psi.nrows();
    for x in 0..size {
        for y in 0..size {
            for z in 0..size {
                matrix[(pair(size, x, y), pair(size, x, z))] += shrunk(x, y) * shrunk(x, z) * psi[(y, z)];
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::super::super::decoder::rows;
    use super::super::super::golden::{close, test_trials, train_trials};
    use super::super::{SparseFeatures, normalised};
    use super::*;

    /// +1 for even trials.
    fn labels(n: usize) -> Vec<f64> {
        (0..n).map(|m| if m.is_multiple_of(2) { 1.0 } else { -1.0 }).collect()
    }

    fn moments(trials: &[Vec<f64>], taps: usize, delay: usize) -> Vec<DMatrix<f64>> {
        trials.iter().map(|x| normalised(x, 3, taps, delay).unwrap()).collect()
    }

    /// Vectors of the training and the test trials.
    fn vectors(taps: usize, delay: usize) -> (DMatrix<f64>, DMatrix<f64>) {
        let train = moments(&train_trials(), taps, delay);
        let features = SparseFeatures::fit(&train.iter().collect::<Vec<_>>(), taps, delay).unwrap();
        let all = |moments: &[DMatrix<f64>]| {
            rows(&moments.iter().map(|m| features.vector(m).unwrap()).collect::<Vec<_>>())
        };
        (all(&train), all(&moments(&test_trials(), taps, delay)))
    }

    /// Every step to the end.
    fn all_steps(evidence: &SparseEvidence, y: Vec<f64>) -> Vec<RegressionStep> {
        let target = evidence.target(y).unwrap();
        let mut steps = vec![];
        evidence
            .learn(2e-4, 5000, |step| {
                steps.push(evidence.step(step, &target).unwrap());
                Ok(steps.last().unwrap().clone())
            })
            .unwrap();
        steps
    }

    fn scores(step: &RegressionStep, test: &DMatrix<f64>) -> Vec<f64> {
        (test * DVector::from_vec(upper(&step.weights))).as_slice().to_vec()
    }

    const W: [f64; 9] = [
        0.5796367562,
        0.1950080858,
        -0.7173532021,
        0.1950080858,
        -0.5717082098,
        0.04948778882,
        -0.7173532021,
        0.04948778882,
        0.8203434652,
    ];

    #[test]
    fn one_tap_is_that_of_the_authors_in_both_forms() {
        let (train, test) = vectors(1, 0);
        let forms = [EvidenceForm::trials(&train), EvidenceForm::entries(&train).unwrap()];
        for evidence in forms.map(|form| SparseEvidence::of(train.clone(), 3, form)) {
            let steps = all_steps(&evidence, labels(12));
            let first = &steps[..3];
            close(
                &first.iter().map(|s| s.loss).collect::<Vec<_>>(),
                &[5.366712301, -6.233384583, -14.51136873],
                1e-8,
            );
            close(
                &first.iter().map(|s| s.noise).collect::<Vec<_>>(),
                &[0.3056066175, 0.1224636480, 0.06073547542],
                1e-8,
            );
            let traces: Vec<f64> = first.iter().map(|s| s.prior.trace()).collect();
            close(&traces, &[2.568059291, 2.161976170, 1.826003201], 1e-8);
            assert_eq!(steps.len(), 33);
            let last = &steps[32];
            close(&[last.loss, last.noise], &[-29.33311450, 0.01342294570], 1e-8);
            close(last.weights.as_slice(), &W, 1e-8);
            let (kept, filters) = Sparse { weights: last.weights.clone() }.filters().unwrap();
            close(kept.as_slice(), &[-0.62977266, 1.4312963], 1e-7);
            assert_eq!(filters.shape(), (2, 3));
            let expected = [
                0.9814404941,
                -1.220238475,
                0.9654182819,
                -1.278883213,
                0.9398592715,
                -1.157315331,
                1.021173337,
                -1.04331426,
            ];
            close(&scores(last, &test), &expected, 1e-8);
        }
        assert!(matches!(SparseEvidence::new(train, 3).unwrap().form, EvidenceForm::Entries { .. }));
    }

    #[test]
    fn two_taps_are_those_of_the_authors() {
        let (train, test) = vectors(2, 1);
        let evidence = SparseEvidence::new(train, 6).unwrap();
        assert!(matches!(evidence.form, EvidenceForm::Trials { .. }));
        let steps = all_steps(&evidence, labels(12));
        // It may rise: the step is not quite that of expectation maximisation.
        let losses: Vec<f64> = steps[..3].iter().map(|s| s.loss).collect();
        close(&losses, &[6.299971295, 11.38362289, 11.03589369], 1e-8);
        assert_eq!(steps.len(), 117);
        let last = &steps[116];
        close(&[last.loss, last.noise], &[-7.199647725, 0.3019387047], 1e-8);
        close(&last.weights.as_slice()[..3], &[0.7127287604, 0.09004965583, 0.04681717085], 1e-8);
        let (kept, _) = Sparse { weights: last.weights.clone() }.filters().unwrap();
        close(kept.as_slice(), &[-0.33201657, -0.17902796, 0.051472065, 0.10728179, 0.76928815], 1e-7);
        let expected = [
            0.9095781725,
            -1.124619531,
            0.8546671234,
            -1.270186096,
            0.7911908266,
            -1.12578253,
            0.8823186787,
            -1.016782029,
        ];
        close(&scores(last, &test), &expected, 1e-8);
    }

    #[test]
    fn prior_and_noise_stay_positive() {
        for (taps, delay, size) in [(1, 0, 3), (2, 1, 6)] {
            let evidence = SparseEvidence::new(vectors(taps, delay).0, size).unwrap();
            for step in all_steps(&evidence, labels(12)) {
                assert!(step.noise > 0.0 && step.prior.cholesky().is_some(), "step {}", step.done);
            }
        }
    }

    #[test]
    fn other_signs_turn_everything_round() {
        let (train, test) = vectors(1, 0);
        let evidence = SparseEvidence::new(train, 3).unwrap();
        let (one, other) = (all_steps(&evidence, labels(12)), all_steps(&evidence, labels(13)[1..].to_vec()));
        let (one, other) = (one.last().unwrap(), other.last().unwrap());
        close((-&one.weights).as_slice(), other.weights.as_slice(), 1e-12);
        let turned: Vec<f64> = scores(other, &test).iter().map(|s| -s).collect();
        close(&scores(one, &test), &turned, 1e-12);
    }

    #[test]
    fn channels_in_another_order_give_weights_in_that_order() {
        let order = [2, 0, 1];
        let turned: Vec<Vec<f64>> = train_trials()
            .iter()
            .map(|x| order.iter().flat_map(|&c| x[60 * c..60 * (c + 1)].to_vec()).collect())
            .collect();
        let moments = moments(&turned, 1, 0);
        let features = SparseFeatures::fit(&moments.iter().collect::<Vec<_>>(), 1, 0).unwrap();
        let train = rows(&moments.iter().map(|m| features.vector(m).unwrap()).collect::<Vec<_>>());
        let steps = all_steps(&SparseEvidence::new(train, 3).unwrap(), labels(12));
        let found = &steps.last().unwrap().weights;
        let expected = DMatrix::from_fn(3, 3, |a, b| W[3 * order[a] + order[b]]);
        close(found.as_slice(), expected.as_slice(), 1e-8);
    }

    /// Noise would fall below any number, and the loss without end.
    #[test]
    fn labels_without_noise_end_too() {
        let trials = DMatrix::from_fn(40, 3, |i, j| {
            ((i * 7 + j * 3) as f64).sin() + if j == 0 { labels(40)[i] * 50.0 } else { 0.0 }
        });
        let evidence = SparseEvidence::new(trials, 2).unwrap();
        let target = evidence.target(labels(40)).unwrap();
        let last = evidence.learn(0.0, 300, |step| evidence.step(step, &target)).unwrap();
        assert!(last.noise >= LEAST_NOISE && last.weights.iter().all(|w| w.is_finite()));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(SparseEvidence::new(DMatrix::zeros(4, 5), 2).is_err());
        assert!(SparseEvidence::new(DMatrix::from_element(4, 3, f64::NAN), 2).is_err());
        let evidence = SparseEvidence::new(DMatrix::identity(3, 3), 2).unwrap();
        assert!(evidence.target(vec![1.0]).is_err());
    }
}
