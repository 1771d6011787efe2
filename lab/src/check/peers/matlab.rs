//! MATLAB files, against what SciPy and h5py wrote.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ptsm_io::mat::{MatFile, Numbers, Value};
use serde::Deserialize;

use super::PeerTally;
use super::telling::PeerScript;
use crate::python::Python;

/// What a file holds.
#[derive(Deserialize)]
struct Expected {
    title: String,
    file: PathBuf,
    variables: Vec<(String, DescribedValue)>,
}

/// A value as the other side describes it: numbers are text.
#[derive(Debug, Deserialize)]
#[serde(tag = "class", rename_all = "lowercase")]
pub(super) enum DescribedValue {
    Array { dims: Vec<usize>, real: Vec<String>, imaginary: Option<Vec<String>>, logical: bool },
    Text { rows: Vec<String> },
    Cell { dims: Vec<usize>, values: Vec<DescribedValue> },
    Struct { dims: Vec<usize>, fields: Vec<String>, values: Vec<DescribedValue> },
    Sparse { dims: [usize; 2], entries: Vec<(usize, usize, String)> },
}

pub(super) fn check(python: &Python, folder: &Path, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("make.py");
    script.arg(folder).arg("mat");
    let mut telling = PeerScript::start(script)?;
    let before = held.right;
    while let Some((expected, _)) = telling.next::<Expected>()? {
        held.add(&expected.title, &expected.file, compare(&expected));
    }
    println!("{} MATLAB files of every class hold what SciPy and h5py wrote", held.right - before);
    Ok(())
}

fn compare(expected: &Expected) -> Result<()> {
    let file = MatFile::open(&expected.file)?;
    let (mut names, mut expected_names) =
        (file.names(), Vec::from_iter(expected.variables.iter().map(|v| v.0.clone())));
    names.sort();
    expected_names.sort();
    ensure!(names == expected_names, "variables {names:?} should be {expected_names:?}");
    for (name, described) in &expected.variables {
        let value = file.read(name)?;
        described.is(&value).with_context(|| name.clone())?;
    }
    Ok(())
}

impl DescribedValue {
    /// Whether a value is the same; otherwise what differs.
    fn is(&self, value: &Value) -> Result<()> {
        match (self, value) {
            (
                DescribedValue::Array { dims, real, imaginary, logical },
                Value::Array { dims: sizes, real: numbers, imaginary: more, logical: truth },
            ) => {
                ensure!(dims == sizes, "sizes {sizes:?} should be {dims:?}");
                ensure!(logical == truth, "truth values: {truth} should be {logical}");
                equal(real, numbers)?;
                // Of nothing nobody knows whether it is complex.
                match (imaginary.as_ref().filter(|i| !i.is_empty()), more.as_ref().filter(|m| !m.is_empty()))
                {
                    (Some(imaginary), Some(more)) => equal(imaginary, more).context("imaginary parts"),
                    (None, None) => Ok(()),
                    _ => bail!("imaginary parts: {} should be {}", more.is_some(), imaginary.is_some()),
                }
            }
            (DescribedValue::Text { rows }, Value::Text(found)) => {
                // Text without letters may have one row or none.
                let empty = |rows: &[String]| rows.iter().all(String::is_empty);
                ensure!(rows == found || empty(rows) && empty(found), "{found:?} should be {rows:?}");
                Ok(())
            }
            (DescribedValue::Cell { dims, values }, Value::Cell { dims: sizes, values: found }) => {
                ensure!(dims == sizes, "sizes {sizes:?} should be {dims:?}");
                all(values, found)
            }
            (
                DescribedValue::Struct { dims, fields, values },
                Value::Struct { dims: sizes, fields: names, values: found },
            ) => {
                ensure!(dims == sizes, "sizes {sizes:?} should be {dims:?}");
                ensure!(fields == names, "fields {names:?} should be {fields:?}");
                all(values, found)
            }
            (DescribedValue::Sparse { dims, entries }, Value::Sparse { dims: sizes, entries: found }) => {
                ensure!(dims == sizes, "sizes {sizes:?} should be {dims:?}");
                let entries: Vec<_> =
                    entries.iter().map(|(r, c, v)| Ok((*r, *c, v.parse()?))).collect::<Result<_>>()?;
                ensure!(*found == entries, "{found:?} should be {entries:?}");
                Ok(())
            }
            _ => bail!("{value:?} should be {self:?}"),
        }
    }
}

fn all(expected: &[DescribedValue], found: &[Value]) -> Result<()> {
    ensure!(expected.len() == found.len(), "{} values should be {}", found.len(), expected.len());
    for (i, (expected, found)) in expected.iter().zip(found).enumerate() {
        expected.is(found).with_context(|| format!("value {i}"))?;
    }
    Ok(())
}

/// Whole numbers to the last digit, others to the last bit but for the kind of NaN.
fn equal(expected: &[String], found: &Numbers) -> Result<()> {
    ensure!(expected.len() == found.len(), "{} numbers should be {}", found.len(), expected.len());
    let whole: Option<Vec<i128>> = match found {
        Numbers::I64(all) => Some(all.iter().map(|&n| n.into()).collect()),
        Numbers::U64(all) => Some(all.iter().map(|&n| n.into()).collect()),
        _ => None,
    };
    if let Some(whole) = whole {
        let expected = expected.iter().map(|n| n.parse()).collect::<Result<Vec<i128>, _>>()?;
        ensure!(whole == expected, "{whole:?} should be {expected:?}");
        return Ok(());
    }
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    for (i, (expected, found)) in expected.iter().zip(found.to_f64()).enumerate() {
        ensure!(same(expected.parse()?, found), "number {i} is {found}, not {expected}");
    }
    Ok(())
}
