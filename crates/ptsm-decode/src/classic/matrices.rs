//! Matrices of doubles in a safetensors file.

use std::collections::HashMap;
use std::path::Path;

use nalgebra::{DMatrix, DVector};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::error::{Error, Result};

/// Matrices by name, in the order they are written.
pub(crate) type NamedMatrices = Vec<(&'static str, DMatrix<f64>)>;

/// A vector as a matrix of one column.
pub(crate) fn column(vector: &DVector<f64>) -> DMatrix<f64> {
    DMatrix::from_column_slice(vector.len(), 1, vector.as_slice())
}

/// Matrices of equal width below each other.
pub(crate) fn stacked<'a>(matrices: impl Iterator<Item = &'a DMatrix<f64>>) -> DMatrix<f64> {
    DMatrix::from_rows(&matrices.flat_map(|matrix| matrix.row_iter()).collect::<Vec<_>>())
}

/// A file of matrices with a header: rows first on disk, columns first in memory.
pub(crate) fn to_bytes(header: HashMap<String, String>, matrices: &NamedMatrices) -> Result<Vec<u8>> {
    let wrong = |e: safetensors::SafeTensorError| {
        Error::Configuration(format!("the decoder's matrices cannot be written: {e}"))
    };
    let bytes: Vec<Vec<u8>> =
        matrices.iter().map(|(_, m)| m.transpose().iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let views = matrices.iter().zip(&bytes).map(|((name, matrix), bytes)| {
        let shape = vec![matrix.nrows(), matrix.ncols()];
        TensorView::new(Dtype::F64, shape, bytes).map(|view| (*name, view))
    });
    let views = views.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    safetensors::serialize(views, Some(header)).map_err(wrong)
}

/// The matrices of a file that has been read; errors name its path.
pub(crate) struct Matrices<'a> {
    path: &'a Path,
    bytes: &'a [u8],
}

impl<'a> Matrices<'a> {
    pub(crate) fn new(path: &'a Path, bytes: &'a [u8]) -> Matrices<'a> {
        Matrices { path, bytes }
    }

    /// A matrix of any size.
    pub(crate) fn any(&self, name: &str) -> Result<DMatrix<f64>> {
        let file = SafeTensors::deserialize(self.bytes)
            .map_err(|e| self.wrong(format!("is not a whole safetensors file ({e})")))?;
        let view = file.tensor(name).map_err(|_| self.wrong(format!("lacks the tensor `{name}`")))?;
        let &[rows, columns] = view.shape() else {
            return Err(self.wrong(format!("tensor `{name}` is {:?}, not a matrix", view.shape())));
        };
        if view.dtype() != Dtype::F64 {
            return Err(self.wrong(format!("tensor `{name}` is {}, not F64", view.dtype())));
        }
        let values: Vec<f64> = view.data().as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
        if values.iter().any(|v| !v.is_finite()) {
            return Err(self.wrong(format!("tensor `{name}` has values that are not numbers")));
        }
        Ok(DMatrix::from_row_slice(rows, columns, &values))
    }

    /// A matrix of this size.
    pub(crate) fn sized(&self, name: &str, rows: usize, columns: usize) -> Result<DMatrix<f64>> {
        let matrix = self.any(name)?;
        if matrix.shape() != (rows, columns) {
            let (r, c) = matrix.shape();
            return Err(self.wrong(format!("tensor `{name}` is {r} x {c}, {rows} x {columns} is needed")));
        }
        Ok(matrix)
    }

    /// A vector, which is a matrix of one column.
    pub(crate) fn vector(&self, name: &str, length: usize) -> Result<DVector<f64>> {
        Ok(DVector::from_column_slice(self.sized(name, length, 1)?.as_slice()))
    }

    /// Something else that does not fit.
    pub(crate) fn wrong(&self, message: String) -> Error {
        Error::file(self.path, message)
    }
}
