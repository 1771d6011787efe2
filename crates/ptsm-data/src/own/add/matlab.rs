//! What in a MATLAB file is the signal, and what belongs to it: epochs with labels, or a matrix with triggers, onsets or a row of labels.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_io::mat::{MatFile, Value};
use ptsm_io::{RecordingFile, voltage};

use super::super::files::events::{self, Columns};
use super::super::matrix::{
    MatrixAxis, Rows, ValuePlace, Variables, label_list, likely, listed, rivals, sizes, texts, triggers,
    written,
};
use super::super::signals;
use super::super::words::Words;
use super::look::{AmbiguousKey, InspectedRecording};
use super::write::quoted;
use crate::catalogue::SignalData;
use crate::error::{Error, Result};
use crate::findings::scale::{AmplitudeScale, scale, spread};

/// Names of variables that hold a rate, in lower case.
const RATES: [&str; 16] = [
    "fs",
    "srate",
    "sfreq",
    "sf",
    "sr",
    "rate",
    "rate_hz",
    "fsample",
    "samplerate",
    "sample_rate",
    "samplefreq",
    "samplingrate",
    "sampling_rate",
    "sampling_frequency",
    "freq",
    "hz",
];
/// Parts of names of variables that hold triggers, in lower case.
const TRIGGERS: [&str; 7] = ["trig", "stim", "mark", "event", "label", "code", "cue"];
/// Beginnings of names of variables that hold labels, in lower case.
const LABELS: [&str; 10] =
    ["y", "label", "class", "target", "answer", "truth", "cond", "code", "marker", "trialinfo"];
/// Beginnings of names of variables that tell epochs apart by anything but their class, in lower case.
const NO_LABELS: [&str; 9] = ["block", "run", "sess", "trial", "subj", "fold", "part", "day", "index"];
/// Beginnings of names of variables that hold onsets, in lower case.
const ONSETS: [&str; 7] = ["trial", "onset", "pos", "start", "cue", "latency", "event"];
/// Onsets are typically further apart than so many seconds.
const ONSETS_APART_S: f64 = 0.1;
/// The same in samples, where nobody says how many a second has.
const ONSETS_APART: f64 = 10.0;
/// A recording has at least so many samples for each of its onsets.
const SAMPLES_PER_ONSET: usize = 10;
/// A matrix with fewer samples is no recording.
const FEWEST_SAMPLES: usize = 100;
/// More numbers than these are no triggers.
const MOST_TRIGGERS: usize = 256;
/// More labels than these are no classes.
const MOST_CLASSES: usize = 64;
/// Structs and cells of which each may be a recording, at most.
const MOST_ELEMENTS: usize = 256;

/// How trials of other forms are made in Python.
const PYTHON: &str = "say which variable is what in `[mat]` of a manifest (`samples`, `axes = [\"trials\", \"channels\", \"time\"]`, `labels`), or make \
    trials of it in Python: import numpy, scipy.io; m = scipy.io.loadmat(\"FILE.mat\", squeeze_me=True); numpy.savez(\"trials.npz\", \
    X=m[\"X\"].transpose(2, 0, 1), y=m[\"y\"], subject=numpy.full(len(m[\"y\"]), 1), rate_hz=250), with X as [epochs, channels, samples]";

/// Numbers or texts somewhere in a file.
struct Leaf {
    /// The struct it is in; empty for variables.
    inside: String,
    name: String,
    dims: Vec<usize>,
    /// Where it is a list of texts.
    texts: Option<Vec<String>>,
}

impl Leaf {
    fn place(&self) -> String {
        if self.inside.is_empty() { self.name.clone() } else { format!("{}.{}", self.inside, self.name) }
    }

    /// How many there are in a row or column of numbers or texts.
    fn count(&self) -> Option<usize> {
        match &self.texts {
            Some(texts) => Some(texts.len()),
            None if self.dims.len() == 2 && self.dims.contains(&1) => self.dims.iter().max().copied(),
            None => None,
        }
    }

    fn size(&self) -> usize {
        self.dims.iter().fold(1, |n, &d| n.saturating_mul(d))
    }

    /// Whether it can be a recording, or epochs.
    fn is_signal(&self) -> bool {
        let two = |height: usize, width: usize| height.max(width) >= FEWEST_SAMPLES && height != width;
        self.texts.is_none()
            && match self.dims[..] {
                [height, width] => two(height, width),
                [a, b, c] => a.min(b).min(c) > 1 && self.size() >= FEWEST_SAMPLES,
                _ => false,
            }
    }

    /// Whether it has more dimensions than can be told apart by their sizes.
    fn has_many_dimensions(&self) -> bool {
        self.texts.is_none() && self.dims.len() > 3 && self.size() >= FEWEST_SAMPLES
    }

    /// How little its name is one of labels.
    fn unlike_labels(&self) -> usize {
        match () {
            () if self.begins_like(&LABELS) => 0,
            () if self.begins_like(&NO_LABELS) => 2,
            () => 1,
        }
    }

    fn begins_like(&self, words: &[&str]) -> bool {
        let name = self.name.to_lowercase();
        // A single letter is a name, not the beginning of one.
        words.iter().any(|word| if word.len() == 1 { name == *word } else { name.starts_with(word) })
    }
}

/// What a file holds, in the order of its variables.
fn leaves(file: &MatFile) -> Result<Vec<Leaf>> {
    let mut all = vec![];
    for name in file.names() {
        collect(&file.read_sizes(&name)?, "", &name, &mut all);
    }
    Ok(all)
}

fn collect(value: &Value, inside: &str, name: &str, all: &mut Vec<Leaf>) {
    let place = if inside.is_empty() { name.to_string() } else { format!("{inside}.{name}") };
    match value {
        Value::Struct { fields, .. } => {
            for at in 0..value.count().min(MOST_ELEMENTS) {
                let place = if value.count() == 1 { place.clone() } else { format!("{place}({})", at + 1) };
                for field in fields {
                    value.element(at, field).iter().for_each(|inner| collect(inner, &place, field, all));
                }
            }
        }
        Value::Cell { values, .. } if texts(value).is_none_or(|texts| texts.is_empty()) => {
            for (at, inner) in values.iter().enumerate().take(MOST_ELEMENTS) {
                if let Value::Struct { fields, .. } = inner
                    && inner.count() == 1
                {
                    let place = format!("{place}{{{}}}", at + 1);
                    fields.iter().for_each(|field| {
                        inner.field(field).iter().for_each(|value| collect(value, &place, field, all));
                    });
                }
            }
        }
        other => {
            let leaf =
                Leaf { inside: inside.into(), name: name.into(), dims: other.dims(), texts: texts(other) };
            if leaf.texts.is_some() || matches!(other, Value::Sizes(_)) {
                all.push(leaf);
            }
        }
    }
}

/// A place without the numbers of its elements: those of one kind have the same.
fn kind_of(inside: &str) -> String {
    inside.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// A file with what is in it.
struct Search<'a> {
    path: &'a Path,
    file: MatFile,
    leaves: Vec<Leaf>,
}

/// The recordings of a file: mostly one, or one for each of several structs.
pub(super) fn look(path: &Path, table: Option<&Path>) -> Result<Vec<InspectedRecording>> {
    let file = MatFile::open(path)?;
    let leaves = leaves(&file)?;
    let search = Search { path, file, leaves };
    let signals = || search.leaves.iter().filter(|leaf| leaf.is_signal());
    // Of arrays as large as another those of three dimensions are taken.
    let largest = signals().max_by_key(|leaf| (leaf.size(), leaf.dims.len()));
    let unclear =
        search.leaves.iter().filter(|leaf| leaf.has_many_dimensions()).max_by_key(|leaf| leaf.size());
    let Some(largest) = largest else {
        return Err(
            unclear.map_or_else(|| search.refuse("holds no array of samples"), |leaf| search.unclear(leaf))
        );
    };
    let like = |leaf: &&Leaf| leaf.name == largest.name && kind_of(&leaf.inside) == kind_of(&largest.inside);
    let mut found: Vec<(Variables, Vec<AmbiguousKey>)> =
        signals().filter(like).map(|leaf| search.describe(leaf)).collect::<Result<_>>()?;
    // Of several structs those without events are rest, as between the runs of the BCI competitions.
    let eventful = |(said, _): &(Variables, Vec<AmbiguousKey>)| {
        said.triggers.is_some() || said.onsets.is_some() || said.labels.is_some()
    };
    if found.iter().any(eventful) {
        found.retain(eventful);
    } else if let Some(leaf) = unclear.filter(|leaf| leaf.size() > largest.size()) {
        // A vector of times or frequencies beside the samples is no recording.
        return Err(search.unclear(leaf));
    }
    found
        .into_iter()
        .map(|(said, doubts)| Ok(InspectedRecording { doubts, ..search.look(said, table)? }))
        .collect()
}

impl Search<'_> {
    /// What is wrong, with all that was seen.
    fn refuse(&self, message: &str) -> Error {
        Error::Content {
            path: self.path.to_path_buf(),
            message: format!("{message}; it has {}", listed(&self.file)),
            hint: Some(PYTHON.into()),
        }
    }

    /// An array whose dimensions somebody has to name.
    fn unclear(&self, leaf: &Leaf) -> Error {
        Error::Content {
            path: self.path.to_path_buf(),
            message: format!(
                "`{}` is {}, and it is not said what its dimensions are: `[mat]` of a manifest does, such as \
                 `axes = [\"channels\", \"time\", \"classes\", \"trials\"]`",
                leaf.place(),
                sizes(&leaf.dims)
            ),
            hint: Some(format!(
                "write a manifest: `[mat]` with `samples = {}`, `axes` in the order of its dimensions (\"classes\" are called 1, 2, ..) and `rate`, \
                 `[events]` with the classes, `[[recording]]` with `file` and `subject`",
                quoted(&leaf.place())
            )),
        }
    }

    fn value(&self, leaf: &Leaf) -> Option<Value> {
        ValuePlace::parse(&leaf.place())?.read(&self.file, self.path).ok()
    }

    fn numbers(&self, leaf: &Leaf) -> Option<Vec<f64>> {
        self.value(leaf)?.vector()
    }

    /// What may belong to a signal: what lies beside it first, and nothing that belongs to another one.
    fn beside<'a>(&'a self, signal: &Leaf) -> Vec<&'a Leaf> {
        let others =
            |leaf: &&Leaf| leaf.inside == signal.inside || kind_of(&leaf.inside) != kind_of(&signal.inside);
        let mut all: Vec<&Leaf> = self.leaves.iter().filter(others).collect();
        all.retain(|leaf| leaf.place() != signal.place());
        all.sort_by_key(|leaf| leaf.inside != signal.inside);
        all
    }

    /// Which variable is what, and what could have been another.
    fn describe(&self, signal: &Leaf) -> Result<(Variables, Vec<AmbiguousKey>)> {
        let beside = self.beside(signal);
        let scalar = |leaf: &&&Leaf| leaf.texts.is_none() && leaf.size() == 1;
        let rate = beside.iter().filter(scalar).find(|leaf| RATES.contains(&&*leaf.name.to_lowercase()));
        let rate = rate.filter(|leaf| self.numbers(leaf).is_some_and(|n| n[0].is_finite() && n[0] > 0.0));
        let from = |leaf: &Leaf| {
            // Places inside of the same struct begin there.
            if leaf.inside == signal.inside { leaf.name.clone() } else { leaf.place() }
        };
        let rate_hz = rate.and_then(|leaf| self.numbers(leaf)).map(|numbers| numbers[0]);
        let doubt = |key: &'static str, fitting: &[&Leaf]| -> Option<AmbiguousKey> {
            let [taken, others @ ..] = fitting else { return None };
            let place = |leaf: &&Leaf| quoted(&from(leaf));
            AmbiguousKey::new(key, place(taken), others.iter().map(place).collect())
        };
        let said = Variables {
            inside: Some(signal.inside.clone()).filter(|inside| !inside.is_empty()),
            samples: Some(signal.name.clone()),
            rate: rate.map(|leaf| Words::One(from(leaf))),
            ..Variables::default()
        };
        let named = |count: usize| {
            let fits =
                |leaf: &&&Leaf| count > 1 && leaf.texts.as_ref().is_some_and(|texts| texts.len() == count);
            beside.iter().find(fits).map(|leaf| Words::One(from(leaf)))
        };
        let numbered = |count: usize| Words::Many((1..=count).map(|at| format!("ch{at}")).collect());
        let &[height, width] = &signal.dims[..] else {
            let fitting = self.labels(&beside, &signal.dims);
            let Some(&(labels, n)) = fitting.first() else {
                let message = format!(
                    "`{}` has three dimensions and no labels of as many as one of them",
                    signal.place()
                );
                return Err(self.refuse(&message));
            };
            let others = signal.dims.iter().filter(|&&count| count != n);
            let names = others.map(|&count| (count, named(count))).find(|(_, names)| names.is_some());
            let named = names.as_ref().map(|(count, _)| *count);
            let order = likely(&signal.dims, Some(n), named)
                .ok_or_else(|| self.refuse("its dimensions are not clear"))?;
            let others = rivals(&signal.dims, Some(n), named, &order);
            let axes = AmbiguousKey::new(
                "axes",
                written(&order),
                others.iter().map(|order| written(order)).collect(),
            );
            let variables: Vec<&Leaf> = fitting.iter().map(|(leaf, _)| *leaf).collect();
            let doubts = axes.into_iter().chain(doubt("labels", &variables)).collect();
            let channels = order.iter().zip(&signal.dims).find(|(axis, _)| **axis == MatrixAxis::Channels);
            let count = channels.map_or(1, |(_, &count)| count);
            let said = Variables {
                axes: Some(order.to_vec()),
                labels: Some(Words::One(from(labels))),
                channels: Some(names.and_then(|(_, names)| names).unwrap_or_else(|| numbered(count))),
                ..said
            };
            return Ok((said, doubts));
        };
        let rows = if height >= width { Rows::Samples } else { Rows::Channels };
        let (length, count) = (height.max(width), height.min(width));
        let said = Variables {
            rows: Some(rows),
            channels: Some(named(count).unwrap_or_else(|| numbered(count))),
            ..said
        };
        let marks = self.triggers(&beside, length);
        if let Some(first) = marks.first() {
            let doubts = doubt("triggers", &marks).into_iter().collect();
            return Ok((Variables { triggers: Some(from(first)), ..said }, doubts));
        }
        let onsets = self.onsets(&beside, length, rate_hz);
        if let Some(first) = onsets.first() {
            let others: Vec<&Leaf> =
                beside.iter().filter(|leaf| leaf.place() != first.place()).copied().collect();
            let labels = self.labels(&others, &[first.count().unwrap_or_default()]);
            let labels: Vec<&Leaf> = labels.into_iter().map(|(leaf, _)| leaf).collect();
            let doubts = doubt("onsets", &onsets).into_iter().chain(doubt("labels", &labels)).collect();
            let said = Variables {
                onsets: Some(from(first)),
                labels: labels.first().map(|leaf| Words::One(from(leaf))),
                ..said
            };
            return Ok((said, doubts));
        }
        match self.label_row(signal, rows).filter(|_| count > 1) {
            None => Ok((said, vec![])),
            Some(at) => {
                let part = if rows == Rows::Channels { format!("{at},:") } else { format!(":,{at}") };
                let channels =
                    named(count).or_else(|| named(count - 1)).unwrap_or_else(|| numbered(count - 1));
                let said = Variables {
                    triggers: Some(format!("{}({part})", signal.name)),
                    channels: Some(channels),
                    ..said
                };
                Ok((said, vec![]))
            }
        }
    }

    /// Variables with one label for each of as many epochs as a dimension has, the likeliest first.
    fn labels<'a>(&self, beside: &[&'a Leaf], dims: &[usize]) -> Vec<(&'a Leaf, usize)> {
        let fits = |leaf: &&'a Leaf| {
            let labels = label_list(&self.value(leaf).filter(|_| leaf.size() <= 1 << 20)?)?;
            let classes = labels.iter().collect::<BTreeSet<_>>().len();
            let few = (2..=MOST_CLASSES).contains(&classes) && 2 * classes <= labels.len();
            (dims.contains(&labels.len()) && few).then_some((*leaf, labels.len()))
        };
        let mut found: Vec<(&Leaf, usize)> = beside.iter().filter_map(fits).collect();
        found.sort_by_key(|(leaf, _)| leaf.unlike_labels());
        found
    }

    /// Variables with one number per sample, the likeliest first: those that are called so, or all where none is.
    fn triggers<'a>(&self, beside: &[&'a Leaf], length: usize) -> Vec<&'a Leaf> {
        let fits = |leaf: &&&Leaf| {
            leaf.texts.is_none()
                && leaf.count() == Some(length)
                && self.numbers(leaf).is_some_and(|numbers| whole(&numbers) && few(&numbers))
        };
        let is_called = |leaf: &&Leaf| TRIGGERS.iter().any(|part| leaf.name.to_lowercase().contains(part));
        let found: Vec<&Leaf> = beside.iter().filter(fits).copied().collect();
        match found.iter().any(is_called) {
            true => found.into_iter().filter(is_called).collect(),
            // Triggers are mostly saved last.
            false => found.into_iter().rev().collect(),
        }
    }

    /// Variables with the sample each event begins at. A counter of samples or of trials is none: events are further apart.
    fn onsets<'a>(&self, beside: &[&'a Leaf], length: usize, rate_hz: Option<f64>) -> Vec<&'a Leaf> {
        let least = rate_hz.map_or(ONSETS_APART, |rate_hz| ONSETS_APART_S * rate_hz);
        let is_onsets = |leaf: &&&Leaf| {
            let few = |&count: &usize| count > 1 && count.saturating_mul(SAMPLES_PER_ONSET) <= length;
            leaf.texts.is_none()
                && leaf.count().filter(few).is_some()
                && leaf.begins_like(&ONSETS)
                && self.numbers(leaf).is_some_and(|numbers| {
                    whole(&numbers)
                        && numbers.windows(2).all(|pair| pair[0] < pair[1])
                        && numbers.iter().all(|&x| x >= 1.0 && x <= length as f64)
                        && apart(&numbers) > least
                })
        };
        beside.iter().filter(is_onsets).copied().collect()
    }

    /// The row or column of a matrix that holds labels, counted from 1: whole numbers that stay for long.
    fn label_row(&self, signal: &Leaf, rows: Rows) -> Option<usize> {
        let numbers = self.numbers(signal)?;
        let &[height, width] = &signal.dims[..] else { return None };
        let (length, count) = (height.max(width), height.min(width));
        let channel = |c: usize| -> Vec<f64> {
            match rows {
                Rows::Samples => numbers[c * length..][..length].to_vec(),
                Rows::Channels => numbers.iter().skip(c).step_by(count).copied().collect(),
            }
        };
        let is_labels = |c: &usize| {
            let own = channel(*c);
            let events = triggers(&own);
            let codes: BTreeSet<&str> = events.iter().map(|event| &*event.code).collect();
            whole(&own) && events.len() > 1 && events.len() <= length / 20 && codes.len() <= MOST_CLASSES
        };
        let mut found = (0..count).rev().filter(is_labels);
        match (found.next(), found.next()) {
            (Some(c), None) => Some(c + 1),
            _ => None,
        }
    }

    /// What a manifest reads of it then, with the unit its numbers look like.
    fn look(&self, mut said: Variables, table: Option<&Path>) -> Result<InspectedRecording> {
        let rate_hz = match &said.rate {
            None => None,
            // As a manifest does.
            Some(_) => Some(said.open(self.path, None)?.rate_hz()),
        };
        let mut file = said.open(self.path, Some(rate_hz.unwrap_or(1.0)))?;
        if let Some(table) = table.filter(|_| file.epochs().is_none() && rate_hz.is_some()) {
            events::replace(&mut file, table, &Columns::default())?;
        }
        let look = InspectedRecording { rate_hz, ..InspectedRecording::of(&file) };
        said.unit = unit(&file, rate_hz)?;
        let window_s = file.epochs().zip(rate_hz).map(|(epochs, rate)| [0.0, epochs.samples as f64 / rate]);
        Ok(InspectedRecording { mat: Some(said), window_s, ..look })
    }
}

/// How far a number is from the one before, typically.
fn apart(numbers: &[f64]) -> f64 {
    let mut steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(0.0)
}

fn whole(numbers: &[f64]) -> bool {
    numbers.iter().all(|x| x.fract() == 0.0)
}

/// Whether numbers can be triggers: mostly the same as before, and few different ones.
fn few(numbers: &[f64]) -> bool {
    let events = triggers(numbers);
    let codes: BTreeSet<&str> = events.iter().map(|event| &*event.code).collect();
    !events.is_empty() && codes.len() <= MOST_TRIGGERS && events.len() <= numbers.len() / 2
}

/// The unit that makes samples as large as an EEG is; none where nothing does.
fn unit(file: &RecordingFile, rate_hz: Option<f64>) -> Result<Option<String>> {
    let (samples, each) = match signals::read(file, file.main())? {
        SignalData::Recording(recording) => (recording.samples, file.length()),
        SignalData::Epochs { x, samples, .. } => (x, samples),
    };
    let spreads =
        samples.chunks_exact(each.max(1)).filter_map(|channel| spread(channel, rate_hz.unwrap_or(250.0)));
    let mut spreads: Vec<f64> = spreads.collect();
    spreads.sort_by(f64::total_cmp);
    let Some(typical) = spreads.get(spreads.len() / 2) else { return Ok(None) };
    let fits = |factor: f64| scale(typical * factor) == AmplitudeScale::Plausible;
    let known = ["uV", "V", "mV"].into_iter();
    let mut fitting = known.filter(|unit| voltage(unit).is_some_and(|(_, microvolts)| fits(microvolts)));
    Ok(fitting.next().map(String::from))
}

/// What the manifest says about dimensions, for people.
pub(super) fn remark(axes: &[MatrixAxis]) -> String {
    format!(
        "# Judged by labels and sizes, the longer side being time: see that {} is right.\n",
        written(axes)
    )
}
