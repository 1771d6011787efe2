//! NPY: one array in one file, as NumPy writes it.

mod data;
mod header;
mod read;
mod write;

use std::path::Path;

pub use data::Data;
pub(crate) use read::{array as read_array, shape as read_shape};
pub(crate) use write::array as write_array;

use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};

/// An array: its values in C order (the last index runs fastest) and its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    data: Data,
}

impl Array {
    /// Checks that the shape holds as many values as there are.
    pub fn new(shape: Vec<usize>, data: impl Into<Data>) -> Result<Array> {
        let data = data.into();
        match shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)) {
            Some(n) if n == data.len() => Ok(Array { shape, data }),
            _ => Err(Error::Shape { shape, values: data.len() }),
        }
    }

    /// An array of one dimension.
    pub fn vector(data: impl Into<Data>) -> Array {
        let data = data.into();
        Array { shape: vec![data.len()], data }
    }

    /// One number, without dimensions.
    pub fn scalar(value: f64) -> Array {
        Array { shape: Vec::new(), data: Data::F64(vec![value]) }
    }

    /// The size of each dimension; none for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values in C order.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The values in C order, without copying them.
    pub fn into_data(self) -> Data {
        self.data
    }
}

/// Reads a `.npy` file.
pub fn read(path: &Path) -> Result<Array> {
    parse(&Bytes::open_filled(path)?, &path.into())
}

/// Reads the bytes of a `.npy` file.
pub fn parse(bytes: &[u8], place: &Place) -> Result<Array> {
    read_array(&mut &*bytes, bytes.len() as u64, place)
}
