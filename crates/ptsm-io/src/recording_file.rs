//! A recording on disk that was opened: what its header says, which tables beside it may correct, and samples when asked for.
//!
//! Every reader fills one [`RawHeader`], also those of other crates; [`RecordingFile`] checks it, and is the one place that turns it into a
//! [`Recording`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ptsm_signal::{Event, Recording};

use crate::error::{Error, Place, Result};
pub use crate::kind::SignalKind;
pub use crate::signal_header::SignalHeader;

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
pub trait Samples: Send + Sync {
    /// Samples of some signals, in microvolts where the signal says so.
    ///
    /// # Shapes
    /// `to` is `[signals, n]`, with n samples from `first` on.
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()>;

    /// About how many bytes of memory reading takes for each number that is asked for.
    fn bytes_per_number(&self) -> u64 {
        4
    }
}

/// What a recording's header says, as a reader fills it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawHeader {
    /// The format in a few words: `EDF+C`.
    pub format: String,
    /// All signals, in the file's order.
    pub signals: Vec<SignalHeader>,
    /// What lies between gaps; empty where there is none.
    pub segments: Vec<Segment>,
    /// What the file says about moments, in any order.
    pub annotations: Vec<Annotation>,
    /// Where the file holds trials: how they lie in it.
    pub epochs: Option<Epochs>,
    /// What the user should know: mended headers, annotations that were dropped.
    pub notes: Vec<String>,
}

/// An opened recording. It has no room for names and dates of people.
///
/// What its header says can be corrected before it is read, by whoever knows better: tables beside it, a manifest.
pub struct RecordingFile {
    place: Place,
    files: Vec<PathBuf>,
    first_sample: i64,
    header: RawHeader,
    /// How many samples each signal has.
    counts: Vec<usize>,
    /// The signals that share the rate most have.
    main: Vec<usize>,
    /// Annotations that have a sample, or what took their place.
    events: Vec<Event>,
    samples: Box<dyn Samples>,
}

impl RecordingFile {
    /// Checks that the parts of a header fit. Where `segments` is empty all samples are one.
    pub fn new(place: &Place, mut header: RawHeader, samples: Box<dyn Samples>) -> Result<RecordingFile> {
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
        let Some((rate_hz, length)) =
            main.first().map(|&i| &header.signals[i]).map(|s| (s.rate_hz, s.samples))
        else {
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
        let read = header.annotations.len();
        header
            .annotations
            .retain(|annotation| annotation.onset_s.is_finite() && annotation.duration_s.is_finite());
        if header.annotations.len() < read {
            let lost = read - header.annotations.len();
            header.notes.push(format!("{lost} of {read} events are at no time that is a number: left out"));
        }
        header
            .annotations
            .iter_mut()
            .for_each(|annotation| annotation.sample = annotation.sample.filter(|&s| s < length));
        header.annotations.sort_by(|a, b| a.onset_s.total_cmp(&b.onset_s));
        let events = header.annotations.iter().filter_map(|annotation| {
            let samples = (annotation.duration_s * rate_hz).round().max(0.0) as usize;
            Some(Event { sample: annotation.sample?, code: annotation.text.clone(), samples })
        });
        Ok(RecordingFile {
            place: place.clone(),
            files: vec![place.path.clone()],
            first_sample: 0,
            counts: header.signals.iter().map(|signal| signal.samples).collect(),
            main,
            events: events.collect(),
            header,
            samples,
        })
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

    /// What trials may begin at, in time order: annotations that have a sample, until others are put in their place. They may
    /// claim to last longer than the recording.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// All signals, to correct what the file says of them. How many samples they have stays.
    pub fn signals_mut(&mut self) -> &mut [SignalHeader] {
        &mut self.header.signals
    }

    /// Events, to put others in their place.
    pub fn events_mut(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }

    /// What the file's trials are of, to call them otherwise; none where it holds no trials.
    pub fn codes_mut(&mut self) -> &mut [String] {
        self.header.epochs.as_mut().map_or(&mut [], |epochs| &mut epochs.codes)
    }

    /// Adds something the user should know.
    pub fn add_note(&mut self, note: impl Into<String>) {
        self.header.notes.push(note.into());
    }

    /// Adds a file that was read with it.
    pub fn add_file(&mut self, path: PathBuf) {
        self.files.push(path);
    }

    /// Takes samples to come so often, whatever the file says.
    pub fn set_rate(&mut self, rate_hz: f64) {
        let slower = self.rate_hz() / rate_hz;
        self.header.segments.iter_mut().for_each(|segment| segment.start_s *= slower);
        self.main.iter().for_each(|&i| self.header.signals[i].rate_hz = rate_hz);
    }

    /// Takes a recording to have gaps in front of some samples, in any order, in which no time passes.
    pub fn set_breaks(&mut self, breaks: Vec<usize>) {
        self.header.segments = Segment::between(breaks, self.rate_hz(), self.length());
    }

    /// The sample at a time, in seconds after the first one; none outside and in gaps.
    pub fn sample_at(&self, seconds: f64) -> Option<usize> {
        let within = |segment: &&Segment| {
            let at = ((seconds - segment.start_s) * self.rate_hz()).round();
            at >= 0.0 && at < segment.samples as f64
        };
        let segment = self.header.segments.iter().find(within)?;
        Some(segment.first + ((seconds - segment.start_s) * self.rate_hz()).round() as usize)
    }

    /// How many samples an event lasts that begins at one: as many as the recording has left, however long it claims to be.
    pub fn samples_of(&self, sample: usize, seconds: f64) -> usize {
        let samples = (seconds * self.rate_hz()).round().max(0.0) as usize;
        samples.min(self.length().saturating_sub(sample))
    }

    /// About how many bytes of memory reading some signals takes.
    pub fn memory(&self, signals: usize) -> u64 {
        let numbers = (self.length() as u64).saturating_mul(signals as u64);
        numbers.saturating_mul(self.samples.bytes_per_number())
    }

    /// All signals with what they are of, for messages.
    pub fn kinds(&self) -> String {
        /// More than these nobody reads.
        const SHOWN: usize = 40;
        let signals = self.header.signals.iter();
        let all: Vec<String> = signals.map(|signal| format!("`{}` ({})", signal.name, signal.kind)).collect();
        let more = all.len().saturating_sub(SHOWN);
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{tail}", all[..all.len() - more].join(", "))
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
            let Some(&samples) = self.counts.get(i) else {
                return refuse(format!("there is no signal {i}; the file has {}", self.counts.len()));
            };
            if first.checked_add(n).is_none_or(|end| end > samples) {
                let name = &self.header.signals[i].name;
                return refuse(format!(
                    "samples {first} to {first}+{n} of `{name}` are not inside its {samples}"
                ));
            }
        }
        if n == 0 {
            return Ok(());
        }
        self.samples.read(signals, first, to)?;
        for (&i, samples) in signals.iter().zip(to.chunks_exact_mut(n)) {
            let factor = self.header.signals[i].factor;
            if factor != 1.0 {
                samples.iter_mut().for_each(|x| *x *= factor);
            }
        }
        Ok(())
    }

    /// Some signals of one rate, in this order, as a recording in memory with its [`events`](RecordingFile::events). Without a choice, the
    /// electrodes among [`RecordingFile::main`]; a file without any is refused then.
    pub fn recording(&self, signals: Option<&[usize]>) -> Result<Recording> {
        let electrodes: Vec<usize>;
        let signals = match signals {
            Some(signals) => signals,
            None => {
                electrodes = self.electrodes();
                if electrodes.is_empty() {
                    let message = format!("no channel counts as EEG; it has {}", self.kinds());
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
        let mut samples = vec![0.0; self.length().saturating_mul(signals.len())];
        self.read(signals, 0, &mut samples)?;
        let channels = signals.iter().map(|&i| self.header.signals[i].channel()).collect();
        let breaks = self.header.segments[1..].iter().map(|segment| segment.first).collect();
        Recording::new(self.rate_hz(), channels, samples, self.events.clone())
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

impl fmt::Debug for RecordingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingFile")
            .field("place", &self.place)
            .field("format", &self.header.format)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    struct Nothing;

    impl Samples for Nothing {
        fn read(&self, _: &[usize], _: usize, to: &mut [f32]) -> Result<()> {
            to.fill(2.0);
            Ok(())
        }
    }

    fn opened() -> RecordingFile {
        let segments = vec![
            Segment { start_s: 0.0, first: 0, samples: 10 },
            Segment { start_s: 5.0, first: 10, samples: 10 },
        ];
        let signals = vec![SignalHeader::new("C3", 10.0, 20)];
        let header = RawHeader { signals, segments, ..RawHeader::default() };
        RecordingFile::new(&Path::new("a").into(), header, Box::new(Nothing)).unwrap()
    }

    #[test]
    fn times_in_gaps_have_no_sample() {
        let file = opened();
        for (seconds, sample) in
            [(0.0, Some(0)), (0.93, Some(9)), (1.2, None), (5.1, Some(11)), (6.0, None), (-1.0, None)]
        {
            assert_eq!(file.sample_at(seconds), sample, "{seconds}");
        }
        assert_eq!(file.sample_at(f64::NAN), None);
        assert_eq!(
            (file.samples_of(15, 0.3), file.samples_of(15, 1e300), file.samples_of(15, -1.0)),
            (3, 5, 0)
        );
    }

    #[test]
    fn what_is_corrected_is_what_is_read() {
        let mut file = opened();
        file.set_rate(20.0);
        assert_eq!((file.rate_hz(), file.sample_at(2.55)), (20.0, Some(11)));
        file.set_breaks(vec![5]);
        file.signals_mut()[0].set_unit("mV");
        // How many samples there are is not a matter of opinion.
        file.signals_mut()[0].samples = 1000;
        file.events_mut().push(Event { sample: 19, code: "a".into(), samples: 0 });
        assert!(file.read(&[0], 0, &mut [0.0; 21]).is_err());
        file.signals_mut()[0].samples = 20;
        let recording = file.recording(None).unwrap();
        assert_eq!((recording.samples, recording.breaks), (vec![2000.0; 20], vec![5]));
        assert_eq!(recording.events[0].code, "a");
    }
}
