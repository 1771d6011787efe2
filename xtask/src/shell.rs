//! Other programs: where they are, how they are started, how a person would type them.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The workspace's folder.
pub fn root() -> PathBuf {
    // Cargo names the package at every run; the value of the build is for a binary started by hand.
    let package = env::var_os("CARGO_MANIFEST_DIR").filter(|_| env::var_os("CARGO").is_some());
    let package = package.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// `path` as seen from the workspace, for messages.
pub fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The cargo that started us, in the workspace.
pub fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// The compiler that cargo uses here.
pub fn rustc<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(arguments).current_dir(root());
    command
}

/// A command as a person would type it in the workspace's folder.
pub fn spelled(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = match program.file_name() {
        // Cargo's full path says nothing to the reader; other programs are named as they were found.
        Some(name) if name == "cargo" || name == "rustc" => name.to_string_lossy().into_owned(),
        _ => relative(program),
    };
    let variables = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let arguments = command.get_args().map(|a| quoted(&relative(Path::new(a))));
    variables.chain([program]).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@".contains(c);
    if word.chars().all(plain) { word.to_string() } else { format!("'{word}'") }
}

/// Runs a command whose output the reader sees as it comes.
pub fn stream(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("`{}` cannot be started", spelled(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", spelled(command));
    }
    Ok(())
}

/// Runs a command and hands every line of its standard output to `line`, which decides what the reader sees of it.
pub fn stream_lines(command: &mut Command, mut line: impl FnMut(&str)) -> Result<()> {
    let name = spelled(command);
    let cannot_start = || format!("`{name}` cannot be started");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(cannot_start)?;
    let output = child.stdout.take().with_context(cannot_start)?;
    for text in BufReader::new(output).split(b'\n') {
        line(String::from_utf8_lossy(&text?).trim_end());
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{name}` ended with {status}");
    Ok(())
}

/// Runs a command and returns what it wrote; its complaints are part of the error.
pub fn capture(command: &mut Command) -> Result<String> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("`{}` cannot be started", spelled(command)))?;
    if !done.status.success() {
        let complaints = String::from_utf8_lossy(&done.stderr);
        bail!("`{}` ended with {}: {}", spelled(command), done.status, tail(&complaints));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The last lines of a long text.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test that fails may panic
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        let mut command = cargo(["test", "--", "a b"]);
        command.env("RUSTFLAGS", "-C target-cpu=native");
        assert_eq!(spelled(&command), "RUSTFLAGS='-C target-cpu=native' cargo test -- 'a b'");
    }

    #[test]
    fn a_failure_carries_the_complaint() {
        let error = capture(&mut rustc(["--no-such-option"])).unwrap_err().to_string();
        assert!(error.contains("rustc --no-such-option") && error.contains("no-such-option"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = stream(&mut Command::new("no-such-program-here")).unwrap_err().to_string();
        assert_eq!(error, "`no-such-program-here` cannot be started");
    }
}
