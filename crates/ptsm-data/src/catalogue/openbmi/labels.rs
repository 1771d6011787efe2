//! The class of each trial: the file's own table, compared with what is known of it.

use ptsm_io::mat::Value;

use super::experiment::Experiment;
use crate::catalogue::matlab::{Record, kind};
use crate::error::Result;

/// The number of each trial's class, once everything the file says about it agrees.
pub(super) fn labels(set: &Experiment, record: &Record<'_>) -> Result<Vec<usize>> {
    let codes = record.counts("y_dec")?;
    let known = |code: &u32| (1..=set.codes.len() as u32).contains(code);
    if let Some(other) = codes.iter().find(|code| !known(code)) {
        return Err(record.refuse("y_dec", format!("holds class {other}; there are {}", set.codes.len())));
    }
    let labels: Vec<usize> = codes.iter().map(|&code| code as usize - 1).collect();
    // Either of the two tells what the numbers mean.
    let named = record.find("y_class").is_some();
    if record.find("class").is_some() || !named {
        check_table(set, record)?;
    }
    if named {
        check_names(set, record, &labels)?;
    }
    if let Some(value) = record.find("y_logic") {
        check_marks(set, record, value, &labels)?;
    }
    Ok(labels)
}

/// `class`: a row per class with its number and its name.
fn check_table(set: &Experiment, record: &Record<'_>) -> Result<()> {
    let value = record.get("class")?;
    let cells = match value {
        Value::Cell { dims, values } if dims[..] == [set.codes.len(), 2] => values,
        other => {
            let rows = set.codes.len();
            return Err(record.refuse("class", format!("is {}, not a cell array of {rows} x 2", kind(other))));
        }
    };
    for row in 0..set.codes.len() {
        let (number, name) = (&cells[row], &cells[row + set.codes.len()]);
        let code = number.text().map_or_else(|| number.number(), |text| text.trim().parse().ok());
        let at = code.filter(|code| code.fract() == 0.0 && *code >= 1.0).map(|code| code as usize - 1);
        let Some(&(expected, _)) = at.and_then(|at| set.codes.get(at)) else {
            return Err(record.refuse("class", format!("has {} for a class number", kind(number))));
        };
        if !same(name.text().unwrap_or_default(), expected) {
            let code = code.unwrap_or_default();
            return Err(
                record.refuse("class", format!("calls class {code} {}, not `{expected}`", kind(name)))
            );
        }
    }
    Ok(())
}

/// `y_class`: the name of each trial's class.
fn check_names(set: &Experiment, record: &Record<'_>, labels: &[usize]) -> Result<()> {
    let names = record.texts("y_class")?;
    if names.len() != labels.len() {
        let message = format!("has {} trials, `y_dec` has {}", names.len(), labels.len());
        return Err(record.refuse("y_class", message));
    }
    let other = (0..names.len()).find(|&i| !same(names[i], set.codes[labels[i]].0));
    other.map_or(Ok(()), |i| {
        let (found, expected) = (kind(&Value::Text(vec![names[i].into()])), set.codes[labels[i]].0);
        Err(record.refuse(
            "y_class",
            format!("calls trial {} {found}, `y_dec` says {} (`{expected}`)", i + 1, labels[i] + 1),
        ))
    })
}

/// `y_logic`: a row per class, a column per trial.
fn check_marks(set: &Experiment, record: &Record<'_>, value: &Value, labels: &[usize]) -> Result<()> {
    let classes = set.codes.len();
    let Some(marks) = value.vector().filter(|marks| marks.len() == classes * labels.len()) else {
        let message = format!("is {}, not numbers of {classes} x {}", kind(value), labels.len());
        return Err(record.refuse("y_logic", message));
    };
    let fits = |(marks, &label): (&[f64], &usize)| {
        marks.iter().enumerate().all(|(class, &mark)| (mark != 0.0) == (class == label))
    };
    match marks.chunks_exact(classes).zip(labels).position(|trial| !fits(trial)) {
        None => Ok(()),
        Some(i) => Err(record.refuse("y_logic", format!("and `y_dec` differ in trial {}", i + 1))),
    }
}

/// Whether two names are the same up to case, blanks and signs; `right hand` is `right`.
fn same(found: &str, expected: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let found = letters(found);
    found == expected || found == format!("{expected}hand")
}
