//! Trials of data sets, against what MNE and SciPy make of the same files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use ptsm_data::Source;
use ptsm_signal::{Pipeline, normalise};
use serde::Deserialize;

use super::PeerTally;
use super::telling::PeerScript;
use crate::python::Python;

/// How far a sample may be off, in parts of its trial's largest: numbers have single precision.
const PRECISION: f64 = 1e-6;

/// Trials of one subject.
#[derive(Deserialize)]
struct Expected {
    title: String,
    id: String,
    root: PathBuf,
    /// What is chosen about the data set.
    with: Vec<(String, String)>,
    subject: u32,
    /// Another than the data set's own.
    pipeline: Option<Pipeline>,
    channels: Vec<String>,
    classes: Vec<String>,
    rate_hz: f64,
    start_s: f64,
    trials: Vec<Trial>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Trial {
    class: String,
    session: u32,
    run: u32,
    cue_s: f64,
}

/// Data sets in miniature, in the structure of the published ones.
pub(super) fn check_miniatures(python: &Python, folder: &Path, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("make.py");
    script.arg(folder).arg("sets");
    let right = hold(script, held)?;
    println!("{right} ways to cut data sets in miniature give the trials SciPy cuts");
    Ok(())
}

/// Real recordings.
pub(super) fn real(python: &Python, data: &Path, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("real.py");
    script.arg("trials").arg(data);
    let right = hold(script, held)?;
    println!("the trials of {right} real subjects are what MNE and SciPy make of them");
    Ok(())
}

fn hold(script: Command, held: &mut PeerTally) -> Result<usize> {
    let mut telling = PeerScript::start(script)?;
    let before = held.right;
    while let Some((expected, values)) = telling.next::<Expected>()? {
        held.add(&expected.title, &expected.root, compare(&expected, &values));
    }
    Ok(held.right - before)
}

fn compare(expected: &Expected, values: &[f64]) -> Result<()> {
    let source = Source::parse_with(&expected.id, Some(&expected.root), &expected.with)?;
    let list = expected.subject.to_string().parse()?;
    let trials = source.load(expected.pipeline.as_ref(), Some(&list))?.trials;
    let layout = trials.layout();
    let names: Vec<&str> = layout.channels.iter().map(|channel| &*channel.name).collect();
    let expected_names: Vec<String> = expected.channels.iter().map(|name| normalise(name)).collect();
    ensure!(names == expected_names, "channels {names:?} should be {expected_names:?}");
    ensure!(
        layout.classes == expected.classes,
        "classes {:?} should be {:?}",
        layout.classes,
        expected.classes
    );
    let times = (layout.rate_hz, layout.start_s);
    ensure!(times == (expected.rate_hz, expected.start_s), "rate and start are {times:?}");
    let found = trials.info().iter().map(|trial| Trial {
        class: layout.classes[trial.label as usize].clone(),
        session: trial.session,
        run: trial.run,
        cue_s: trial.cue_s,
    });
    for (i, (found, expected)) in found.zip(&expected.trials).enumerate() {
        ensure!(found == *expected, "trial {i} is {found:?}, not {expected:?}");
    }
    ensure!(
        trials.len() == expected.trials.len(),
        "{} trials should be {}",
        trials.len(),
        expected.trials.len()
    );
    let one = layout.channels.len() * layout.samples;
    ensure!(values.len() == one * trials.len(), "{} values should be {}", one * trials.len(), values.len());
    for (i, expected_values) in values.chunks_exact(one).enumerate() {
        let allowed =
            PRECISION * expected_values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (at, (&found, &expected)) in trials.signal(i).iter().zip(expected_values).enumerate() {
            let (channel, t) = (&names[at / layout.samples], at % layout.samples);
            let near = (f64::from(found) - expected).abs() <= allowed;
            ensure!(near, "sample {t} of `{channel}` in trial {i} is {found}, not {expected}");
        }
    }
    Ok(())
}
