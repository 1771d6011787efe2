//! The program: arguments in, library calls, words out.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod args;
mod at_chance;
mod commands;
mod exit;
mod log;
mod memory;
mod output;
mod progress;
mod remedy;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let line = args::Line::parse();
    exit::with(commands::run(line))
}
