//! A Slurm of our own: munged, slurmctld and two slurmd on the loopback address.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread::{panicking, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::configuration::{NODES, Ports, plain, written};
use super::install::install;
use super::processes::{Daemon, computed, conf, sweep};
use super::still::StallTimer;
use super::task::{FORMAT, Task};
use crate::shell::{capture, target};

/// How long nothing may move before waiting is given up: a busy machine is slow, but not still.
const PATIENCE: Duration = Duration::from_secs(300);

/// The most that any one thing may take, moving or not.
const LIMIT: Duration = Duration::from_secs(3600);

/// How often a state is asked for.
const PAUSE: Duration = Duration::from_millis(100);

/// Variables of these families change what Slurm's programs do.
const FOREIGN: [&str; 7] = ["SLURM", "SBATCH_", "SQUEUE_", "SCANCEL_", "SINFO_", "SCONTROL_", "SALLOC_"];

/// A cluster that runs as long as this lives. Its jobs and everything that was told to talk to it end with it.
pub(crate) struct Cluster {
    folder: PathBuf,
    daemons: Mutex<Vec<Daemon>>,
}

impl Cluster {
    /// Runs `scenario` with a cluster of its own; what the daemons wrote is shown where it fails.
    pub(crate) fn during<T>(scenario: impl FnOnce(&Cluster) -> Result<T>) -> Result<T> {
        let cluster = Cluster::start()?;
        let done = scenario(&cluster);
        if done.is_err() {
            eprintln!("{}", cluster.logs());
        }
        done
    }

    /// Installs Slurm where it is missing, starts it and waits until it takes jobs.
    pub(crate) fn start() -> Result<Cluster> {
        install()?;
        let clusters = target().join("slurm");
        clear(&clusters)?;
        let folder = clusters.join(std::process::id().to_string());
        let cluster = Cluster { folder, daemons: Mutex::default() };
        cluster.launch().inspect_err(|_| eprintln!("{}", cluster.logs()))?;
        Ok(cluster)
    }

    fn launch(&self) -> Result<()> {
        let text = plain(&self.folder)?;
        let user = capture(Command::new("id").arg("-un"))?;
        // munged refuses folders that others can write to.
        let mut private = DirBuilder::new();
        private.mode(0o755);
        for folder in ["", "state", NODES[0], NODES[1]] {
            let folder = self.folder.join(folder);
            private.create(&folder).with_context(|| format!("`{}` cannot be made", folder.display()))?;
        }
        write_key(&self.folder.join("munge.key"))?;
        fs::write(conf(&self.folder), written(text, user.trim(), &Ports::free()?))?;

        let own = |option: &str, file: &str| format!("--{option}={text}/{file}");
        self.daemon(
            "munged",
            "munged",
            &[
                "--foreground",
                "--force",
                &own("socket", "munge.socket"),
                &own("key-file", "munge.key"),
                &own("pid-file", "munged.pid"),
                &own("seed-file", "munged.seed"),
                &own("log-file", "munged.log"),
            ],
        )?;
        let socket = self.folder.join("munge.socket");
        self.wait_for("munged listens", || Ok(socket.exists().then_some(())))?;
        self.daemon("slurmctld", "slurmctld", &["-D", "-c"])?;
        self.wait_for("slurmctld answers", || Ok(self.call("scontrol", ["ping"]).ok()))?;
        for node in NODES {
            self.daemon(node, "slurmd", &["-D", "-N", node])?;
        }
        for node in NODES {
            self.wait_for_node(node, "idle")?;
        }
        Ok(())
    }

    fn daemon(&self, name: &str, program: &str, arguments: &[&str]) -> Result<()> {
        let daemon = Daemon::start(name, program, arguments, &self.folder)?;
        self.daemons.lock().unwrap_or_else(PoisonError::into_inner).push(daemon);
        Ok(())
    }

    /// Where scripts and outputs of jobs can be put; it is removed in the end.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A program that talks to this cluster and to no other: Slurm's own, or one that calls them.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::vars_os() {
            if FOREIGN.iter().any(|family| name.as_encoded_bytes().starts_with(family.as_bytes())) {
                command.env_remove(name);
            }
        }
        // The socket of munged stands in the configuration.
        command.env("SLURM_CONF", conf(&self.folder)).current_dir(&self.folder);
        command
    }

    /// Runs one of Slurm's programs and returns what it wrote.
    pub(crate) fn call<S: AsRef<OsStr>>(
        &self,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String> {
        capture(self.command(program).args(arguments))
    }

    /// `sbatch` with these arguments; the number of the job.
    pub(crate) fn submit<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<u32> {
        let output = capture(self.command("sbatch").arg("--parsable").args(arguments))?;
        // In a federation `;` and the name of the cluster follow.
        let number = output.trim().split(';').next().unwrap_or_default();
        number.parse().with_context(|| format!("`sbatch --parsable` wrote `{}`", output.trim()))
    }

    /// All jobs there ever were, an array's tasks one by one.
    pub(crate) fn tasks(&self) -> Result<Vec<Task>> {
        let output = self.call("squeue", ["--noheader", "--array", "--states=all", "--Format", FORMAT])?;
        output.lines().map(Task::parse).collect()
    }

    /// The tasks of one job, in their order.
    pub(crate) fn tasks_of(&self, job: u32) -> Result<Vec<Task>> {
        let mut tasks = self.tasks()?;
        tasks.retain(|task| task.job == job);
        ensure!(!tasks.is_empty(), "Slurm knows no job {job}");
        tasks.sort_by_key(|task| task.index);
        Ok(tasks)
    }

    /// `scancel`: the task's processes are told to end and killed a little later.
    pub(crate) fn cancel(&self, task: &Task) -> Result<()> {
        self.call("scancel", [task.to_string()]).map(drop)
    }

    /// The node gets no more tasks; those it has go on.
    pub(crate) fn drain(&self, node: &str) -> Result<()> {
        let node = format!("nodename={node}");
        self.call("scontrol", ["update", &node, "state=drain", "reason=test"]).map(drop)
    }

    /// The node gets tasks again.
    pub(crate) fn resume(&self, node: &str) -> Result<()> {
        self.call("scontrol", ["update", &format!("nodename={node}"), "state=resume"]).map(drop)
    }

    /// In Slurm's words: `idle`, `mixed`, `allocated`, `draining`, `drained`, `down`, ...
    pub(crate) fn node_state(&self, node: &str) -> Result<String> {
        let output = self.call("sinfo", ["--noheader", "--Node", "--format=%T", "--nodes", node])?;
        // A `*` marks a node that does not answer.
        Ok(output.trim().into())
    }

    pub(crate) fn wait_for_node(&self, node: &str, state: &str) -> Result<()> {
        self.wait_for(&format!("{node} is {state}"), || Ok((self.node_state(node)? == state).then_some(())))
    }

    /// Waits until all tasks of a job have ended, and returns them.
    pub(crate) fn wait_for_end(&self, job: u32) -> Result<Vec<Task>> {
        self.wait_for(&format!("job {job} ends"), || {
            let tasks = self.tasks_of(job)?;
            Ok(tasks.iter().all(Task::ended).then_some(tasks))
        })
    }

    /// Asks again and again until there is an answer, for as long as anything moves. Ends early with an error where a daemon is no
    /// longer there.
    pub(crate) fn wait_for<T>(&self, what: &str, mut answer: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let start = Instant::now();
        let mut still = StallTimer::new(start);
        loop {
            if let Some(answer) = answer().with_context(|| format!("while waiting until {what}"))? {
                return Ok(answer);
            }
            for daemon in self.daemons.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
                daemon.alive().with_context(|| format!("while waiting until {what}"))?;
            }
            let now = Instant::now();
            if still.since(now, || self.moves()) > PATIENCE {
                bail!("waited until {what}; nothing has moved for {} s", PATIENCE.as_secs());
            }
            if now - start > LIMIT {
                bail!("waited {} s until {what}, in vain", LIMIT.as_secs());
            }
            sleep(PAUSE);
        }
    }

    /// Something that changes whenever jobs get on: what Slurm says of them, and how long their processes have computed.
    fn moves(&self) -> (Option<Vec<Task>>, u64) {
        (self.tasks().ok(), computed(&self.folder))
    }

    /// What the daemons wrote last, and the queue.
    pub(crate) fn logs(&self) -> String {
        let daemons = self.daemons.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = self.call("squeue", ["--states=all", "--array"]).unwrap_or_default();
        daemons.iter().map(Daemon::log_tail).chain([queue]).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if panicking() {
            eprintln!("{}", self.logs());
        }
        // Daemons first, for they would start what waits.
        self.daemons.lock().unwrap_or_else(PoisonError::into_inner).clear();
        remove(&self.folder);
    }
}

/// Ends what a cluster left behind, and its folder. What cannot be removed now, the next cluster removes.
fn remove(folder: &Path) {
    sweep(folder);
    let _ = fs::remove_dir_all(folder);
}

/// Makes the folder of all clusters, and removes those whose process, which named them, was killed.
fn clear(clusters: &Path) -> Result<()> {
    fs::create_dir_all(clusters).with_context(|| format!("`{}` cannot be made", clusters.display()))?;
    let us = std::process::id().to_string();
    for entry in fs::read_dir(clusters)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == us.as_str() || !Path::new("/proc").join(&name).exists() {
            remove(&entry.path());
        }
    }
    Ok(())
}

/// A secret that nobody else can read, new for every cluster.
fn write_key(file: &Path) -> Result<()> {
    let mut key = [0u8; 128];
    fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut key)).context("no random numbers")?;
    let mut to = fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(file)?;
    to.write_all(&key)?;
    Ok(())
}
