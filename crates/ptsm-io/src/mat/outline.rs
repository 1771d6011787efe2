//! Arrays that were found and not read.

use super::level5::{Order, Storage};

/// Numbers somewhere in a file.
#[derive(Debug)]
pub(crate) struct Outline {
    /// At least two.
    pub(crate) dims: Vec<usize>,
    pub(crate) place: NumberLocation,
}

/// Where numbers are.
#[derive(Debug)]
pub(crate) enum NumberLocation {
    /// As they are, from this byte on.
    InFile { at: usize, storage: Storage, order: Order },
    /// In a packed variable, which was inflated on the way: here they are.
    Inflated { bytes: Vec<u8>, storage: Storage, order: Order },
    /// In a dataset of HDF5 whose rows are the last dimension.
    Rows(Box<hdf5_pure::Dataset>),
}
