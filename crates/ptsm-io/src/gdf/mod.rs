//! GDF 1.x and 2.x.

use std::path::Path;

use crate::error::{Error, Result};
use crate::opened::Opened;

/// Opens a recording.
pub fn open(path: &Path) -> Result<Opened> {
    Err(Error::format(&path.into(), "cannot be read yet"))
}
