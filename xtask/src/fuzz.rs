//! `cargo xtask fuzz`: bytes from anywhere into every reader; a panic, a hang or a gigabyte fails it.
//!
//! What was found lies in `fuzz/artifacts`, what covers the readers in `fuzz/corpus`; both stay between runs and out of the
//! repository. A find becomes a test of its format.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, root, spelled, stream};

/// What was asked for on the command line.
pub(crate) struct Options {
    /// Formats; all without any.
    formats: Vec<String>,
    /// Executions of each.
    runs: u64,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options { formats: vec![], runs: 10_000_000 };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--runs" => {
                    let runs = words.next().context("`--runs` needs a number")?;
                    options.runs = runs.parse().with_context(|| format!("`{runs}` is no number of runs"))?;
                }
                format if FORMATS.contains(&format) => options.formats.push(format.into()),
                other => bail!("there is no format `{other}`; there are {}", FORMATS.join(", ")),
            }
        }
        Ok(options)
    }
}

const FORMATS: [&str; 10] =
    ["edf", "gdf", "brainvision", "eeglab", "mat", "fieldtrip", "fif", "cnt", "npy", "npz"];

/// The longest input. Longer ones are slower and say nothing new.
const LONGEST: u64 = 32 << 10;

pub(crate) fn run(options: &Options) -> Result<()> {
    if Command::new("cargo-fuzz").arg("--version").stdout(Stdio::null()).status().is_err() {
        stream(&mut cargo(["install", "cargo-fuzz", "--locked"]))?;
    }
    stream(cargo(["fuzz", "build", "--sanitizer", "none"]).current_dir(root().join("fuzz")))?;
    println!("| format | executions | inputs kept | per second | slowest s | peak MB |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for format in FORMATS {
        if options.formats.is_empty() || options.formats.iter().any(|f| f == format) {
            println!("{}", fuzz(format, options.runs)?);
        }
    }
    Ok(())
}

/// Executes a target and sums it up in a line of a table.
fn fuzz(format: &str, runs: u64) -> Result<String> {
    let corpus = seeded(format)?;
    let begin = Instant::now();
    let mut command = cargo(["fuzz", "run", "--sanitizer", "none", format]);
    command.arg(&corpus).arg("--").args([
        &format!("-runs={runs}"),
        &format!("-max_len={LONGEST}"),
        "-rss_limit_mb=1024",
        "-timeout=10",
        "-print_final_stats=1",
    ]);
    let done = command.current_dir(root().join("fuzz")).output().context("cargo fuzz cannot be started")?;
    let log = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        bail!("`{}` found something:\n{}", spelled(&command), crate::shell::tail(&log));
    }
    let stat = |name: &str| {
        log.lines()
            .find_map(|line| line.strip_prefix(&format!("stat::{name}:")))
            .and_then(|value| value.trim().parse::<u64>().ok())
            .with_context(|| format!("libFuzzer does not tell `{name}`"))
    };
    let executed = stat("number_of_executed_units")?;
    if executed < runs {
        bail!("`{}` executed {executed} inputs only", spelled(&command));
    }
    let kept = fs::read_dir(&corpus)?.count();
    let speed = executed as f64 / begin.elapsed().as_secs_f64();
    let (slowest, peak) = (stat("slowest_unit_time_sec")?, stat("peak_rss_mb")?);
    Ok(format!("| {format} | {executed} | {kept} | {speed:.0} | {slowest} | {peak} |"))
}

/// The corpus of a target, with the small fixtures of its format in it where they are beside the workspace.
fn seeded(format: &str) -> Result<PathBuf> {
    let corpus = root().join("fuzz/corpus").join(format);
    fs::create_dir_all(&corpus).context("the folder of the corpus cannot be made")?;
    let fixtures = root().join("../shared/datasets/fixtures");
    let folder = match format {
        "npz" => fixtures.join("npy"),
        // Those of the tests.
        "cnt" | "fieldtrip" => root().join("crates/ptsm-io/tests/data"),
        format => fixtures.join(format),
    };
    if !folder.is_dir() {
        println!("the fixtures are not here: `{format}` begins with nothing");
        return Ok(corpus);
    }
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let bytes = match (format, extension) {
            ("brainvision", "vhdr") => three(&path)?,
            ("cnt", other) if other != "cnt" => continue,
            ("fieldtrip", other) if other != "mat" => continue,
            ("brainvision", _) | ("eeglab", "fdt") | ("npy", "npz") | ("npz", "npy") => continue,
            _ => fs::read(&path)?,
        };
        if bytes.len() as u64 <= LONGEST {
            fs::write(corpus.join(path.file_name().unwrap_or_default()), bytes)?;
        }
    }
    Ok(corpus)
}

/// Header, markers and samples of BrainVision as its target takes them.
fn three(header: &Path) -> Result<Vec<u8>> {
    let parts = ["vhdr", "vmrk", "eeg"].map(|extension| fs::read(header.with_extension(extension)));
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(parts.join(&0))
}
