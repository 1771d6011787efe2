//! The real recordings that lie beside the workspace.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell::{root, stream, target};

/// The recordings under `target`, unpacked where needed; none where they are not beside the workspace.
pub(crate) fn unpacked() -> Result<Option<PathBuf>> {
    let unpack = root().join("../shared/data/unpack");
    if !unpack.exists() {
        return Ok(None);
    }
    let to = target().join("data");
    stream(Command::new(unpack).arg(&to))?;
    Ok(Some(to))
}
