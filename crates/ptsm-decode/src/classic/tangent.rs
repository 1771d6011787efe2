//! Covariances in the tangent space at their mean, told apart by logistic regression.

use nalgebra::DMatrix;
use ptsm_signal::spd::{TangentSpace, karcher_mean};
use rayon::prelude::*;

use super::decoder::rows;
use super::logistic::{Logistic, Regularisation};
use super::matrices::{Matrices, NamedMatrices};
use crate::error::Result;

/// Covariances that one thread takes at once.
const TOGETHER: usize = 8;

/// A classifier of covariances.
#[derive(Clone, Debug, PartialEq)]
pub struct Tangent {
    /// Where the flat space touches.
    pub space: TangentSpace,
    /// The classifier of its vectors.
    pub logistic: Logistic,
}

impl Tangent {
    /// Learns from covariances of trials.
    pub fn fit(
        covariances: &[DMatrix<f64>],
        labels: &[u32],
        classes: usize,
        regularisation: Regularisation,
    ) -> Result<Tangent> {
        let space = TangentSpace::at(karcher_mean(covariances)?)?;
        let some = covariances.par_chunks(TOGETHER).map(|some| space.vectors(some));
        let vectors = some.collect::<ptsm_signal::Result<Vec<_>>>()?.concat();
        let logistic = Logistic::fit(&rows(&vectors), labels, classes, regularisation)?;
        Ok(Tangent { space, logistic })
    }

    /// The probability of every class.
    pub fn probabilities(&self, covariance: &DMatrix<f64>) -> Result<Vec<f64>> {
        Ok(self.logistic.probabilities(&self.space.vector(covariance)?)?.as_slice().to_vec())
    }

    /// Number of fitted parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.space.length() + self.logistic.parameters()
    }

    /// What goes into a file.
    pub(crate) fn matrices(&self) -> NamedMatrices {
        let mut all = vec![("reference", self.space.reference().clone())];
        all.extend(self.logistic.matrices());
        all
    }

    /// From a file, for covariances of so many rows.
    pub(crate) fn restore(file: &Matrices, classes: usize, size: usize) -> Result<Tangent> {
        let space = TangentSpace::at(file.sized("reference", size, size)?)?;
        let logistic = Logistic::restore(file, classes, space.length())?;
        Ok(Tangent { space, logistic })
    }
}
