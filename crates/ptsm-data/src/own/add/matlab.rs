//! What in a MATLAB file is the signal, and what belongs to it: epochs with labels, or a matrix with triggers, onsets or a row of labels.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_io::mat::{MatFile, Value};

use super::super::files::events::{self, Columns};
use super::super::matrix::{
    Axis, Rows, ValuePlace, Variables, label_list, likely, listed, texts, triggers, written,
};
use super::super::sheet::Sheet;
use super::super::words::Words;
use super::look::Look;
use crate::catalogue::Signal;
use crate::error::{Error, Result};
use crate::findings::scale::{Scale, scale, spread};

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
const LABELS: [&str; 9] = ["y", "label", "class", "target", "truth", "cond", "code", "marker", "trialinfo"];
/// Beginnings of names of variables that hold onsets, in lower case.
const ONSETS: [&str; 8] = ["trial", "onset", "pos", "start", "cue", "latency", "event", "t"];
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
        collect(&file.sketch(&name)?, "", &name, &mut all);
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
pub(super) fn look(path: &Path, table: Option<&Path>) -> Result<Vec<Look>> {
    let file = MatFile::open(path)?;
    let leaves = leaves(&file)?;
    let search = Search { path, file, leaves };
    let signals = || search.leaves.iter().filter(|leaf| leaf.is_signal());
    // Of arrays as large as another those of three dimensions are taken.
    let Some(largest) = signals().max_by_key(|leaf| (leaf.size(), leaf.dims.len())) else {
        return Err(search.refuse("holds no array of samples"));
    };
    let like = |leaf: &&Leaf| leaf.name == largest.name && kind_of(&leaf.inside) == kind_of(&largest.inside);
    let mut found: Vec<Variables> =
        signals().filter(like).map(|leaf| search.describe(leaf)).collect::<Result<_>>()?;
    // Of several structs those without events are rest, as between the runs of the BCI competitions.
    let eventful =
        |said: &Variables| said.triggers.is_some() || said.onsets.is_some() || said.labels.is_some();
    if found.iter().any(eventful) {
        found.retain(eventful);
    }
    found.into_iter().map(|said| search.look(said, table)).collect()
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

    /// Which variable is what.
    fn describe(&self, signal: &Leaf) -> Result<Variables> {
        let beside = self.beside(signal);
        let scalar = |leaf: &&&Leaf| leaf.texts.is_none() && leaf.size() == 1;
        let rate = beside.iter().filter(scalar).find(|leaf| RATES.contains(&&*leaf.name.to_lowercase()));
        let rate = rate.filter(|leaf| self.numbers(leaf).is_some_and(|n| n[0].is_finite() && n[0] > 0.0));
        let from = |leaf: &Leaf| {
            // Places inside of the same struct begin there.
            if leaf.inside == signal.inside { leaf.name.clone() } else { leaf.place() }
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
            let Some((labels, n)) = self.labels(&beside, &signal.dims) else {
                let message = format!(
                    "`{}` has three dimensions and no labels of as many as one of them",
                    signal.place()
                );
                return Err(self.refuse(&message));
            };
            let others = signal.dims.iter().filter(|&&count| count != n);
            let names = others.map(|&count| (count, named(count))).find(|(_, names)| names.is_some());
            let order = likely(&signal.dims, Some(n), names.as_ref().map(|(count, _)| *count))
                .ok_or_else(|| self.refuse("its dimensions are not clear"))?;
            let channels = order.iter().zip(&signal.dims).find(|(axis, _)| **axis == Axis::Channels);
            let count = channels.map_or(1, |(_, &count)| count);
            return Ok(Variables {
                axes: Some(order.to_vec()),
                labels: Some(Words::One(from(labels))),
                channels: Some(names.and_then(|(_, names)| names).unwrap_or_else(|| numbered(count))),
                ..said
            });
        };
        let rows = if height >= width { Rows::Samples } else { Rows::Channels };
        let (length, count) = (height.max(width), height.min(width));
        let said = Variables {
            rows: Some(rows),
            channels: Some(named(count).unwrap_or_else(|| numbered(count))),
            ..said
        };
        if let Some(marks) = self.triggers(&beside, length) {
            return Ok(Variables { triggers: Some(from(marks)), ..said });
        }
        if let Some((onsets, labels)) = self.onsets(&beside, length) {
            return Ok(Variables {
                onsets: Some(from(onsets)),
                labels: labels.map(|leaf| Words::One(from(leaf))),
                ..said
            });
        }
        match self.label_row(signal, rows).filter(|_| count > 1) {
            None => Ok(said),
            Some(at) => {
                let part = if rows == Rows::Channels { format!("{at},:") } else { format!(":,{at}") };
                let channels =
                    named(count).or_else(|| named(count - 1)).unwrap_or_else(|| numbered(count - 1));
                Ok(Variables {
                    triggers: Some(format!("{}({part})", signal.name)),
                    channels: Some(channels),
                    ..said
                })
            }
        }
    }

    /// One label for each of as many epochs as a dimension has.
    fn labels<'a>(&self, beside: &[&'a Leaf], dims: &[usize]) -> Option<(&'a Leaf, usize)> {
        let fits = |leaf: &&'a Leaf| {
            let labels = label_list(&self.value(leaf).filter(|_| leaf.size() <= 1 << 20)?)?;
            let classes = labels.iter().collect::<BTreeSet<_>>().len();
            let few = (2..=MOST_CLASSES).contains(&classes) && 2 * classes <= labels.len();
            (dims.contains(&labels.len()) && few).then_some((*leaf, labels.len()))
        };
        let found: Vec<(&Leaf, usize)> = beside.iter().filter_map(fits).collect();
        found.iter().find(|(leaf, _)| leaf.begins_like(&LABELS)).or(found.first()).copied()
    }

    /// One number per sample.
    fn triggers<'a>(&self, beside: &[&'a Leaf], length: usize) -> Option<&'a Leaf> {
        let fits = |leaf: &&&Leaf| {
            leaf.texts.is_none()
                && leaf.count() == Some(length)
                && self.numbers(leaf).is_some_and(|numbers| whole(&numbers) && few(&numbers))
        };
        let is_called = |leaf: &&&Leaf| TRIGGERS.iter().any(|part| leaf.name.to_lowercase().contains(part));
        let found: Vec<&Leaf> = beside.iter().filter(fits).copied().collect();
        found.iter().find(is_called).or(found.last()).copied()
    }

    /// The sample each event begins at, and what each is of.
    fn onsets<'a>(&self, beside: &[&'a Leaf], length: usize) -> Option<(&'a Leaf, Option<&'a Leaf>)> {
        let is_onsets = |leaf: &&&Leaf| {
            let count = leaf.count().filter(|&count| count > 1 && leaf.texts.is_none());
            count.is_some()
                && leaf.begins_like(&ONSETS)
                && self.numbers(leaf).is_some_and(|numbers| {
                    whole(&numbers)
                        && numbers.windows(2).all(|pair| pair[0] < pair[1])
                        && numbers.iter().all(|&x| x >= 1.0 && x <= length as f64)
                })
        };
        let onsets = beside.iter().find(is_onsets)?;
        let count = onsets.count().unwrap_or_default();
        let others: Vec<&Leaf> =
            beside.iter().filter(|leaf| leaf.place() != onsets.place()).copied().collect();
        Some((onsets, self.labels(&others, &[count]).map(|(leaf, _)| leaf)))
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
    fn look(&self, mut said: Variables, table: Option<&Path>) -> Result<Look> {
        let rate_hz = match &said.rate {
            None => None,
            // As a manifest does.
            Some(_) => Some(said.sheet(self.path, None)?.rate_hz),
        };
        let mut sheet = said.sheet(self.path, Some(rate_hz.unwrap_or(1.0)))?;
        if let Some(table) = table.filter(|_| sheet.epochs.is_none() && rate_hz.is_some()) {
            events::replace(&mut sheet, table, &Columns::default())?;
            sheet.files.pop();
        }
        let length = sheet.length;
        let epochs = sheet.epochs.clone();
        let look = Look { rate_hz, ..Look::of(&sheet) };
        let all: Vec<usize> = (0..sheet.columns.len()).collect();
        said.unit = unit(sheet, &all, length, rate_hz)?;
        let window_s = epochs.zip(rate_hz).map(|(epochs, rate)| [0.0, epochs.samples as f64 / rate]);
        Ok(Look { mat: Some(said), window_s, ..look })
    }
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
fn unit(sheet: Sheet, all: &[usize], length: usize, rate_hz: Option<f64>) -> Result<Option<String>> {
    let (samples, each) = match sheet.signal(all, "")? {
        Signal::Recording(recording) => (recording.samples, length),
        Signal::Epochs { x, samples, .. } => (x, samples),
    };
    let spreads =
        samples.chunks_exact(each.max(1)).filter_map(|channel| spread(channel, rate_hz.unwrap_or(250.0)));
    let mut spreads: Vec<f64> = spreads.collect();
    spreads.sort_by(f64::total_cmp);
    let Some(typical) = spreads.get(spreads.len() / 2) else { return Ok(None) };
    let fits = |factor: f64| scale(typical * factor) == Scale::Plausible;
    let known = [("uV", 1.0), ("V", 1e6), ("mV", 1e3)];
    Ok(known.iter().find(|(_, factor)| fits(*factor)).map(|(unit, _)| unit.to_string()))
}

/// What the manifest says about dimensions, for people.
pub(super) fn remark(axes: &[Axis]) -> String {
    format!(
        "# Judged by labels and sizes, the longer side being time: see that {} is right.\n",
        written(axes)
    )
}
