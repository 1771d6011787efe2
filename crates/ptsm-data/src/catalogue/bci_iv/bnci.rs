//! MATLAB files of BNCI Horizon 2020: a cell per run (2a) or per session (2b).

use std::path::Path;

use ptsm_signal::{Channel, Event, Pipeline, RecordingId};

use super::graz::{EYES, Graz, SessionHalf};
use super::{RATE_HZ, drops};
use crate::catalogue::channels::used;
use crate::catalogue::disk::file_name;
use crate::catalogue::matlab::{Record, kind, records, variable};
use crate::catalogue::refusal::{listed, refuse};
use crate::catalogue::signal::{join, present};
use crate::catalogue::{Options, RecordingItem, RecordingPart, SignalData};
use crate::error::{Error, Result};

const FIELDS: [&str; 6] = ["X", "trial", "y", "fs", "classes", "artifacts"];

/// Reads the runs or sessions of a file that have trials.
pub(super) fn read(
    set: &Graz,
    item: &RecordingItem,
    options: &Options,
    pipeline: &Pipeline,
) -> Result<Vec<RecordingPart>> {
    let path = item.file();
    let (name, value) = variable(path, &["data"], &|field| field.len() == 1 && FIELDS.contains(&field[0]))?;
    let half =
        if set.sessions[0].contains(&item.session) { SessionHalf::Training } else { SessionHalf::Evaluation };
    let (sessions, chosen) = (set.sessions[half as usize], set.chosen(half, options));
    let (mut parts, mut at) = (vec![], 0);
    for record in records(path, name, &value)? {
        let starts = record.counts("trial")?;
        // Eyes open, eyes closed, eye movements: how many such cells there are differs.
        if starts.is_empty() {
            continue;
        }
        let (session, run) = match sessions {
            [session] => (*session, at as u32 + 1),
            _ => (sessions.get(at).copied().unwrap_or(at as u32 + 1), 1),
        };
        at += 1;
        if !chosen.contains(&session) {
            continue;
        }
        let id = RecordingId { subject: item.subject, session, run };
        parts.push(part(set, path, &record, &starts, id, drops(options), pipeline)?);
    }
    if at == 0 {
        return Err(refuse(path, "has no run with trials"));
    }
    if sessions.len() > 1 && at != sessions.len() {
        let note = format!("{}: {at} sessions with trials, not {}", file_name(path), sessions.len());
        parts.iter_mut().take(1).for_each(|part| part.notes.push(note.clone()));
    }
    Ok(parts)
}

fn part(
    set: &Graz,
    path: &Path,
    record: &Record<'_>,
    starts: &[u32],
    id: RecordingId,
    drop: bool,
    pipeline: &Pipeline,
) -> Result<RecordingPart> {
    let x = record.signal("X")?;
    let electrodes = set.channels.len();
    if x.columns != electrodes + EYES {
        let message = format!(
            "is {} x {}, not samples by {electrodes} electrodes and {EYES} signals of the eyes",
            x.rows, x.columns
        );
        return Err(record.refuse("X", message));
    }
    let rate_hz = record.rate_hz("fs")?;
    let labels = labels(set, record, starts.len())?;
    let marked = marked(record, starts.len())?;

    let mut notes = vec![];
    let mut note = |text: String| notes.push(format!("{}, {}: {text}", file_name(path), record.place("X")));
    if rate_hz != RATE_HZ {
        note(format!("{rate_hz} Hz, not {RATE_HZ} Hz"));
    }
    let delay = (set.cue_s * rate_hz).round() as usize;
    let cues = starts.iter().map(|&start| (start as usize - 1).saturating_add(delay));
    let mut events = vec![];
    let (mut dropped, mut outside) = (0, 0);
    for ((sample, label), marked) in cues.zip(labels).zip(&marked) {
        if drop && *marked {
            dropped += 1;
        } else if sample >= x.rows {
            outside += 1;
        } else {
            events.push(Event { sample, code: set.classes[label].1.into(), samples: 0 });
        }
    }
    if outside > 0 {
        note(format!("{outside} cues come after the last of {} samples", x.rows));
    }
    if dropped > 0 {
        note(format!("{dropped} trials that an expert annotated as artefacts are left out"));
    }
    if set.cue_unsure {
        notes.push(format!(
            "the cue is taken to come {} s after the start of a trial; MATLAB files do not say",
            set.cue_s
        ));
    }
    events.sort_by_key(|event: &Event| event.sample);

    let channels: Vec<Channel> = set.channels.iter().map(|name| Channel::named(name)).collect();
    let samples = x.channels(&(0..electrodes).collect::<Vec<_>>());
    let pieces = present(&samples, electrodes, 0..x.rows, |_, x| !x.is_finite());
    let inside = events.len();
    let recording = join(rate_hz, &channels, &samples, &events, &pieces, &used(pipeline, &channels))
        .map_err(|error| Error::Signal { place: path.display().to_string(), error })?;
    if recording.events.len() < inside {
        note_gaps(&mut notes, path, inside - recording.events.len());
    }
    Ok(RecordingPart { id, signal: SignalData::Recording(recording), notes })
}

fn note_gaps(notes: &mut Vec<String>, path: &Path, cues: usize) {
    notes.push(format!("{}: {cues} cues come where samples are missing", file_name(path)));
}

/// The class of each trial by its place, through the file's own list, which must be the known one.
fn labels(set: &Graz, record: &Record<'_>, trials: usize) -> Result<Vec<usize>> {
    let numbers = record.counts("y")?;
    if numbers.len() != trials {
        return Err(record.refuse("y", format!("has {} labels for {trials} trials", numbers.len())));
    }
    let names = record.texts("classes")?;
    let fits = names.len() == set.classes.len()
        && names.iter().zip(set.classes).all(|(name, (known, _))| same(name, known));
    if !fits {
        let known = set.classes.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        let message = format!("names the classes {}, not {known}", listed(&names));
        return Err(record.refuse("classes", message));
    }
    match numbers.iter().find(|&&number| number as usize > set.classes.len()) {
        Some(other) => {
            Err(record.refuse("y", format!("holds class {other}; there are {}", set.classes.len())))
        }
        None => Ok(numbers.iter().map(|&number| number as usize - 1).collect()),
    }
}

/// Which trials an expert annotated as artefacts; none where the file has no such list.
fn marked(record: &Record<'_>, trials: usize) -> Result<Vec<bool>> {
    let Some(value) = record.find("artifacts") else { return Ok(vec![false; trials]) };
    match value.vector() {
        Some(marks) if marks.len() == trials => Ok(marks.iter().map(|&mark| mark != 0.0).collect()),
        _ => Err(record
            .refuse("artifacts", format!("is {}, not one value for each of {trials} trials", kind(value)))),
    }
}

/// Whether two names are the same up to case, signs and `both`.
fn same(found: &str, known: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let text = text.to_lowercase();
        let words =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && *word != "both");
        words.map(String::from).collect()
    };
    words(found) == words(known)
}
