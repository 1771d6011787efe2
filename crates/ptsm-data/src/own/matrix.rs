//! MATLAB files that hold a plain matrix of samples: which variable is what.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ptsm_io::mat::{MatFile, Numbers, Value};
use ptsm_signal::Event;
use serde::Deserialize;

use super::sheet::{Column, Sheet};
use super::words::Words;
use crate::error::{Error, Result};

/// Which variables of a file hold what; `a.b` is field `b` of the struct `a`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variables {
    /// The signal.
    pub(super) samples: Option<String>,
    /// What its rows are; the longer side is time without it.
    pub(super) rows: Option<Rows>,
    /// One number per sample, not zero where an event begins.
    pub(super) triggers: Option<String>,
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

impl Variables {
    /// These with the gaps filled from others.
    pub(super) fn or(&self, others: &Variables) -> Variables {
        Variables {
            samples: self.samples.clone().or_else(|| others.samples.clone()),
            rows: self.rows.or(others.rows),
            triggers: self.triggers.clone().or_else(|| others.triggers.clone()),
            rate: self.rate.clone().or_else(|| others.rate.clone()),
            channels: self.channels.clone().or_else(|| others.channels.clone()),
            unit: self.unit.clone().or_else(|| others.unit.clone()),
        }
    }

    /// Opens a file. `rate_hz` goes over what the file says. Samples are read later where channels and triggers tell how many there
    /// are.
    pub(super) fn sheet(&self, path: &Path, rate_hz: Option<f64>) -> Result<Sheet> {
        let refuse = |message: String, hint: &str| refuse(path, message, hint);
        let Some(name) = &self.samples else {
            return Err(refuse(
                "nobody says which variable holds the samples".into(),
                "write `samples = \"NAME\"` in the table `[mat]` of the manifest",
            ));
        };
        let file = MatFile::open(path)?;
        let variable = name.split('.').next().unwrap_or_default();
        if !file.names().iter().any(|known| known == variable) {
            // Says which there are.
            value(&file, name, path)?;
        }
        let rate = match (rate_hz, &self.rate) {
            (Some(rate), _) => Some(rate),
            (None, Some(Words::One(word))) => match word.parse() {
                Ok(rate) => Some(rate),
                Err(_) => value(&file, word, path)?.number(),
            },
            _ => None,
        };
        let Some(rate) = rate.filter(|rate| rate.is_finite() && *rate > 0.0) else {
            return Err(refuse(
                "nobody says how many samples a second has".into(),
                "write `rate = 250` or `rate = \"NAME\"` of the variable in the table `[mat]` of the manifest",
            ));
        };
        let names = match &self.channels {
            None => None,
            Some(Words::Many(names)) => Some(names.clone()),
            Some(Words::One(name)) => Some(texts(&value(&file, name, path)?).ok_or_else(|| {
                refuse(
                    format!("variable `{name}` is no list of texts"),
                    "write the names themselves in `[mat]`",
                )
            })?),
        };
        let marks = match &self.triggers {
            None => None,
            Some(name) => Some(value(&file, name, path)?.vector().unwrap_or_default()),
        };
        let events = marks.as_ref().map(|marks| triggers(marks)).unwrap_or_default();
        let column = |name: String| {
            let mut column = Column::new(name);
            self.unit.iter().for_each(|unit| column.in_unit(unit));
            column
        };
        let columns = |names: Vec<String>| names.into_iter().map(column).collect();
        let matrix = Matrix { path: path.to_path_buf(), name: name.clone(), rows: self.rows };
        let (names, marks) = match (names, marks) {
            (Some(names), Some(marks)) => {
                return Ok(Sheet::in_matrix(rate, columns(names), marks.len(), events, matrix));
            }
            unknown => unknown,
        };
        // One at a time: nobody has counted how much memory they take.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (channels, samples) = matrix.whole()?;
        let names = names.unwrap_or_else(|| (1..=channels).map(|at| format!("ch{at}")).collect());
        let length = samples.len() / channels.max(1);
        matrix.check((channels, length), (names.len(), marks.map_or(length, |marks| marks.len())))?;
        Ok(Sheet::in_matrix(rate, columns(names), length, events, matrix))
    }
}

/// A matrix of samples in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    path: PathBuf,
    /// Which variable.
    name: String,
    rows: Option<Rows>,
}

impl Matrix {
    /// Samples `[C, N]`, where there are as many channels and samples as are said.
    pub(super) fn read(&self, channels: usize, length: usize) -> Result<Vec<f32>> {
        let (own, samples) = self.whole()?;
        self.check((own, samples.len() / own.max(1)), (channels, length))?;
        Ok(samples)
    }

    fn whole(&self) -> Result<(usize, Vec<f32>)> {
        let file = MatFile::open(&self.path)?;
        matrix(&value(&file, &self.name, &self.path)?, self.rows).map_err(|message| {
            refuse(
                &self.path,
                format!("variable `{}` {message}", self.name),
                "name a matrix of samples in `[mat]`",
            )
        })
    }

    /// Channels and samples that are there against those that are said.
    fn check(&self, (channels, length): (usize, usize), (names, marks): (usize, usize)) -> Result<()> {
        if names != channels {
            return Err(refuse(
                &self.path,
                format!("{names} names of channels do not fit its {channels} channels"),
                "list one name for each in `[mat]`, and see that `rows` is right",
            ));
        }
        if marks != length {
            return Err(refuse(
                &self.path,
                format!("its triggers are {marks} numbers for {length} samples"),
                "name the variable with one number per sample as `triggers` in `[mat]`",
            ));
        }
        Ok(())
    }
}

fn refuse(path: &Path, message: String, hint: &str) -> Error {
    Error::Content { path: path.to_path_buf(), message, hint: Some(hint.to_string()) }
}

/// A variable or a field of one.
fn value(file: &MatFile, name: &str, path: &Path) -> Result<Value> {
    let mut parts = name.split('.');
    let variable = parts.next().unwrap_or_default();
    let inside: Vec<&str> = parts.collect();
    // Fields beside the way to the wanted one cost nothing.
    let on_the_way = |at: &[&str]| at.iter().zip(&inside).all(|(a, b)| a == b);
    let mut value = file.read_some(variable, &on_the_way)?;
    for part in &inside {
        value = value.field(part).cloned().ok_or_else(|| Error::Content {
            path: path.to_path_buf(),
            message: format!("has no `{name}`"),
            hint: Some("see the names in `[mat]`".into()),
        })?;
    }
    Ok(value)
}

/// A matrix as channels, C of them, and samples `[C, N]`.
pub(super) fn matrix(value: &Value, rows: Option<Rows>) -> Result<(usize, Vec<f32>), String> {
    let Value::Array { dims, real, imaginary: None, .. } = value else {
        return Err("is no matrix of numbers".into());
    };
    let [height, width] = dims[..] else {
        return Err(format!("has {} dimensions, not 2", dims.len()));
    };
    if height == 0 || width == 0 {
        return Err("is empty".into());
    }
    match rows.unwrap_or(if height >= width { Rows::Samples } else { Rows::Channels }) {
        Rows::Samples => Ok((width, real.to_f32())),
        Rows::Channels => Ok((height, transposed(real, height))),
    }
}

/// Column-major numbers of some rows, row by row.
fn transposed(numbers: &Numbers, rows: usize) -> Vec<f32> {
    let numbers = numbers.to_f32();
    (0..rows).flat_map(|row| numbers.iter().skip(row).step_by(rows)).copied().collect()
}

/// An event at the first sample of each stretch that is not zero, called like the number there.
pub(super) fn triggers(numbers: &[f64]) -> Vec<Event> {
    let before = std::iter::once(&0.0).chain(numbers);
    let begins = |(sample, (now, before)): (usize, (&f64, &f64))| {
        let begins = *now != 0.0 && now.is_finite() && now != before;
        begins.then(|| Event { sample, code: now.to_string(), samples: 0 })
    };
    numbers.iter().zip(before).enumerate().filter_map(begins).collect()
}

/// A list of texts.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Text(rows) => Some(rows.iter().map(|row| row.trim().to_string()).collect()),
        Value::Cell { values, .. } => values.iter().map(|value| value.text().map(str::to_string)).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_longer_side_is_time_unless_it_is_said() {
        // Two channels, three samples.
        let tall = Value::matrix(vec![3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let wide = Value::matrix(vec![2, 3], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let expected = (2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(matrix(&tall, None).unwrap(), expected);
        assert_eq!(matrix(&wide, None).unwrap(), expected);
        assert_eq!(matrix(&wide, Some(Rows::Samples)).unwrap(), (3, vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
        for (value, says) in [
            (Value::Text(vec![]), "no matrix"),
            (Value::matrix(vec![1, 1, 1], vec![0.0]), "3 dimensions"),
            (Value::matrix(vec![0, 3], vec![]), "empty"),
        ] {
            assert!(matrix(&value, None).unwrap_err().contains(says));
        }
    }

    #[test]
    fn an_event_begins_where_the_trigger_changes_to_something() {
        let events = triggers(&[0.0, 1.0, 1.0, 0.0, -1.0, 2.5, 2.5, f64::NAN, 0.0, 2.5]);
        let all: Vec<_> = events.iter().map(|e| (e.sample, &*e.code)).collect();
        assert_eq!(all, [(1, "1"), (4, "-1"), (5, "2.5"), (9, "2.5")]);
        assert_eq!(triggers(&[3.0])[0].sample, 0);
    }

    #[test]
    fn own_settings_go_over_those_of_all() {
        let all: Variables = toml::from_str("samples = \"y\"\nrate = 250\nchannels = [\"C3\", 4]\n").unwrap();
        assert_eq!(all.rate, Some(Words::One("250".into())));
        assert_eq!(all.channels.clone().unwrap().list(), ["C3", "4"]);
        let own: Variables = toml::from_str("rows = \"channels\"\nrate = \"fs\"").unwrap();
        let both = own.or(&all);
        assert_eq!((both.samples.as_deref(), both.rows), (Some("y"), Some(Rows::Channels)));
        assert_eq!(both.rate, Some(Words::One("fs".into())));
        assert!(toml::from_str::<Variables>("channels = [[1]]").is_err());
        assert!(toml::from_str::<Variables>("samples = 3").is_err());
    }
}
