//! Foreign bytes to arrays and back: NPY and NPZ.
//!
//! [`npz::read`] opens an archive, [`npz::Archive::array`] reads one array of it, [`npz::write()`] writes one. Nothing a file claims
//! is believed before it is checked against the bytes that are there: a damaged or hostile file is an error that says where,
//! never a panic and never a huge allocation. [`atomic`] writes files whole or not at all.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod atomic;
mod error;
pub mod npy;
pub mod npz;

pub use error::{Error, Place, Result};
