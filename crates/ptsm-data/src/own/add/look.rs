//! What is in a file that may be a recording.

use std::path::{Path, PathBuf};

use ptsm_io::Opened;
use ptsm_io::mat::{MatFile, Value};
use ptsm_signal::Event;

use super::super::matrix::{Rows, Variables, matrix, texts, triggers};
use super::super::sheet::Sheet;
use super::super::words::Words;
use crate::error::{Error, Result};
use crate::findings::scale::{Scale, scale, spread};

/// A recording that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Look {
    /// None where nobody says it.
    pub(super) rate_hz: Option<f64>,
    /// Names of the electrodes.
    pub(super) channels: Vec<String>,
    /// Samples at that rate.
    pub(super) length: usize,
    /// In time order.
    pub(super) events: Vec<Event>,
    /// Whether it holds trials that are cut already; each has an event.
    pub(super) epochs: bool,
    /// Where it is a MATLAB file: which variables hold what.
    pub(super) mat: Option<Variables>,
    /// Where none of its channels counts as EEG: what they are called and of.
    pub(super) no_eeg: Option<String>,
    /// Files that are read with it and are no recordings of their own.
    pub(super) others: Vec<PathBuf>,
}

/// Names of variables that hold a rate, in lower case.
const RATES: [&str; 14] = [
    "fs",
    "srate",
    "sfreq",
    "sf",
    "sr",
    "rate",
    "rate_hz",
    "samplerate",
    "sample_rate",
    "samplingrate",
    "sampling_rate",
    "sampling_frequency",
    "freq",
    "hz",
];
/// Parts of names of variables that hold triggers, in lower case.
const TRIGGERS: [&str; 7] = ["trig", "stim", "mark", "event", "label", "code", "cue"];
/// A matrix with fewer samples is no recording.
const FEWEST_SAMPLES: usize = 100;
/// More numbers than these are no triggers.
const MOST_TRIGGERS: usize = 256;

/// About how many bytes of memory looking at a file takes. Of recordings only headers are read, of packed ones and of MATLAB files
/// everything: packed numbers of single precision become numbers of double and of single precision.
pub(super) fn memory(path: &Path) -> u64 {
    let packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    match is_matlab(path) || packed {
        true => std::fs::metadata(path).map_or(0, |file| file.len().saturating_mul(5)),
        false => 0,
    }
}

fn is_matlab(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mat"))
}

/// Looks at a file; none where it is no recording.
pub(super) fn look(path: &Path) -> Option<Result<Look>> {
    if is_matlab(path) {
        // A recording of FieldTrip says itself what its variables are.
        return Some(match ptsm_io::fieldtrip::find(path) {
            Ok(Some(opened)) => Ok(in_format(opened)),
            Ok(None) => in_matlab(path),
            Err(error) => Err(error.into()),
        });
    }
    ptsm_io::format_of(path)?;
    Some(ptsm_io::open(path).map_err(Error::from).map(in_format))
}

/// A recording in a format that says what it holds.
fn in_format(opened: Opened) -> Look {
    let sheet = Sheet::of(opened);
    let epoch = |(at, code): (usize, &String)| {
        let each = sheet.epochs.as_ref().map_or(0, |epochs| epochs.samples);
        Event { sample: at * each, code: code.clone(), samples: 0 }
    };
    let epochs = sheet.epochs.as_ref().map(|epochs| epochs.codes.iter().enumerate().map(epoch).collect());
    Look {
        rate_hz: Some(sheet.rate_hz),
        channels: sheet.names(),
        length: sheet.length,
        epochs: sheet.epochs.is_some(),
        events: epochs.unwrap_or_else(|| sheet.events.clone()),
        mat: None,
        no_eeg: sheet.electrodes().is_empty().then(|| sheet.kinds()),
        others: sheet.files.iter().skip(1).cloned().collect(),
    }
}

/// A variable that is a matrix of numbers.
struct Matrix {
    name: String,
    value: Value,
    numbers: Vec<f64>,
    dims: [usize; 2],
}

impl Matrix {
    fn whole(&self) -> bool {
        self.numbers.iter().all(|x| x.fract() == 0.0)
    }
}

fn in_matlab(path: &Path) -> Result<Look> {
    let file = MatFile::open(path)?;
    let (mut matrices, mut lists) = (vec![], vec![]);
    for name in file.names() {
        // Only what lies open: fields of structs are left out.
        let value = file.read_some(&name, &|path| path.is_empty())?;
        if let Some(list) = texts(&value) {
            lists.push((name.clone(), list));
        }
        if let (Some(numbers), &[height, width]) = (value.vector(), &value.dims()[..]) {
            matrices.push(Matrix { name, value, numbers, dims: [height, width] });
        }
    }
    let fits = |m: &&Matrix| m.dims.iter().max() >= Some(&FEWEST_SAMPLES) && m.dims[0] != m.dims[1];
    let Some(samples) = matrices.iter().filter(fits).max_by_key(|m| (m.numbers.len(), !m.whole())) else {
        return Err(Error::Content {
            path: path.to_path_buf(),
            message: "holds no matrix of samples beside its structs".into(),
            hint: Some("save the samples of each recording as a matrix of its own".into()),
        });
    };
    let [height, width] = samples.dims;
    let rows = if height >= width { Rows::Samples } else { Rows::Channels };
    let (length, count) = (height.max(width), height.min(width));
    let scalar = |m: &&Matrix| m.numbers.len() == 1 && m.numbers[0].is_finite() && m.numbers[0] > 0.0;
    let rate = matrices.iter().filter(scalar).find(|m| RATES.contains(&&*m.name.to_lowercase()));
    let rate_hz = rate.map(|m| m.numbers[0]);
    let marked = matrices
        .iter()
        .filter(|m| m.name != samples.name && m.numbers.len() == length && m.whole() && few(&m.numbers))
        .max_by_key(|m| TRIGGERS.iter().any(|part| m.name.to_lowercase().contains(part)));
    let names = lists.iter().find(|(_, list)| list.len() == count && count > 1);
    let unit =
        matrix(&samples.value, Some(rows)).ok().and_then(|(_, samples)| unit(&samples, length, rate_hz));
    let numbered: Vec<String> = (1..=count).map(|at| format!("ch{at}")).collect();
    Ok(Look {
        rate_hz,
        channels: names.map_or_else(|| numbered.clone(), |(_, list)| list.clone()),
        length,
        events: marked.map(|m| triggers(&m.numbers)).unwrap_or_default(),
        epochs: false,
        no_eeg: None,
        mat: Some(Variables {
            samples: Some(samples.name.clone()),
            rows: Some(rows),
            triggers: marked.map(|m| m.name.clone()),
            rate: rate.map(|m| Words::One(m.name.clone())),
            channels: Some(names.map_or(Words::Many(numbered), |(name, _)| Words::One(name.clone()))),
            unit,
        }),
        others: vec![],
    })
}

/// Whether numbers can be triggers: mostly zero, and few different ones.
fn few(numbers: &[f64]) -> bool {
    let events = triggers(numbers);
    let codes: std::collections::BTreeSet<&str> = events.iter().map(|event| &*event.code).collect();
    !events.is_empty() && codes.len() <= MOST_TRIGGERS && events.len() <= numbers.len() / 2
}

/// The unit that makes samples `[C, N]` as large as an EEG is; none where nothing does.
fn unit(samples: &[f32], length: usize, rate_hz: Option<f64>) -> Option<String> {
    let spreads =
        samples.chunks_exact(length).filter_map(|channel| spread(channel, rate_hz.unwrap_or(250.0)));
    let mut spreads: Vec<f64> = spreads.collect();
    spreads.sort_by(f64::total_cmp);
    let typical = *spreads.get(spreads.len() / 2)?;
    let fits = |factor: f64| scale(typical * factor) == Scale::Plausible;
    let known = [("uV", 1.0), ("V", 1e6), ("mV", 1e3)];
    known.iter().find(|(_, factor)| fits(*factor)).map(|(unit, _)| unit.to_string())
}
