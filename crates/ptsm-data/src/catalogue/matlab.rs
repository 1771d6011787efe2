//! Fields of a MATLAB file, each checked to be what it should be.

use std::path::Path;

use ptsm_io::mat::{MatFile, Numbers, Value};

use super::refusal::{listed, refuse, shortened};
use crate::error::{Error, Result};

/// Reads the first of some variables that is there, with only the fields that `keep` says yes to.
pub(super) fn variable<'n>(
    path: &Path,
    names: &[&'n str],
    keep: &dyn Fn(&[&str]) -> bool,
) -> Result<(&'n str, Value)> {
    let file = MatFile::open(path)?;
    let present = file.names();
    match names.iter().find(|name| present.iter().any(|present| present == *name)) {
        Some(name) => Ok((name, file.read_some(name, keep)?)),
        None => {
            let expected = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
            Err(refuse(path, format!("has no variable {expected}; it has {}", listed(&present))))
        }
    }
}

/// Whether a file holds a variable. One that cannot be opened holds none.
pub(super) fn holds(path: &Path, name: &str) -> bool {
    MatFile::open(path).is_ok_and(|file| file.names().iter().any(|present| present == name))
}

/// The cells of a variable, each a struct.
pub(super) fn records<'a>(path: &'a Path, name: &str, value: &'a Value) -> Result<Vec<Record<'a>>> {
    let Some(cells) = value.cells() else {
        return Err(refuse(path, format!("`{name}` is {}, not a cell array", kind(value))));
    };
    cells
        .iter()
        .enumerate()
        .map(|(i, cell)| Record::new(path, format!("{name}{{{}}}", i + 1), cell))
        .collect()
}

/// A struct.
#[derive(Clone, Debug)]
pub(super) struct Record<'a> {
    path: &'a Path,
    /// As MATLAB would write it: `trials{3}.RawData`.
    place: String,
    value: &'a Value,
}

impl<'a> Record<'a> {
    /// Checks that it is one.
    pub(super) fn new(path: &'a Path, place: impl Into<String>, value: &'a Value) -> Result<Record<'a>> {
        let place = place.into();
        match value {
            Value::Struct { dims, .. } if dims.iter().product::<usize>() == 1 => {
                Ok(Record { path, place, value })
            }
            other => Err(refuse(path, format!("`{place}` is {}, not a struct", kind(other)))),
        }
    }

    /// What MATLAB calls a field of it.
    pub(super) fn place(&self, field: &str) -> String {
        format!("{}.{field}", self.place)
    }

    /// Something about a field that does not fit.
    pub(super) fn refuse(&self, field: &str, message: impl std::fmt::Display) -> Error {
        refuse(self.path, format!("`{}` {message}", self.place(field)))
    }

    /// A field, where it is there.
    pub(super) fn find(&self, field: &str) -> Option<&'a Value> {
        self.value.field(field).filter(|value| !matches!(value, Value::LeftOut))
    }

    /// A field.
    pub(super) fn get(&self, field: &str) -> Result<&'a Value> {
        self.find(field).ok_or_else(|| {
            let fields = match self.value {
                Value::Struct { fields, .. } => fields.as_slice(),
                _ => &[],
            };
            refuse(self.path, format!("`{}` has no field `{field}`; it has {}", self.place, listed(fields)))
        })
    }

    /// A field that is a struct.
    pub(super) fn record(&self, field: &str) -> Result<Record<'a>> {
        Record::new(self.path, self.place(field), self.get(field)?)
    }

    /// A field that is text.
    pub(super) fn text(&self, field: &str) -> Result<&'a str> {
        let value = self.get(field)?;
        value.text().ok_or_else(|| self.refuse(field, format!("is {}, not text", kind(value))))
    }

    /// A field that is a cell array of text.
    pub(super) fn texts(&self, field: &str) -> Result<Vec<&'a str>> {
        let value = self.get(field)?;
        let texts = value.cells().and_then(|cells| cells.iter().map(Value::text).collect());
        texts.ok_or_else(|| self.refuse(field, format!("is {}, not a cell array of text", kind(value))))
    }

    /// A field that is one number.
    pub(super) fn number(&self, field: &str) -> Result<f64> {
        let value = self.get(field)?;
        value
            .number()
            .filter(|number| number.is_finite())
            .ok_or_else(|| self.refuse(field, format!("is {}, not a number", kind(value))))
    }

    /// A field that is a whole number from 1 on.
    pub(super) fn count(&self, field: &str) -> Result<u32> {
        let number = self.number(field)?;
        whole(number).ok_or_else(|| self.refuse(field, format!("is {number}, not a number from 1 on")))
    }

    /// A field that is a sampling rate.
    pub(super) fn rate_hz(&self, field: &str) -> Result<f64> {
        let rate = self.number(field)?;
        if rate > 0.0 { Ok(rate) } else { Err(self.refuse(field, format!("is {rate}, not a sampling rate"))) }
    }

    /// A field that is whole numbers from 1 on, in a row or column.
    pub(super) fn counts(&self, field: &str) -> Result<Vec<u32>> {
        let value = self.get(field)?;
        let Some(numbers) = value.vector() else {
            return Err(self.refuse(field, format!("is {}, not a list of numbers", kind(value))));
        };
        let all: Option<Vec<u32>> = numbers.iter().map(|&number| whole(number)).collect();
        all.ok_or_else(|| {
            let other = numbers.iter().find(|&&number| whole(number).is_none()).copied().unwrap_or_default();
            self.refuse(field, format!("holds {other}, not only whole numbers from 1 on"))
        })
    }

    /// A field that is a matrix of samples and channels.
    pub(super) fn signal(&self, field: &str) -> Result<Samples<'a>> {
        let value = self.get(field)?;
        match value {
            Value::Array { dims, real, imaginary: None, .. } => match dims[..] {
                [rows, columns] if rows.checked_mul(columns) == Some(real.len()) => {
                    Ok(Samples { rows, columns, numbers: real })
                }
                _ => Err(self.refuse(field, format!("is {}, not samples by channels", kind(value)))),
            },
            _ => Err(self.refuse(field, format!("is {}, not a matrix", kind(value)))),
        }
    }
}

/// A matrix with a row per sample and a column per channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    numbers: &'a Numbers,
}

impl Samples<'_> {
    /// Some channels, one after the other.
    ///
    /// # Shapes
    /// Gives `[channels, rows]`.
    pub(super) fn channels(&self, columns: &[usize]) -> Vec<f32> {
        let mut all = Vec::with_capacity(columns.len().saturating_mul(self.rows));
        columns.iter().for_each(|&column| all.extend(self.part(column, 0, self.rows)));
        all
    }

    /// Some samples of a channel. What is not inside is not given.
    pub(super) fn part(&self, column: usize, first: usize, rows: usize) -> Vec<f32> {
        if column >= self.columns || first.checked_add(rows).is_none_or(|end| end > self.rows) {
            return vec![];
        }
        let start = column * self.rows + first;
        self.numbers.part_f32(start..start + rows)
    }
}

/// A whole number from 1 on.
fn whole(number: f64) -> Option<u32> {
    (number.fract() == 0.0 && number >= 1.0 && number <= f64::from(u32::MAX)).then_some(number as u32)
}

/// What a value is, for messages.
pub(super) fn kind(value: &Value) -> String {
    let sizes = value.dims().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    match value {
        Value::Array { imaginary: Some(_), .. } => format!("complex numbers of {sizes}"),
        Value::Array { .. } if sizes == "1 x 1" => match value.number() {
            Some(number) => format!("{number}"),
            None => "a number".into(),
        },
        Value::Array { .. } => format!("numbers of {sizes}"),
        Value::Text(rows) if rows.len() == 1 => format!("the text `{}`", shortened(&rows[0])),
        Value::Text(_) => format!("text of {sizes}"),
        Value::Cell { .. } => format!("a cell array of {sizes}"),
        Value::Struct { .. } => format!("a struct of {sizes}"),
        Value::Sparse { .. } => format!("a sparse matrix of {sizes}"),
        Value::LeftOut | Value::Sizes(_) => "not read".into(),
        Value::Opaque(class) => format!("a `{}`", shortened(class)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Value {
        let text = |text: &str| Value::Text(vec![text.into()]);
        Value::record(vec![
            ("x", Value::matrix(vec![3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
            ("t", Value::row(vec![1.0, 2.0])),
            ("names", Value::Cell { dims: vec![1, 2], values: vec![text("a"), text("b")] }),
            ("ear", text("L")),
            ("half", Value::row(vec![0.5])),
            ("none", Value::row(vec![])),
            ("left", Value::LeftOut),
        ])
    }

    #[test]
    fn fields_come_as_what_they_are() {
        let value = sample();
        let record = Record::new(Path::new("x.mat"), "data{2}", &value).unwrap();
        let x = record.signal("x").unwrap();
        assert_eq!((x.rows, x.columns), (3, 2));
        assert_eq!(x.channels(&[1, 0]), [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
        assert_eq!(x.part(1, 1, 2), [5.0, 6.0]);
        assert!(x.part(1, 2, 2).is_empty() && x.part(2, 0, 1).is_empty());
        assert_eq!(record.counts("t").unwrap(), [1, 2]);
        assert_eq!(record.texts("names").unwrap(), ["a", "b"]);
        assert_eq!(record.text("ear").unwrap(), "L");
        assert_eq!(record.rate_hz("half").unwrap(), 0.5);
        assert!(record.counts("none").unwrap().is_empty());
    }

    #[test]
    fn what_does_not_fit_says_the_file_the_field_and_what_it_is() {
        let value = sample();
        let record = Record::new(Path::new("x.mat"), "data{2}", &value).unwrap();
        for (error, says) in [
            (record.get("y").unwrap_err(), "x.mat: `data{2}` has no field `y`; it has `x`, `t`, `names`"),
            (record.get("left").unwrap_err(), "has no field `left`"),
            (record.text("x").unwrap_err(), "`data{2}.x` is numbers of 3 x 2, not text"),
            (record.number("t").unwrap_err(), "`data{2}.t` is numbers of 1 x 2, not a number"),
            (record.count("half").unwrap_err(), "`data{2}.half` is 0.5, not a number from 1 on"),
            (record.counts("half").unwrap_err(), "`data{2}.half` holds 0.5"),
            (record.texts("ear").unwrap_err(), "is the text `L`, not a cell array of text"),
            (record.signal("ear").unwrap_err(), "not a matrix"),
            (record.record("x").unwrap_err(), "not a struct"),
            (records(Path::new("x.mat"), "data", &value).unwrap_err(), "is a struct of 1 x 1, not a cell"),
        ] {
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.hint().is_some());
        }
    }
}
