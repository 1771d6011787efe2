//! `cargo lab bench gpu`: training on a GPU, ours and PyTorch's.
//!
//! Everything is built into a folder that needs nothing else but Python with PyTorch, to be carried to a machine with a GPU; where this
//! machine has one it runs here. What was measured comes back as a file of JSON lines, from which the tables are made.

mod goals;
pub(crate) mod line;
mod profile;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use ptsm_engine::Cuda;

use super::page;
use crate::carry;
use crate::shell::{cargo, relative, root, stream, target};
use line::Line;
use report::Report;

/// Where the tables go in the documentation.
const MARKS: [&str; 2] = ["<!-- training on a GPU -->", "<!-- end of training on a GPU -->"];
/// Python that travels along.
const SCRIPTS: [&str; 2] = ["gpu_peers.py", "peers.py"];

/// Every part has an end, so that the whole takes about eight minutes at most.
const BENCH: &str = r#"#!/bin/sh
# Training on this machine's GPU, ours and PyTorch's. Made by `cargo lab bench gpu`.
#
# usage: bench FOLDER [PART..]
#
# Lines are added to FOLDER/gpu.jsonl as they come. The parts are ours, peers, loso and compile; without any all of them run.
set -u
mkdir -p "$1"
to=$(cd "$1" && pwd)/gpu.jsonl
shift
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- ours peers loso compile
begun=$(date +%s)
for part in "$@"; do
    left=$((${BENCH_SECONDS:-470} - $(date +%s) + begun))
    case $part in
    ours) timeout -k 5 120 ./bench-worker gpu --profile --seconds 100 ;;
    peers) timeout -k 5 120 ${PYTHON:-python3} gpu_peers.py --seconds 110 ceilings eager graph ;;
    loso) timeout -k 5 260 ./bench-worker loso --program ./ptsm --seconds 121 ;;
    compile) if [ $left -gt 40 ]; then timeout -k 5 $left ${PYTHON:-python3} gpu_peers.py --seconds $((left - 5)) compile; fi ;;
    *) echo "no part $part" >&2 ;;
    esac >> "$to" || echo "$part did not end well" >&2
    echo "$part: $(($(date +%s) - begun)) s since the start" >&2
done
"#;

#[derive(Args)]
pub(crate) struct Options {
    /// Make the tables from what was measured elsewhere; may be repeated, later lines count.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Also put the tables into `docs/performance.md`.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.from.is_empty() {
        return tell(&options.from, options.write);
    }
    let folder = built()?;
    match Cuda::new(None) {
        Ok(gpu) => {
            println!("on {}", gpu.name());
            let results = target().join("bench").join("gpu");
            let file = results.join("gpu.jsonl");
            // Lines of a run before would count as of this one.
            let _ = fs::remove_file(&file);
            stream(Command::new(folder.join("bench")).arg(&results))?;
            tell(&[file], options.write)
        }
        Err(error) => {
            println!("not measured here: {error}");
            println!(
                "carry {} to a machine with a GPU and PyTorch, start `./bench OUT` there (8 minutes), bring OUT/gpu.jsonl back and \
                 run `cargo lab bench gpu --from gpu.jsonl`, with `--write` for the documentation",
                relative(&folder)
            );
            Ok(())
        }
    }
}

/// The folder, with everything in it.
fn built() -> Result<PathBuf> {
    let folder = carry::folder()?;
    let mut command = cargo("build --release --locked --package lab --package ptsm-cli".split(' '));
    let programs = carry::build(&mut command)?;
    for (name, to) in [("lab", "bench-worker"), ("ptsm", "ptsm")] {
        let found = programs.iter().find(|(built, _)| built == name);
        let (_, path) = found.with_context(|| format!("cargo built no program `{name}`"))?;
        carry::program(path, &folder.join(to))?;
    }
    for name in SCRIPTS {
        let from = root().join("lab").join("python").join(name);
        fs::copy(&from, folder.join(name))
            .with_context(|| format!("{} cannot be copied", relative(&from)))?;
    }
    carry::script(&folder.join("bench"), BENCH)?;
    Ok(folder)
}

/// Prints the tables of measured lines.
fn tell(files: &[PathBuf], write: bool) -> Result<()> {
    let mut lines = vec![];
    for file in files {
        lines.extend(read(file)?);
    }
    let report = Report::new(lines)?;
    println!("{report}");
    if write { page::put(MARKS, &report.to_string()) } else { Ok(()) }
}

fn read(file: &Path) -> Result<Vec<Line>> {
    let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let mut lines = vec![];
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            // A process that was stopped may leave half a line.
            Err(error) => eprintln!("line {} of {} is left out: {error}", i + 1, file.display()),
        }
    }
    Ok(lines)
}
