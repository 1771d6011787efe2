//! What is in a file that may be a recording.

use std::path::{Path, PathBuf};

use ptsm_io::RecordingFile;
use ptsm_io::fif::is_event_list;
use ptsm_signal::Event;

use super::super::files::events::{self, Columns};
use super::super::matrix::Variables;
use super::super::signals;
use super::matlab;
use crate::error::{Error, Result};

/// A recording that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InspectedRecording {
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
    /// From when to when epochs reach, in seconds after the cue.
    pub(super) window_s: Option<[f64; 2]>,
    /// Where it is a MATLAB file: which variables hold what.
    pub(super) mat: Option<Variables>,
    /// Where none of its channels counts as EEG: what they are called and of.
    pub(super) no_eeg: Option<String>,
    /// What of `mat` could have been another.
    pub(super) doubts: Vec<AmbiguousKey>,
    /// Files that are read with it and are no recordings of their own.
    pub(super) others: Vec<PathBuf>,
}

/// A choice among several that fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AmbiguousKey {
    /// The key of `[mat]`.
    pub(super) key: &'static str,
    /// Its value as TOML writes it.
    pub(super) taken: String,
    /// Other values that fit.
    others: Vec<String>,
}

impl AmbiguousKey {
    /// None where nothing else fits.
    pub(super) fn new(key: &'static str, taken: String, others: Vec<String>) -> Option<AmbiguousKey> {
        (!others.is_empty()).then_some(AmbiguousKey { key, taken, others })
    }

    /// What else fits, for a remark in the manifest.
    pub(super) fn remark(&self) -> String {
        format!("or {}: more than one fits", self.others.join(" or "))
    }

    /// The same for whoever had the manifest written, of the first of several recordings.
    pub(super) fn note(&self, file: &str, recordings: usize, all: usize) -> String {
        let AmbiguousKey { key, taken, others } = self;
        format!(
            "`{key}` of {recordings} of {all} recordings is not certain: of {file}, {taken} is taken and {} would fit too; see that it is \
             right in `[mat]` of the manifest",
            others.join(" or ")
        )
    }
}

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

/// Looks at a file: mostly one recording, several where a MATLAB file holds them; none where it is no recording.
/// Events of a table beside it take the place of its own.
pub(super) fn look(path: &Path, table: Option<&Path>) -> Option<Result<Vec<InspectedRecording>>> {
    if is_matlab(path) {
        // A recording of FieldTrip says itself what its variables are.
        return Some(match ptsm_io::fieldtrip::find(path) {
            Ok(Some(opened)) => in_format(opened, table).map(|look| vec![look]),
            Ok(None) => matlab::look(path, table),
            Err(error) => Err(error.into()),
        });
    }
    ptsm_io::format_of(path)?;
    // A list of events is no recording.
    if is_event_list(path) {
        return None;
    }
    let opened = ptsm_io::open(path).map_err(Error::from);
    Some(opened.and_then(|opened| in_format(opened, table)).map(|look| vec![look]))
}

/// A recording in a format that says what it holds.
fn in_format(mut file: RecordingFile, table: Option<&Path>) -> Result<InspectedRecording> {
    if let Some(table) = table.filter(|_| file.epochs().is_none()) {
        events::replace(&mut file, table, &Columns::default())?;
    }
    Ok(InspectedRecording::of(&file))
}

impl InspectedRecording {
    /// What a header says.
    pub(super) fn of(file: &RecordingFile) -> InspectedRecording {
        let epoch = |(at, code): (usize, &String)| {
            let each = file.epochs().map_or(0, |epochs| epochs.samples);
            Event { sample: at * each, code: code.clone(), samples: 0 }
        };
        let epochs = file.epochs().map(|epochs| epochs.codes.iter().enumerate().map(epoch).collect());
        InspectedRecording {
            rate_hz: Some(file.rate_hz()),
            channels: signals::names(file),
            length: file.length(),
            epochs: file.epochs().is_some(),
            window_s: signals::window_s(file),
            events: epochs.unwrap_or_else(|| file.events().to_vec()),
            mat: None,
            doubts: vec![],
            no_eeg: file.electrodes().is_empty().then(|| file.kinds()),
            others: file.files().iter().skip(1).cloned().collect(),
        }
    }
}
