//! The drawing in the engine's documentation, made from the graph that trains PTSM.

use std::fs;

use anyhow::{Context, Result};

use crate::shell;

const FILE: &str = "crates/ptsm-engine/docs/ptsm.svg";

pub(crate) fn run() -> Result<()> {
    let drawing = ptsm_decode::ptsm::drawing().context("PTSM cannot be drawn")?;
    let path = shell::root().join(FILE);
    let beside = path.with_extension("svg.part");
    fs::write(&beside, drawing)
        .and_then(|()| fs::rename(&beside, &path))
        .with_context(|| format!("{FILE} cannot be written"))?;
    println!("{FILE}");
    Ok(())
}
