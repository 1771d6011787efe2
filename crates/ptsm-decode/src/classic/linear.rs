//! What the classic methods share: checked symmetric eigenproblems.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

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
    if matrix.is_empty() {
        return Ok((DVector::zeros(0), DMatrix::zeros(0, 0)));
    }
    let symmetric = (matrix + matrix.transpose()) * 0.5;
    // A bound on the steps, so that no input can keep it going for ever; 30 per eigenvalue is what LAPACK allows.
    let found = SymmetricEigen::try_new(symmetric, f64::EPSILON, 30 * matrix.nrows()).ok_or_else(|| {
        Error::trials(
            format!("the eigenvalues of {what} were not found"),
            "look for channels of very different size",
        )
    })?;
    let mut order: Vec<usize> = (0..matrix.nrows()).collect();
    order.sort_by(|&a, &b| found.eigenvalues[a].total_cmp(&found.eigenvalues[b]));
    let values = DVector::from_iterator(order.len(), order.iter().map(|&i| found.eigenvalues[i]));
    Ok((values, found.eigenvectors.select_columns(&order)))
}

/// Numbers as probabilities: raised, then divided by their sum.
pub(crate) fn softmax(values: DVector<f64>) -> DVector<f64> {
    let largest = values.max();
    let raised = values.map(|v| (v - largest).exp());
    let sum = raised.sum();
    raised / sum
}

/// Number of examples of each class; refuses labels that are no class, classes without examples and lists of unequal length.
pub(super) fn class_counts(examples: usize, labels: &[u32], classes: usize) -> Result<Vec<usize>> {
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
            "train on more people or leave the class out",
        ));
    }
    Ok(counts)
}
