//! Matrices as seen from one of them: vectors of a flat space, and distances.

use nalgebra::DMatrix;

use super::{
    EigenvalueNeed, apply_values, congruence, decompose_each, floor, inverse_sqrt, log, recompose, same_size,
};
use crate::eigen::Eigen;
use crate::error::Result;

/// The flat space that touches the curved one at a reference. A matrix X becomes `log(G^-1/2 X G^-1/2)`, G being the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct TangentSpace {
    reference: DMatrix<f64>,
    whitening: DMatrix<f64>,
}

impl TangentSpace {
    /// At a reference, which needs full rank.
    pub fn at(reference: DMatrix<f64>) -> Result<TangentSpace> {
        let whitening = inverse_sqrt(&reference)?;
        Ok(TangentSpace { reference, whitening })
    }

    /// Where it touches.
    pub fn reference(&self) -> &DMatrix<f64> {
        &self.reference
    }

    /// Length of a vector: `p (p + 1) / 2`.
    pub fn length(&self) -> usize {
        let size = self.reference.nrows();
        size * (size + 1) / 2
    }

    /// The vector of a matrix of full rank, as [`upper`] orders it. Its length is the distance to the reference.
    pub fn vector(&self, matrix: &DMatrix<f64>) -> Result<Vec<f64>> {
        same_size(&self.reference, matrix)?;
        Ok(upper(&log(&congruence(&self.whitening, matrix))?))
    }

    /// The vectors of several matrices, which is less work than one by one.
    pub fn vectors(&self, matrices: &[DMatrix<f64>]) -> Result<Vec<Vec<f64>>> {
        matrices.iter().try_for_each(|matrix| same_size(&self.reference, matrix))?;
        let white: Vec<_> = matrices.iter().map(|matrix| congruence(&self.whitening, matrix)).collect();
        let one = |eigen: Eigen| {
            floor(&eigen.values, EigenvalueNeed::FullRank)?;
            Ok(upper(&recompose(&eigen, f64::ln)))
        };
        decompose_each(&white)?.into_iter().map(one).collect()
    }

    /// Affine-invariant distance from the reference, `||log(G^-1/2 X G^-1/2)||`.
    pub fn distance(&self, matrix: &DMatrix<f64>) -> Result<f64> {
        same_size(&self.reference, matrix)?;
        let logs = apply_values(&congruence(&self.whitening, matrix), f64::ln)?;
        Ok(logs.norm())
    }
}

/// The upper triangle of a symmetric matrix row by row, entries beside the diagonal times the square root of 2, so that lengths
/// and angles stay as they are.
pub fn upper(matrix: &DMatrix<f64>) -> Vec<f64> {
    let size = matrix.nrows();
    let mut entries = Vec::with_capacity(size * (size + 1) / 2);
    for row in 0..size {
        entries.push(matrix[(row, row)]);
        entries.extend((row + 1..size).map(|column| std::f64::consts::SQRT_2 * matrix[(row, column)]));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::super::{distance, karcher_mean};
    use super::*;
    use crate::covariance::{Estimator, estimate};
    use crate::golden::{close, test, train};

    fn covariances(trials: &[Vec<f64>]) -> Vec<DMatrix<f64>> {
        trials.iter().map(|x| estimate(x, 3, Estimator::Oas)).collect()
    }

    #[test]
    fn vectors_are_as_pyriemann_has_them() {
        let all = covariances(&train());
        let space = TangentSpace::at(karcher_mean(&all).unwrap()).unwrap();
        let expected =
            [0.30721196867, 0.01799501039, 0.00887884972, -0.61129440405, 0.00763595172, 0.00598220156];
        close(&space.vector(&all[0]).unwrap(), &expected, 1e-10);
        let mut mean = vec![0.0; space.length()];
        for covariance in &all {
            let vector = space.vector(covariance).unwrap();
            mean.iter_mut().zip(vector).for_each(|(m, v)| *m += v / 12.0);
        }
        close(&mean, &[0.0; 6], 1e-9);
    }

    #[test]
    fn distances_are_those_of_matrices() {
        let (all, other) = (covariances(&train()), covariances(&test()));
        let space = TangentSpace::at(all[0].clone()).unwrap();
        for matrix in &other {
            let far = distance(&all[0], matrix).unwrap();
            let length = space.vector(matrix).unwrap().iter().map(|v| v * v).sum::<f64>().sqrt();
            close(&[space.distance(matrix).unwrap(), length], &[far; 2], 1e-12);
        }
        let together = space.vectors(&other).unwrap();
        let alone: Vec<Vec<f64>> = other.iter().map(|matrix| space.vector(matrix).unwrap()).collect();
        close(&together.concat(), &alone.concat(), 1e-12);
        assert!(space.vectors(&[DMatrix::identity(2, 2)]).is_err());
    }

    /// A mixing that is the same for everybody changes nothing.
    #[test]
    fn a_common_mixing_keeps_distances() {
        let mixing = DMatrix::from_row_slice(3, 3, &[2.0, 0.3, -1.0, 0.1, 0.7, 0.4, -0.5, 0.9, 3.0]);
        let mixed = |all: &[DMatrix<f64>]| -> Vec<DMatrix<f64>> {
            all.iter().map(|c| &mixing * c * mixing.transpose()).collect()
        };
        let (train, test) = (covariances(&train()), covariances(&test()));
        let far = |train: &[DMatrix<f64>], test: &[DMatrix<f64>]| -> Vec<f64> {
            let space = TangentSpace::at(karcher_mean(train).unwrap()).unwrap();
            let vectors: Vec<Vec<f64>> = test.iter().map(|c| space.vector(c).unwrap()).collect();
            // Vectors turn with the mixing; the angles between them do not.
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
            let angles = vectors.iter().map(|v| product(v, &vectors[0]));
            angles.chain(test.iter().map(|c| space.distance(c).unwrap())).collect()
        };
        close(&far(&mixed(&train), &mixed(&test)), &far(&train, &test), 1e-9);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(TangentSpace::at(DMatrix::zeros(2, 2)).is_err());
        let space = TangentSpace::at(DMatrix::identity(2, 2)).unwrap();
        let flat = DMatrix::from_element(2, 2, 1.0);
        assert!(space.vector(&flat).is_err() && space.distance(&flat).is_err());
        assert!(space.vector(&DMatrix::identity(3, 3)).is_err());
        assert!(space.distance(&DMatrix::from_element(2, 2, f64::NAN)).is_err());
    }
}
