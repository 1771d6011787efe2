//! The two convolutions, in time with the ends reflected and over channels, and the covariance of what they give.
//!
//! Both are linear with nothing between them, and what follows takes off the mean over time, so that their biases change nothing. The
//! spatial filters come first here: `[C, T]` times every pair of a spatial and a temporal filter, then each of those rows along time.

use nalgebra::{DMatrix, RealField};
use ptsm_engine::{Device, Real};

use super::weights::{SPATIAL, Sizes, TEMPORAL, Weights};

/// Samples in time that are worked on at once.
const LANES: usize = 64;
/// Taps whose gradients are summed at once.
const TAPS: usize = 4;
/// Lanes of those sums.
const SUMS: usize = 16;

/// What the convolutions compute in: f32 to work, f64 for golden numbers.
pub(super) trait Number: Real + RealField {}
impl Number for f32 {}
impl Number for f64 {}

/// Both convolutions with their present weights.
pub(super) struct Filters<T> {
    sizes: Sizes,
    /// `[F, kernel]`, and the same backwards.
    kernels: Vec<T>,
    backwards: Vec<T>,
    /// `[C, O F]` in memory column by column: a column is the filter of one output for one kernel.
    spatial: DMatrix<T>,
    /// What samples are multiplied with.
    gain: f64,
    device: Device,
}

/// What a trial has left on its way.
pub(super) struct Traces<T> {
    /// Channels with their ends reflected, a column each.
    padded: DMatrix<T>,
    /// Spatially filtered, a column for each output and kernel.
    mixed: DMatrix<T>,
    /// Filtered and centred, a column for each output.
    centred: DMatrix<f64>,
}

/// Sums of gradients over trials.
#[derive(Clone)]
pub(super) struct FilterGradients<T> {
    /// `[F, kernel]`
    kernels: Vec<T>,
    /// As [`Filters::spatial`].
    spatial: DMatrix<T>,
}

impl<T: Number> Traces<T> {
    pub(super) fn new(sizes: &Sizes) -> Traces<T> {
        let rows = rows(sizes);
        Traces {
            padded: filled(rows, sizes.channels),
            mixed: filled(rows, sizes.outputs * sizes.filters),
            centred: DMatrix::zeros(sizes.samples, sizes.outputs),
        }
    }
}

/// Samples of a trial with its ends.
fn rows(sizes: &Sizes) -> usize {
    whole(sizes.samples) + sizes.kernel - 1
}

/// Numbers that one trial of a batch leaves on its way, those of gradients that are not summed yet among them.
pub(super) fn traced(sizes: &Sizes) -> usize {
    let pairs = sizes.outputs * sizes.filters;
    rows(sizes) * (sizes.channels + pairs) + sizes.samples * sizes.outputs + sizes.channels * pairs
}

impl<T: Number> FilterGradients<T> {
    pub(super) fn new(sizes: &Sizes) -> FilterGradients<T> {
        FilterGradients {
            kernels: vec![T::ZERO; sizes.filters * sizes.kernel],
            spatial: filled(sizes.channels, sizes.outputs * sizes.filters),
        }
    }

    /// Adds these to the gradients of all weights.
    pub(super) fn add_to(&self, sizes: &Sizes, gradient: &mut Weights) {
        for (i, g) in self.kernels.iter().enumerate() {
            gradient.0[TEMPORAL][(i / sizes.kernel, i % sizes.kernel)] += g.wide();
        }
        let one = sizes.filters * sizes.channels;
        for (i, g) in self.spatial.iter().enumerate() {
            gradient.0[SPATIAL][(i / one, i % one)] += g.wide();
        }
    }
}

impl<T: Number> Filters<T> {
    pub(super) fn new(sizes: &Sizes, weights: &Weights, gain: f64, device: &Device) -> Filters<T> {
        let of = |m: &DMatrix<f64>| m.transpose().iter().map(|v| T::of(*v)).collect::<Vec<T>>();
        let kernels = of(&weights.0[TEMPORAL]);
        let backwards = kernels.chunks(sizes.kernel).flat_map(|k| k.iter().rev().copied()).collect();
        let pairs = sizes.outputs * sizes.filters;
        Filters {
            sizes: *sizes,
            kernels,
            backwards,
            spatial: DMatrix::from_vec(sizes.channels, pairs, of(&weights.0[SPATIAL])),
            gain,
            device: device.clone(),
        }
    }

    /// The covariance of a trial `[C, T]` after both convolutions.
    pub(super) fn covariance(&self, signal: &[f32], traces: &mut Traces<T>) -> DMatrix<f64> {
        let Sizes { samples, filters, kernel, .. } = self.sizes;
        self.pad(signal, &mut traces.padded);
        traces.mixed.gemm(T::ONE, &traces.padded, &self.spatial, T::ZERO);
        let rows = traces.mixed.nrows();
        let mut output = vec![T::ZERO; whole(samples)];
        for (mixed, centred) in traces
            .mixed
            .as_slice()
            .chunks(rows * filters)
            .zip(traces.centred.as_mut_slice().chunks_mut(samples))
        {
            output.fill(T::ZERO);
            self.device.vectorised(|| {
                for (mixed, kernel) in mixed.chunks(rows).zip(self.kernels.chunks(kernel)) {
                    correlate(mixed, kernel, &mut output);
                }
            });
            let mean = output[..samples].iter().map(|v| v.wide()).sum::<f64>() / samples as f64;
            centred.iter_mut().zip(&output).for_each(|(to, v)| *to = v.wide() - mean);
        }
        let mut covariance = DMatrix::zeros(self.sizes.outputs, self.sizes.outputs);
        covariance.gemm(1.0 / samples as f64, &traces.centred.transpose(), &traces.centred, 0.0);
        covariance
    }

    /// Adds the gradients of the weights from that of the covariance, which is symmetric.
    pub(super) fn gradients(&self, after: &DMatrix<f64>, traces: &Traces<T>, sums: &mut FilterGradients<T>) {
        let Sizes { samples, filters, kernel, outputs, .. } = self.sizes;
        let rows = traces.mixed.nrows();
        // The mean over time takes nothing away: what is centred stays centred.
        let mut output = DMatrix::<f64>::zeros(samples, outputs);
        output.gemm(2.0 / samples as f64, &traces.centred, after, 0.0);
        let used = samples + kernel - 1;
        let ends = whole(used);
        let mut mixed = filled::<T>(ends, outputs * filters);
        let mut wide = vec![T::ZERO; ends + kernel - 1];
        for (o, output) in output.as_slice().chunks(samples).enumerate() {
            for (to, v) in wide[kernel - 1..].iter_mut().zip(output) {
                *to = T::of(*v);
            }
            self.device.vectorised(|| {
                for f in 0..filters {
                    let pair = o * filters + f;
                    let trace = &traces.mixed.as_slice()[pair * rows..(pair + 1) * rows];
                    let taps = &mut sums.kernels[f * kernel..(f + 1) * kernel];
                    correlations(&wide[kernel - 1..], trace, samples, taps);
                    let to = &mut mixed.as_mut_slice()[pair * ends..(pair + 1) * ends];
                    correlate(&wide, &self.backwards[f * kernel..(f + 1) * kernel], to);
                }
            });
        }
        let padded = traces.padded.rows(0, used).transpose();
        sums.spatial.gemm(T::ONE, &padded, &mixed.rows(0, used), T::ONE);
    }

    /// Channels as columns, the ends reflected; `same` for an even kernel has one more at the end.
    fn pad(&self, signal: &[f32], padded: &mut DMatrix<T>) {
        let Sizes { samples, kernel, .. } = self.sizes;
        let left = (kernel - 1) / 2;
        let rows = padded.nrows();
        for (to, channel) in padded.as_mut_slice().chunks_mut(rows).zip(signal.chunks(samples)) {
            for (to, v) in to[left..].iter_mut().zip(channel) {
                *to = T::of(self.gain * f64::from(*v));
            }
            for i in 0..left {
                to[left - 1 - i] = to[left + 1 + i];
            }
            for i in 0..kernel - 1 - left {
                to[left + samples + i] = to[left + samples - 2 - i];
            }
        }
    }
}

/// Samples rounded up to whole lanes.
fn whole(samples: usize) -> usize {
    samples.next_multiple_of(LANES)
}

fn filled<T: Number>(rows: usize, columns: usize) -> DMatrix<T> {
    DMatrix::from_element(rows, columns, T::ZERO)
}

/// `to[t] += sum over k of kernel[k] from[t + k]`, in whole lanes.
#[inline(always)]
fn correlate<T: Real>(from: &[T], kernel: &[T], to: &mut [T]) {
    for (i, to) in to.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let from = &from[i * LANES..][..LANES + kernel.len() - 1];
        let mut sums = *to;
        for (from, &k) in from.windows(LANES).zip(kernel) {
            for (sum, &x) in sums.iter_mut().zip(from) {
                *sum += k * x;
            }
        }
        *to = sums;
    }
}

/// `taps[k] += sum over t < n of a[t] b[t + k]`; `a` is zero from `n` to the next whole sums.
#[inline(always)]
fn correlations<T: Real>(a: &[T], b: &[T], n: usize, taps: &mut [T]) {
    let a = a[..n.next_multiple_of(SUMS)].as_chunks().0;
    let (groups, rest) = taps.as_chunks_mut::<TAPS>();
    let first = TAPS * groups.len();
    for (i, group) in groups.iter_mut().enumerate() {
        add_dots(a, &b[TAPS * i..], group);
    }
    for (i, tap) in rest.iter_mut().enumerate() {
        add_dots(a, &b[first + i..], std::array::from_mut(tap));
    }
}

/// The same for taps whose sums fit into registers.
#[inline(always)]
fn add_dots<T: Real, const K: usize>(a: &[[T; SUMS]], b: &[T], taps: &mut [T; K]) {
    let mut sums = [[T::ZERO; SUMS]; K];
    for (i, a) in a.iter().enumerate() {
        let b = &b[i * SUMS..][..SUMS + K - 1];
        for (k, sums) in sums.iter_mut().enumerate() {
            for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(&b[k..k + SUMS]) {
                *sum += a * b;
            }
        }
    }
    for (tap, sums) in taps.iter_mut().zip(sums) {
        *tap += sums.into_iter().fold(T::ZERO, |sum, v| sum + v);
    }
}

#[cfg(test)]
mod tests {
    use ptsm_engine::Cpu;

    use super::*;
    use crate::tsmnet::golden::{close, fill};

    fn device() -> Device {
        (&Cpu::new().unwrap()).into()
    }

    fn sizes(samples: usize, kernel: usize) -> Sizes {
        Sizes { channels: 3, samples, classes: 2, filters: 2, kernel, outputs: 4, subspace: 3 }
    }

    fn weights(sizes: &Sizes) -> Weights {
        let mut weights = Weights::zeros(sizes);
        for (i, m) in weights.0.iter_mut().enumerate() {
            *m = DMatrix::from_row_slice(m.nrows(), m.ncols(), &fill(m.len(), i + 1, 0.3));
        }
        weights
    }

    #[test]
    fn ends_are_reflected() {
        let sizes =
            Sizes { channels: 1, samples: 6, classes: 2, filters: 1, kernel: 5, outputs: 1, subspace: 1 };
        let mut weights = Weights::zeros(&sizes);
        weights.0[TEMPORAL] = DMatrix::from_row_slice(1, 5, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        weights.0[SPATIAL] = DMatrix::from_element(1, 1, 1.0);
        let mut traces = Traces::<f64>::new(&sizes);
        let signal = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let power = Filters::new(&sizes, &weights, 1.0, &device()).covariance(&signal, &mut traces)[0];
        let expected = [18.0, 27.0, 40.0, 55.0, 60.0, 57.0];
        let mean = expected.iter().sum::<f64>() / 6.0;
        close(traces.centred.as_slice(), &expected.map(|w| w - mean), 1e-12);
        close(&[power], &[expected.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / 6.0], 1e-12);
    }

    /// Both convolutions as they are written down, in their own order.
    fn plain(sizes: &Sizes, weights: &Weights, signal: &[f32], gain: f64) -> DMatrix<f64> {
        let Sizes { channels, samples, filters, kernel, outputs, .. } = *sizes;
        let at = |c: usize, t: isize| {
            let last = samples as isize - 1;
            let t = if t < 0 {
                -t
            } else if t > last {
                2 * last - t
            } else {
                t
            };
            gain * f64::from(signal[c * samples + t as usize])
        };
        let z = DMatrix::from_fn(outputs, samples, |o, t| {
            let mut sum = 0.0;
            for f in 0..filters {
                for c in 0..channels {
                    for k in 0..kernel {
                        let x = at(c, t as isize + k as isize - (kernel as isize - 1) / 2);
                        sum += weights.0[SPATIAL][(o, f * channels + c)] * weights.0[TEMPORAL][(f, k)] * x;
                    }
                }
            }
            sum
        });
        let mean = z.column_mean();
        let z = DMatrix::from_fn(outputs, samples, |o, t| z[(o, t)] - mean[o]);
        &z * z.transpose() / samples as f64
    }

    #[test]
    fn the_order_of_the_convolutions_does_not_matter() {
        for (samples, kernel) in [(50, 5), (64, 4), (70, 1), (129, 25), (13, 24)] {
            let sizes = sizes(samples, kernel);
            let weights = weights(&sizes);
            let signal: Vec<f32> = fill(3 * samples, 9, 1.0).iter().map(|v| *v as f32).collect();
            let expected = plain(&sizes, &weights, &signal, 2.0);
            let mut traces = Traces::<f64>::new(&sizes);
            let found = Filters::new(&sizes, &weights, 2.0, &device()).covariance(&signal, &mut traces);
            close(found.as_slice(), expected.as_slice(), 1e-12);
            let mut traces = Traces::<f32>::new(&sizes);
            let found = Filters::new(&sizes, &weights, 2.0, &device()).covariance(&signal, &mut traces);
            close(found.as_slice(), expected.as_slice(), 1e-5);
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        for (samples, kernel) in [(50, 5), (64, 4), (70, 1), (129, 9), (13, 24)] {
            let sizes = sizes(samples, kernel);
            let weights = weights(&sizes);
            let signal: Vec<f32> = fill(3 * samples, 9, 1.0).iter().map(|v| *v as f32).collect();
            let after = DMatrix::from_row_slice(4, 4, &fill(16, 12, 1.0));
            let after = &after + after.transpose();
            let loss = |weights: &Weights| plain(&sizes, weights, &signal, 2.0).dot(&after);
            let filters = Filters::<f64>::new(&sizes, &weights, 2.0, &device());
            let (mut traces, mut sums) = (Traces::new(&sizes), FilterGradients::new(&sizes));
            filters.covariance(&signal, &mut traces);
            filters.gradients(&after, &traces, &mut sums);
            let mut found = Weights::zeros(&sizes);
            sums.add_to(&sizes, &mut found);
            for which in [TEMPORAL, SPATIAL] {
                for i in 0..weights.0[which].len() {
                    let moved = |by: f64| {
                        let mut moved = weights.clone();
                        moved.0[which][i] += by;
                        loss(&moved)
                    };
                    let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                    close(&[found.0[which][i]], &[expected], 1e-7);
                }
            }
        }
    }
}
