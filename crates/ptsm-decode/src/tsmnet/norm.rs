//! Batch normalisation of positive definite matrices: a domain's trials are moved so that their mean is the identity and their mean squared
//! distance to it is the same for all domains.
//!
//! The geometry is the affine-invariant one: distance `||log(A^-1/2 B A^-1/2)||`, geodesic `A #_t B = A^1/2 (A^-1/2 B A^-1/2)^t A^1/2`. What
//! comes out is the logarithm of the normalised matrix, `p log(M^-1/2 X M^-1/2)`: power and logarithm share their eigenvectors, and so
//! one decomposition does for both.

use nalgebra::DMatrix;
use ptsm_signal::spd::karcher_mean_of_any;

use super::spectral::{Function, LEAST, Spectrum, congruence, symmetric};
use crate::error::Result;

/// Keeps the power finite where trials do not differ.
const SMALL: f64 = 1e-5;

/// Where a domain's trials lie and how far they spread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statistics {
    pub(super) mean: DMatrix<f64>,
    pub(super) variance: f64,
}

impl Statistics {
    /// Before anything was seen.
    pub(super) fn new(size: usize) -> Statistics {
        Statistics { mean: DMatrix::identity(size, size), variance: 1.0 }
    }

    /// Of all trials of a domain: the Karcher mean, and the mean squared distance to it. Small eigenvalues are kept from zero as they are in a
    /// training step.
    pub(super) fn of(trials: &[DMatrix<f64>]) -> Result<Statistics> {
        let mean = karcher_mean_of_any(trials, LEAST)?;
        let whiten = Spectrum::positive(&mean)?.map(Function::InverseRoot);
        let white: Vec<_> = trials.iter().map(|trial| congruence(&whiten, trial)).collect();
        let mut variance = 0.0;
        for spectrum in Spectrum::positive_each(&white)? {
            let logs = spectrum.values.map(|v| v.max(LEAST).ln());
            variance += logs.norm_squared() / trials.len() as f64;
        }
        Ok(Statistics { mean, variance })
    }

    /// What turns a domain's trials into normalised logarithms.
    pub(super) fn normaliser(&self, scale: f64) -> Result<Normaliser> {
        let whiten = Spectrum::positive(&self.mean)?.map(Function::InverseRoot);
        Ok(Normaliser { whiten, power: scale / (self.variance + SMALL).sqrt() })
    }

    /// Moves towards a batch; see [`Batch`].
    fn follow(&mut self, batch: &Moments, momentum: f64) -> Result<StatisticsMove> {
        let path = if momentum == 1.0 { None } else { Some(Path::new(&self.mean, &batch.mean)?) };
        let mean = match &path {
            None => batch.mean.clone(),
            Some(path) => path.at(momentum),
        };
        let from_start =
            Spectrum::positive(&congruence(&batch.whiten, &mean)).map(|s| (s.map(Function::Log), s));
        let (offset, from_start) = from_start?;
        let each = batch.logs.iter().map(|log| (log - &offset).norm_squared());
        let spread = each.sum::<f64>() / batch.logs.len() as f64;
        self.variance = (1.0 - momentum) * self.variance + momentum * spread;
        self.mean = mean;
        Ok(StatisticsMove { path, offset, from_start })
    }
}

/// Normalises single trials.
pub(super) struct Normaliser {
    whiten: DMatrix<f64>,
    power: f64,
}

impl Normaliser {
    /// The logarithm of the normalised matrix.
    pub(super) fn log(&self, trial: &DMatrix<f64>) -> Result<DMatrix<f64>> {
        Ok(Spectrum::positive(&congruence(&self.whiten, trial))?.map(Function::LogPower(self.power)))
    }
}

/// The geodesic from one matrix to another.
struct Path {
    root: DMatrix<f64>,
    whiten: DMatrix<f64>,
    /// Of the end as the start sees it.
    between: Spectrum,
}

impl Path {
    fn new(start: &DMatrix<f64>, end: &DMatrix<f64>) -> Result<Path> {
        let spectrum = Spectrum::positive(start)?;
        let (root, whiten) = (spectrum.map(Function::Root), spectrum.map(Function::InverseRoot));
        let between = Spectrum::positive(&congruence(&whiten, end))?;
        Ok(Path { root, whiten, between })
    }

    fn at(&self, share: f64) -> DMatrix<f64> {
        congruence(&self.root, &self.between.map(Function::Power(share)))
    }

    /// The gradient of the end from that of the matrix at `share`.
    fn gradient(&self, share: f64, after: &DMatrix<f64>) -> DMatrix<f64> {
        let inner = self.between.gradient(Function::Power(share), &congruence(&self.root, after));
        congruence(&self.whiten, &inner)
    }
}

/// What a batch says of its domain: one step towards the Karcher mean from the arithmetic one.
struct Moments {
    root: DMatrix<f64>,
    whiten: DMatrix<f64>,
    /// Of every trial as the arithmetic mean sees it, and their logarithms.
    spectra: Vec<Spectrum>,
    logs: Vec<DMatrix<f64>>,
    /// Of the mean logarithm.
    middle: Spectrum,
    mean: DMatrix<f64>,
}

impl Moments {
    fn of(trials: &[&DMatrix<f64>], start: &DMatrix<f64>) -> Result<Moments> {
        let n = trials.len() as f64;
        let start = Spectrum::positive(start)?;
        let (root, whiten) = (start.map(Function::Root), start.map(Function::InverseRoot));
        let white: Vec<_> = trials.iter().map(|trial| congruence(&whiten, trial)).collect();
        let spectra = Spectrum::positive_each(&white)?;
        let logs: Vec<_> = spectra.iter().map(|s| s.map(Function::Log)).collect();
        let middle = Spectrum::of(&(logs.iter().fold(&logs[0] * 0.0, |sum, log| sum + log) / n))?;
        let mean = congruence(&root, &middle.map(Function::Exp));
        Ok(Moments { root, whiten, spectra, logs, middle, mean })
    }
}

/// How statistics got to where they are.
struct StatisticsMove {
    /// None where they went all the way.
    path: Option<Path>,
    /// The logarithm of the mean as the arithmetic mean of the batch sees it.
    offset: DMatrix<f64>,
    from_start: Spectrum,
}

/// The trials of one domain in a training step: normalised, and ready for their gradients.
pub(super) struct Batch {
    moments: Moments,
    moved: StatisticsMove,
    momentum: f64,
    /// Of the domain's mean.
    centre: Spectrum,
    whiten: DMatrix<f64>,
    variance: f64,
    power: f64,
    /// Of every trial as the domain's mean sees it.
    spectra: Vec<Spectrum>,
}

/// What flows back through a [`Batch`].
pub(super) struct Gradients {
    pub(super) trials: Vec<DMatrix<f64>>,
    pub(super) scale: f64,
}

impl Batch {
    /// Moves the domain's statistics by `momentum` towards the batch and normalises the batch with them. `later` are statistics for
    /// decoding, with a momentum of their own.
    pub(super) fn new(
        trials: &[&DMatrix<f64>],
        statistics: &mut Statistics,
        momentum: f64,
        scale: f64,
        later: Option<(&mut Statistics, f64)>,
    ) -> Result<Batch> {
        let arithmetic = trials.iter().fold(trials[0] * 0.0, |sum, trial| sum + *trial) / trials.len() as f64;
        Batch::from(&arithmetic, trials, statistics, momentum, scale, later)
    }

    /// The same with the start of the step towards the Karcher mean given. It counts as a constant in gradients.
    fn from(
        start: &DMatrix<f64>,
        trials: &[&DMatrix<f64>],
        statistics: &mut Statistics,
        momentum: f64,
        scale: f64,
        later: Option<(&mut Statistics, f64)>,
    ) -> Result<Batch> {
        let moments = Moments::of(trials, start)?;
        let moved = statistics.follow(&moments, momentum)?;
        if let Some((later, momentum)) = later {
            later.follow(&moments, momentum)?;
        }
        let centre = Spectrum::positive(&statistics.mean)?;
        let whiten = centre.map(Function::InverseRoot);
        let white: Vec<_> = trials.iter().map(|trial| congruence(&whiten, trial)).collect();
        let spectra = Spectrum::positive_each(&white)?;
        let variance = statistics.variance + SMALL;
        Ok(Batch {
            moments,
            moved,
            momentum,
            centre,
            whiten,
            variance,
            power: scale / variance.sqrt(),
            spectra,
        })
    }

    /// The logarithms of the normalised trials.
    pub(super) fn logs(&self) -> impl Iterator<Item = DMatrix<f64>> + '_ {
        self.spectra.iter().map(|s| s.map(Function::LogPower(self.power)))
    }

    /// Gradients of the trials and of the scale from those of the logarithms. They flow through this step's mean and variance, not into
    /// earlier ones.
    pub(super) fn gradients(&self, trials: &[&DMatrix<f64>], after: &[DMatrix<f64>]) -> Gradients {
        let n = trials.len() as f64;
        let (moments, moved) = (&self.moments, &self.moved);
        let zero = trials[0] * 0.0;
        let (mut each, mut whiten, mut power) = (Vec::with_capacity(trials.len()), zero.clone(), 0.0);
        let function = Function::LogPower(self.power);
        for ((trial, spectrum), after) in trials.iter().zip(&self.spectra).zip(after) {
            let turned = spectrum.turned(after);
            for (i, value) in spectrum.values.iter().enumerate() {
                let log = value.ln();
                if self.power * log > LEAST.ln() {
                    power += turned[(i, i)] * log;
                }
            }
            let inner = spectrum.gradient_of_turned(function, turned);
            let half = inner * &self.whiten;
            whiten += symmetric(&(&half * *trial)) * 2.0;
            each.push(symmetric(&(&self.whiten * half)));
        }
        // The power is scale / sqrt(variance).
        let scale = power / self.variance.sqrt();
        let variance = -0.5 * self.power / self.variance * power;
        let share = 2.0 * self.momentum * variance / n;
        let mut offset = zero;
        let mut logs: Vec<DMatrix<f64>> = vec![];
        for log in &moments.logs {
            let pull = (log - &moved.offset) * share;
            offset -= &pull;
            logs.push(pull);
        }
        let mut mean = self.centre.gradient(Function::InverseRoot, &whiten);
        mean += congruence(&moments.whiten, &moved.from_start.gradient(Function::Log, &offset));
        if let Some(path) = &moved.path {
            mean = path.gradient(self.momentum, &mean);
        }
        let middle = moments.middle.gradient(Function::Exp, &congruence(&moments.root, &mean)) / n;
        for ((each, spectrum), log) in each.iter_mut().zip(&moments.spectra).zip(logs) {
            let inner = spectrum.gradient(Function::Log, &(log + &middle));
            *each += congruence(&moments.whiten, &inner);
        }
        Gradients { trials: each, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tsmnet::golden::{close, fill, three, two};

    fn exp(matrix: &DMatrix<f64>) -> DMatrix<f64> {
        Spectrum::of(matrix).unwrap().map(Function::Exp)
    }

    fn distance(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
        Path::new(a, b).unwrap().between.map(Function::Log).norm()
    }

    /// The first output, as a matrix and not as its logarithm.
    fn batch(
        statistics: &mut Statistics,
        momentum: f64,
        later: Option<(&mut Statistics, f64)>,
    ) -> DMatrix<f64> {
        let trials = three();
        let batch = Batch::new(&trials.each_ref(), statistics, momentum, 1.0, later).unwrap();
        exp(&batch.logs().next().unwrap())
    }

    /// The Karcher mean of the golden numbers ends at a tangent of 1e-7, the one here at 1e-8.
    fn symmetric_close(got: &DMatrix<f64>, [a, b, c]: [f64; 3]) {
        close(got.as_slice(), &[a, b, b, c], 3e-9);
    }

    #[test]
    fn the_geometry_is_as_specified() {
        let [a, b, c] = three();
        close(&[distance(&a, &b)], &[1.542699509], 1e-9);
        let path = Path::new(&a, &b).unwrap();
        symmetric_close(&path.at(0.25), [1.653485227, 0.3174395565, 1.262796023]);
        symmetric_close(&path.at(0.5), [1.377524298, 0.1326932662, 1.65097946]);
        let mean = Statistics::of(&[a, b, c]).unwrap().mean;
        symmetric_close(&mean, [1.9543429705, 0.3545351795, 1.3339637835]);
    }

    #[test]
    fn a_batch_is_normalised_as_specified() {
        let (mut own, mut later) = (Statistics::new(2), Statistics::new(2));
        let first = batch(&mut own, 1.0, Some((&mut later, 0.1)));
        symmetric_close(&own.mean, [1.954082446, 0.3552532993, 1.334402477]);
        symmetric_close(&first, [1.004272927, 0.128607508, 0.6910749516]);
        symmetric_close(&later.mean, [1.067234606, 0.02326559837, 1.026651661]);
        close(&[own.variance, later.variance], &[0.8042253357, 1.027965356], 1e-9);
        let mut own = Statistics::new(2);
        let first = batch(&mut own, 0.2, None);
        symmetric_close(&own.mean, [1.139530993, 0.04871551692, 1.054554921]);
        symmetric_close(&first, [1.720510599, 0.3877913233, 0.9299031605]);
        close(&[own.variance], &[1.035974465], 1e-9);
    }

    #[test]
    fn a_domain_is_fitted_again_as_specified() {
        let trials = three();
        let found = Statistics::of(&trials).unwrap();
        close(&[found.variance], &[0.8042304921], 1e-9);
        let normaliser = found.normaliser(1.0).unwrap();
        let after = trials.map(|trial| exp(&normaliser.log(&trial).unwrap()));
        symmetric_close(&after[0], [1.004075169, 0.1290415367, 0.6913232783]);
        let again = Statistics::of(&after).unwrap();
        symmetric_close(&again.mean, [1.0, 0.0, 1.0]);
        close(&[again.variance], &[0.99999], 1e-5);
    }

    /// Flat trials, trials of low rank and trials of absurd size give statistics, in a fit again as in a training step.
    #[test]
    fn degenerate_trials_are_normalised_too() {
        let small = two(1e-4, 0.0, 1e-4);
        let one = Spectrum::positive(&(two(1.0, 1.0, 1.0) * 1e12)).unwrap().map(Function::Floor(1e-4));
        let other = Spectrum::positive(&(two(1.0, -1.0, 1.0) * 1e9)).unwrap().map(Function::Floor(1e-4));
        let sets = [
            vec![small.clone(), small.clone(), small.clone()],
            vec![one.clone(), one.clone()],
            vec![one.clone(), two(1e-4, 0.0, 1e3)],
            vec![one, other, small, two(2.0, 0.5, 1.0)],
        ];
        for trials in &sets {
            let found = Statistics::of(trials).unwrap();
            let normaliser = found.normaliser(1.0).unwrap();
            let mut logs: Vec<_> = trials.iter().map(|trial| normaliser.log(trial).unwrap()).collect();
            let own: Vec<_> = trials.iter().collect();
            let mut moving = Statistics::new(2);
            for momentum in [1.0, 0.2] {
                let batch = Batch::new(&own, &mut moving, momentum, 1.0, None).unwrap();
                let gradients = batch.gradients(&own, &logs);
                logs.extend(batch.logs().chain(gradients.trials));
            }
            assert!(found.variance.is_finite() && logs.iter().all(|log| log.iter().all(|v| v.is_finite())));
        }
    }

    #[test]
    fn a_change_of_basis_of_a_whole_domain_does_not_matter() {
        let trials = three();
        let basis = DMatrix::from_row_slice(2, 2, &[1.3, -0.4, 2.0, 0.7]);
        let changed = trials.each_ref().map(|trial| &basis * trial * basis.transpose());
        let values = |trials: &[DMatrix<f64>; 3]| {
            let normaliser = Statistics::of(trials).unwrap().normaliser(0.7).unwrap();
            let sorted = |trial: &DMatrix<f64>| {
                let mut values = normaliser.log(trial).unwrap().symmetric_eigenvalues().as_slice().to_vec();
                values.sort_by(f64::total_cmp);
                values
            };
            trials.iter().flat_map(sorted).collect::<Vec<_>>()
        };
        close(&values(&changed), &values(&trials), 1e-7);
    }

    #[test]
    fn gradients_agree_with_differences() {
        let weights: Vec<_> = (0..3).map(|k| DMatrix::from_row_slice(2, 2, &fill(4, k + 1, 1.0))).collect();
        for momentum in [1.0, 0.3] {
            let [a, b, c] = three();
            let middle = (a + b + c) / 3.0;
            let start = Statistics { mean: two(1.5, -0.2, 0.8), variance: 0.6 };
            let loss = |trials: &[DMatrix<f64>; 3], scale: f64| {
                let mut own = start.clone();
                let batch =
                    Batch::from(&middle, &trials.each_ref(), &mut own, momentum, scale, None).unwrap();
                batch.logs().zip(&weights).map(|(log, w)| log.dot(w)).sum::<f64>()
            };
            let (trials, scale, step) = (three(), 0.9, 1e-6);
            let batch = Batch::new(&trials.each_ref(), &mut start.clone(), momentum, scale, None).unwrap();
            let found = batch.gradients(&trials.each_ref(), &weights);
            let expected = (loss(&trials, scale + step) - loss(&trials, scale - step)) / (2.0 * step);
            close(&[found.scale], &[expected], 1e-8);
            for i in 0..3 {
                for (row, column) in [(0, 0), (0, 1), (1, 1)] {
                    let moved = |by: f64| {
                        let mut moved = trials.clone();
                        moved[i][(row, column)] += by;
                        if row != column {
                            moved[i][(column, row)] += by;
                        }
                        loss(&moved, scale)
                    };
                    let expected = (moved(step) - moved(-step)) / (2.0 * step);
                    let twice = if row == column { 1.0 } else { 2.0 };
                    close(&[twice * found.trials[i][(row, column)]], &[expected], 1e-8);
                }
            }
        }
    }
}
