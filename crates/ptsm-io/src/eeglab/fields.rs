//! The fields of the struct `EEG`, wherever in the file they are.

use crate::error::{Error, Place, Result};
use crate::mat::{FieldDetail, MatFile, Outline, Value};

/// What is wanted of the struct.
pub(super) struct Fields {
    /// A single struct without the samples.
    pub(super) record: Value,
    pub(super) data: Data,
}

/// Where the samples are.
pub(super) enum Data {
    /// In this file.
    Inside(Outline),
    /// In another of this name.
    Beside(String),
}

impl Data {
    /// Sizes of the array; none where it is elsewhere.
    pub(super) fn dims(&self) -> Option<&[usize]> {
        match self {
            Data::Inside(outline) => Some(&outline.dims),
            Data::Beside(_) => None,
        }
    }
}

/// What is wanted of a field of `EEG`. All else, such as names of people and what was done to the data, stays in the file.
fn want(path: &[&str]) -> FieldDetail {
    match path {
        ["data"] => FieldDetail::Outline,
        []
        | ["nbchan" | "pnts" | "trials" | "srate" | "xmin" | "chanlocs" | "event" | "epoch"]
        | ["chanlocs", "labels" | "type" | "X" | "Y" | "Z"]
        | ["event", "type" | "latency" | "duration"]
        | ["epoch", "eventlatency" | "eventtype"] => FieldDetail::Whole,
        _ => FieldDetail::Nothing,
    }
}

/// Reads the fields.
pub(super) fn read(file: &MatFile, place: &Place) -> Result<Fields> {
    let names = file.names();
    let has = |name: &str| names.iter().any(|known| known == name);
    let refuse = |message: &str, hint: &str| Err(Error::format(place, message).with_hint(hint));
    let (record, outlines, variable) = match ["EEG", "ALLEEG"].into_iter().find(|name| has(name)) {
        Some(name) => {
            let (record, outlines) = file.survey(name, &want)?;
            (record, outlines, name)
        }
        None if has("data") && has("srate") => {
            let (record, outlines) = top_level(file, &names)?;
            (record, outlines, "data")
        }
        None => {
            return refuse(
                "holds no EEG: neither a struct `EEG` nor its fields",
                "check that it is a data set saved by EEGLAB",
            );
        }
    };
    if !matches!(record, Value::Struct { .. }) {
        return refuse(&format!("`{variable}` is no struct"), "check that it is a data set saved by EEGLAB");
    }
    let count = record.dims().iter().fold(1_usize, |n, &d| n.saturating_mul(d));
    if count != 1 {
        return refuse(
            &format!("`{variable}` holds {count} recordings"),
            "save each of them in a file of its own: `pop_saveset`",
        );
    }
    let data = match (record.field("data"), outlines.into_iter().next()) {
        (Some(Value::LeftOut), Some(outline)) => Data::Inside(outline),
        (Some(Value::Text(rows)), _) if rows.len() == 1 && !rows[0].trim().is_empty() => {
            // Only the last part counts: the rest is a folder of another computer, often with a name of a person.
            let last = rows[0].trim().rsplit(['/', '\\']).next().unwrap_or_default();
            Data::Beside(last.to_string())
        }
        (Some(value), _) if value.dims().contains(&0) => {
            return refuse("holds no samples", "save it again with its data");
        }
        _ => {
            return refuse("`data` is neither numbers nor the name of a file", "save it again with its data");
        }
    };
    Ok(Fields { record, data })
}

/// Fields that are variables of their own.
fn top_level(file: &MatFile, names: &[String]) -> Result<(Value, Vec<Outline>)> {
    let (mut fields, mut outlines) = (vec![], vec![]);
    for name in names.iter().map(String::as_str).filter(|name| want(&[name]) != FieldDetail::Nothing) {
        let inside = |path: &[&str]| want(&[&[name], path].concat());
        let (value, more) = file.survey(name, &inside)?;
        fields.push((name, value));
        outlines.extend(more);
    }
    Ok((Value::record(fields), outlines))
}
