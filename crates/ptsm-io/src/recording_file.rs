//! A recording on disk that was opened: what its header says, and samples when asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ptsm_signal::{Channel, Event, Position, Recording, Unit};

use crate::error::{Error, Place, Result};
pub use crate::kind::SignalKind;

/// One signal, as the header describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalHeader {
    /// The name in the file, without blanks around it: `C3..`, `EEG Cz`.
    pub name: String,
    /// What it is of.
    pub kind: SignalKind,
    /// What the file counts in: `uV`, `mV`, `Ohm`; empty where it says nothing.
    pub unit: String,
    /// Whether samples come as microvolts. Otherwise they are in the file's own unit.
    pub microvolts: bool,
    /// Samples per second.
    pub rate_hz: f64,
    /// How many there are.
    pub samples: usize,
    /// Where the file says it is, on the unit sphere.
    pub position: Option<Position>,
    /// The smallest and largest value the file can hold, in the unit samples come in: signals that stay there are clipped.
    pub range: Option<[f64; 2]>,
    /// Whether the file marks it as bad.
    pub bad: bool,
}

impl SignalHeader {
    /// A signal of the scalp in microvolts.
    pub fn new(name: impl Into<String>, rate_hz: f64, samples: usize) -> SignalHeader {
        SignalHeader {
            name: name.into(),
            kind: SignalKind::Eeg,
            unit: "uV".into(),
            microvolts: true,
            rate_hz,
            samples,
            position: None,
            range: None,
            bad: false,
        }
    }
}

/// Samples without a gap among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// When it begins, in seconds after the first sample of the file.
    pub start_s: f64,
    /// Its first sample at [`RecordingFile::rate_hz`].
    pub first: usize,
    /// How many there are.
    pub samples: usize,
}

impl Segment {
    /// What lies between gaps in front of some samples, in any order, in which no time passes.
    pub(crate) fn between(mut breaks: Vec<usize>, rate_hz: f64, length: usize) -> Vec<Segment> {
        breaks.retain(|&first| first < length);
        breaks.extend([0, length]);
        breaks.sort_unstable();
        breaks.dedup();
        let segment = |pair: &[usize]| Segment {
            start_s: pair[0] as f64 / rate_hz,
            first: pair[0],
            samples: pair[1] - pair[0],
        };
        breaks.windows(2).map(segment).collect()
    }
}

/// Something the file says about a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// When, in seconds after the first sample of the file. May lie before it.
    pub onset_s: f64,
    /// How long; 0 where only the beginning is known.
    pub duration_s: f64,
    /// The same as a sample at [`RecordingFile::rate_hz`]; none outside of the samples and in gaps.
    pub sample: Option<usize>,
    /// What: `T1`, `Stimulus/S  1`, `769`.
    pub text: String,
}

/// A file that holds trials already. Their samples follow one another: trial k begins at sample k times [`Epochs::samples`], and each is
/// a [`Segment`] of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Epochs {
    /// Samples per trial.
    pub samples: usize,
    /// The first sample, in seconds after the cue.
    pub start_s: f64,
    /// What each trial is of, one text each.
    pub codes: Vec<String>,
}

/// Where the samples are. What lies outside is asked for by nobody: [`RecordingFile`] checks.
pub(crate) trait Samples: Send + Sync {
    /// Samples of some signals, in microvolts where the signal says so.
    ///
    /// # Shapes
    /// `to` is `[signals, n]`, with n samples from `first` on.
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()>;
}

/// What a format's reader makes of a header.
pub(crate) struct Header {
    /// The format in a few words: `EDF+C`.
    pub(crate) format: String,
    pub(crate) signals: Vec<SignalHeader>,
    /// Gaps; empty where there is none.
    pub(crate) segments: Vec<Segment>,
    /// In any order.
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) epochs: Option<Epochs>,
    /// What the user should know: mended headers, annotations that were dropped.
    pub(crate) notes: Vec<String>,
}

/// An opened recording. It has no room for names and dates of people.
pub struct RecordingFile {
    place: Place,
    files: Vec<PathBuf>,
    first_sample: i64,
    header: Header,
    /// The signals that share the rate most have.
    main: Vec<usize>,
    samples: Box<dyn Samples>,
}

impl RecordingFile {
    /// Checks that the parts of a header fit. Where `segments` is empty all samples are one.
    pub(crate) fn new(place: &Place, mut header: Header, samples: Box<dyn Samples>) -> Result<RecordingFile> {
        let refuse = |message: String| Err(Error::format(place, message));
        for signal in &header.signals {
            if !(signal.rate_hz.is_finite() && signal.rate_hz > 0.0) {
                return refuse(format!(
                    "signal `{}` has the impossible rate {} Hz",
                    signal.name, signal.rate_hz
                ));
            }
        }
        let main = main_of(&header.signals);
        let Some(length) = main.first().map(|&i| header.signals[i].samples) else {
            return refuse("has no signal".into());
        };
        if header.segments.is_empty() {
            header.segments = vec![Segment { start_s: 0.0, first: 0, samples: length }];
        }
        let mut next = 0;
        for segment in &header.segments {
            if segment.first != next || segment.samples == 0 && length > 0 {
                return refuse(format!(
                    "a segment of {} samples begins at {}, not at {next}",
                    segment.samples, segment.first
                ));
            }
            next = next.saturating_add(segment.samples);
        }
        if next != length {
            return refuse(format!("segments of {next} samples in all do not make {length}"));
        }
        if let Some(epochs) = &header.epochs
            && epochs.samples.checked_mul(epochs.codes.len()) != Some(length)
        {
            let (n, each) = (epochs.codes.len(), epochs.samples);
            return refuse(format!("{n} trials of {each} samples do not make {length}"));
        }
        let told = header.annotations.len();
        header
            .annotations
            .retain(|annotation| annotation.onset_s.is_finite() && annotation.duration_s.is_finite());
        if header.annotations.len() < told {
            let lost = told - header.annotations.len();
            header.notes.push(format!("{lost} of {told} events are at no time that is a number: left out"));
        }
        header
            .annotations
            .iter_mut()
            .for_each(|annotation| annotation.sample = annotation.sample.filter(|&s| s < length));
        header.annotations.sort_by(|a, b| a.onset_s.total_cmp(&b.onset_s));
        let files = vec![place.path.clone()];
        Ok(RecordingFile { place: place.clone(), files, first_sample: 0, header, main, samples })
    }

    /// The same with the other files that were opened.
    pub(crate) fn with_files(mut self, others: impl IntoIterator<Item = PathBuf>) -> RecordingFile {
        self.files.extend(others);
        self
    }

    /// The same with the number the device gave to the first sample.
    pub(crate) fn with_first_sample(mut self, first_sample: i64) -> RecordingFile {
        self.first_sample = first_sample;
        self
    }

    /// The number the device gave to the first sample, from which lists of events beside FIF files count; 0 in other formats.
    pub fn first_sample(&self) -> i64 {
        self.first_sample
    }

    /// The file.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// All files it is read from: the one that was asked for, then those it names.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The format in a few words: `EDF+C`.
    pub fn format(&self) -> &str {
        &self.header.format
    }

    /// All signals, in the file's order.
    pub fn signals(&self) -> &[SignalHeader] {
        &self.header.signals
    }

    /// The signals that share the rate most electrodes have, by their places in [`RecordingFile::signals`].
    pub fn main(&self) -> &[usize] {
        &self.main
    }

    /// The rate most electrodes have.
    pub fn rate_hz(&self) -> f64 {
        self.header.signals[self.main[0]].rate_hz
    }

    /// Samples at that rate.
    pub fn length(&self) -> usize {
        self.header.signals[self.main[0]].samples
    }

    /// Segments without a gap, at least one.
    pub fn segments(&self) -> &[Segment] {
        &self.header.segments
    }

    /// Everything the file says about moments, in time order.
    pub fn annotations(&self) -> &[Annotation] {
        &self.header.annotations
    }

    /// Where the file holds trials: how they lie in it.
    pub fn epochs(&self) -> Option<&Epochs> {
        self.header.epochs.as_ref()
    }

    /// What the user should know of this file.
    pub fn notes(&self) -> &[String] {
        &self.header.notes
    }

    /// Reads a window of some signals of one rate.
    ///
    /// # Shapes
    /// `to` becomes `[signals, n]`; it must hold that many values.
    pub fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let refuse = |message: String| Err(Error::format(&self.place, message));
        if signals.is_empty() || !to.len().is_multiple_of(signals.len()) {
            return refuse(format!("{} values are no window of {} signals", to.len(), signals.len()));
        }
        let n = to.len() / signals.len();
        for &i in signals {
            let Some(signal) = self.header.signals.get(i) else {
                return refuse(format!("there is no signal {i}; the file has {}", self.header.signals.len()));
            };
            if first.checked_add(n).is_none_or(|end| end > signal.samples) {
                let (name, samples) = (&signal.name, signal.samples);
                return refuse(format!(
                    "samples {first} to {first}+{n} of `{name}` are not inside its {samples}"
                ));
            }
        }
        if n == 0 {
            return Ok(());
        }
        self.samples.read(signals, first, to)
    }

    /// Some signals of one rate, in this order, as a recording in memory: all annotations that have a sample become events. Without a
    /// choice, the electrodes among [`RecordingFile::main`]; a file without any is refused then.
    pub fn recording(&self, signals: Option<&[usize]>) -> Result<Recording> {
        let electrodes: Vec<usize>;
        let signals = match signals {
            Some(signals) => signals,
            None => {
                electrodes = self.electrodes();
                if electrodes.is_empty() {
                    let signals = self.header.signals.iter().map(|s| (&*s.name, s.kind));
                    let message = format!("no channel counts as EEG; it has {}", list_kinds(signals));
                    return Err(
                        Error::format(&self.place, message).with_hint("choose signals by their names")
                    );
                }
                &electrodes
            }
        };
        if let Some(&other) = signals.iter().find(|i| self.main.binary_search(i).is_err()) {
            let name = self.header.signals.get(other).map_or("?", |s| &s.name);
            let message = format!("signal `{name}` has another rate than the {} Hz of most", self.rate_hz());
            return Err(Error::format(&self.place, message).with_hint("leave it out"));
        }
        let length = self.length();
        let mut samples = vec![0.0; length.saturating_mul(signals.len())];
        self.read(signals, 0, &mut samples)?;
        let channels = signals.iter().map(|&i| channel(&self.header.signals[i])).collect();
        let rate_hz = self.rate_hz();
        let events = self.header.annotations.iter().filter_map(|annotation| {
            let samples = (annotation.duration_s * rate_hz).round().max(0.0) as usize;
            Some(Event { sample: annotation.sample?, code: annotation.text.clone(), samples })
        });
        let breaks = self.header.segments[1..].iter().map(|segment| segment.first).collect();
        Recording::new(rate_hz, channels, samples, events.collect())
            .and_then(|recording| recording.with_breaks(breaks))
            .map_err(|error| Error::format(&self.place, error.to_string()))
    }

    /// Electrodes at the main rate. There may be none: signals of another kind are not taken in their place.
    pub fn electrodes(&self) -> Vec<usize> {
        let of = |i: &&usize| self.header.signals[**i].kind == SignalKind::Eeg;
        self.main.iter().filter(of).copied().collect()
    }
}

/// The signals that share rate and length with most electrodes; where there is no electrode, with most signals.
pub(crate) fn main_of(signals: &[SignalHeader]) -> Vec<usize> {
    let key = |signal: &SignalHeader| (signal.rate_hz.to_bits(), signal.samples);
    let mut rates: BTreeMap<(u64, usize), (usize, usize)> = BTreeMap::new();
    for signal in signals {
        let (electrodes, all) = rates.entry(key(signal)).or_default();
        *electrodes += usize::from(signal.kind == SignalKind::Eeg && signal.microvolts);
        *all += 1;
    }
    let most = rates.iter().max_by_key(|((rate, _), counts)| (**counts, *rate)).map(|(key, _)| *key);
    (0..signals.len()).filter(|&i| Some(key(&signals[i])) == most).collect()
}

/// Signals with their kinds for a message: `Cz` (EEG), `TRG` (trigger) and 12 more.
pub fn list_kinds<'a>(signals: impl Iterator<Item = (&'a str, SignalKind)>) -> String {
    const SHOWN: usize = 40;
    let all: Vec<String> = signals.map(|(name, kind)| format!("`{name}` ({kind})")).collect();
    let more = all.len().saturating_sub(SHOWN);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", all[..all.len() - more].join(", "))
}

/// A signal as a channel of a recording.
fn channel(signal: &SignalHeader) -> Channel {
    let named = Channel::named(&signal.name);
    let unit = if signal.microvolts { Unit::Microvolts } else { Unit::Arbitrary };
    // The table's places are of the same sphere for every file; a file's own are for names the table does not know.
    let position = named.position.or(signal.position).filter(|_| signal.kind == SignalKind::Eeg);
    Channel { unit, position, ..named }
}

impl fmt::Debug for RecordingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingFile")
            .field("place", &self.place)
            .field("format", &self.header.format)
            .finish_non_exhaustive()
    }
}
