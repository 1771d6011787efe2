//! Benchmarks.

use anyhow::Result;
use clap::Subcommand;

mod case;
mod engine;
pub(crate) mod io;
mod machine;
mod measure;
mod others;
mod process;
mod report;
mod table;
mod work;

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Training and inference against PyTorch and onnxruntime, interleaved in one run.
    Engine(engine::Options),
    /// Recordings to trials against MNE and SciPy, interleaved in one run.
    Io(io::Options),
}

impl Bench {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Bench::Engine(options) => engine::run(&options),
            Bench::Io(options) => io::run(&options),
        }
    }
}
