//! MATLAB files that hold arrays of samples: which variable is what, and which dimension.

mod axes;
mod place;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use ptsm_io::mat::{MatFile, Value};
use ptsm_io::{
    Annotation, Epochs, RawHeader, RecordingFile, Samples, SignalHeader, TriggerDetector, TriggerOnset,
};
use ptsm_signal::Event;
use serde::Deserialize;

use super::words::Words;
use crate::error::{Error, Result};

use axes::{Layout, infer};
pub(super) use axes::{MatrixAxis, likely, rivals, written};
pub(super) use place::{ValuePlace, described, sizes};

/// Which variables of a file hold what, written as in MATLAB: `a.b`, `data{1,3}.X`, `y(9,:)`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variables {
    /// The struct that the other places begin in; they may also be variables of the file.
    pub(super) inside: Option<String>,
    /// The signal.
    pub(super) samples: Option<String>,
    /// What its dimensions are. One that counts epochs makes it epochs.
    pub(super) axes: Option<Vec<MatrixAxis>>,
    /// What the rows of a matrix are; the longer side is time without it.
    pub(super) rows: Option<Rows>,
    /// One number per sample, not zero where an event begins.
    pub(super) triggers: Option<String>,
    /// The sample each event begins at, counted from 1.
    pub(super) onsets: Option<String>,
    /// What each epoch or each of the onsets is of: a variable, or the labels themselves.
    pub(super) labels: Option<Words>,
    /// The first sample of epochs, in seconds after the cue.
    pub(super) start_s: Option<f64>,
    /// A variable, or samples per second.
    pub(super) rate: Option<Words>,
    /// Names of the channels, or the variable that holds them.
    pub(super) channels: Option<Words>,
    /// What samples are counted in.
    pub(super) unit: Option<String>,
}

/// What the rows of a matrix are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Rows {
    Samples,
    Channels,
}

impl Rows {
    /// What the dimensions of a matrix are then.
    fn axes(self) -> [MatrixAxis; 2] {
        match self {
            Rows::Samples => [MatrixAxis::Time, MatrixAxis::Channels],
            Rows::Channels => [MatrixAxis::Channels, MatrixAxis::Time],
        }
    }
}

impl Variables {
    /// These with the gaps filled from others.
    pub(super) fn or(&self, others: &Variables) -> Variables {
        Variables {
            inside: self.inside.clone().or_else(|| others.inside.clone()),
            samples: self.samples.clone().or_else(|| others.samples.clone()),
            axes: self.axes.clone().or_else(|| others.axes.clone()),
            rows: self.rows.or(others.rows),
            triggers: self.triggers.clone().or_else(|| others.triggers.clone()),
            onsets: self.onsets.clone().or_else(|| others.onsets.clone()),
            labels: self.labels.clone().or_else(|| others.labels.clone()),
            start_s: self.start_s.or(others.start_s),
            rate: self.rate.clone().or_else(|| others.rate.clone()),
            channels: self.channels.clone().or_else(|| others.channels.clone()),
            unit: self.unit.clone().or_else(|| others.unit.clone()),
        }
    }

    /// Where the samples are, for messages and to tell recordings of one file apart.
    pub(super) fn source(&self) -> Option<String> {
        let samples = self.samples.as_ref()?;
        Some(self.inside.as_ref().map_or_else(|| samples.clone(), |inside| format!("{inside}.{samples}")))
    }

    /// Opens a file. `rate_hz` goes over what the file says. Samples are read later.
    pub(super) fn open(&self, path: &Path, rate_hz: Option<f64>) -> Result<RecordingFile> {
        let open = OpenMatrix { said: self, file: MatFile::open(path)?, path };
        let Some(name) = &self.samples else {
            return Err(open.refuse(
                format!("it is not said which variable holds the samples; the file has {}", open.variables()),
                "write `samples = \"NAME\"` in the table `[mat]` of the manifest",
            ));
        };
        let samples = open.place(name)?;
        let rate = open.rate_hz(rate_hz)?;
        let names = open.names()?;
        let triggers = self.triggers.as_deref().map(|name| open.place(name)).transpose()?;
        // Where channels and triggers tell how many samples there are, nothing is looked at that may be packed.
        let apart = |triggers: &ValuePlace| triggers.variable() != samples.variable();
        let plain = self.axes.is_none() && self.onsets.is_none() && self.labels.is_none();
        if let (Some(names), Some(triggers)) = (&names, triggers.as_ref().filter(|t| plain && apart(t))) {
            let numbers = open.numbers(triggers)?;
            let matrix = open.matrix(samples, None, None);
            let header = self.header(rate, names.clone(), numbers.len(), self::triggers(&numbers));
            return matrix.opened(header);
        }
        let dims = trimmed(samples.dims(&open.file, path)?);
        let without = triggers.as_ref().and_then(|triggers| triggers.row_of(&samples, &dims));
        let labels = open.labels()?;
        let axes = self.axes_of(&dims, labels.as_ref().map(Vec::len), names.as_ref().map(Vec::len));
        let unfit =
            |(message, hint): (String, String)| open.refuse(format!("variable `{samples}` {message}"), &hint);
        let axes = axes.map_err(unfit)?;
        let layout = Layout::new(&dims, &axes, without)
            .map_err(|message| unfit((message, "mend `axes` in `[mat]`".into())))?;
        let names = names.unwrap_or_else(|| (1..=layout.channels()).map(|at| format!("ch{at}")).collect());
        let names = without_row(names, &axes, without, layout.channels());
        let matrix = open.matrix(samples.clone(), Some(axes.clone()), without);
        if axes.iter().any(|axis| axis.of_epochs()) {
            matrix.check_names(layout.channels(), names.len())?;
            let codes = open.codes(&layout, labels, triggers.is_some())?;
            let length = layout.epochs().saturating_mul(layout.samples());
            let start_s = self.start_s.unwrap_or(0.0);
            let epochs = Some(Epochs { samples: layout.samples(), start_s, codes });
            return matrix.opened(RawHeader { epochs, ..self.header(rate, names, length, vec![]) });
        }
        let length = layout.samples();
        let (events, notes) = open.events(triggers.as_ref(), labels, length)?;
        matrix.check_names(layout.channels(), names.len())?;
        matrix.opened(RawHeader { notes, ..self.header(rate, names, length, events) })
    }

    fn header(&self, rate_hz: f64, names: Vec<String>, length: usize, events: Vec<Event>) -> RawHeader {
        let signal = |name: String| {
            let mut signal = SignalHeader::named(name, rate_hz, length);
            self.unit.iter().for_each(|unit| signal.set_unit(unit));
            signal
        };
        let annotation = |event: Event| Annotation {
            onset_s: event.sample as f64 / rate_hz,
            duration_s: 0.0,
            sample: Some(event.sample),
            text: event.code,
        };
        RawHeader {
            format: "MATLAB".into(),
            signals: names.into_iter().map(signal).collect(),
            annotations: events.into_iter().map(annotation).collect(),
            ..RawHeader::default()
        }
    }

    /// What the dimensions are. What is not clear is told with what to do.
    fn axes_of(
        &self,
        dims: &[usize],
        labels: Option<usize>,
        names: Option<usize>,
    ) -> Result<Vec<MatrixAxis>, (String, String)> {
        match (&self.axes, dims) {
            (Some(_), _) if self.rows.is_some() => {
                Err(("is described by both `axes` and `rows`".into(), "keep `axes`".into()))
            }
            (Some(axes), _) => Ok(axes.clone()),
            (None, _) if dims.contains(&0) => Err(("is empty".into(), "name a matrix of samples in `[mat]`".into())),
            (None, &[_, _]) if labels.is_some() && self.onsets.is_none() && self.triggers.is_none() => Err((
                format!("is {}, a matrix, and there are labels but no onsets", sizes(dims)),
                "epochs of one channel are `axes = [\"trials\", \"time\"]`; a recording has `onsets`, the sample of each label, or \
                 `triggers`, one number per sample"
                    .into(),
            )),
            (None, &[height, width]) => {
                let longer = if height >= width { Rows::Samples } else { Rows::Channels };
                Ok(self.rows.unwrap_or(longer).axes().to_vec())
            }
            (None, &[_, _, _]) => infer(dims, labels, names),
            (None, _) => Err((
                format!("is {}, and it is not said what its dimensions are", sizes(dims)),
                "say it in `[mat]` in this order, such as `axes = [\"channels\", \"time\", \"classes\", \"trials\"]`".into(),
            )),
        }
    }
}

/// Sizes without the last ones that are 1, two at least.
fn trimmed(mut dims: Vec<usize>) -> Vec<usize> {
    while dims.len() > 2 && dims.last() == Some(&1) {
        dims.pop();
    }
    dims
}

/// Names of channels without that of a row which holds triggers, where it has one.
fn without_row(
    mut names: Vec<String>,
    axes: &[MatrixAxis],
    without: Option<(usize, usize)>,
    channels: usize,
) -> Vec<String> {
    if let Some((dim, at)) = without
        && axes.get(dim) == Some(&MatrixAxis::Channels)
        && names.len() == channels + 1
    {
        names.remove(at);
    }
    names
}

/// A file about to be described.
struct OpenMatrix<'a> {
    said: &'a Variables,
    file: MatFile,
    path: &'a Path,
}

impl OpenMatrix<'_> {
    fn refuse(&self, message: String, hint: &str) -> Error {
        refuse(self.path, message, hint)
    }

    /// The variables of the file with their sizes, for messages.
    fn variables(&self) -> String {
        listed(&self.file)
    }

    /// Understands where something is: inside of the struct that was named, or in the file.
    fn place(&self, name: &str) -> Result<ValuePlace> {
        let parse = |text: &str| {
            ValuePlace::parse(text).ok_or_else(|| {
                let message = format!("`{text}` is no place in a MATLAB file");
                self.refuse(
                    message,
                    "write it as in MATLAB: `EEG.data`, `data{1,3}.X`, `runs(2).y`, `y(9,:)`",
                )
            })
        };
        let own = parse(name)?;
        let known = self.file.names();
        let is_there = |place: &ValuePlace| known.iter().any(|known| known == place.variable());
        let place = match &self.said.inside {
            None => own,
            Some(inside) => {
                let outer = parse(inside)?;
                let inner = outer.inside(&own);
                // A variable beside the struct is meant where the struct has no such field.
                let lacks = is_there(&outer) && is_there(&own) && inner.dims(&self.file, self.path).is_err();
                if lacks { own } else { inner }
            }
        };
        if !is_there(&place) {
            let message = format!("has no variable `{}`; it has {}", place.variable(), self.variables());
            return Err(self.refuse(message, "name the right one in the table `[mat]` of the manifest"));
        }
        Ok(place)
    }

    fn read(&self, name: &str) -> Result<Value> {
        self.place(name)?.read(&self.file, self.path)
    }

    fn numbers(&self, place: &ValuePlace) -> Result<Vec<f64>> {
        let value = place.read(&self.file, self.path)?;
        value.vector().ok_or_else(|| {
            let message = format!("variable `{place}` is {}, not numbers", described(&value));
            self.refuse(message, "name a variable of numbers in `[mat]`")
        })
    }

    fn rate_hz(&self, given: Option<f64>) -> Result<f64> {
        let rate = match (given, &self.said.rate) {
            (Some(rate), _) => Some(rate),
            (None, Some(Words::One(word))) => match word.parse() {
                Ok(rate) => Some(rate),
                Err(_) => self.read(word)?.number(),
            },
            _ => None,
        };
        rate.filter(|rate| rate.is_finite() && *rate > 0.0).ok_or_else(|| {
            self.refuse(
                "it is not said how many samples a second has".into(),
                "write `rate = 250` or `rate = \"NAME\"` of the variable in the table `[mat]` of the manifest",
            )
        })
    }

    fn names(&self) -> Result<Option<Vec<String>>> {
        Ok(match &self.said.channels {
            None => None,
            Some(Words::Many(names)) => Some(names.clone()),
            Some(Words::One(name)) => Some(texts(&self.read(name)?).ok_or_else(|| {
                self.refuse(
                    format!("variable `{name}` is no list of texts"),
                    "write the names themselves in `[mat]`",
                )
            })?),
        })
    }

    fn labels(&self) -> Result<Option<Vec<String>>> {
        match &self.said.labels {
            None => Ok(None),
            Some(Words::Many(labels)) => Ok(Some(labels.clone())),
            Some(Words::One(name)) => {
                let value = self.read(name)?;
                label_list(&value).map(Some).ok_or_else(|| {
                    let message = format!("variable `{name}` is {}, not one label each", described(&value));
                    self.refuse(
                        message,
                        "name a row or column of numbers, or a list of texts, as `labels` in `[mat]`",
                    )
                })
            }
        }
    }

    fn matrix(
        &self,
        place: ValuePlace,
        axes: Option<Vec<MatrixAxis>>,
        without: Option<(usize, usize)>,
    ) -> Matrix {
        Matrix { path: self.path.to_path_buf(), place, rows: self.said.rows, axes, without }
    }

    /// What each epoch is of.
    fn codes(&self, layout: &Layout, labels: Option<Vec<String>>, triggers: bool) -> Result<Vec<String>> {
        if triggers || self.said.onsets.is_some() {
            let message = "holds epochs, which have `labels` and neither `triggers` nor `onsets`".to_string();
            return Err(self.refuse(message, "leave the other ones out of `[mat]`"));
        }
        let n = layout.epochs();
        match (labels, &layout.classes) {
            (Some(labels), _) if labels.len() == n => Ok(labels),
            (None, Some(classes)) => Ok(classes.iter().map(|class| (class + 1).to_string()).collect()),
            (Some(labels), Some(classes)) if classes.iter().max() == labels.len().checked_sub(1).as_ref() => {
                Ok(classes.iter().map(|&class| labels[class].clone()).collect())
            }
            (Some(labels), _) => Err(self.refuse(
                format!("has {} labels for {n} epochs", labels.len()),
                "name the variable with one label per epoch as `labels` in `[mat]`, and see that `axes` is right",
            )),
            (None, None) => Err(self.refuse(
                format!("it is not said what its {n} epochs are of; the file has {}", self.variables()),
                "name the variable with one label per epoch in `[mat]`: `labels = \"y\"`",
            )),
        }
    }

    /// Where events begin, and what the user should know.
    fn events(
        &self,
        triggers: Option<&ValuePlace>,
        labels: Option<Vec<String>>,
        length: usize,
    ) -> Result<(Vec<Event>, Vec<String>)> {
        let onsets = self.said.onsets.as_deref().map(|name| self.place(name)).transpose()?;
        let Some(onsets) = onsets else {
            let Some(triggers) = triggers else { return Ok((vec![], vec![])) };
            let numbers = self.numbers(triggers)?;
            check_length(self.path, numbers.len(), length)?;
            return Ok((self::triggers(&numbers), vec![]));
        };
        if triggers.is_some() {
            return Err(self.refuse("has both `onsets` and `triggers`".into(), "keep one of them in `[mat]`"));
        }
        let numbers = self.numbers(&onsets)?;
        let labels = labels.unwrap_or_else(|| vec!["1".into(); numbers.len()]);
        if labels.len() != numbers.len() {
            return Err(self.refuse(
                format!("has {} labels for {} onsets", labels.len(), numbers.len()),
                "name variables of one length as `labels` and `onsets` in `[mat]`",
            ));
        }
        let mut events = vec![];
        for (number, code) in numbers.iter().zip(labels) {
            if number.fract() != 0.0 || *number < 0.0 {
                return Err(self.refuse(
                    format!("onset {number} is no sample: `{onsets}` counts samples from 1"),
                    "events whose times are seconds go into a table: `events = \"FILE.csv\"` with the columns onset and label",
                ));
            }
            // The sample before the first one is none.
            let sample = (*number as usize).wrapping_sub(1);
            if sample < length {
                events.push(Event { sample, code, samples: 0 });
            }
        }
        events.sort_by_key(|event| event.sample);
        let outside = numbers.len() - events.len();
        let note = format!("{outside} of {} onsets lie outside of the samples", numbers.len());
        Ok((events, (outside > 0).then_some(note).into_iter().collect()))
    }
}

/// An array of samples in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    path: PathBuf,
    place: ValuePlace,
    rows: Option<Rows>,
    /// None where it is a matrix and the longer side, or `rows`, tells.
    axes: Option<Vec<MatrixAxis>>,
    /// A row or column that holds triggers.
    without: Option<(usize, usize)>,
}

impl Matrix {
    /// A recording whose samples it holds.
    fn opened(self, header: RawHeader) -> Result<RecordingFile> {
        let (channels, length) = (header.signals.len(), header.signals.first().map_or(0, |s| s.samples));
        let place = self.path.as_path().into();
        Ok(RecordingFile::new(&place, header, Box::new(MatrixSamples { matrix: self, channels, length }))?)
    }

    /// Samples `[C, N]`, where there are as many channels and samples as are said. Epochs follow one another.
    fn read(&self, channels: usize, length: usize) -> Result<Vec<f32>> {
        let unfit = |message: String| {
            let message = format!("variable `{}` {message}", self.place);
            refuse(&self.path, message, "name an array of samples in `[mat]`")
        };
        let file = MatFile::open(&self.path)?;
        let value = self.place.read(&file, &self.path)?;
        let dims = trimmed(value.dims());
        let Value::Array { real, imaginary: None, .. } = value else {
            return Err(unfit(format!("is {}, no array of real numbers", described(&value))));
        };
        let axes = match &self.axes {
            Some(axes) => axes.clone(),
            None => {
                let said = Variables { rows: self.rows, ..Variables::default() };
                said.axes_of(&dims, None, None).map_err(|(message, _)| unfit(message))?
            }
        };
        let layout = Layout::new(&dims, &axes, self.without).map_err(unfit)?;
        self.check_names(layout.channels(), channels)?;
        check_length(&self.path, length, layout.samples().saturating_mul(layout.epochs()))?;
        Ok(layout.sorted(&real.into_f32()))
    }

    /// Channels that are there against those that are named.
    fn check_names(&self, channels: usize, names: usize) -> Result<()> {
        if names != channels {
            return Err(refuse(
                &self.path,
                format!("{names} names of channels do not fit its {channels} channels"),
                "list one name for each in `[mat]`, and see that `axes` or `rows` is right",
            ));
        }
        Ok(())
    }
}

/// A matrix that is read when samples are asked for, as a whole.
struct MatrixSamples {
    matrix: Matrix,
    channels: usize,
    length: usize,
}

impl Samples for MatrixSamples {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> ptsm_io::Result<()> {
        let all = self.matrix.read(self.channels, self.length).map_err(|error| match error {
            Error::File(error) => error,
            error => ptsm_io::Error::Format {
                place: self.matrix.path.as_path().into(),
                message: match &error {
                    Error::Content { message, .. } => message.clone(),
                    other => other.to_string(),
                },
                hint: error.hint().map(String::from),
            },
        })?;
        let n = to.len() / signals.len();
        for (&at, to) in signals.iter().zip(to.chunks_exact_mut(n)) {
            to.copy_from_slice(&all[at * self.length + first..][..n]);
        }
        Ok(())
    }

    fn bytes_per_number(&self) -> u64 {
        // Often in double precision, and turned over.
        16
    }
}

/// Triggers against samples.
fn check_length(path: &Path, marks: usize, length: usize) -> Result<()> {
    if marks != length {
        return Err(refuse(
            path,
            format!("its triggers are {marks} numbers for {length} samples"),
            "name the variable with one number per sample as `triggers` in `[mat]`",
        ));
    }
    Ok(())
}

fn refuse(path: &Path, message: String, hint: &str) -> Error {
    Error::Content { path: path.to_path_buf(), message, hint: Some(hint.to_string()) }
}

/// The variables of a file with their sizes, fields of structs among them, for messages.
pub(super) fn listed(file: &MatFile) -> String {
    /// More than these nobody reads.
    const MOST: usize = 30;
    let mut all = vec![];
    for name in file.names() {
        let Ok(value) = file.read_sizes(&name) else { continue };
        all.push(format!("`{name}` ({})", described(&value)));
        if let Value::Struct { fields, values, .. } = &value
            && value.count() == 1
        {
            let inner = fields.iter().zip(values);
            all.extend(inner.map(|(field, value)| format!("`{name}.{field}` ({})", described(value))));
        }
    }
    let more = all.len().saturating_sub(MOST);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    match &all[..all.len() - more] {
        [] => "no variable".into(),
        shown => format!("{}{tail}", shown.join(", ")),
    }
}

/// An event at each change to another number than zero, called like it.
pub(super) fn triggers(numbers: &[f64]) -> Vec<Event> {
    let mut detector = TriggerDetector::new(TriggerOnset::Change);
    let begins = |(sample, &value): (usize, &f64)| {
        detector.begins(value).then(|| Event { sample, code: value.to_string(), samples: 0 })
    };
    numbers.iter().enumerate().filter_map(begins).collect()
}

/// A list of texts.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Text(rows) => Some(rows.iter().map(|row| row.trim().to_string()).collect()),
        Value::Cell { values, .. } => values.iter().map(|value| value.text().map(str::to_string)).collect(),
        _ => None,
    }
}

/// One label each: texts, numbers, or a table with a one in the row or column of the class, which is called by its place from 1 on.
pub(super) fn label_list(value: &Value) -> Option<Vec<String>> {
    if let Some(texts) = texts(value) {
        return Some(texts.into_iter().map(|text| text.trim().to_string()).collect());
    }
    if let Value::Cell { values, .. } = value {
        return values.iter().map(Value::label).collect();
    }
    let (numbers, dims) = (value.vector()?, trimmed(value.dims()));
    let &[height, width] = &dims[..] else { return None };
    if height <= 1 || width <= 1 {
        return Some(numbers.iter().map(f64::to_string).collect());
    }
    let (classes, n) = (height.min(width), height.max(width));
    let number = |class: usize, at: usize| {
        if width >= height { numbers[class + at * height] } else { numbers[at + class * height] }
    };
    let class_of = |at: usize| {
        let mut ones = (0..classes).filter(|&class| number(class, at) == 1.0);
        let others = (0..classes).all(|class| [0.0, 1.0].contains(&number(class, at)));
        match (ones.next(), ones.next()) {
            (Some(class), None) if others => Some((class + 1).to_string()),
            _ => None,
        }
    };
    (0..n).map(class_of).collect()
}
