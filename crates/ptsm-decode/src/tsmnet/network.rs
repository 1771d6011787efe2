//! From trials to logits, and back to gradients.

use nalgebra::DMatrix;
use ptsm_engine::Device;
use rayon::prelude::*;

use super::convolution::{FilterGradients, Filters, Number, Traces};
use super::norm::{Batch, Normaliser, Statistics};
use super::spectral::{Function, Spectrum, symmetric};
use super::weights::{BIMAP, LINEAR, LINEAR_BIAS, SCALE, Sizes, Weights};
use crate::error::Result;
use crate::probabilities::softmax;

/// Trials whose gradients one thread adds up: always the same ones, so that the sums do not depend on the threads.
const PIECE: usize = 4;

/// The network with its present weights.
pub(super) struct Network<'a, T> {
    sizes: Sizes,
    weights: &'a Weights,
    filters: Filters<T>,
    /// Eigenvalues below this count as this after the bilinear map.
    least: f64,
    device: &'a Device,
}

/// A trial before normalisation.
struct MappedTrial {
    covariance: DMatrix<f64>,
    /// After the bilinear map.
    spectrum: Spectrum,
    /// The same with its eigenvalues kept from zero.
    matrix: DMatrix<f64>,
}

/// Trials of one domain in a batch.
pub(super) struct DomainBatch<'a> {
    pub(super) signals: Vec<&'a [f32]>,
    pub(super) labels: Vec<u32>,
    /// The domain's statistics, which the step moves.
    pub(super) statistics: Statistics,
    /// The same for decoding, where they are wanted.
    pub(super) later: Option<Statistics>,
}

/// What a batch adds to the gradients.
struct Head {
    loss: f64,
    linear: DMatrix<f64>,
    bias: DMatrix<f64>,
    scale: f64,
    trials: Vec<DMatrix<f64>>,
}

impl<'a, T: Number> Network<'a, T> {
    pub(super) fn new(
        sizes: &Sizes,
        weights: &'a Weights,
        gain: f64,
        least: f64,
        device: &'a Device,
    ) -> Network<'a, T> {
        Network { sizes: *sizes, weights, filters: Filters::new(sizes, weights, gain, device), least, device }
    }

    fn mapped(&self, signal: &[f32], traces: &mut Traces<T>) -> Result<MappedTrial> {
        let covariance = self.filters.covariance(signal, traces);
        let w = &self.weights.0[BIMAP];
        let spectrum = Spectrum::of(&(w.transpose() * &covariance * w))?;
        let matrix = spectrum.map(Function::Floor(self.least));
        Ok(MappedTrial { covariance, spectrum, matrix })
    }

    /// The matrix of every trial before normalisation. On the device's threads.
    pub(super) fn matrices(&self, signals: &[&[f32]]) -> Result<Vec<DMatrix<f64>>> {
        let mut pieces: Vec<&[&[f32]]> = signals.chunks(PIECE).collect();
        let piece = |piece: &mut &[&[f32]]| {
            let mut traces = Traces::new(&self.sizes);
            let each = piece.iter().map(|signal| Ok(self.mapped(signal, &mut traces)?.matrix));
            each.collect::<Result<Vec<_>>>()
        };
        Ok(each(self.device, &mut pieces, |_, one| piece(one))?.into_iter().flatten().collect())
    }

    /// The logits of a trial from its matrix.
    pub(super) fn logits(&self, matrix: &DMatrix<f64>, normaliser: &Normaliser) -> Result<Vec<f64>> {
        let log = normaliser.log(matrix)?;
        Ok(self.linear(&vector(&log)).as_slice().to_vec())
    }

    fn linear(&self, features: &DMatrix<f64>) -> DMatrix<f64> {
        &self.weights.0[LINEAR] * features + &self.weights.0[LINEAR_BIAS]
    }

    /// Mean cross-entropy of a batch and its gradients. Statistics move by the first momentum, those for decoding by the second. On the
    /// device's threads.
    pub(super) fn learn(
        &self,
        batches: &mut [DomainBatch<'_>],
        momenta: [f64; 2],
        traces: &mut Vec<Traces<T>>,
    ) -> Result<(f64, Weights)> {
        let signals: Vec<&[f32]> = batches.iter().flat_map(|batch| batch.signals.iter().copied()).collect();
        while traces.len() < signals.len() {
            traces.push(Traces::new(&self.sizes));
        }
        let traces = &mut traces[..signals.len()];
        let mapped = each(self.device, traces, |i, traces| self.mapped(signals[i], traces))?;
        let firsts: Vec<usize> = batches
            .iter()
            .scan(0, |first, batch| {
                let own = *first;
                *first += batch.signals.len();
                Some(own)
            })
            .collect();
        let share = 1.0 / signals.len() as f64;
        let heads = each(self.device, batches, |i, batch| {
            let own = &mapped[firsts[i]..][..batch.signals.len()];
            self.head(batch, own, momenta, share)
        })?;
        let mut gradient = Weights::zeros(&self.sizes);
        let mut loss = 0.0;
        for head in &heads {
            loss += head.loss;
            gradient.0[LINEAR] += &head.linear;
            gradient.0[LINEAR_BIAS] += &head.bias;
            gradient.0[SCALE][0] += head.scale;
        }
        let after: Vec<&DMatrix<f64>> = heads.iter().flat_map(|head| &head.trials).collect();
        let mut pieces: Vec<_> = (0..signals.len()).step_by(PIECE).collect();
        let pieces = each(self.device, &mut pieces, |_, first| {
            let (mut sums, mut map) = (FilterGradients::new(&self.sizes), &self.weights.0[BIMAP] * 0.0);
            for i in *first..signals.len().min(*first + PIECE) {
                self.back(&mapped[i], after[i], &traces[i], &mut sums, &mut map);
            }
            Ok((sums, map))
        })?;
        for (sums, map) in &pieces {
            sums.add_to(&self.sizes, &mut gradient);
            gradient.0[BIMAP] += map;
        }
        Ok((loss, gradient))
    }

    /// Normalisation and everything after it, there and back.
    fn head(
        &self,
        batch: &mut DomainBatch<'_>,
        mapped: &[MappedTrial],
        momenta: [f64; 2],
        share: f64,
    ) -> Result<Head> {
        let trials: Vec<&DMatrix<f64>> = mapped.iter().map(|m| &m.matrix).collect();
        let later = batch.later.as_mut().map(|later| (later, momenta[1]));
        let norm = Batch::new(&trials, &mut batch.statistics, momenta[0], self.weights.scale(), later)?;
        let linear = &self.weights.0[LINEAR];
        let (mut loss, mut by_weight, mut by_bias) = (0.0, linear * 0.0, &self.weights.0[LINEAR_BIAS] * 0.0);
        let mut after = vec![];
        for (log, &label) in norm.logs().zip(&batch.labels) {
            let features = vector(&log);
            let mut p = softmax(self.linear(&features).as_slice());
            loss -= share * p[label as usize].max(f64::MIN_POSITIVE).ln();
            p[label as usize] -= 1.0;
            let logits = DMatrix::from_vec(p.len(), 1, p) * share;
            by_weight += &logits * features.transpose();
            by_bias += &logits;
            after.push(matrix(&(linear.transpose() * logits), self.sizes.subspace));
        }
        let found = norm.gradients(&trials, &after);
        Ok(Head { loss, linear: by_weight, bias: by_bias, scale: found.scale, trials: found.trials })
    }

    /// From a trial's matrix back to the convolutions.
    fn back(
        &self,
        mapped: &MappedTrial,
        after: &DMatrix<f64>,
        traces: &Traces<T>,
        sums: &mut FilterGradients<T>,
        map: &mut DMatrix<f64>,
    ) {
        let w = &self.weights.0[BIMAP];
        let inner = symmetric(&mapped.spectrum.gradient(Function::Floor(self.least), after));
        let half = w * &inner;
        *map += &mapped.covariance * &half * 2.0;
        self.filters.gradients(&symmetric(&(half * w.transpose())), traces, sums);
    }
}

/// A symmetric matrix as a vector of the same length: the diagonal, then what is below it row by row times the root of 2.
fn vector(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let below = (1..matrix.nrows()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let below = below.map(|at| std::f64::consts::SQRT_2 * matrix[at]);
    let all: Vec<f64> = matrix.diagonal().iter().copied().chain(below).collect();
    DMatrix::from_vec(all.len(), 1, all)
}

/// The gradient of a matrix from that of its vector.
fn matrix(vector: &DMatrix<f64>, size: usize) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(size, size);
    let mut values = vector.iter();
    for (i, v) in values.by_ref().take(size).enumerate() {
        matrix[(i, i)] = *v;
    }
    for ((i, j), v) in (1..size).flat_map(|i| (0..i).map(move |j| (i, j))).zip(values) {
        matrix[(i, j)] = v * std::f64::consts::FRAC_1_SQRT_2;
        matrix[(j, i)] = matrix[(i, j)];
    }
    matrix
}

/// Does something with each, on several threads where the device has them; results are in order.
pub(super) fn each<A: Send, R: Send>(
    device: &Device,
    all: &mut [A],
    body: impl Fn(usize, &mut A) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    if device.threads() == 1 || all.len() == 1 {
        return all.iter_mut().enumerate().map(|(i, one)| body(i, one)).collect();
    }
    all.par_iter_mut().enumerate().map(|(i, one)| body(i, one)).collect()
}

#[cfg(test)]
mod tests {
    use ptsm_engine::Cpu;

    use super::*;
    use crate::tsmnet::golden::{close, fill, input, matrix as filled};
    use crate::tsmnet::weights::{SPATIAL, TEMPORAL, orthonormal};

    const SIZES: Sizes =
        Sizes { channels: 3, samples: 50, classes: 2, filters: 2, kernel: 5, outputs: 4, subspace: 3 };

    fn weights() -> Weights {
        let mut weights = Weights::zeros(&SIZES);
        for (k, i) in [(1, 0), (2, 1), (3, 2), (4, 3), (6, 6), (7, 7)] {
            let m = &mut weights.0[i];
            *m = filled(m.nrows(), m.ncols(), k, 0.3);
        }
        weights.0[BIMAP] = orthonormal(&(filled(4, 3, 5, 1.0) + DMatrix::identity(4, 3))).unwrap();
        weights.0[SCALE][0] = 1.0;
        weights
    }

    fn signals() -> Vec<Vec<f32>> {
        let one = |b: usize| {
            let noise = fill(150, 20 + b, 1.0);
            let gain = if b < 4 { 1.0 } else { 2.0 };
            let x = (0..150).map(|i| (gain * (input(b, i / 50, i % 50) + 0.3 * noise[i])) as f32);
            x.collect::<Vec<f32>>()
        };
        (0..8).map(one).collect()
    }

    fn batches(signals: &[Vec<f32>]) -> Vec<DomainBatch<'_>> {
        let mut batches = vec![];
        for signals in signals.chunks(4) {
            let signals = signals.iter().map(Vec::as_slice).collect();
            let (labels, statistics) = (vec![0, 1, 0, 1], Statistics::new(3));
            batches.push(DomainBatch { signals, labels, statistics, later: None });
        }
        batches
    }

    fn loss<T: Number>(weights: &Weights, momentum: f64, device: &Device) -> (f64, Weights) {
        let (signals, mut traces) = (signals(), vec![]);
        let network = Network::<T>::new(&SIZES, weights, 1.0, 1e-4, device);
        network.learn(&mut batches(&signals), [momentum, 0.1], &mut traces).unwrap()
    }

    #[test]
    fn the_whole_network_is_as_specified() {
        let device = (&Cpu::new().unwrap()).into();
        let (weights, signals) = (weights(), signals());
        let network = Network::<f64>::new(&SIZES, &weights, 1.0, 1e-4, &device);
        let all: Vec<&[f32]> = signals.iter().map(Vec::as_slice).collect();
        let matrices = network.matrices(&all).unwrap();
        // The third eigenvalue is clamped in every trial.
        for matrix in &matrices {
            close(&[matrix.symmetric_eigenvalues().min()], &[1e-4], 1e-12);
        }
        // As in a training step: one step towards the mean.
        let mut logits = vec![];
        for own in matrices.chunks(4) {
            let own: Vec<_> = own.iter().collect();
            let batch = Batch::new(&own, &mut Statistics::new(3), 1.0, 1.0, None).unwrap();
            logits.extend(batch.logs().flat_map(|log| network.linear(&vector(&log)).as_slice().to_vec()));
        }
        let expected = [
            [0.4196862697, -0.02237180772],
            [0.06785370786, 0.01044032135],
            [-0.1417518341, 0.1123278257],
            [-0.1701647018, 0.227473022],
            [-0.2395721736, 0.102142136],
        ];
        // Trials are in single precision.
        close(&logits[..10], expected.as_flattened(), 2e-6);
        let (loss, gradient) = loss::<f64>(&weights, 1.0, &device);
        close(&[loss], &[0.6910063219], 1e-7);
        let norm = |i: usize| gradient.0[i].norm();
        close(&[norm(TEMPORAL), norm(SPATIAL)], &[0.01628186836, 0.5304626438], 1e-6);
        close(&[norm(1), norm(3)], &[0.0, 0.0], 0.0);
        close(&[norm(SCALE), norm(BIMAP)], &[0.007715093832, 0.05611014305], 1e-6);
        close(&[gradient.0[LINEAR].norm()], &[0.1432507167], 1e-6);
        // Statistics fitted again.
        let normaliser = Statistics::of(&matrices[..4]).unwrap().normaliser(1.0).unwrap();
        let first = network.logits(&matrices[0], &normaliser).unwrap();
        close(&first, &[0.4196661874, -0.02235013242], 2e-6);
    }

    #[test]
    fn single_precision_is_as_exact_as_it_can_be() {
        let device = (&Cpu::new().unwrap()).into();
        let weights = weights();
        let (wide, narrow) = (loss::<f64>(&weights, 1.0, &device), loss::<f32>(&weights, 1.0, &device));
        close(&[narrow.0], &[wide.0], 1e-4);
        for (narrow, wide) in narrow.1.0.iter().zip(&wide.1.0) {
            assert!((narrow - wide).norm() <= 1e-3 * wide.norm());
        }
    }

    #[test]
    fn threads_do_not_change_anything() {
        let with = |threads| -> Device { (&Cpu::with(threads, ptsm_engine::Isa::best()).unwrap()).into() };
        let (weights, one, three) = (weights(), with(1), with(3));
        let in_three = three.enter(|| loss::<f32>(&weights, 0.4, &three));
        assert_eq!(loss::<f32>(&weights, 0.4, &one), in_three);
    }
}
