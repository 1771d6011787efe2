//! The struct of a recording, whatever its name is.

use crate::error::{Error, Place, Result};
use crate::mat::{FieldDetail, MatFile, Outline, Value};

/// What is wanted of the struct.
pub(super) struct Fields {
    /// A single struct without the samples.
    pub(super) record: Value,
    /// The samples of each trial.
    pub(super) outlines: Vec<Outline>,
    /// The variable.
    pub(super) place: Place,
}

/// What is wanted of a field. All else, such as what was done to the data and names of files, stays in the file.
fn want(path: &[&str]) -> FieldDetail {
    match path {
        ["trial"] => FieldDetail::Outline,
        []
        | ["label" | "fsample" | "time" | "trialinfo" | "sampleinfo" | "chanunit" | "chantype" | "hdr"]
        | ["hdr", "label" | "Fs" | "chanunit" | "chantype"] => FieldDetail::Whole,
        _ => FieldDetail::Nothing,
    }
}

impl Fields {
    /// Reads the fields of the struct that is a recording; none where no variable is one.
    pub(super) fn read(file: &MatFile, place: &Place) -> Result<Option<Fields>> {
        let mut found = vec![];
        for name in file.names() {
            // The names of its fields, and of numbers where they are.
            let names =
                |path: &[&str]| if path.is_empty() { FieldDetail::Outline } else { FieldDetail::Nothing };
            let (value, _) = file.survey(&name, &names)?;
            if let Value::Struct { fields, .. } = &value
                && ["label", "trial", "time"].iter().all(|needed| fields.iter().any(|field| field == needed))
            {
                found.push(name);
            }
        }
        let name = match (&found[..], found.iter().find(|name| *name == "data")) {
            ([], _) => return Ok(None),
            ([name], _) | (_, Some(name)) => name,
            (several, None) => {
                let message = format!("holds several recordings: `{}`", several.join("`, `"));
                return Err(Error::format(place, message)
                    .with_hint("save each of them in a file of its own, or call the right one `data`"));
            }
        };
        let (record, outlines) = file.survey(name, &want)?;
        let place = Place { member: Some(name.clone()), ..place.clone() };
        let count = record.dims().iter().fold(1_usize, |n, &d| n.saturating_mul(d));
        if count != 1 {
            return Err(Error::format(&place, format!("holds {count} recordings"))
                .with_hint("save each of them in a file of its own"));
        }
        Ok(Some(Fields { record, outlines, place }))
    }
}
