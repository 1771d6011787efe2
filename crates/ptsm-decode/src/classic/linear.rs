//! What the classic methods share: checked symmetric eigenproblems.

use nalgebra::{DMatrix, DVector};
use ptsm_signal::eigen::symmetric as symmetric_eigen;

use crate::error::{Error, Result};

/// Share of the largest eigenvalue below which a direction counts as lost: well above what the rounding of single-precision
/// samples leaves in a direction without signal, its square, about 1e-14.
pub(super) const RANK_TOLERANCE: f64 = 1e-10;

/// Eigenvalues in ascending order with their vectors as columns.
pub(super) fn eigen(matrix: &DMatrix<f64>, what: &str) -> Result<(DVector<f64>, DMatrix<f64>)> {
    if matrix.iter().any(|v| !v.is_finite()) {
        return Err(Error::trials(
            format!("{what} holds a value that is not a number"),
            "look for missing samples and for overflow in the signal",
        ));
    }
    let symmetric = (matrix + matrix.transpose()) * 0.5;
    let found = symmetric_eigen(&symmetric).ok_or_else(|| {
        Error::trials(
            format!("the eigenvalues of {what} were not found"),
            "look for channels of very different size",
        )
    })?;
    Ok((found.values, found.vectors))
}

/// The generalised eigenproblem `A w = e B w` on the directions that B has something in.
pub(super) struct GeneralisedEigen {
    /// In ascending order.
    pub(super) values: DVector<f64>,
    /// `[C, rank of B]`, scaled to `w^T B w = 1`.
    pub(super) vectors: DMatrix<f64>,
}

impl GeneralisedEigen {
    /// `names` are those of A, whitened, and of B.
    pub(super) fn new(a: &DMatrix<f64>, b: &DMatrix<f64>, names: [&str; 2]) -> Result<GeneralisedEigen> {
        let (powers, directions) = eigen(b, names[1])?;
        let floor = RANK_TOLERANCE * powers.iter().copied().fold(0.0, f64::max);
        let lost = powers.iter().filter(|&&p| p <= floor).count();
        let rank = powers.len() - lost;
        // Columns that make B the identity.
        let mut whitening = directions.columns(lost, rank).into_owned();
        for (mut column, power) in whitening.column_iter_mut().zip(powers.iter().skip(lost)) {
            column /= power.sqrt();
        }
        let (values, rotation) = eigen(&(whitening.transpose() * a * &whitening), names[0])?;
        Ok(GeneralisedEigen { values, vectors: whitening * rotation })
    }
}

/// Refuses more spatial filters than there are directions, and none.
pub(super) fn enough(filters: usize, rank: usize, channels: usize) -> Result<()> {
    if (1..=rank).contains(&filters) {
        return Ok(());
    }
    Err(Error::trials(
        format!("{filters} spatial filters cannot be had from covariances of rank {rank} of {channels}"),
        match rank {
            0 => "the signal is flat; check the pipeline and the unit".to_string(),
            _ => format!(
                "set `filters` to between 1 and {rank}; an average reference and repeated or flat channels take \
                 rank away, a shrinkage estimator gives it back"
            ),
        },
    ))
}

/// A vector is defined up to its sign: the entry of largest size becomes positive.
pub(super) fn positive<R: nalgebra::Dim, S: nalgebra::StorageMut<f64, R>>(
    vector: &mut nalgebra::Vector<f64, R, S>,
) {
    if vector[vector.iamax()] < 0.0 {
        vector.neg_mut();
    }
}

/// What filters, a row each, listen to: covariance times filter, of length 1.
pub(crate) fn patterns(filters: &DMatrix<f64>, covariance: &DMatrix<f64>) -> Vec<Vec<f64>> {
    let pattern = |w: nalgebra::RowDVector<f64>| (w * covariance).normalize().as_slice().to_vec();
    filters.row_iter().map(|w| pattern(w.into_owned())).collect()
}

/// Number of examples of each class; refuses labels that are no class, classes without examples and lists of unequal length.
pub(crate) fn class_counts(examples: usize, labels: &[u32], classes: usize) -> Result<Vec<usize>> {
    if classes < 2 {
        return Err(Error::Configuration(format!(
            "{classes} classes cannot be told apart; two are the least"
        )));
    }
    if examples != labels.len() {
        return Err(Error::Configuration(format!("{examples} examples do not fit {} labels", labels.len())));
    }
    let mut counts = vec![0; classes];
    for &label in labels {
        *counts.get_mut(label as usize).ok_or_else(|| {
            Error::Configuration(format!("label {label} is none of the {classes} classes"))
        })? += 1;
    }
    if let Some(class) = counts.iter().position(|&n| n == 0) {
        return Err(Error::trials(
            format!("class {class} of {classes} has no trial to learn from"),
            "train on more subjects or leave the class out",
        ));
    }
    Ok(counts)
}
