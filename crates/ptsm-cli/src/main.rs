//! The program: arguments in, library calls, words out.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod args;
mod at_chance;
mod commands;
mod config;
mod device;
mod exit;
mod folder;
mod input;
mod load;
mod occupant;
mod output;
mod plan;
mod progress;
mod readings;
mod remedy;
mod report;
mod words;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let line = args::Line::parse();
    exit::with(commands::run(line))
}
