//! `cargo xtask test --gpu`: the engine on a GPU against the CPU.
//!
//! The tests are built into a folder that needs nothing else, to be carried to a machine with a GPU and no Rust; where this machine has
//! one they run here.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use ptsm_engine::Cuda;

use crate::carry;
use crate::shell::{cargo, relative, stream};

/// Tests that compare a GPU with the CPU where they are asked to, and the packages they belong to.
const TESTS: [(&str, &str); 4] = [
    ("ptsm-engine", "cuda"),
    ("ptsm-engine", "gradients"),
    ("ptsm-engine", "properties"),
    ("ptsm-decode", "gpu_training"),
];

/// Runs everything, then a full step under CUDA's checkers of memory and races where they are installed.
const SCRIPT: &str = r#"#!/bin/sh
# Compares the GPU of this machine with its CPU. Made by `cargo xtask test --gpu`.
set -e
cd "$(dirname "$0")"
export PTSM_TEST_GPU=1
for test in cuda gradients properties; do
    ./$test --test-threads 8
done
./gpu_training --test-threads 2 --nocapture
if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck racecheck; do
        compute-sanitizer --tool $tool --error-exitcode 1 ./cuda the_first_step_is_the_same --test-threads 1
        compute-sanitizer --tool $tool --error-exitcode 1 ./gpu_training a_full_step --test-threads 1
    done
else
    echo "skipped: needs compute-sanitizer"
fi
"#;

pub(super) fn check() -> Result<()> {
    let folder = carry::folder()?;
    for (name, built) in build()? {
        carry::program(&built, &folder.join(&name))?;
    }
    let script = folder.join("run");
    carry::script(&script, SCRIPT)?;
    match Cuda::new(None) {
        Ok(gpu) => {
            println!("on {}", gpu.name());
            stream(&mut Command::new(&script))
        }
        Err(error) => {
            println!("skipped: needs a GPU ({error})");
            println!("carry {} to a machine with a GPU and start `./run` there", relative(&folder));
            Ok(())
        }
    }
}

/// The test programs and their names.
fn build() -> Result<Vec<(String, PathBuf)>> {
    let mut command = cargo("test --release --locked --no-run".split(' '));
    TESTS.iter().for_each(|(package, test)| {
        command.args(["-p", package, "--test", test]);
    });
    let found = carry::build(&mut command)?;
    match TESTS.iter().find(|(_, test)| !found.iter().any(|(name, _)| name == test)) {
        Some((_, missing)) => bail!("cargo built no test `{missing}`"),
        None => Ok(found),
    }
}
