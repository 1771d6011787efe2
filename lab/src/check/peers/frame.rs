//! A benchmark's `moabb.csv`, read by MOABB's own analysis: it must say what our matrix says.

use std::fs;

use anyhow::{Context, Result, ensure};
use ptsm_eval::read_records;
use serde_json::Value;

use super::PeerTally;
use crate::check::built;
use crate::python::Python;
use crate::shell;

/// Nine subjects, so that MOABB and we try every flip of signs and draw nothing.
const PLAN: &str = r#"
protocol = "kfold:3"
seeds = 2 # SEEDS
metrics = ["accuracy"]
models = ["csp-lda", "mdm", "ts-lr"]
variant = [{}, { name = "aligned", align = "euclidean" }]
data = [{ id = "simulated", subjects = "1-9" }]
"#;
const SEEDS: usize = 2;
const PRECISION: f64 = 1e-12;

pub(super) fn check(python: &Python, held: &mut PeerTally) -> Result<()> {
    let ptsm = built::ptsm()?;
    let folder = shell::target().join("moabb-frame");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let (plan, out) = (folder.join("plan.toml"), folder.join("out"));
    fs::write(&plan, PLAN)?;
    let mut benchmark = std::process::Command::new(ptsm);
    benchmark
        .arg("benchmark")
        .arg(&plan)
        .arg("--out")
        .arg(&out)
        .arg("-q")
        .stdout(std::process::Stdio::null());
    shell::stream(&mut benchmark)?;
    let records = read_records(&out.join("results.jsonl"))?;
    let trials = SEEDS * records.first().context("a benchmark without records")?.scores.n;
    let done = python.script("frame.py").arg(out.join("moabb.csv")).arg(trials.to_string()).output()?;
    ensure!(
        done.status.success(),
        "MOABB does not take moabb.csv: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let theirs: Vec<Value> = serde_json::from_slice(&done.stdout).context("frame.py tells no JSON")?;
    let ours: Value = serde_json::from_slice(&fs::read(out.join("matrix.json"))?)?;
    let ours = ours[0]["matrix"]["comparisons"].as_array().context("a matrix without comparisons")?;
    ensure!(ours.len() == 6 * 5 && theirs.len() >= ours.len(), "{} and {} pairs", ours.len(), theirs.len());
    for own in ours {
        let title = format!("{} against {}", own["model"], own["against"]);
        held.add(&title, "moabb.csv".as_ref(), same(own, &theirs));
    }
    println!("{} pairs of a benchmark are what MOABB's analysis makes of its moabb.csv", ours.len());
    Ok(())
}

fn same(own: &Value, theirs: &[Value]) -> Result<()> {
    let pair = theirs.iter().find(|pair| pair["pipe1"] == own["model"] && pair["pipe2"] == own["against"]);
    let (pair, own) = (pair.context("MOABB does not have the pair")?, &own["data"][0]);
    ensure!(own["people"] == pair["nsub"] && own["data"] == pair["dataset"], "{own} and {pair}");
    for (name, peer) in [("p", "p"), ("effect", "smd")] {
        let (a, b) = (own[name].as_f64().context("a number")?, pair[peer].as_f64().context("a number")?);
        ensure!((a - b).abs() <= PRECISION * b.abs().max(1.0), "{name} is {a}, not {b}");
    }
    Ok(())
}
