//! The first minute of a new user: `ptsm demo`, built as they build it.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::built;
use crate::processes::computed;
use crate::shell;

/// What processors may work for the demonstration: 90 s on two cores that do nothing else. The time on the wall says more of what
/// else the machine does.
const MOST_SECONDS: f64 = 2.0 * 90.0;
const MOST_MIB: f64 = 1024.0;
/// What Linux counts the work of processes in, on every machine that there is.
const TICKS_PER_SECOND: f64 = 100.0;
/// The level at which unseen subjects must be decoded above chance.
const ALPHA: f64 = 0.001;

pub(super) fn check() -> Result<()> {
    let mut demo = Command::new(built::ptsm()?);
    let folder = shell::target().join("demo");
    demo.args(["demo", "--json", "--out"]).arg(&folder);
    let mut child = demo.stdout(Stdio::piped()).spawn().context("`ptsm demo` cannot be started")?;
    let (mut peak_mib, mut computed_s) = (0f64, 0f64);
    while child.try_wait()?.is_none() {
        peak_mib = peak_mib.max(resident_mib(child.id()));
        computed_s = computed_s
            .max(computed(&child.id().to_string()).map_or(0.0, |(_, ticks)| ticks as f64 / TICKS_PER_SECOND));
        sleep(Duration::from_millis(100));
    }
    let done = child.wait_with_output()?;
    ensure!(done.status.success(), "`ptsm demo` ended with {}", done.status);
    let document: Value = serde_json::from_slice(&done.stdout).context("`ptsm demo --json` is not JSON")?;
    let seconds = document["seconds"].as_f64().context("no `seconds`")?;
    println!("ptsm demo took {seconds:.0} s, {computed_s:.0} s of processors and {peak_mib:.0} MiB");
    let models = document["summary"].as_array().context("no `summary`")?;
    ensure!(models.len() == 3, "{} models instead of 3", models.len());
    for model in models {
        let number = |key: &str| model["chance"][key].as_f64().with_context(|| format!("no `{key}`"));
        let (accuracy, n) = (number("pooled_accuracy")?, number("pooled_n")? as usize);
        let level = number("level")?;
        let needed = ptsm_eval::chance_threshold(n, level, ALPHA);
        println!(
            "{}: {accuracy:.3} of {n} trials of unseen subjects, {needed:.3} is within chance",
            model["model"]
        );
        ensure!(ptsm_eval::above_chance(n, accuracy, level, ALPHA), "{} is not above chance", model["model"]);
    }
    let page = fs::read_to_string(folder.join("demo.html")).context("there is no page")?;
    for part in
        ["Scores of each subject", "Few-shot adaptation", "Training curves", "Masks", "<svg", "Temporal mask"]
    {
        ensure!(page.contains(part), "the page lacks `{part}`");
    }
    ensure!(page.len() < 1_000_000, "the page has {} bytes", page.len());
    if computed_s > MOST_SECONDS || peak_mib > MOST_MIB {
        bail!("that is more than {MOST_SECONDS} s of processors or {MOST_MIB} MiB");
    }
    Ok(())
}

/// The most memory a process has had; 0 where the system does not say.
fn resident_mib(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
