//! The golden numbers: the peers against published values, then the file of two training steps.

use anyhow::Result;
use clap::Args;

use crate::{python::Python, shell};

#[derive(Args)]
pub(crate) struct Options {
    /// Compare with the committed file instead of writing it.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let python = Python::ready()?;
    shell::stream(&mut python.script("check_peers.py"))?;
    let mut two_steps = python.script("two_steps.py");
    if options.check {
        two_steps.arg("--check");
    }
    shell::stream(&mut two_steps)
}
