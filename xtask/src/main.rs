//! Runs the checks of this workspace: `cargo xtask test`, and `cargo xtask fuzz` for the readers.
//!
//! The driver compiles in seconds, because it uses no other crate of the workspace: a check that needs one is a command of the
//! crate `lab`, which the driver builds and starts. A further step of `cargo xtask test` is a line in [`steps::STEPS`].
#![allow(clippy::print_stdout)] // a command-line tool: standard output is what it is for
#![cfg_attr(test, allow(clippy::unwrap_used))] // a test that fails may panic

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};
use xtask::shell;

mod fuzz;
mod kernels;
mod map;
mod skipped;
mod steps;
mod tokens;
mod unsafe_code;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match run(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["test", rest @ ..] => steps::run(&steps::Options::parse(rest)?),
        ["fuzz", rest @ ..] => fuzz::run(&fuzz::Options::parse(rest)?),
        [] | ["help" | "--help" | "-h", ..] => {
            println!("{}", help());
            Ok(())
        }
        [other, ..] => bail!("there is no command `{other}`\n\n{}", help()),
    }
}

fn help() -> String {
    let steps = steps::STEPS.iter().map(|step| format!("  {:<10}{}\n", step.name, step.says));
    format!(
        "cargo xtask test [STEP ...]      everything that has to hold, or only these steps\n\
         \x20                 [--write]     renew what a step compares with: pictures of `pages`, edges of `map`\n\
         \x20                 [--fixture]   with `pages --write`, renew the numbers behind the pictures (minutes)\n\
         cargo xtask test --gpu           the engine on a GPU against the CPU, and nothing else\n\
         cargo xtask fuzz [FORMAT ...]    feed the readers of every format with bytes from anywhere\n\
         \x20                 [--runs N]    executions of each format\n\n\
         Studies, benchmarks and golden numbers: `cargo lab`.\n\nSteps, in their order:\n{}",
        steps.collect::<String>().trim_end()
    )
}
