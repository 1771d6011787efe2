//! Programs carried to a machine that has no Rust: a folder that needs nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{capture, relative, target};

/// Where everything for a GPU goes.
pub(crate) fn folder() -> Result<PathBuf> {
    let folder = target().join("gpu");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", relative(&folder)))?;
    Ok(folder)
}

/// Runs a build of cargo's that tells of itself in JSON, and returns the programs it made, by name.
pub(crate) fn build(command: &mut Command) -> Result<Vec<(String, PathBuf)>> {
    let messages = capture(command.args(["--message-format", "json"]))?;
    let mut found = vec![];
    for line in messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
        if let (Some(name), Some(path)) = (line["target"]["name"].as_str(), line["executable"].as_str()) {
            found.push((name.to_string(), PathBuf::from(path)));
        }
    }
    Ok(found)
}

/// Copies a program without what a debugger needs, which makes it a tenth of the size.
pub(crate) fn program(built: &Path, to: &Path) -> Result<()> {
    if Command::new("strip").arg("-o").arg(to).arg(built).status().is_ok_and(|s| s.success()) {
        return Ok(());
    }
    fs::copy(built, to).with_context(|| format!("{} cannot be written", relative(to)))?;
    Ok(())
}

/// Writes a script that can be started.
pub(crate) fn script(to: &Path, text: &str) -> Result<()> {
    fs::write(to, text).context("the script cannot be written")?;
    executable(to)
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
