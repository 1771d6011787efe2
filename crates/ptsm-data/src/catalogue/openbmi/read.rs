//! One phase of one session.

use ptsm_signal::{Channel, Event, Pipeline, Recording, RecordingId};

use super::experiment::Experiment;
use super::labels::labels;
use super::onsets::{USUAL, onsets};
use crate::catalogue::channels::{OPENBMI, difference, used};
use crate::catalogue::disk::file_name;
use crate::catalogue::matlab::{Record, variable};
use crate::catalogue::{RecordingItem, RecordingPart, SignalData};
use crate::error::{Error, Result};

/// Fields that are read.
const FIELDS: [&str; 9] = ["x", "t", "fs", "y_dec", "y_class", "y_logic", "class", "chan", "smt"];
const RATE_HZ: f64 = 1000.0;

/// Reads a phase: events are called like their classes.
pub(super) fn read(set: &Experiment, item: &RecordingItem, pipeline: &Pipeline) -> Result<RecordingPart> {
    let path = item.file();
    let (_, value) = variable(path, &[&item.part], &|field| field.len() == 1 && FIELDS.contains(&field[0]))?;
    let record = Record::new(path, &*item.part, &value)?;

    let x = record.signal("x")?;
    let channels: Vec<Channel> = record.texts("chan")?.into_iter().map(Channel::named).collect();
    if x.columns != channels.len() {
        let message = format!("is {} x {}; `chan` names {} channels", x.rows, x.columns, channels.len());
        return Err(record.refuse("x", message));
    }
    let rate_hz = record.rate_hz("fs")?;
    let labels = labels(set, &record)?;
    let (onsets, counted) = onsets(&record, x)?;
    if onsets.len() != labels.len() {
        let message = format!("names {} trials, `y_dec` {}", onsets.len(), labels.len());
        return Err(record.refuse("t", message));
    }

    // The usual thing is said once, all else of each file.
    let mut notes: Vec<String> =
        Some(counted.clone()).filter(|counted| counted == USUAL).into_iter().collect();
    let mut note = |text: String| notes.push(format!("{}, {}: {text}", file_name(path), item.part));
    if counted != USUAL {
        note(counted);
    }
    if let Some(difference) = difference(&channels, &OPENBMI) {
        note(difference);
    }
    if rate_hz != RATE_HZ {
        note(format!("{rate_hz} Hz, not {RATE_HZ} Hz"));
    }
    let expected = set.trials[usize::from(item.run > 1)];
    let counts: Vec<usize> =
        (0..set.codes.len()).map(|class| labels.iter().filter(|&&label| label == class).count()).collect();
    if counts != expected {
        note(format!("{} trials per class, not {}", spelled(&counts), spelled(expected)));
    }

    let mut events: Vec<Event> = onsets
        .into_iter()
        .zip(labels)
        .map(|(sample, label)| Event { sample, code: set.codes[label].1.into(), samples: 0 })
        .collect();
    events.sort_by_key(|event| event.sample);
    let used = used(pipeline, &channels);
    let samples = x.channels(&used);
    let channels = used.into_iter().map(|c| channels[c].clone()).collect();
    let recording = Recording::new(rate_hz, channels, samples, events)
        .map_err(|error| Error::Signal { place: item.place(), error })?;
    let id = RecordingId { subject: item.subject, session: item.session, run: item.run };
    Ok(RecordingPart { id, signal: SignalData::Recording(recording), notes })
}

/// Numbers with strokes between them.
fn spelled(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join("/")
}
