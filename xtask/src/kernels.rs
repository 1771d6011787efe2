//! The kernels' unit tests, and the tests over random shapes that size slices for them, where reading or writing out of
//! bounds is noticed.
//!
//! The address sanitizer sees every instruction set of the machine. Valgrind, where it is installed, also notices the use of
//! uninitialised memory; it hides AVX-512 from the tests, so there the AVX2 path runs as the best one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo, rustc, spelled, stream_lines};

/// Names of the unit tests that run kernels.
const TESTS: &str = "kernels";

pub(crate) fn check() -> Result<()> {
    let host = host()?;
    let sanitizer = sanitizer_works(&host);
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok_and(|v| v.status.success());
    match (&sanitizer, valgrind) {
        (Ok(()), _) => {
            run_tests(sanitized(&host, ["--lib"]).args(["--", TESTS]))?;
            run_tests(&mut sanitized(&host, ["--test", "properties"]))?;
        }
        (Err(error), true) => println!("address sanitizer: not usable here ({error:#}); valgrind has to do"),
        (Err(error), false) => bail!(
            "neither an address sanitizer nor valgrind is usable: {error:#}. Install valgrind, or a Rust toolchain \
             for {host} that comes with the sanitizer's runtime, and a C compiler to link it"
        ),
    }
    if valgrind {
        run_tests(Command::new("valgrind").args(["--quiet", "--error-exitcode=1"]).arg(plain()?).arg(TESTS))
    } else {
        println!("valgrind: skipped, it is not installed; the address sanitizer covered the kernels");
        Ok(())
    }
}

/// The triple of the machine; with a target named, the sanitizer stays out of build scripts and macros.
fn host() -> Result<String> {
    let about = shell::capture(&mut rustc(["-vV"]))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_string())
}

fn with_sanitizer(command: &mut Command) -> &mut Command {
    // Sanitizers are an unstable option of the stable compiler; nothing else here is.
    command.env("RUSTC_BOOTSTRAP", "1")
}

/// Builds and runs an empty program with the sanitizer: its runtime may be missing, or refuse the system.
fn sanitizer_works(host: &str) -> Result<()> {
    let folder = shell::target().join("asan");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be created", shell::relative(&folder)))?;
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    fs::write(&source, "fn main() {}\n")?;
    let mut build = rustc(["-Zsanitizer=address", "--target", host, "-o"]);
    shell::capture(with_sanitizer(build.arg(&program).arg(&source)))?;
    shell::capture(&mut Command::new(program)).map(drop)
}

fn sanitized<const N: usize>(host: &str, which: [&str; N]) -> Command {
    let mut command = cargo(["test", "--locked", "--package", "ptsm-engine", "--target", host]);
    command.arg("--target-dir").arg(shell::target().join("asan")).args(which);
    with_sanitizer(&mut command).env("RUSTFLAGS", "-Zsanitizer=address");
    command
}

/// The unit tests as step `test` builds them, so that nothing is compiled again.
fn plain() -> Result<PathBuf> {
    let mut build = cargo("test --workspace --locked --lib --no-run --message-format=json".split(' '));
    let messages = shell::capture(&mut build)?;
    let executable = messages.lines().find_map(executable);
    executable.with_context(|| format!("`{}` named no executable", spelled(&build)))
}

/// The program in a message of cargo's, if it is of the engine's unit tests.
fn executable(message: &str) -> Option<PathBuf> {
    let after = |key: &str| message.split_once(key)?.1.split_once('"').map(|(value, _)| value);
    let engine = message.contains("\"name\":\"ptsm_engine\"");
    after("\"executable\":\"").filter(|_| engine).map(PathBuf::from)
}

/// Runs unit tests with their output passed on. No test at all is an error: a renamed module must not pass unchecked.
fn run_tests(command: &mut Command) -> Result<()> {
    println!("{}", spelled(command));
    let mut tests = 0;
    stream_lines(command, |line| {
        println!("{line}");
        tests += started(line);
    })?;
    if tests == 0 {
        bail!("`{}` ran no test; the kernels' tests have other names now", spelled(command));
    }
    Ok(())
}

/// The number in `running 12 tests`.
fn started(line: &str) -> usize {
    let number = line.strip_prefix("running ").and_then(|rest| rest.split_once(" test"));
    number.and_then(|(n, _)| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted() {
        assert_eq!(started("running 12 tests"), 12);
        assert_eq!(started("running 1 test"), 1);
        assert_eq!(started("test kernels::running 3 tests"), 0);
    }

    #[test]
    fn the_engines_tests_are_found_in_cargos_messages() {
        let message =
            |name: &str| format!("{{\"target\":{{\"name\":\"{name}\"}},\"executable\":\"/t/{name}-1\"}}");
        assert_eq!(executable(&message("ptsm_engine")), Some(PathBuf::from("/t/ptsm_engine-1")));
        assert_eq!(executable(&message("ptsm_io")), None);
        assert_eq!(executable("{\"target\":{\"name\":\"ptsm_engine\"},\"executable\":null}"), None);
    }
}
