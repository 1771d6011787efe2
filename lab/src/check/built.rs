//! The program as users build it.

use std::env;
use std::path::{PathBuf, absolute};

use anyhow::{Context, Result};

use crate::shell;

/// In place of what would be built, such as a program that is there already.
const PROGRAM: &str = "PTSM_PROGRAM";

/// Builds it and tells where it is. All steps that run it take this one, so that it is built once.
pub(super) fn ptsm() -> Result<PathBuf> {
    if let Some(given) = env::var_os(PROGRAM) {
        println!("{PROGRAM} names the program that is tested; nothing is built");
        return absolute(given).context("the full path of the program is not known");
    }
    shell::stream(&mut shell::cargo(["build", "--release", "--locked", "-p", "ptsm-cli"]))?;
    Ok(shell::target().join("release").join("ptsm"))
}
