//! The virtual environment of the PyTorch and onnxruntime peers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell;

/// Imports every pinned package in its pinned version and prints the versions as JSON.
const VERIFY: &str = r##"
import importlib, importlib.metadata, json, sys
found = {}
for line in open(sys.argv[1]):
    name, _, pinned = line.partition("#")[0].strip().partition("==")
    if name:
        found[name] = importlib.metadata.version(name)
        if found[name].partition("+")[0] != pinned:
            sys.exit(f"{name} is {found[name]}, not {pinned}")
        if "--import" in sys.argv:
            importlib.import_module({"scikit-learn": "sklearn"}.get(name, name))
print(json.dumps({"python": sys.version.split()[0], **found}))
"##;

/// A Python with everything in `requirements.txt`.
pub(crate) struct Python {
    program: PathBuf,
}

impl Python {
    /// The environment in `target/bench-venv`, made or brought up to date where needed.
    pub(crate) fn ready() -> Result<Python> {
        let folder = shell::target().join("bench-venv");
        let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        let python = Python { program: folder.join(inside) };
        let wanted = fs::read_to_string(requirements())
            .with_context(|| format!("{} cannot be read", shell::relative(&requirements())))?;
        // Importing PyTorch takes seconds, so what was verified once is recorded.
        let stamp = folder.join("requirements.stamp");
        if python.program.exists() {
            if fs::read_to_string(&stamp).is_ok_and(|recorded| recorded == wanted) {
                return Ok(python);
            }
            match python.verify(true) {
                Ok(_) => return python.recorded(&stamp, &wanted),
                Err(error) => {
                    eprintln!("{} has to be brought up to date: {error:#}", shell::relative(&folder))
                }
            }
        }
        make(&folder)?;
        python.install()?;
        python.verify(true).context("the packages were installed but cannot be used")?;
        python.recorded(&stamp, &wanted)
    }

    fn recorded(self, stamp: &Path, wanted: &str) -> Result<Python> {
        fs::write(stamp, wanted).with_context(|| format!("{} cannot be written", shell::relative(stamp)))?;
        Ok(self)
    }

    fn install(&self) -> Result<()> {
        eprintln!("installing {} (once; PyTorch is large)", shell::relative(&requirements()));
        let mut pip = Command::new(&self.program);
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r"]);
        pip.arg(requirements()).stdout(Stdio::from(std::io::stderr()));
        shell::stream(&mut pip).context(
            "the peers' packages could not be installed; see pip's message above. It needs a reachable package \
             index (or one named in pip's own configuration) and about 6 GiB of disk",
        )
    }

    fn verify(&self, import: bool) -> Result<BTreeMap<String, String>> {
        let mut check = Command::new(&self.program);
        check.args(["-c", VERIFY]).arg(requirements());
        if import {
            check.arg("--import");
        }
        let done = check.output().with_context(|| format!("{} cannot be started", self.program.display()))?;
        if !done.status.success() {
            bail!("{}", shell::tail(&String::from_utf8_lossy(&done.stderr)));
        }
        serde_json::from_slice(&done.stdout).context("the list of versions is not understood")
    }

    /// Versions of Python and the pinned packages.
    pub(crate) fn versions(&self) -> Result<BTreeMap<String, String>> {
        self.verify(false)
    }

    /// One of the scripts in `xtask/python`.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(folder().join(name)).current_dir(shell::root());
        command
    }
}

fn folder() -> PathBuf {
    shell::root().join("xtask").join("python")
}

fn requirements() -> PathBuf {
    folder().join("requirements.txt")
}

fn make(folder: &Path) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder).stdout(Stdio::from(std::io::stderr()));
    shell::stream(&mut venv).context(
        "no virtual environment for the PyTorch peers could be made; install Python 3.11 or later with its `venv` \
         module, reachable as `python3`",
    )
}
