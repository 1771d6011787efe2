//! `cargo xtask test --gpu`: the engine on a GPU against the CPU.
//!
//! The tests are built into a folder that needs nothing else, to be carried to a machine with a GPU and no Rust; where this machine has
//! one they run here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ptsm_engine::Cuda;

use crate::shell::{capture, cargo, relative, stream, target};

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
    echo "skipped: compute-sanitizer is not installed"
fi
"#;

pub(super) fn check() -> Result<()> {
    let folder = target().join("gpu");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", relative(&folder)))?;
    for (name, built) in build()? {
        // Without what a debugger needs it is a tenth of the size.
        let to = folder.join(&name);
        if Command::new("strip").arg("-o").arg(&to).arg(&built).status().is_ok_and(|s| s.success()) {
            continue;
        }
        fs::copy(&built, &to).with_context(|| format!("{} cannot be written", relative(&to)))?;
    }
    let script = folder.join("run");
    fs::write(&script, SCRIPT).context("the script cannot be written")?;
    executable(&script)?;
    match Cuda::new(None) {
        Ok(gpu) => {
            println!("on {}", gpu.name());
            stream(&mut Command::new(&script))
        }
        Err(error) => {
            println!("skipped: {error}");
            println!("carry {} to a machine with a GPU and start `./run` there", relative(&folder));
            Ok(())
        }
    }
}

/// The test programs and their names.
fn build() -> Result<Vec<(String, PathBuf)>> {
    let mut command = cargo("test --release --locked --no-run --message-format json".split(' '));
    TESTS.iter().for_each(|(package, test)| {
        command.args(["-p", package, "--test", test]);
    });
    let told = capture(&mut command)?;
    let mut found = vec![];
    for line in told.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
        if let (Some(name), Some(path)) = (line["target"]["name"].as_str(), line["executable"].as_str()) {
            found.push((name.to_string(), PathBuf::from(path)));
        }
    }
    match TESTS.iter().find(|(_, test)| !found.iter().any(|(name, _)| name == test)) {
        Some((_, missing)) => bail!("cargo built no test `{missing}`"),
        None => Ok(found),
    }
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .context("the script cannot be made executable")
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<()> {
    Ok(())
}
