//! Benchmarks.

use anyhow::Result;
use clap::Subcommand;

mod case;
pub(crate) mod decoders;
mod engine;
pub(crate) mod gpu;
pub(crate) mod io;
pub(crate) mod machine;
mod measure;
mod others;
mod page;
mod process;
mod report;
pub(crate) mod runner;
mod table;
mod work;

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Fit and decoding time of every decoder against its peer in Python, interleaved in one run.
    Decoders(decoders::Options),
    /// Training and inference against PyTorch and onnxruntime, interleaved in one run.
    Engine(engine::Options),
    /// Training on a GPU against PyTorch; what is measured there can be carried here.
    Gpu(gpu::Options),
    /// Recordings to trials against MNE and SciPy, interleaved in one run.
    Io(io::Options),
    /// What a benchmark costs beside the training, in time and memory.
    Runner(runner::Options),
}

impl Bench {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Bench::Decoders(options) => decoders::run(&options),
            Bench::Engine(options) => engine::run(&options),
            Bench::Gpu(options) => gpu::run(&options),
            Bench::Io(options) => io::run(&options),
            Bench::Runner(options) => runner::run(&options),
        }
    }
}
