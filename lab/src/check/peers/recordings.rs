//! Recordings of every format, against what MNE and others read in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ptsm_io::{RecordingFile, open};
use serde::Deserialize;

use super::PeerTally;
use super::telling::PeerScript;
use crate::python::Python;

/// What the scripts make files of.
const FORMATS: [&str; 6] = ["edf", "gdf", "brainvision", "fif", "eeglab", "cnt"];

/// How far a sample may be off, in parts of its signal's largest: numbers have single precision.
const PRECISION: f64 = 1e-6;

/// What a file holds, as others see it.
#[derive(Deserialize)]
struct Expected {
    title: String,
    file: PathBuf,
    signals: Vec<Signal>,
    marks: Vec<Mark>,
    /// Start in seconds, first sample, samples.
    #[serde(rename = "stretches")]
    segments: Vec<(f64, usize, usize)>,
    epochs: Option<Epochs>,
    /// Whether samples have single precision over there too.
    exact: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Signal {
    name: String,
    rate_hz: f64,
    samples: usize,
    microvolts: bool,
}

#[derive(Debug, Deserialize)]
struct Mark {
    onset_s: f64,
    duration_s: f64,
    text: String,
    sample: Option<usize>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Epochs {
    samples: usize,
    start_s: f64,
    codes: Vec<String>,
}

pub(super) fn check(python: &Python, folder: &Path, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("make.py");
    script.arg(folder).args(FORMATS);
    let right = hold(script, held)?;
    println!("{right} recordings of {} are what others read", FORMATS.join(", "));
    Ok(())
}

/// Real recordings, against pyedflib.
pub(super) fn real(python: &Python, data: &Path, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("real.py");
    script.arg("samples").arg(data);
    let right = hold(script, held)?;
    println!("{right} real recordings are to the bit what pyedflib reads");
    Ok(())
}

/// Compares all a script tells of, and counts what is as it should be.
fn hold(script: Command, held: &mut PeerTally) -> Result<usize> {
    let mut telling = PeerScript::start(script)?;
    let before = held.right;
    while let Some((expected, values)) = telling.next::<Expected>()? {
        held.add(&expected.title, &expected.file, compare(&expected, &values));
    }
    Ok(held.right - before)
}

fn compare(expected: &Expected, values: &[f64]) -> Result<()> {
    let opened = open(&expected.file)?;
    let signals: Vec<Signal> = opened.signals().iter().map(Signal::of).collect();
    ensure!(signals.len() == expected.signals.len(), "{} signals", signals.len());
    for (signal, expected) in signals.iter().zip(&expected.signals) {
        ensure!(signal.is(expected), "{signal:?} should be {expected:?}");
    }
    samples(&opened, values, if expected.exact { 0.0 } else { PRECISION })?;
    let segments: Vec<_> = opened.segments().iter().map(|s| (s.start_s, s.first, s.samples)).collect();
    let close = |a: &[(f64, usize, usize)], b: &[(f64, usize, usize)]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a.0, b.0) && (a.1, a.2) == (b.1, b.2))
    };
    ensure!(close(&segments, &expected.segments), "segments {segments:?} should be {:?}", expected.segments);
    let epochs =
        opened.epochs().map(|e| Epochs { samples: e.samples, start_s: e.start_s, codes: e.codes.clone() });
    ensure!(epochs == expected.epochs, "{epochs:?} should be {:?}", expected.epochs);
    marks(&opened, &expected.marks)?;
    whole(&opened)
}

impl Signal {
    fn of(signal: &ptsm_io::SignalHeader) -> Signal {
        let &ptsm_io::SignalHeader { rate_hz, samples, microvolts, .. } = signal;
        Signal { name: signal.name.clone(), rate_hz, samples, microvolts }
    }

    fn is(&self, other: &Signal) -> bool {
        let rate = (self.rate_hz - other.rate_hz).abs() <= 1e-9 * other.rate_hz;
        rate && (&self.name, self.samples, self.microvolts) == (&other.name, other.samples, other.microvolts)
    }
}

/// Whether two moments are the same: texts of files have microseconds.
fn near(a_s: f64, b_s: f64) -> bool {
    (a_s - b_s).abs() <= 1e-6 * b_s.abs().max(1.0)
}

/// Compares all samples of all signals; of each also a window from its middle.
fn samples(opened: &RecordingFile, mut values: &[f64], precision: f64) -> Result<()> {
    for (place, signal) in opened.signals().iter().enumerate() {
        let expected = values.split_off(..signal.samples).context("too few values were told")?;
        let mut read = vec![0.0; signal.samples];
        opened.read(&[place], 0, &mut read)?;
        let largest = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (at, (&read, &expected)) in read.iter().zip(expected).enumerate() {
            let same = (f64::from(read) - expected).abs() <= precision * largest
                || read.is_nan() && expected.is_nan();
            ensure!(same, "sample {at} of `{}` is {read}, not {expected}", signal.name);
        }
        let range = signal.samples / 3..signal.samples - signal.samples / 4;
        let mut window = vec![0.0; range.len()];
        opened.read(&[place], range.start, &mut window)?;
        ensure!(bits(&window) == bits(&read[range]), "`{}` differs from window to window", signal.name);
    }
    ensure!(values.is_empty(), "{} values more were told", values.len());
    Ok(())
}

/// Numbers that are none are the same too.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn marks(opened: &RecordingFile, expected: &[Mark]) -> Result<()> {
    let mut marks: Vec<_> = opened.annotations().iter().collect();
    marks.sort_by(|a, b| a.onset_s.total_cmp(&b.onset_s).then_with(|| a.text.cmp(&b.text)));
    for (mark, expected) in marks.iter().zip(expected) {
        let times = near(mark.onset_s, expected.onset_s) && near(mark.duration_s, expected.duration_s);
        let same = times && mark.text == expected.text && mark.sample == expected.sample;
        ensure!(same, "{mark:?} should be {expected:?}");
    }
    ensure!(marks.len() == expected.len(), "{} events should be {}", marks.len(), expected.len());
    Ok(())
}

/// The recording in memory is what was read piece by piece.
fn whole(opened: &RecordingFile) -> Result<()> {
    let main = opened.main();
    let recording = opened.recording(Some(main))?;
    let mut samples = vec![0.0; main.len() * opened.length()];
    opened.read(main, 0, &mut samples)?;
    ensure!(bits(&recording.samples) == bits(&samples), "the recording has other samples than its file");
    let events = recording.events.iter().map(|event| (event.sample, &event.code));
    let marks = opened.annotations().iter().filter_map(|mark| Some((mark.sample?, &mark.text)));
    ensure!(events.eq(marks), "the recording has other events than its file");
    ensure!(
        recording.segments().len() == opened.segments().len(),
        "the recording has other gaps than its file"
    );
    Ok(())
}
