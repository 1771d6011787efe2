//! The numbers the network learns.

use nalgebra::DMatrix;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::spectral::{Function, Spectrum};
use crate::error::Result;

/// How large everything is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    pub(super) channels: usize,
    pub(super) samples: usize,
    pub(super) classes: usize,
    /// Temporal filters and their taps.
    pub(super) filters: usize,
    pub(super) kernel: usize,
    /// Spatial filters.
    pub(super) outputs: usize,
    /// Side of the matrices after the bilinear map.
    pub(super) subspace: usize,
}

impl Sizes {
    /// Features of a trial: a symmetric matrix as a vector.
    pub(super) fn features(&self) -> usize {
        self.subspace * (self.subspace + 1) / 2
    }

    /// Numbers the network learns.
    pub(super) fn parameters(&self) -> usize {
        self.shapes().iter().map(|(rows, columns)| rows * columns).sum()
    }

    /// Rows and columns of every tensor, in the order of [`NAMES`].
    pub(super) fn shapes(&self) -> [(usize, usize); 8] {
        [
            (self.filters, self.kernel),
            (self.filters, 1),
            (self.outputs, self.filters * self.channels),
            (self.outputs, 1),
            (self.outputs, self.subspace),
            (1, 1),
            (self.classes, self.features()),
            (self.classes, 1),
        ]
    }
}

/// The tensors as they are named in files.
pub(super) const NAMES: [&str; 8] = [
    "temporal.weight",
    "temporal.bias",
    "spatial.weight",
    "spatial.bias",
    "bimap.weight",
    "norm.scale",
    "linear.weight",
    "linear.bias",
];

pub(super) const TEMPORAL: usize = 0;
pub(super) const SPATIAL: usize = 2;
pub(super) const BIMAP: usize = 4;
pub(super) const SCALE: usize = 5;
pub(super) const LINEAR: usize = 6;
pub(super) const LINEAR_BIAS: usize = 7;

/// One matrix for each of [`NAMES`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weights(pub(super) [DMatrix<f64>; 8]);

impl Weights {
    /// Where learning starts: PyTorch's uniform bounds for convolutions and the linear layer, orthonormal columns for the bilinear map.
    pub(super) fn start(sizes: &Sizes, rng: &mut ChaCha8Rng) -> Result<Weights> {
        let fans =
            [sizes.kernel, sizes.kernel, sizes.filters * sizes.channels, sizes.filters * sizes.channels];
        let mut all = sizes.shapes().map(|(rows, columns)| DMatrix::zeros(rows, columns));
        for (i, matrix) in all.iter_mut().enumerate() {
            let bound = match i {
                BIMAP | SCALE => continue,
                _ => 1.0 / (*fans.get(i).unwrap_or(&sizes.features()) as f64).sqrt(),
            };
            matrix.iter_mut().for_each(|v| *v = rng.random_range(-bound..bound));
        }
        all[BIMAP].iter_mut().for_each(|v| *v = rng.random_range(0.0..1.0));
        all[BIMAP] = orthonormal(&all[BIMAP])?;
        all[SCALE].fill(1.0);
        Ok(Weights(all))
    }

    /// All zero.
    pub(super) fn zeros(sizes: &Sizes) -> Weights {
        Weights(sizes.shapes().map(|(rows, columns)| DMatrix::zeros(rows, columns)))
    }

    pub(super) fn scale(&self) -> f64 {
        self.0[SCALE][0]
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(DMatrix::len).sum()
    }

    /// All numbers in one column.
    pub(super) fn flat(&self) -> DMatrix<f64> {
        let all: Vec<f64> = self.0.iter().flat_map(|m| m.iter().copied()).collect();
        DMatrix::from_vec(all.len(), 1, all)
    }

    /// From [`Weights::flat`].
    pub(super) fn from_flat(sizes: &Sizes, flat: &DMatrix<f64>) -> Weights {
        let mut values = flat.iter().copied();
        Weights(sizes.shapes().map(|(rows, columns)| {
            DMatrix::from_iterator(rows, columns, values.by_ref().take(rows * columns))
        }))
    }
}

/// `W (W'W)^-1/2`: the nearest matrix with orthonormal columns.
pub(super) fn orthonormal(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    Ok(matrix * Spectrum::positive(&(matrix.transpose() * matrix))?.map(Function::InverseRoot))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_network_has_the_numbers_it_states() {
        for (channels, classes, count) in [(20, 2, 4567), (22, 4, 5309), (62, 2, 11287)] {
            let sizes =
                Sizes { channels, samples: 100, classes, filters: 4, kernel: 25, outputs: 40, subspace: 20 };
            let weights = Weights::start(&sizes, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
            assert_eq!(weights.len(), count);
            let w = &weights.0[BIMAP];
            assert!((w.transpose() * w - DMatrix::identity(20, 20)).amax() < 1e-12);
            assert_eq!(Weights::from_flat(&sizes, &weights.flat()), weights);
        }
    }
}
