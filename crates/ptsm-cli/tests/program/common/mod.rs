//! A folder to work in, the program run in it, and what came of that.

mod data;
mod refused;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(crate) use data::{Arrays, cohort, cohort_of_seed, random};
pub(crate) use refused::{Case, check};

/// Settings that make PTSM a network of a few thousand weights.
pub(crate) const SMALL: [&str; 10] = [
    "--set",
    "network.encoder=[8,8,16]",
    "--set",
    "network.pooled=4",
    "--set",
    "network.shared=[32,16]",
    "--set",
    "network.features=8",
    "--set",
    "network.head=8",
];

/// A decoder that needs milliseconds. The trials have no filter band of their own.
pub(crate) const QUICK: [&str; 4] = ["--model", "csp-lda", "--set", "band_hz=none"];

/// A temporary folder.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    /// An empty one.
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// One with `a.npz`: 8 subjects, 16 trials of each.
    pub(crate) fn with_data() -> Place {
        let place = Place::new();
        cohort(8, 16, 0.6).write(&place.path("a.npz"));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with arguments separated by spaces, to be run here.
    pub(crate) fn ptsm(&self, line: &str) -> Test {
        Test::new(self.0.path()).args(line.split_whitespace())
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Everything below, sorted, folders with a slash at the end.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut all = vec![];
        list(self.0.path(), "", &mut all);
        all.sort();
        all
    }
}

fn list(folder: &Path, before: &str, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &format!("{name}/"), all);
            all.push(format!("{name}/"));
        } else {
            all.push(name);
        }
    }
}

/// The program, about to be run.
pub(crate) struct Test(Command);

impl Test {
    /// In a folder, with nothing of the surroundings that could change what it does.
    pub(crate) fn new(folder: &Path) -> Test {
        Test::through(Command::new(env!("CARGO_BIN_EXE_ptsm")), folder)
    }

    /// Started by another program, such as a shell.
    pub(crate) fn through(mut command: Command, folder: &Path) -> Test {
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("PTSM_") || name.contains("COLOR") || name.starts_with("RUST_") {
                command.env_remove(name);
            }
        }
        // Tests run side by side; each keeps to one core, whatever else the machine has.
        command.env("PTSM_THREADS", "1").env("PTSM_CACHE", "none").env("PTSM_DEVICE", "cpu");
        command.current_dir(folder).stdin(Stdio::null());
        Test(command)
    }

    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Test {
        self.0.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Test {
        self.0.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Test {
        self.0.env_remove(name);
        self
    }

    pub(crate) fn stdout(mut self, to: impl Into<Stdio>) -> Test {
        self.0.stdout(to);
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Outcome {
        Outcome::from(self.0.output().unwrap())
    }

    /// Runs it to its end, which must be a good one.
    pub(crate) fn succeed(self) -> Outcome {
        let outcome = self.run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome
    }

    /// Starts it.
    pub(crate) fn spawn(mut self) -> Child {
        self.0.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// How long anything may take on a machine that is busy with something else; only what never comes takes so long.
const NEVER: Duration = Duration::from_secs(900);

/// Waits until something holds that a process brings about, for as long as the process lives.
pub(crate) fn wait(child: &mut Child, what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        if let Some(status) = child.try_wait().unwrap() {
            // It may have come about just before the end.
            assert!(holds(), "the process ended with {status} before {what}");
            return;
        }
        assert!(start.elapsed() < NEVER, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What came of a run of the program.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// None where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Outcome {
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    /// Standard output as one JSON document.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e} in {}", self.stdout))
    }
}
