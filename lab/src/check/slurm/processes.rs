//! Processes of a cluster: the daemons, and all that they start.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::install::find_program;
use crate::shell::tail;

/// A program in the foreground that writes to a log and ends with us, also when we are killed.
pub(super) struct Daemon {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Daemon {
    /// Starts `program` as the process group `name` and with its log in `folder`.
    ///
    /// It ends with the thread that started it.
    pub(super) fn start(name: &str, program: &str, arguments: &[&str], folder: &Path) -> Result<Daemon> {
        let log = folder.join(format!("{name}.log"));
        let program = find_program(program).with_context(|| format!("`{program}` cannot be found"))?;
        let to = File::create(&log)?;
        // Nobody runs our clean-up when Ctrl-C ends us; the kernel then ends the daemon.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .args(arguments)
            .env("SLURM_CONF", conf(folder))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(to.try_clone()?)
            .stderr(to)
            .process_group(0)
            .spawn()
            .with_context(|| format!("`{name}` cannot be started through `setpriv` of util-linux"))?;
        Ok(Daemon { name: name.into(), log, child })
    }

    /// An error where it has ended.
    pub(super) fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("`{}` ended with {status}", self.name),
            None => Ok(()),
        }
    }

    /// The last lines it wrote, under its name.
    pub(super) fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        format!("-- {}\n{}\n", self.name, tail(&String::from_utf8_lossy(&log)))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration of the cluster in `folder`. Every process of a cluster has its path as `SLURM_CONF`.
pub(super) fn conf(folder: &Path) -> PathBuf {
    folder.join("slurm.conf")
}

/// Kills every process of the cluster in `folder`: jobs, which have sessions of their own, and programs that talk to it.
pub(super) fn sweep(folder: &Path) {
    // A process can start another while the list is read.
    for _ in 0..20 {
        let all = processes(folder);
        if all.is_empty() {
            return;
        }
        let kill = Command::new("sh")
            .args(["-c", "kill -KILL \"$@\"", "kill"])
            .args(&all)
            .stderr(Stdio::null())
            .status();
        if kill.is_err() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
}

/// How long the jobs of the cluster in `folder` have computed, in ticks of the kernel: it grows while any of them gets on. Those of the
/// daemons do not count, which look around even when nothing is to be done.
pub(super) fn computed(folder: &Path) -> u64 {
    let all = processes(folder);
    let known = all.iter().filter_map(|process| crate::processes::computed(process));
    let daemon = |name: &str| name.starts_with("slurm") || name.starts_with("munge");
    known.filter(|(name, _)| !daemon(name)).map(|(_, ticks)| ticks).sum()
}

/// Stops a process where it is, or lets it go on.
pub(super) fn signal(process: &str, name: &str) -> Result<()> {
    let mut kill = Command::new("sh");
    // That it has ended is told by the error, where that matters.
    kill.args(["-c", "kill -s \"$1\" \"$2\"", "kill", name, process]).stderr(Stdio::null());
    let status = kill.status()?;
    ensure!(status.success(), "{name} cannot be sent to process {process}");
    Ok(())
}

/// The processes, other than ours and those that have ended, whose environment names the configuration in `folder`.
fn processes(folder: &Path) -> Vec<String> {
    let mut expected = b"SLURM_CONF=".to_vec();
    expected.extend(conf(folder).as_os_str().as_encoded_bytes());
    let us = std::process::id().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().into_string().ok());
    numbers
        .filter(|n| n.bytes().all(|b| b.is_ascii_digit()) && *n != us)
        .filter(|n| {
            let environment = fs::read(format!("/proc/{n}/environ")).unwrap_or_default();
            environment.split(|&b| b == 0).any(|variable| variable == expected)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn a_sweep_kills_those_of_the_cluster_and_no_others() {
        let folder = env::temp_dir().join(format!("ptsm-sweep-{}", std::process::id()));
        let sleeper =
            |conf: PathBuf| Command::new("sleep").arg("60").env("SLURM_CONF", conf).spawn().unwrap();
        let (mut of_it, mut other) = (sleeper(conf(&folder)), sleeper(folder.join("other.conf")));
        // A process that has only just begun does not tell its environment yet.
        while processes(&folder).is_empty() {
            sleep(Duration::from_millis(1));
        }
        sweep(&folder);
        assert!(!of_it.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
