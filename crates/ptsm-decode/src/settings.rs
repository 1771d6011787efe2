//! Settings as data: defaults that a file and flags change key by key, and a key nobody knows is an error.

use ptsm_signal::Layout;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Puts changes over defaults. Every key must be one that the defaults have; a key that is not names the nearest.
///
/// Where the default is a table, the change descends into it; everything else is replaced whole.
pub fn merge(defaults: &Value, changes: &Value) -> Result<Value> {
    at("", defaults, changes)
}

fn at(place: &str, defaults: &Value, changes: &Value) -> Result<Value> {
    let (Value::Object(known), Value::Object(given)) = (defaults, changes) else {
        return Ok(changes.clone());
    };
    let mut merged = known.clone();
    for (key, value) in given {
        let full = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        let Some(default) = known.get(key) else { return Err(unknown(full, key, known)) };
        merged.insert(key.clone(), at(&full, default, value)?);
    }
    Ok(Value::Object(merged))
}

/// Whether a change asks for a part, a table of settings, that is absent by default.
pub(crate) fn adds_parts(defaults: &Value, changes: &Value) -> bool {
    match (defaults, changes) {
        (Value::Null, Value::Object(_)) => true,
        (Value::Object(known), Value::Object(given)) => {
            given.iter().any(|(key, value)| known.get(key).is_some_and(|default| adds_parts(default, value)))
        }
        _ => false,
    }
}

fn unknown(full: String, key: &str, known: &Map<String, Value>) -> Error {
    let known: Vec<String> = known.keys().cloned().collect();
    let near = nearest(key, known.iter().map(String::as_str));
    let nearest = near.map(|near| format!("{}{near}", &full[..full.len() - key.len()]));
    Error::Key { key: full, nearest, known }
}

/// The name that a mistyped one most likely meant; none where nothing is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|k| (strsim::jaro_winkler(name, k), k))
        .filter(|(near, _)| *near > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k.to_string())
}

/// A value as data.
pub(crate) fn to_value(what: &impl Serialize) -> Result<Value> {
    serde_json::to_value(what).map_err(|e| Error::Configuration(e.to_string()))
}

/// Data as a value; what does not fit is named.
pub(crate) fn from_value<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let place = e.path().to_string();
        let message = e.into_inner().to_string();
        // The path of a value that is wrong as a whole is a dot.
        Error::Configuration(if place == "." { message } else { format!("`{place}`: {message}") })
    })
}

/// Settings of any type as data. Everything that can be serialised has it.
pub trait AsSettings {
    /// The settings as a JSON value.
    fn as_settings(&self) -> Result<Value>;
}

impl<T: Serialize> AsSettings for T {
    fn as_settings(&self) -> Result<Value> {
        to_value(self)
    }
}

/// The sampling rate that lengths in samples follow; none below 32 Hz, which is no rate of EEG.
pub(crate) fn eeg_rate_hz(layout: &Layout) -> Option<f64> {
    (layout.rate_hz >= 32.0).then_some(layout.rate_hz)
}

/// `name` must be a probability below 1.
pub(crate) fn probability(name: &str, p: f64) -> Result<()> {
    if (0.0..1.0).contains(&p) {
        return Ok(());
    }
    Err(Error::Configuration(format!("`{name}` must be at least 0 and below 1, got {p}")))
}

/// `name` must not be 0.
pub(crate) fn positive(name: &str, n: usize) -> Result<()> {
    if n > 0 { Ok(()) } else { Err(Error::Configuration(format!("`{name}` must be at least 1, got 0"))) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_laid_over_defaults() {
        let defaults = json!({"network": {"pool": "last", "shared": [1, 2]}, "epochs": 60, "clip": null});
        let merged = merge(&defaults, &json!({"network": {"pool": "each"}, "clip": 5.0})).unwrap();
        assert_eq!(merged, json!({"network": {"pool": "each", "shared": [1, 2]}, "epochs": 60, "clip": 5.0}));
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let defaults = json!({"training": {"epochs": 60, "patience": 15}});
        let error = merge(&defaults, &json!({"training": {"epoch": 3}})).unwrap_err();
        assert_eq!(error.to_string(), "configuration: there is no key `training.epoch`");
        assert_eq!(error.hint().unwrap(), "did you mean `training.epochs`?");
        let error = merge(&defaults, &json!({"zzz": 1})).unwrap_err();
        assert_eq!(error.hint().unwrap(), "known here: training");
    }
}
