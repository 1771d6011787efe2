//! Who works in a folder: written into its lock, and told to whoever comes later.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::phrases::duration;

/// So much of a command is told; lists of subjects and settings can be long.
const MOST: usize = 200;

/// A process that works in a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Occupant {
    /// The number of the process.
    process: u32,
    /// The name of its machine; empty where the system does not tell. Folders can be shared by several.
    machine: String,
    /// The command line, as it can be typed.
    command: String,
    /// When it began, in seconds since 1970.
    since_s: u64,
}

impl Occupant {
    /// This process.
    pub(crate) fn this() -> Occupant {
        let mut command = "ptsm".to_string();
        for argument in std::env::args_os().skip(1) {
            command += &format!(" {}", typed(&argument.to_string_lossy()));
        }
        if command.chars().count() > MOST {
            command = command.chars().take(MOST).collect::<String>() + " ..";
        }
        Occupant { process: std::process::id(), machine: machine(), command, since_s: now_s() }
    }

    /// Puts it into a lock, in place of who had it before.
    pub(crate) fn write(&self, lock: &mut File) -> std::io::Result<()> {
        lock.set_len(0)?;
        lock.write_all(&serde_json::to_vec(self)?)
    }

    /// Who has a lock; none where nobody is named in it, or the system lets nobody read it.
    pub(crate) fn read(lock: &Path) -> Option<Occupant> {
        serde_json::from_slice(&std::fs::read(lock).ok()?).ok()
    }

    /// How long it has been at work.
    fn age(&self) -> Duration {
        Duration::from_secs(now_s().saturating_sub(self.since_s))
    }
}

/// `process 71 on node3 (`ptsm train --data simulated --out run`), begun 3 min 20 s ago`
impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)?;
        if !self.machine.is_empty() && self.machine != machine() {
            write!(f, " on {}", self.machine)?;
        }
        write!(f, " (`{}`), begun {} ago", self.command, duration(self.age()))
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The name of this machine; empty where the system does not tell.
fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("COMPUTERNAME").or_else(|_| std::env::var("HOSTNAME")).ok());
    name.unwrap_or_default().trim().to_string()
}

/// An argument as a shell takes it for one.
fn typed(argument: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:,=+@%~".contains(c);
    match !argument.is_empty() && argument.chars().all(plain) {
        true => argument.to_string(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_at_work_is_named_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "a longer text of somebody who was there before, and more and more of it")
            .unwrap();
        assert_eq!(Occupant::read(&path), None);
        let mut lock = File::options().append(true).open(&path).unwrap();
        let here = Occupant {
            process: 71,
            machine: machine(),
            command: "ptsm train --out run".into(),
            since_s: now_s() - 200,
        };
        here.write(&mut lock).unwrap();
        let found = Occupant::read(&path).unwrap();
        assert_eq!(found, here);
        let text = found.to_string();
        assert!(text.starts_with("process 71 (`ptsm train --out run`), begun 3 min 2"), "{text}");
        let elsewhere = Occupant { machine: "node3".into(), ..here };
        assert!(elsewhere.to_string().starts_with("process 71 on node3 (`ptsm"), "{elsewhere}");
    }

    #[test]
    fn commands_can_be_typed_again() {
        for (argument, text) in
            [("--out", "--out"), ("a b", "'a b'"), ("", "''"), ("s1->s2", "'s1->s2'"), ("it's", "'it'\\''s'")]
        {
            assert_eq!(typed(argument), text);
        }
    }
}
