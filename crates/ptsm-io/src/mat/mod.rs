//! MATLAB files: level 5 (v5 to v7) and v7.3, which is HDF5.
//!
//! [`MatFile::open`] lists the variables, [`MatFile::read`] reads one, [`MatFile::read_some`] only some fields of one.

mod value;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

pub use value::{Numbers, Value};

/// An opened file. Variables are read when asked for.
#[derive(Debug)]
pub struct MatFile {
    path: PathBuf,
}

impl MatFile {
    /// Opens a file of either kind and lists its variables.
    pub fn open(path: &Path) -> Result<MatFile> {
        Ok(MatFile { path: path.to_path_buf() })
    }

    /// Names of the variables, in the file's order.
    pub fn names(&self) -> Vec<String> {
        vec![]
    }

    /// Reads a variable with all it holds.
    pub fn read(&self, name: &str) -> Result<Value> {
        self.read_some(name, &|_| true)
    }

    /// Reads a variable in one pass, leaving out every field for which `keep` says no: it becomes [`Value::LeftOut`] and costs no memory.
    /// `keep` is asked once per field with its path inside the variable, such as `["RawData", "EegData"]`; cells and elements of
    /// struct arrays add nothing to a path.
    pub fn read_some(&self, name: &str, _keep: &dyn Fn(&[&str]) -> bool) -> Result<Value> {
        let _ = name;
        Err(Error::format(&self.path.as_path().into(), "cannot be read yet"))
    }
}

/// Writes an uncompressed level 5 file beside `path` and renames it.
pub fn write(path: &Path, variables: &[(&str, &Value)]) -> Result<()> {
    let _ = variables;
    Err(Error::format(&path.into(), "cannot be written yet"))
}
