//! One `.npz` file, its arrays checked against each other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ptsm_io::SignalKind;
use ptsm_io::npy::{Array, Data};
use ptsm_io::npz::{self, Archive};
use ptsm_signal::{Channel, Paradigm, Pipeline, Position, SubjectId, Symmetry, TaskDeclaration, Unit};

use super::names::Names;
use crate::error::{Error, Result};
use ptsm_signal::nearest::nearest;

/// What the sampling rate is called, in the order looked for.
const RATE: &[&str] = &["rate_hz", "sfreq", "fs"];

/// What helps with arrays that this program alone writes.
const AGAIN: &str = "`ptsm data export` writes it; export again, or leave it out";

/// Taken where a file does not say: times are counted in samples.
pub(super) const RATE_UNKNOWN_HZ: f64 = 1.0;

/// What a file holds. Names are still names: they are numbered once all files of a set are read.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// `[n, C, T]`.
    pub(super) x: Vec<f32>,
    pub(super) samples: usize,
    /// None where labels are not wanted.
    pub(super) y: Option<Names>,
    pub(super) subject: Names,
    pub(super) session: Option<Names>,
    pub(super) run: Option<Names>,
    pub(super) cue_s: Option<Vec<f64>>,
    pub(super) channels: Vec<Channel>,
    /// Whether the file says how its channels are called.
    pub(super) named: bool,
    pub(super) rate_hz: Option<f64>,
    pub(super) start_s: f64,
    pub(super) classes: Option<Vec<String>>,
    pub(super) task: TaskDeclaration,
    /// Hashes of the subjects whose trials these were made from.
    pub(super) made_from: Vec<String>,
    /// What was done to the trials already.
    pub(super) prepared: Option<Pipeline>,
    /// Hashes by which subjects are recognised, with their numbers.
    pub(super) recognised_by: Vec<(SubjectId, String)>,
}

impl File {
    pub(super) fn read(path: &Path, labelled: bool) -> Result<File> {
        let mut keys = Keys { archive: npz::read(path)? };
        // Small arrays first: most mistakes are found before the large one is read.
        let subject = keys.names("subject")?.ok_or_else(|| keys.missing("subject"))?;
        let y = match labelled {
            true => Some(keys.names("y")?.ok_or_else(|| keys.missing("y"))?),
            false => None,
        };
        let (session, run) = (keys.names("session")?, keys.names("run")?);
        let cue_s = keys.numbers("cue_s")?;
        let names = keys.texts(&["channels", "ch_names"])?;
        let classes = keys.texts(&["classes"])?;
        let made_from = keys.texts(&["made_from"])?.unwrap_or_default();
        let prepared = keys.pipeline()?;
        let recognised_by = keys.recognised_by()?;
        let rate_hz = keys.number(RATE)?;
        let start_s = keys.number(&["start_s"])?.unwrap_or(0.0);
        let (unit, factor) = keys.unit()?;
        let task = keys.task()?;
        let positions = keys.array("positions")?;

        let x = keys.array("X")?.ok_or_else(|| keys.missing("X"))?;
        let [n, c, t] = keys.three(x.shape())?;
        let lengths = [
            ("y", y.as_ref().map(Names::len)),
            ("subject", Some(subject.len())),
            ("session", session.as_ref().map(Names::len)),
            ("run", run.as_ref().map(Names::len)),
            ("cue_s", cue_s.as_ref().map(Vec::len)),
        ];
        for (key, length) in lengths {
            if let Some(length) = length.filter(|&length| length != n) {
                return Err(keys.refuse(
                    format!("`{key}` has {length} values, `X` has {n} trials"),
                    "give one value per trial",
                ));
            }
        }
        let named = names.is_some();
        let channels = keys.channels(names, c, unit, positions)?;
        let mut x = keys.signal(x.into_data(), t, &channels)?;
        if factor != 1.0 {
            x.iter_mut().for_each(|value| *value *= factor);
            if x.iter().any(|value| !value.is_finite()) {
                let message = "values of `X` are too large for single precision when counted in microvolts";
                return Err(keys.refuse(message, "see whether `unit` is right"));
            }
        }
        let path = path.to_path_buf();
        let file = File {
            path,
            x,
            samples: t,
            y,
            subject,
            session,
            run,
            cue_s,
            channels,
            named,
            rate_hz,
            start_s,
            classes,
            task,
            made_from,
            prepared,
            recognised_by,
        };
        Ok(file)
    }

    /// From when to when its trials reach, in seconds after the cue: all that can be told without reading their samples.
    pub(super) fn window_s(path: &Path) -> Result<[f64; 2]> {
        let mut keys = Keys { archive: npz::read(path)? };
        if !keys.archive.has("X") {
            return Err(keys.missing("X"));
        }
        let shape = keys.archive.shape("X")?;
        let [_, _, t] = keys.three(&shape)?;
        let rate_hz = keys.number(RATE)?.unwrap_or(RATE_UNKNOWN_HZ);
        let start_s = keys.number(&["start_s"])?.unwrap_or(0.0);
        Ok([start_s, start_s + t as f64 / rate_hz])
    }

    /// What was done to its trials already.
    pub(super) fn prepared(path: &Path) -> Result<Option<Pipeline>> {
        Keys { archive: npz::read(path)? }.pipeline()
    }

    /// Trials, n.
    pub(super) fn trials(&self) -> usize {
        self.subject.len()
    }
}

/// An archive, asked by key.
struct Keys {
    archive: Archive,
}

impl Keys {
    fn refuse(&self, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Content {
            path: self.archive.path().to_path_buf(),
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// A key that must be there and is not; the nearest one may be what was meant.
    fn missing(&self, key: &str) -> Error {
        let present = self.archive.names();
        let near = nearest(key, present.iter().map(|name| (name.as_ref(), name)));
        let hint = match near {
            Some(name) => format!("is `{name}` meant? save it as `{key}`"),
            None => format!(
                "add it: `numpy.savez(path, X=.., y=.., subject=..)`; the file has {}",
                listed(&present)
            ),
        };
        self.refuse(format!("has no array `{key}`"), hint)
    }

    fn array(&mut self, key: &str) -> Result<Option<Array>> {
        if !self.archive.has(key) {
            return Ok(None);
        }
        Ok(Some(self.archive.array(key)?))
    }

    fn first(&mut self, keys: &[&'static str]) -> Result<Option<(&'static str, Array)>> {
        for key in keys {
            if let Some(array) = self.array(key)? {
                return Ok(Some((key, array)));
            }
        }
        Ok(None)
    }

    fn vector(&self, key: &str, array: &Array) -> Result<()> {
        if array.shape().len() == 1 {
            return Ok(());
        }
        let message = format!("`{key}` has the shape {:?}; one dimension is needed", array.shape());
        Err(self.refuse(message, format!("save `{key}.ravel()`")))
    }

    fn names(&mut self, key: &str) -> Result<Option<Names>> {
        let Some(array) = self.array(key)? else { return Ok(None) };
        self.vector(key, &array)?;
        let kind = array.data().dtype();
        match Names::from(array.into_data()) {
            Some(names) => Ok(Some(names)),
            None => Err(self.refuse(
                format!("`{key}` is {kind}; integers or text are needed"),
                format!("save `{key}.astype(int)`"),
            )),
        }
    }

    fn numbers(&mut self, key: &str) -> Result<Option<Vec<f64>>> {
        let Some(array) = self.array(key)? else { return Ok(None) };
        self.vector(key, &array)?;
        match array.data().to_f64() {
            Some(values) if values.iter().all(|v| v.is_finite()) => Ok(Some(values)),
            Some(_) => Err(self.refuse(
                format!("`{key}` has a value that is not a number"),
                "leave such trials out, or leave the whole array out",
            )),
            None => Err(self.refuse(format!("`{key}` is text; numbers are needed"), "save it as floats")),
        }
    }

    fn texts(&mut self, keys: &[&'static str]) -> Result<Option<Vec<String>>> {
        let Some((key, array)) = self.first(keys)? else { return Ok(None) };
        self.vector(key, &array)?;
        let texts = match array.into_data() {
            Data::Text(texts) => texts,
            other => {
                let message = format!("`{key}` is {}; text is needed", other.dtype());
                return Err(self.refuse(message, format!("save `np.array({key}, dtype=str)`")));
            }
        };
        let mut sorted: Vec<&String> = texts.iter().collect();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(
                self.refuse(format!("`{key}` has `{}` twice", pair[0]), "give each a name of its own")
            );
        }
        Ok(Some(texts))
    }

    fn number(&mut self, keys: &[&'static str]) -> Result<Option<f64>> {
        let Some((key, array)) = self.first(keys)? else { return Ok(None) };
        match array.data().to_f64().as_deref() {
            Some(&[value]) if value.is_finite() && (key == "start_s" || value > 0.0) => Ok(Some(value)),
            Some(&[value]) => {
                Err(self.refuse(format!("`{key}` is {value}"), "give a number that is possible"))
            }
            _ => {
                let message = format!(
                    "`{key}` is {} of shape {:?}; one number is needed",
                    array.data().dtype(),
                    array.shape()
                );
                Err(self.refuse(message, format!("save it as a scalar, such as `{key}=128.0`")))
            }
        }
    }

    /// The unit, and what values are multiplied by to be in it.
    fn unit(&mut self) -> Result<(Unit, f32)> {
        let data = self.array("unit")?.map(Array::into_data);
        let Some(data) = data else { return Ok((Unit::Arbitrary, 1.0)) };
        if let Data::Text(text) = &data
            && let [text] = &text[..]
        {
            if text == "arbitrary" {
                return Ok((Unit::Arbitrary, 1.0));
            }
            if let Some((_, microvolts)) = ptsm_io::voltage(text) {
                return Ok((Unit::Microvolts, microvolts as f32));
            }
        }
        let hint = "give `V`, `mV`, `uV`, `nV` or `arbitrary`, or leave it out";
        Err(self.refuse(format!("`unit` is {data:?}"), hint))
    }

    /// `paradigm` and `symmetry`: pairs of classes that swap when left and right are exchanged, or one text.
    fn task(&mut self) -> Result<TaskDeclaration> {
        let declared = |error: ptsm_signal::Error, keys: &Keys| {
            keys.refuse(error.to_string(), error.hint().unwrap_or_default())
        };
        let paradigm = match self.array("paradigm")?.map(Array::into_data) {
            None => None,
            Some(Data::Text(text)) if text.len() == 1 => {
                Some(text[0].parse::<Paradigm>().map_err(|error| declared(error, self))?)
            }
            Some(other) => {
                let message = format!("`paradigm` is {}; one text is needed", other.dtype());
                return Err(self.refuse(message, "save it as text, such as `paradigm=\"motor-imagery\"`"));
            }
        };
        let Some(array) = self.array("symmetry")? else {
            return Ok(TaskDeclaration { paradigm, symmetry: Symmetry::Undeclared });
        };
        let (shape, kind) = (array.shape().to_vec(), array.data().dtype());
        let names: Option<Vec<String>> =
            Names::from(array.into_data()).map(|names| names.iter().map(|name| name.words()).collect());
        let symmetry = match (names.as_deref(), &shape[..]) {
            (Some([text]), [] | [1]) => text.parse(),
            (Some(names), [_, 2]) => {
                Symmetry::swapping(names.as_chunks::<2>().0.iter().map(|[one, other]| (one, other)))
            }
            _ => {
                let message = format!("`symmetry` is {kind} of shape {shape:?}; pairs of classes are needed");
                let hint = "save `symmetry=[[\"left_hand\", \"right_hand\"]]`, or leave it out";
                return Err(self.refuse(message, hint));
            }
        };
        Ok(TaskDeclaration { paradigm, symmetry: symmetry.map_err(|error| declared(error, self))? })
    }

    /// `pipeline`: what was done to the trials already.
    fn pipeline(&mut self) -> Result<Option<Pipeline>> {
        let text = match self.array("pipeline")?.map(Array::into_data) {
            None => return Ok(None),
            Some(Data::Text(text)) if text.len() == 1 => text,
            Some(other) => {
                let message = format!("`pipeline` is {}; one text is needed", other.dtype());
                return Err(self.refuse(message, AGAIN));
            }
        };
        let refuse = |message: String| self.refuse(format!("`pipeline`: {message}"), AGAIN);
        let pipeline: Pipeline = serde_json::from_str(&text[0]).map_err(|error| refuse(error.to_string()))?;
        pipeline.check().map_err(|error| refuse(error.to_string()))?;
        Ok(Some(pipeline))
    }

    /// `recognised_by`: numbers of subjects and hashes, in pairs.
    fn recognised_by(&mut self) -> Result<Vec<(SubjectId, String)>> {
        let Some(array) = self.array("recognised_by")? else { return Ok(vec![]) };
        let shape = array.shape().to_vec();
        let pairs = match array.into_data() {
            Data::Text(texts) if shape.len() == 2 && shape[1] == 2 => texts,
            other => {
                let message = format!(
                    "`recognised_by` is {} of shape {shape:?}; pairs of text are needed",
                    other.dtype()
                );
                return Err(self.refuse(message, AGAIN));
            }
        };
        let pair =
            |[number, hash]: &[String; 2]| match number.parse() {
                Ok(number) => Ok((SubjectId(number), hash.clone())),
                Err(_) => Err(self
                    .refuse(format!("`recognised_by` has `{number}`, which is no subject's number"), AGAIN)),
            };
        pairs.as_chunks::<2>().0.iter().map(pair).collect()
    }

    fn three(&self, shape: &[usize]) -> Result<[usize; 3]> {
        match *shape {
            [0, _, _] => Err(self.refuse("`X` has no trials", "save at least one trial")),
            [n, c, t] if c > 0 && t > 0 => Ok([n, c, t]),
            _ => {
                let hint = match shape.len() {
                    2 => "for one channel save `X[:, None, :]`",
                    4 => "for a dimension of size 1 save `X.squeeze(axis)`",
                    _ => "arrange it as trials, channels, samples",
                };
                let message = format!("`X` has the shape {shape:?}; (trials, channels, samples) is needed");
                Err(self.refuse(message, hint))
            }
        }
    }

    fn channels(
        &self,
        names: Option<Vec<String>>,
        count: usize,
        unit: Unit,
        positions: Option<Array>,
    ) -> Result<Vec<Channel>> {
        let names = names.unwrap_or_else(|| (1..=count).map(|i| format!("ch{i}")).collect());
        if names.len() != count {
            let message = format!("`channels` has {} names, `X` has {count} channels", names.len());
            return Err(self.refuse(message, "give one name per channel; `X` is (trials, channels, samples)"));
        }
        if let Some(name) = names.iter().find(|name| SignalKind::of_name(name) == Some(SignalKind::Stimulus))
        {
            return Err(self.refuse(
                format!("channel `{name}` holds triggers by its name, not EEG: a decoder would read the classes from it"),
                "save the EEG channels only, as `epochs.pick(\"eeg\")` does; if it is an electrode, give it the name of one",
            ));
        }
        let mut channels: Vec<Channel> =
            names.iter().map(|name| Channel { unit, ..Channel::named(name) }).collect();
        let mut seen = HashMap::new();
        for (channel, name) in channels.iter().zip(&names) {
            if let Some(other) = seen.insert(&channel.name, name) {
                let message = format!("`channels` has `{other}` and `{name}`, which are one electrode");
                return Err(self.refuse(message, "give each channel a name of its own"));
            }
        }
        if let Some(array) = positions {
            let places = array.data().to_f64().filter(|_| array.shape() == [count, 3]).ok_or_else(|| {
                let message = format!(
                    "`positions` is {} of shape {:?}, not numbers of shape [{count}, 3]",
                    array.data().dtype(),
                    array.shape()
                );
                self.refuse(message, "give x, y, z of each channel, or leave it out")
            })?;
            for (channel, &[x, y, z]) in channels.iter_mut().zip(places.as_chunks().0) {
                let known = x.is_finite() && y.is_finite() && z.is_finite();
                channel.position = known.then_some(Position { x, y, z });
            }
        }
        Ok(channels)
    }

    fn signal(&self, data: Data, samples: usize, channels: &[Channel]) -> Result<Vec<f32>> {
        let kind = data.dtype();
        // Asked of the values as stored: 1e300 is a number, but none of single precision.
        let bad = match &data {
            Data::F32(values) => {
                values.iter().position(|v| !v.is_finite()).map(|i| (i, f64::from(values[i])))
            }
            Data::F64(values) => values.iter().position(|v| !(*v as f32).is_finite()).map(|i| (i, values[i])),
            _ => None,
        };
        if let Some((i, value)) = bad {
            let one = channels.len() * samples;
            let (trial, channel, t) = (i / one, &channels[i % one / samples].name, i % samples);
            let what = if value.is_finite() { "too large for single precision" } else { "not a number" };
            return Err(self.refuse(
                format!("trial {trial}, channel `{channel}`, sample {t} of `X` is {value:e}, {what}"),
                "leave such trials out or interpolate the channel before",
            ));
        }
        data.into_f32()
            .ok_or_else(|| self.refuse(format!("`X` is {kind}; numbers are needed"), "save it as `float32`"))
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "no arrays".into(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}
