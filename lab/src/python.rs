//! The virtual environments of the peers: others' implementations to be held against.

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

/// What an environment is for and what is in it.
pub(crate) struct Environment {
    /// Its folder in `target`.
    folder: &'static str,
    /// Where its `requirements.txt` and its scripts are, in `lab`.
    scripts: &'static str,
    /// What installing it takes.
    takes: &'static str,
    /// Whether its list names all that is needed, so that nothing else is installed. Packages may then lack what they would need as a whole
    /// and are not imported to see whether they work.
    complete: bool,
}

/// PyTorch, onnxruntime and scikit-learn.
pub(crate) const MODELS: Environment = Environment {
    folder: "bench-venv",
    scripts: "python",
    takes: "about 6 GiB of disk; PyTorch is large",
    complete: false,
};

/// Libraries that read and write recordings.
pub(crate) const READERS: Environment = Environment {
    folder: "readers-venv",
    scripts: "python/readers",
    takes: "about 400 MiB of disk",
    complete: false,
};

/// Libraries with classic decoders.
pub(crate) const CLASSIC: Environment = Environment {
    folder: "classic-venv",
    scripts: "python/classic",
    takes: "about 400 MiB of disk",
    complete: false,
};

/// MOABB's statistics.
pub(crate) const STATISTICS: Environment = Environment {
    folder: "statistics-venv",
    scripts: "python/statistics",
    takes: "about 400 MiB of disk",
    complete: true,
};

/// scikit-learn alone.
pub(crate) const EXPLAIN: Environment = Environment {
    folder: "explain-venv",
    scripts: "python/explain",
    takes: "about 300 MiB of disk",
    complete: false,
};

/// A Python with everything an environment asks for.
pub(crate) struct Python {
    program: PathBuf,
    environment: &'static Environment,
}

impl Python {
    /// The environment in `target`, made or brought up to date where needed.
    pub(crate) fn ready(environment: &'static Environment) -> Result<Python> {
        let folder = shell::target().join(environment.folder);
        let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        let python = Python { program: folder.join(inside), environment };
        let requirements = python.requirements();
        let list = fs::read_to_string(&requirements)
            .with_context(|| format!("{} cannot be read", shell::relative(&requirements)))?;
        // Importing PyTorch takes seconds, so what was verified once is recorded.
        let stamp = folder.join("requirements.stamp");
        if python.program.exists() {
            if fs::read_to_string(&stamp).is_ok_and(|recorded| recorded == list) {
                return Ok(python);
            }
            match python.verify(&requirements, !environment.complete) {
                Ok(_) => return python.recorded(&stamp, &list),
                Err(error) => {
                    eprintln!("{} has to be brought up to date: {error:#}", shell::relative(&folder))
                }
            }
        }
        make(&folder)?;
        python.install(&requirements, None)?;
        python
            .verify(&requirements, !environment.complete)
            .context("the packages were installed but cannot be used")?;
        python.recorded(&stamp, &list)
    }

    fn recorded(self, stamp: &Path, list: &str) -> Result<Python> {
        fs::write(stamp, list).with_context(|| format!("{} cannot be written", shell::relative(stamp)))?;
        Ok(self)
    }

    /// Sees to what only some scripts need. It changes no version of what is there.
    pub(crate) fn also(&self, list: &str) -> Result<()> {
        let list = self.scripts().join(list);
        if self.verify(&list, false).is_ok() {
            return Ok(());
        }
        self.install(&list, Some(&self.requirements()))?;
        self.verify(&list, false).map(drop)
    }

    /// Installs a list of packages, in the versions of another list where that has them.
    fn install(&self, list: &Path, kept: Option<&Path>) -> Result<()> {
        let takes = self.environment.takes;
        eprintln!("installing {} (once; {takes})", shell::relative(list));
        let mut pip = Command::new(&self.program);
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet"]);
        if self.environment.complete {
            pip.arg("--no-deps");
        }
        pip.arg("-r").arg(list);
        if let Some(kept) = kept {
            pip.arg("-c").arg(kept);
        }
        pip.stdout(Stdio::from(std::io::stderr()));
        shell::stream(&mut pip).with_context(|| {
            format!(
                "the peers' packages could not be installed; see pip's message above. It needs a reachable package \
                 index (or one named in pip's own configuration) and {takes}"
            )
        })
    }

    fn verify(&self, list: &Path, import: bool) -> Result<BTreeMap<String, String>> {
        let mut check = Command::new(&self.program);
        check.args(["-c", VERIFY]).arg(list);
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
        self.verify(&self.requirements(), false)
    }

    /// One of the environment's scripts.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(self.scripts().join(name)).current_dir(shell::root());
        command
    }

    fn scripts(&self) -> PathBuf {
        shell::root().join("lab").join(self.environment.scripts)
    }

    fn requirements(&self) -> PathBuf {
        self.scripts().join("requirements.txt")
    }
}

fn make(folder: &Path) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder).stdout(Stdio::from(std::io::stderr()));
    shell::stream(&mut venv).context(
        "no virtual environment for the peers could be made; install Python 3.11 or later with its `venv` \
         module, reachable as `python3`",
    )
}
