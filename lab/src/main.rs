//! Studies, benchmarks and published results of this project: `cargo lab bench decoders|engine|gpu|io|runner`, `cargo lab golden`,
//! `cargo lab masks`, `cargo lab maps`, `cargo lab results`, `cargo lab draw`; and the steps of `cargo xtask test` that need
//! the workspace's crates: `lab check`.
//!
//! A further command is a module, a variant of [`Command`] and its line in [`Command::run`].
#![allow(clippy::print_stdout)] // a command-line tool: standard output is what it is for
#![cfg_attr(test, allow(clippy::unwrap_used))] // a test that fails may panic

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::shell;

mod bench;
mod carry;
mod check;
mod claims;
mod draw;
mod golden;
mod maps;
mod masks;
mod peak;
mod processes;
mod protocol;
mod python;
mod recordings;
mod results;
mod worker;

#[derive(Parser)]
#[command(
    name = "lab",
    bin_name = "cargo lab",
    about = "Studies, benchmarks and golden numbers of this workspace"
)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Steps of `cargo xtask test` that need the workspace's crates.
    #[command(subcommand, hide = true)]
    Check(check::Check),
    /// Compare speed and memory with other frameworks.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Verify the PyTorch peers and write the golden files of PyTorch, SciPy and scikit-learn.
    Golden(golden::Options),
    /// Measure what PTSM's masks and their losses do, on simulated subjects whose truth is known.
    Masks(masks::Options),
    /// Whether the tests of explanations tell a good map from a random one, on simulated subjects whose truth is known.
    Maps(maps::Options),
    /// Measure decoders on real recordings and write `docs/results.md`.
    Results(results::Options),
    /// Draw PTSM's graph for the documentation.
    Draw,
    /// Our side of the comparison on a GPU: a JSON line for each case.
    #[command(hide = true)]
    Gpu(worker::gpu::Options),
    /// Leave-one-subject-out through the program `ptsm`: a JSON line for each network.
    #[command(hide = true)]
    Loso(worker::loso::Options),
    /// One side of a benchmark, driven by JSON lines on standard input.
    #[command(hide = true)]
    Worker,
    /// Our side of the comparison of decoders.
    #[command(hide = true)]
    Decoding,
    /// Our side of the comparison of readers.
    #[command(hide = true)]
    Reading,
    /// Measure this machine's multiply-add peak.
    #[command(hide = true)]
    Peak,
}

impl Command {
    fn run(self) -> Result<()> {
        match self {
            Command::Check(check) => check.run(),
            Command::Bench(bench) => bench.run(),
            Command::Golden(options) => golden::run(&options),
            Command::Masks(options) => masks::run(&options),
            Command::Maps(options) => maps::run(&options),
            Command::Results(options) => results::run(&options),
            Command::Draw => draw::run(),
            Command::Gpu(options) => worker::gpu::run(&options),
            Command::Loso(options) => worker::loso::run(&options),
            Command::Worker => worker::run(),
            Command::Decoding => worker::decoding::run(),
            Command::Reading => worker::reading::run(),
            Command::Peak => peak::run(),
        }
    }
}

fn main() -> ExitCode {
    match Line::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
