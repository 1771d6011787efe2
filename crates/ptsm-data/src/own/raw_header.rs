//! A recording about to be read: its header, which tables beside it may correct, and the samples that are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ptsm_io::{Epochs, RecordingFile, Segment, SignalKind, list_kinds, voltage};
use ptsm_signal::{Channel, Event, Pipeline, Position, Recording, Unit, normalise};

use super::common::Common;
use super::matrix::Matrix;
use crate::catalogue::SignalData;
use crate::error::{Error, Result};

/// One signal of a recording.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChannelHeader {
    /// Its name in the file, or the name it was given since.
    pub(super) name: String,
    /// What it is of.
    pub(super) kind: SignalKind,
    /// The unit the file names.
    pub(super) unit: String,
    /// What samples are multiplied by.
    pub(super) factor: f32,
    /// Whether they are microvolts then.
    pub(super) microvolts: bool,
    /// Whether anybody says what they are counted in.
    pub(super) stated: bool,
    /// Where it is.
    pub(super) position: Option<Position>,
    /// Whether it is marked as bad.
    pub(super) bad: bool,
    /// Whether it has the rate most electrodes have; others cannot be read with them.
    pub(super) main: bool,
}

impl ChannelHeader {
    /// A signal nobody says anything of but its name: EEG, unless the name is of something else.
    pub(super) fn new(name: impl Into<String>) -> ChannelHeader {
        let name = name.into();
        ChannelHeader {
            kind: SignalKind::of_name(&name).unwrap_or_default(),
            name,
            unit: String::new(),
            factor: 1.0,
            microvolts: false,
            stated: false,
            position: None,
            bad: false,
            main: true,
        }
    }

    /// Whether it is called so, in any spelling.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name.trim() || normalise(&self.name) == normalise(name)
    }

    /// Gives it another name. A name that tells what a signal is of, as `Cz` and `TRIGGER` do, goes over the file's word.
    pub(super) fn rename(&mut self, name: &str) {
        self.name = name.to_string();
        if let Some(kind) = SignalKind::of_name(name) {
            self.is_of(kind);
        }
    }

    /// Says what it is of, whatever the file says.
    pub(super) fn is_of(&mut self, kind: SignalKind) {
        // Triggers come as the numbers of the file.
        if self.kind == SignalKind::Stimulus && kind != SignalKind::Stimulus {
            self.in_unit(&self.unit.clone());
        }
        self.kind = kind;
    }

    /// Takes the numbers in the file to be of this unit, whatever the file says.
    pub(super) fn in_unit(&mut self, unit: &str) {
        let Some(wanted) = microvolts(unit) else { return };
        let read = if self.microvolts { microvolts(&self.unit).unwrap_or(1.0) } else { 1.0 };
        self.factor = (wanted / read) as f32;
        (self.microvolts, self.stated) = (true, true);
    }

    fn channel(&self) -> Channel {
        let named = Channel::named(&self.name);
        let unit = if self.microvolts { Unit::Microvolts } else { Unit::Arbitrary };
        let position = named.position.or(self.position).filter(|_| self.kind == SignalKind::Eeg);
        Channel { unit, position, ..named }
    }
}

/// How many microvolts one of a unit is; none for what is no voltage.
pub(super) fn microvolts(unit: &str) -> Option<f64> {
    voltage(unit).map(|(_, microvolts)| microvolts)
}

/// What to do where no channel counts as EEG.
pub(super) const ELECTRODES: &str = "if some are electrodes, say which: in a manifest `[rename]` with `\"CH1\" = \"C3\"` gives them names of the \
    10-05 system, or `pick = { names = [\"CH1\", \"CH2\"] }` below `[pipeline]` takes them as they are called; in a BIDS folder `type` is \
    `EEG` in `channels.tsv`";

/// What to do where a channel of triggers is picked.
const TRIGGER: &str = "take it out of `pick`: a decoder would read the classes from it. If it is an electrode, give it the name of one with `[rename]` \
    in a manifest, or `type` `EEG` in `channels.tsv` of a BIDS folder";

/// Where the samples are.
#[derive(Debug)]
enum Samples {
    File(Box<RecordingFile>),
    /// A matrix that is read when samples are asked for.
    Matrix(Matrix),
    /// `[columns, N]`
    Memory(Vec<f32>),
}

/// A recording about to be read.
#[derive(Debug)]
pub(super) struct RawHeader {
    pub(super) rate_hz: f64,
    /// Samples at that rate.
    pub(super) length: usize,
    pub(super) columns: Vec<ChannelHeader>,
    /// In time order.
    pub(super) events: Vec<Event>,
    /// At least one.
    pub(super) segments: Vec<Segment>,
    /// Where the file holds trials.
    pub(super) epochs: Option<Epochs>,
    /// What the user should know of the file.
    pub(super) notes: Vec<String>,
    /// All files it is read from.
    pub(super) files: Vec<PathBuf>,
    /// The number the device gave to the first sample: lists of events beside FIF files count from there.
    pub(super) first_sample: i64,
    samples: Samples,
}

impl RawHeader {
    /// What a file's header says.
    pub(super) fn of(opened: RecordingFile) -> RawHeader {
        let rate_hz = opened.rate_hz();
        let main = opened.main();
        let columns = opened.signals().iter().enumerate().map(|(at, signal)| ChannelHeader {
            name: signal.name.clone(),
            kind: signal.kind,
            unit: signal.unit.clone(),
            factor: 1.0,
            microvolts: signal.microvolts,
            stated: !signal.unit.is_empty(),
            position: signal.position,
            bad: signal.bad,
            main: main.contains(&at),
        });
        let events = opened.annotations().iter().filter_map(|annotation| {
            let sample = annotation.sample?;
            let samples = lasting(sample, annotation.duration_s, rate_hz, opened.length());
            Some(Event { sample, code: annotation.text.clone(), samples })
        });
        RawHeader {
            rate_hz,
            length: opened.length(),
            columns: columns.collect(),
            events: events.collect(),
            segments: opened.segments().to_vec(),
            epochs: opened.epochs().cloned(),
            notes: opened.notes().to_vec(),
            files: opened.files().to_vec(),
            first_sample: opened.first_sample(),
            samples: Samples::File(Box::new(opened)),
        }
    }

    /// Samples that are in memory already.
    ///
    /// # Shapes
    /// `samples` is `[columns, N]`.
    pub(super) fn in_memory(
        rate_hz: f64,
        columns: Vec<ChannelHeader>,
        samples: Vec<f32>,
        events: Vec<Event>,
    ) -> RawHeader {
        let length = samples.len() / columns.len().max(1);
        RawHeader {
            rate_hz,
            length,
            columns,
            events,
            segments: vec![Segment { start_s: 0.0, first: 0, samples: length }],
            epochs: None,
            notes: vec![],
            files: vec![],
            first_sample: 0,
            samples: Samples::Memory(samples),
        }
    }

    /// Samples that are in a MATLAB file, as many of each channel as are said.
    pub(super) fn in_matrix(
        rate_hz: f64,
        columns: Vec<ChannelHeader>,
        length: usize,
        events: Vec<Event>,
        matrix: Matrix,
    ) -> RawHeader {
        let header = RawHeader::in_memory(rate_hz, columns, vec![], events);
        let segments = vec![Segment { start_s: 0.0, first: 0, samples: length }];
        RawHeader { length, segments, samples: Samples::Matrix(matrix), ..header }
    }

    /// Takes samples to come so often, whatever the file says.
    pub(super) fn at_rate(&mut self, rate_hz: f64) {
        let slower = self.rate_hz / rate_hz;
        self.segments.iter_mut().for_each(|segment| segment.start_s *= slower);
        self.rate_hz = rate_hz;
    }

    /// About how many bytes of memory reading its electrodes takes; where none is known, all that may be picked by name.
    pub(super) fn memory(&self) -> u64 {
        let channels = match self.electrodes().len() {
            0 => self.columns.iter().filter(|column| column.main).count(),
            electrodes => electrodes,
        };
        let numbers = (self.length as u64).saturating_mul(channels as u64);
        // A matrix is read as a whole, often in double precision, and turned over.
        numbers.saturating_mul(if matches!(self.samples, Samples::Matrix(_)) { 16 } else { 4 })
    }

    /// The sample at a time, in seconds after the first one; none outside and in gaps.
    pub(super) fn sample(&self, seconds: f64) -> Option<usize> {
        let within = |segment: &&Segment| {
            let at = ((seconds - segment.start_s) * self.rate_hz).round();
            at >= 0.0 && at < segment.samples as f64
        };
        let segment = self.segments.iter().find(within)?;
        Some(segment.first + ((seconds - segment.start_s) * self.rate_hz).round() as usize)
    }

    /// How many samples an event lasts that begins at one.
    pub(super) fn lasting(&self, sample: usize, seconds: f64) -> usize {
        lasting(sample, seconds, self.rate_hz, self.length)
    }

    /// Electrodes that can be read together. There may be none: no other signal is taken in their place.
    pub(super) fn electrodes(&self) -> Vec<usize> {
        let fits = |column: &ChannelHeader| column.main && column.kind == SignalKind::Eeg;
        (0..self.columns.len()).filter(|&at| fits(&self.columns[at])).collect()
    }

    /// All signals with what they are of, for messages.
    pub(super) fn kinds(&self) -> String {
        list_kinds(self.columns.iter().map(|column| (&*column.name, column.kind)))
    }

    /// What the user should know where nobody says what electrodes are counted in.
    pub(super) fn unstated(&self) -> Option<&'static str> {
        let unstated: Vec<usize> =
            self.electrodes().into_iter().filter(|&at| !self.columns[at].stated).collect();
        let assumed = |at: &usize| self.columns[*at].microvolts;
        match &unstated[..] {
            [] => None,
            all if all.iter().all(assumed) => Some(
                "the file does not say what its EEG is counted in: microvolts are taken; `unit` in a manifest says otherwise",
            ),
            _ => Some(
                "the file does not say what its EEG is counted in: numbers are taken as they are; `unit` in a manifest or `units` in \
                 `channels.tsv` says it",
            ),
        }
    }

    /// Their names, normalised.
    pub(super) fn names(&self) -> Vec<String> {
        self.electrodes().into_iter().map(|at| normalise(&self.columns[at].name)).collect()
    }

    /// The signals a pipeline needs. Where it picks all, those that every recording has, in the order of the first. Channels that are
    /// named are taken whatever they are of, but never triggers: they would tell the classes. What does not fit is told with what
    /// to do.
    pub(super) fn chosen(
        &self,
        pipeline: &Pipeline,
        common: &Common,
    ) -> Result<Vec<usize>, (String, String)> {
        let electrodes = self.electrodes();
        let none = || (format!("no channel counts as EEG; it has {}", self.kinds()), ELECTRODES.to_string());
        let all: Vec<usize> = (0..self.columns.len()).filter(|&at| self.columns[at].main).collect();
        let Some(named) = pipeline.named_channels(all.iter().map(|&at| &*self.columns[at].name)) else {
            if electrodes.is_empty() {
                return Err(none());
            }
            let Some(shared) = common.shared() else { return Ok(electrodes) };
            let own = self.places(electrodes);
            return Ok(shared.iter().filter_map(|name| own.get(name).copied()).collect());
        };
        let own = self.places(all.clone());
        let wanted: Vec<Option<usize>> =
            named.into_iter().map(|place| place.map(|place| all[place])).collect();
        let trigger = |at: &&usize| self.columns[**at].kind == SignalKind::Stimulus;
        if let Some(&at) = wanted.iter().flatten().find(trigger) {
            let message =
                format!("channel `{}` is picked and holds triggers, not EEG", self.columns[at].name);
            return Err((message, TRIGGER.to_string()));
        }
        // Where a name is not there, or is there twice, the pipeline says so, beside all that are.
        match wanted.into_iter().collect::<Option<BTreeSet<usize>>>().filter(|_| own.len() == all.len()) {
            Some(wanted) => Ok(wanted.into_iter().collect()),
            None if electrodes.is_empty() => Err(none()),
            None => Ok(all),
        }
    }

    /// Where each name is first among some signals.
    fn places(&self, among: Vec<usize>) -> BTreeMap<String, usize> {
        among.into_iter().rev().map(|at| (normalise(&self.columns[at].name), at)).collect()
    }

    /// Reads some signals.
    pub(super) fn signal(self, chosen: &[usize], place: &str) -> Result<SignalData> {
        let refuse = |error| Error::Signal { place: place.to_string(), error };
        let mut samples = match &self.samples {
            Samples::File(opened) => {
                let mut samples = vec![0.0; self.length.saturating_mul(chosen.len())];
                if !chosen.is_empty() {
                    opened.read(chosen, 0, &mut samples)?;
                }
                samples
            }
            Samples::Matrix(matrix) => {
                part(&matrix.read(self.columns.len(), self.length)?, chosen, self.length)
            }
            Samples::Memory(all) => part(all, chosen, self.length),
        };
        for (&at, samples) in chosen.iter().zip(samples.chunks_exact_mut(self.length.max(1))) {
            let factor = self.columns[at].factor;
            if factor != 1.0 {
                samples.iter_mut().for_each(|x| *x *= factor);
            }
        }
        let channels: Vec<Channel> = chosen.iter().map(|&at| self.columns[at].channel()).collect();
        if let Some(Epochs { samples: each, start_s, codes }) = self.epochs {
            let x = by_trial(&samples, self.length, each);
            return Ok(SignalData::Epochs {
                channels,
                rate_hz: self.rate_hz,
                start_s,
                samples: each,
                x,
                codes,
            });
        }
        let breaks = self.segments.iter().skip(1).map(|segment| segment.first).collect();
        let recording = Recording::new(self.rate_hz, channels, samples, self.events).map_err(refuse)?;
        Ok(SignalData::Recording(recording.with_breaks(breaks).map_err(refuse)?))
    }
}

/// How many samples an event lasts that begins at one: as many as the recording has left, however long it claims to be.
fn lasting(sample: usize, seconds: f64, rate_hz: f64, length: usize) -> usize {
    let samples = (seconds * rate_hz).round().max(0.0) as usize;
    samples.min(length.saturating_sub(sample))
}

/// Some channels of `[C, N]`.
fn part(all: &[f32], chosen: &[usize], length: usize) -> Vec<f32> {
    chosen.iter().flat_map(|&at| &all[at * length..][..length]).copied().collect()
}

/// `[C, n * each]` to `[n, C, each]`.
fn by_trial(samples: &[f32], length: usize, each: usize) -> Vec<f32> {
    let trials = length.checked_div(each).unwrap_or(0);
    let channels = || samples.chunks_exact(length.max(1));
    (0..trials).flat_map(|trial| channels().flat_map(move |c| &c[trial * each..][..each])).copied().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::{Pick, Reference};

    use super::*;

    fn header(names: &[&str], length: usize) -> RawHeader {
        let samples = (0..names.len() * length).map(|x| x as f32).collect();
        RawHeader::in_memory(
            10.0,
            names.iter().map(|name| ChannelHeader::new(*name)).collect(),
            samples,
            vec![],
        )
    }

    #[test]
    fn only_what_is_needed_is_chosen() {
        let mut header = header(&["C3..", "EOG", "Cz", "M1"], 4);
        header.columns[1].kind = SignalKind::Eog;
        let choose = |pick, reference| {
            let pipeline = Pipeline { pick, reference, ..Pipeline::default() };
            header.chosen(&pipeline, &Common::default()).unwrap()
        };
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(choose(Pick::All, Reference::AsRecorded), [0, 2, 3]);
        assert_eq!(choose(Pick::Names(names(&["c3"])), Reference::Channels(names(&["M1"]))), [0, 3]);
        assert_eq!(choose(Pick::Names(names(&["EOG"])), Reference::Average), [1]);
        assert_eq!(choose(Pick::Names(names(&["Oz"])), Reference::AsRecorded), [0, 1, 2, 3]);
    }

    #[test]
    fn nothing_is_taken_in_the_place_of_electrodes() {
        let mut header = header(&["MISC 001", "TRG", "x"], 4);
        header.columns[2].kind = SignalKind::Other;
        let choose = |header: &RawHeader, pick: &[&str]| {
            let names = pick.iter().map(|name| name.to_string()).collect();
            let pick = if pick.is_empty() { Pick::All } else { Pick::Names(names) };
            header.chosen(&Pipeline { pick, ..Pipeline::default() }, &Common::default())
        };
        assert!(header.electrodes().is_empty() && header.names().is_empty());
        for pick in [&[][..], &["Cz"]] {
            let (error, hint) = choose(&header, pick).unwrap_err();
            assert!(error.contains("`MISC 001` (other), `TRG` (trigger), `x` (other)"), "{error}");
            assert!(hint.contains("[rename]") && hint.contains("channels.tsv"), "{hint}");
        }
        // Those that are named are taken; triggers are not.
        assert_eq!(choose(&header, &["x", "MISC 001"]).unwrap(), [0, 2]);
        let (error, hint) = choose(&header, &["x", "TRG"]).unwrap_err();
        assert!(error.contains("`TRG` is picked and holds triggers") && hint.contains("pick"), "{error}");
        let reference = Reference::Channels(vec!["TRG".into()]);
        let pipeline = Pipeline { pick: Pick::Names(vec!["x".into()]), reference, ..Pipeline::default() };
        assert!(header.chosen(&pipeline, &Common::default()).is_err());
    }

    #[test]
    fn names_that_are_given_tell_what_a_signal_is_of() {
        let mut column = ChannelHeader { unit: "mV".into(), ..ChannelHeader::new("Label 1") };
        assert_eq!(column.kind, SignalKind::Stimulus);
        column.rename("E7");
        assert_eq!((column.kind, column.factor), (SignalKind::Stimulus, 1.0));
        column.rename("C3");
        assert_eq!((column.kind, column.factor, column.microvolts), (SignalKind::Eeg, 1e3, true));
        column.rename("TRIGGER");
        assert_eq!(column.kind, SignalKind::Stimulus);
        let mut column = ChannelHeader { kind: SignalKind::Other, ..ChannelHeader::new("ch1") };
        column.rename("EEG 1");
        assert_eq!(column.kind, SignalKind::Eeg);
    }

    #[test]
    fn units_that_lie_are_corrected() {
        let mut column = ChannelHeader::new("C3");
        column.in_unit("mV");
        assert_eq!((column.factor, column.microvolts), (1e3, true));
        // The file says millivolts, so samples came as microvolts, but the numbers were volts.
        let mut column = ChannelHeader { unit: "mV".into(), microvolts: true, ..ChannelHeader::new("C3") };
        column.in_unit("V");
        assert_eq!(column.factor, 1e3);
        assert_eq!((microvolts("µV"), microvolts("Ohm")), (Some(1.0), None));
    }

    #[test]
    fn times_in_gaps_have_no_sample() {
        let mut header = header(&["C3"], 20);
        header.segments = vec![
            Segment { start_s: 0.0, first: 0, samples: 10 },
            Segment { start_s: 5.0, first: 10, samples: 10 },
        ];
        for (seconds, sample) in
            [(0.0, Some(0)), (0.93, Some(9)), (1.2, None), (5.1, Some(11)), (6.0, None), (-1.0, None)]
        {
            assert_eq!(header.sample(seconds), sample, "{seconds}");
        }
        assert_eq!(header.sample(f64::NAN), None);
    }

    #[test]
    fn trials_of_a_file_are_taken_as_they_are() {
        let mut header = header(&["C3", "C4"], 4);
        header.epochs = Some(Epochs { samples: 2, start_s: -0.1, codes: vec!["a".into(), "b".into()] });
        header.columns[1].factor = 10.0;
        let SignalData::Epochs { x, start_s, samples, codes, .. } = header.signal(&[0, 1], "a").unwrap()
        else {
            panic!("not epochs");
        };
        assert_eq!(x, [0.0, 1.0, 40.0, 50.0, 2.0, 3.0, 60.0, 70.0]);
        assert_eq!((start_s, samples, codes.len()), (-0.1, 2, 2));
    }
}
