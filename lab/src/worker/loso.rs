//! Leave-one-subject-out from the command line to the last score, as a user would wait for it.

use std::fs::{self, File};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::bench::gpu::line::{Line, Loso, Network, Trial};
use crate::shell;

/// The electrodes of PhysioNet's motor imagery recordings, without prefix or dots.
const ELECTRODES: &str = "FC5,FC3,FC1,FCz,FC2,FC4,FC6,C5,C3,C1,Cz,C2,C4,C6,CP5,CP3,CP1,CPz,CP2,CP4,CP6,Fp1,Fpz,Fp2,AF7,AF3,AFz,AF4,AF8,\
     F7,F5,F3,F1,Fz,F2,F4,F6,F8,FT7,FT8,T7,T8,T9,T10,TP7,TP8,P7,P5,P3,P1,Pz,P2,P4,P6,P8,PO7,PO3,POz,PO4,PO8,O1,Oz,O2,Iz";
/// Four seconds of 64 channels at 100 Hz.
const TRIAL: Trial = Trial { channels: 64, time: 400 };

#[derive(Args)]
pub(crate) struct Options {
    /// The program `ptsm`.
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
    /// Simulated subjects.
    #[arg(long, default_value_t = 106)]
    subjects: usize,
    /// Trials of each.
    #[arg(long, default_value_t = 45)]
    trials: usize,
    /// Epochs of every fold; none stops early.
    #[arg(long, default_value_t = 30)]
    epochs: usize,
    /// PTSM in its forms.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ptsm-each,ptsm-last")]
    networks: Vec<Network>,
    /// What `--device` is.
    #[arg(long, default_value = "cuda")]
    device: String,
    /// Each is stopped after so many seconds.
    #[arg(long, default_value_t = 130.0)]
    seconds: f64,
}

/// `lab loso`: simulates a cohort, then measures and tells.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("ptsm-loso-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let outcome = all(options, &folder);
    // What is left of it does no harm.
    let _ = fs::remove_dir_all(&folder);
    outcome
}

fn all(options: &Options, folder: &Path) -> Result<()> {
    let cohort = folder.join("cohort");
    let mut simulate = Command::new(&options.program);
    simulate.args(["data", "simulate", "--sessions", "1", "--runs", "1", "--rate", "100", "--quiet"]);
    simulate.args(["--subjects", &options.subjects.to_string(), "--trials", &options.trials.to_string()]);
    simulate.args(["--channels", ELECTRODES, "--out"]).arg(&cohort);
    shell::capture(&mut simulate)?;
    for &network in &options.networks {
        let result = one(options, network, folder, &cohort)?;
        writeln!(stdout(), "{}", serde_json::to_string(&Line::Loso(result))?)?;
        stdout().flush()?;
    }
    Ok(())
}

fn one(options: &Options, network: Network, folder: &Path, cohort: &Path) -> Result<Loso> {
    let pool = match network {
        Network::PtsmEach => "each",
        Network::PtsmLast => "last",
        other => bail!("the benchmark is of PTSM, not of {other}"),
    };
    let (out, log) = (folder.join(pool), folder.join("log"));
    let mut command = Command::new(&options.program);
    command.args(["benchmark", "--models", "ptsm", "--protocol", "loso", "--quiet", "--data"]).arg(cohort);
    for setting in [
        format!("training.epochs={}", options.epochs),
        format!("training.patience={}", options.epochs),
        format!("network.pool={pool}"),
    ] {
        command.arg("--set").arg(setting);
    }
    // A folder of its own for kernels: nothing is compiled before.
    command.arg("--cache").arg(folder.join(format!("cache-{pool}")));
    command.args(["--device", &options.device, "--out"]).arg(&out);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    let start = Instant::now();
    let mut child =
        command.spawn().with_context(|| format!("{} cannot be started", options.program.display()))?;
    let reason = loop {
        if let Some(status) = child.try_wait()? {
            let complaint = || shell::tail(&fs::read_to_string(&log).unwrap_or_default());
            break (!status.success()).then(|| format!("it ended with {status}: {}", complaint()));
        }
        if start.elapsed().as_secs_f64() > options.seconds {
            child.kill().and_then(|()| child.wait()).context("the program cannot be stopped")?;
            break Some("it was stopped".to_string());
        }
        thread::sleep(Duration::from_millis(20));
    };
    let seconds = start.elapsed().as_secs_f64();
    let accuracies = accuracies(&fs::read_to_string(out.join("results.jsonl")).unwrap_or_default());
    let accuracy = accuracies.iter().sum::<f64>() / accuracies.len() as f64;
    Ok(Loso {
        network,
        subject_count: options.subjects,
        trials: options.trials,
        trial: TRIAL,
        epochs: options.epochs,
        seconds,
        scored: accuracies.len(),
        accuracy: accuracy.is_finite().then_some(accuracy),
        reason,
    })
}

/// The accuracy of every subject; a line cut short by the end of a process counts for none.
fn accuracies(results: &str) -> Vec<f64> {
    let records = results.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.filter_map(|record| record["accuracy"].as_f64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_64_electrodes() {
        let mut names: Vec<&str> = ELECTRODES.split(',').collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TRIAL.channels);
    }

    #[test]
    fn a_record_cut_short_is_left_out() {
        assert_eq!(accuracies("{\"accuracy\":0.5}\n{\"accuracy\":0.75}\n{\"accur"), [0.5, 0.75]);
    }
}
