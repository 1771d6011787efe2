//! Debian's Slurm and munge, installed where they are missing.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{capture, stream};

const PACKAGES: [&str; 4] = ["slurmctld", "slurmd", "slurm-client", "munge"];

/// One program of each package.
const PROGRAMS: [&str; 4] = ["slurmctld", "slurmd", "sbatch", "munged"];

/// Debian's packages start their services unless this program, where it exists, ends with 101.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs what is missing, and nothing on a machine that has it all.
pub(super) fn install() -> Result<()> {
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|p| find_program(p).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!("`apt-get install --no-install-recommends {}` as root", PACKAGES.join(" "));
    if find_program("apt-get").is_none() {
        bail!(
            "{} cannot be found, and there is no apt-get to install them; on Debian 12 it is {by_hand}",
            missing.join(", ")
        );
    }
    if capture(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("{} cannot be found, and only root can install them; run {by_hand}", missing.join(", "));
    }
    println!("{} cannot be found; installing {}", missing.join(", "), PACKAGES.join(", "));
    let _quiet = NoServices::begin()?;
    if !are_known()? {
        stream(apt().args(["-qq", "update"]))?;
    }
    let arguments = ["-qq", "install", "-y", "--no-install-recommends"];
    capture(apt().args(arguments).args(PACKAGES))
        .context("Slurm cannot be installed; `apt-get update` may help")?;
    Ok(())
}

/// The full path of a program; daemons are in folders that not every user's `PATH` has.
pub(super) fn find_program(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(system).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whether apt has heard of the packages; images often come without its lists.
fn are_known() -> Result<bool> {
    let policy = capture(Command::new("apt-cache").args(["policy", "slurmd"]))?;
    Ok(policy.contains("Candidate:") && !policy.contains("Candidate: (none)"))
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Keeps packages from starting their services while they are installed: without systemd that fails, with it a second
/// Slurm would run. A policy that the machine has already stays as it is.
struct NoServices {
    written: bool,
}

impl NoServices {
    fn begin() -> Result<NoServices> {
        if Path::new(POLICY).exists() {
            return Ok(NoServices { written: false });
        }
        fs::write(POLICY, "#!/bin/sh\nexit 101\n").with_context(|| format!("{POLICY} cannot be written"))?;
        let quiet = NoServices { written: true };
        fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))?;
        Ok(quiet)
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.written {
            // Nothing can be done about a failure here; the file only keeps services from starting.
            let _ = fs::remove_file(POLICY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_where_the_path_says() {
        assert!(find_program("sh").is_some_and(|file| file.ends_with("sh")));
        assert_eq!(find_program("no-such-program-here"), None);
    }
}
