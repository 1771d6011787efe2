//! The golden numbers: the PyTorch peers against published values, then the files that tests read.

use anyhow::Result;
use clap::Args;

use crate::python::{MODELS, Python};
use crate::shell;

#[derive(Args)]
pub(crate) struct Options {
    /// Compare with the committed file instead of writing it.
    #[arg(long)]
    check: bool,
}

/// Scripts that write a committed file, or compare with it.
const SCRIPTS: [&str; 5] =
    ["two_steps.py", "signal_golden.py", "classic_golden.py", "metrics_golden.py", "attribution_golden.py"];

pub(crate) fn run(options: &Options) -> Result<()> {
    let python = Python::ready(&MODELS)?;
    python.also("captum.txt")?;
    shell::stream(&mut python.script("check_peers.py"))?;
    for name in SCRIPTS {
        let mut script = python.script(name);
        if options.check {
            script.arg("--check");
        }
        shell::stream(&mut script)?;
    }
    Ok(())
}
