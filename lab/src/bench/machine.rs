//! The machine and the versions that numbers belong to.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use ptsm_engine::Isa;
use serde::Serialize;

use crate::peak::Peak;
use crate::python::Python;
use crate::shell;

/// What a result cannot be read without.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) instructions: String,
    pub(crate) threads: usize,
    pub(crate) peak: Peak,
    pub(crate) versions: BTreeMap<String, String>,
}

impl Machine {
    pub(crate) fn examine(python: &Python, progress: &dyn Fn(&str)) -> Result<Machine> {
        let mut versions = python.versions()?;
        versions.insert("rustc".into(), rustc()?);
        let peak = measured_peak(progress)?;
        Ok(Machine {
            cpu: cpu(),
            instructions: format!("{:?}", Isa::best()).to_lowercase(),
            threads: peak.threads,
            peak,
            versions,
        })
    }
}

/// The compiler's version.
pub(crate) fn rustc() -> Result<String> {
    let version = shell::capture(&mut shell::rustc(["--version"]))?;
    Ok(version.split_whitespace().nth(1).unwrap_or("unknown").to_string())
}

/// The processor's name.
pub(crate) fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or("unknown", |(_, name)| name.trim()).to_string()
}

/// Built for this very processor, apart from everything else: the engine chooses its instructions at run time, plain code
/// cannot.
fn measured_peak(progress: &dyn Fn(&str)) -> Result<Peak> {
    progress("building the measurement of the multiply-add peak");
    let folder = shell::target().join("peak");
    let mut build = shell::cargo(["build", "--release", "--locked", "--package", "lab", "--target-dir"]);
    shell::capture(build.arg(&folder).env("RUSTFLAGS", "-C target-cpu=native"))?;
    progress("measuring the multiply-add peak");
    let binary = folder.join("release").join(format!("lab{}", std::env::consts::EXE_SUFFIX));
    let line = shell::capture(std::process::Command::new(binary).arg("peak"))?;
    serde_json::from_str(&line).with_context(|| format!("the measured peak is not understood: {line}"))
}
