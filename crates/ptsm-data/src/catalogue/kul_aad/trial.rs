//! One trial as a file describes it.

use ptsm_io::mat::Value;
use ptsm_signal::{Channel, normalise};

use super::CLASSES;
use crate::catalogue::channels::BIOSEMI;
use crate::catalogue::matlab::{Record, Samples, kind};
use crate::catalogue::refusal::listed;
use crate::error::Result;

/// Fields that are read, and those of the structs among them.
const FIELDS: [&str; 9] = [
    "RawData",
    "FileHeader",
    "TrialID",
    "attended_ear",
    "stimuli",
    "condition",
    "experiment",
    "attended_track",
    "subject",
];

/// Whether a field is read.
pub(super) fn keep(field: &[&str]) -> bool {
    match field {
        [name] => FIELDS.contains(name),
        ["RawData", name] => *name == "EegData",
        ["FileHeader", name] => ["SampleRate", "Channels"].contains(name),
        ["FileHeader", "Channels", name] => *name == "Label",
        _ => false,
    }
}

/// A trial.
pub(super) struct Trial<'a> {
    /// Its number; none where it has none.
    pub(super) id: Option<u32>,
    pub(super) experiment: u32,
    /// The side that is listened to.
    pub(super) class: &'static str,
    pub(super) rate_hz: f64,
    pub(super) channels: Vec<Channel>,
    pub(super) samples: Samples<'a>,
    /// What the user should know of it.
    pub(super) notes: Vec<String>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(record: &Record<'a>) -> Result<Trial<'a>> {
        let mut notes = vec![];
        let ear = record.text("attended_ear")?.trim();
        let class = match ear {
            "L" | "l" => CLASSES[0],
            "R" | "r" => CLASSES[1],
            _ => {
                let found = kind(record.get("attended_ear")?);
                return Err(record.refuse("attended_ear", format!("is {found}, not `L` or `R`")));
            }
        };
        let experiment = record.count("experiment")?;
        if experiment > 3 {
            return Err(record.refuse("experiment", format!("is {experiment}, not 1, 2 or 3")));
        }
        let header = record.record("FileHeader")?;
        let rate_hz = header.rate_hz("SampleRate")?;
        let raw = record.record("RawData")?;
        let samples = raw.signal("EegData")?;
        if samples.columns != BIOSEMI.len() {
            let message = format!("is {} x {}, not samples by 64 channels", samples.rows, samples.columns);
            return Err(raw.refuse("EegData", message));
        }
        let (channels, other) = channels(header.find("Channels"));
        notes.extend(other);
        notes.extend(other_side(record, class));
        if let Some(condition) = record.find("condition").and_then(Value::text)
            && !["hrtf", "dry"].contains(&&*condition.trim().to_lowercase())
        {
            notes.push(format!("condition is {}, not `HRTF` or `dry`", listed(&[condition])));
        }
        let id = record.find("TrialID").and_then(|_| record.count("TrialID").ok());
        Ok(Trial { id, experiment, class, rate_hz, channels, samples, notes })
    }
}

/// The channels by the file's labels, or by the order of the cap where it has none or others.
fn channels(header: Option<&Value>) -> (Vec<Channel>, Option<String>) {
    let cap = BIOSEMI.map(Channel::named).to_vec();
    let labels: Vec<&str> = match header {
        Some(channels @ Value::Struct { dims, .. }) => {
            let count = dims.iter().product::<usize>().min(4 * BIOSEMI.len());
            (0..count).filter_map(|i| channels.element(i, "Label")?.text()).collect()
        }
        _ => vec![],
    };
    if labels.iter().all(|label| label.trim().is_empty()) {
        return (cap, None);
    }
    let named: Vec<Channel> = labels.iter().map(|label| Channel::named(label)).collect();
    let mut names: Vec<String> = named.iter().map(|channel| normalise(&channel.name)).collect();
    let mut known: Vec<&str> = BIOSEMI.to_vec();
    names.sort();
    known.sort_unstable();
    if names == known {
        return (named, None);
    }
    let note = format!(
        "its labels are not those of the 64 electrodes ({}): the BioSemi order is taken",
        listed(&labels[..labels.len().min(3)])
    );
    (cap, Some(note))
}

/// What the stimuli say of the side, where that is something else: `part1_track2_dry.wav` at the left ear, then at the right.
fn other_side(record: &Record<'_>, class: &str) -> Option<String> {
    let track = record.find("attended_track")?.number()?;
    let stimuli = record.find("stimuli").and_then(|_| record.texts("stimuli").ok())?;
    let holds = |file: &&str| file.to_lowercase().contains(&format!("track{track}"));
    let [left, right] = &stimuli[..] else { return None };
    let attended = match (holds(left), holds(right)) {
        (true, false) => CLASSES[0],
        (false, true) => CLASSES[1],
        _ => return None,
    };
    (attended != class)
        .then(|| format!("track {track} is at the {attended} ear, `attended_ear` says {class}"))
}
