//! Channels: names, kinds and units.

use super::trials::Trials;
use crate::error::{Error, Place, Result};
use crate::kind::kind_of;
use crate::mat::Value;
use crate::recording_file::{SignalHeader, SignalKind};
use crate::unit::voltage;

/// Signals, and what their numbers are multiplied by.
pub(super) fn read(
    record: &Value,
    trials: &Trials,
    place: &Place,
    notes: &mut Vec<String>,
) -> Result<(Vec<SignalHeader>, Vec<f32>)> {
    let Some(labels) = texts(record.field("label")) else {
        return Err(Error::format(place, "`label` is no list of names")
            .with_hint("`label` is a cell array with the name of each channel"));
    };
    if labels.len() != trials.channels {
        let message = format!("`label` names {} channels, trials have {}", labels.len(), trials.channels);
        return Err(Error::format(place, message).with_hint("set `data.label` and save it again"));
    }
    // What describes channels may be of more than there are: then nobody knows which belong to these.
    let list = |name: &str| {
        let own = texts(record.field(name)).filter(|list| list.len() == labels.len());
        own.or_else(|| of_header(record, name, &labels))
    };
    let (units, kinds) = (list("chanunit"), list("chantype"));
    let mut unstated = 0;
    let mut all = (vec![], vec![]);
    for (i, label) in labels.iter().enumerate() {
        let of = |list: &Option<Vec<String>>| list.as_ref().map_or("", |list| &*list[i]).trim().to_string();
        let unit = Some(of(&units)).filter(|unit| unit != "unknown").unwrap_or_default();
        let kind = kind(&of(&kinds), label);
        let voltage = voltage(if unit.is_empty() { "uV" } else { &unit });
        let microvolts = voltage.filter(|_| !matches!(kind, SignalKind::Stimulus | SignalKind::Other));
        unstated += usize::from(unit.is_empty() && microvolts.is_some());
        all.0.push(SignalHeader {
            kind: if kind == SignalKind::Eeg && microvolts.is_none() { SignalKind::Other } else { kind },
            unit: microvolts.map_or(&*unit, |(name, _)| name).to_string(),
            microvolts: microvolts.is_some(),
            ..SignalHeader::new(label, trials.rate_hz, trials.length())
        });
        all.1.push(microvolts.map_or(1.0, |(_, factor)| factor as f32));
    }
    if unstated > 0 {
        notes.push(format!(
            "the file does not say the unit of {unstated} channels: they are taken for microvolts"
        ));
    }
    Ok(all)
}

/// What the header of the original file says of each channel, by its name.
fn of_header(record: &Value, name: &str, labels: &[String]) -> Option<Vec<String>> {
    let header = record.field("hdr")?;
    let (names, values) = (texts(header.field("label"))?, texts(header.field(name))?);
    if names.len() != values.len() {
        return None;
    }
    let of = |label: &String| names.iter().position(|name| name == label).map(|at| values[at].clone());
    labels.iter().map(of).collect()
}

/// A list of texts; of one text where there is one channel.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::Cell { values, .. } => values.iter().map(|value| value.text().map(str::to_string)).collect(),
        Value::Text(rows) => Some(rows.iter().map(|row| row.trim().to_string()).collect()),
        _ => None,
    }
}

/// What the type says; where it says nothing, what the name does.
fn kind(of: &str, name: &str) -> SignalKind {
    match of.to_lowercase().as_str() {
        "" | "unknown" | "other" => kind_of(name, "uV"),
        "eeg" => SignalKind::Eeg,
        "eog" | "heog" | "veog" => SignalKind::Eog,
        "emg" => SignalKind::Emg,
        "ecg" | "ekg" => SignalKind::Ecg,
        text if text.contains("trig") || text.contains("stim") || text == "status" => SignalKind::Stimulus,
        _ => SignalKind::Other,
    }
}
