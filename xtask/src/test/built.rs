//! The program as users build it.

use std::path::PathBuf;

use anyhow::Result;

use crate::shell;

/// Builds it and tells where it is. All steps that run it take this one, so that it is built once.
pub(super) fn ptsm() -> Result<PathBuf> {
    shell::stream(&mut shell::cargo(["build", "--release", "--locked", "-p", "ptsm"]))?;
    Ok(shell::target().join("release").join("ptsm"))
}
