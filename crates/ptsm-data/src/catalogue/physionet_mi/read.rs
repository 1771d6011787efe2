//! One run.

use ptsm_io::RecordingFile;
use ptsm_signal::{Pipeline, Recording, RecordingId};

use super::ID;
use crate::catalogue::channels::{EEGMMIDB, used};
use crate::catalogue::disk::file_name;
use crate::catalogue::refusal::{listed, refuse};
use crate::catalogue::signal::flat;
use crate::catalogue::{RecordingItem, RecordingPart, SignalData};
use crate::error::{Error, Result};

/// The rate of all but 36 files.
const RATE_HZ: f64 = 160.0;
/// Trials of a run.
const TRIALS: usize = 15;
/// An electrode that does not change for longer is not measured.
const FLAT_S: f64 = 0.5;

/// Reads a run: events are called like their classes.
pub(super) fn read(item: &RecordingItem, pipeline: &Pipeline) -> Result<RecordingPart> {
    let path = item.file();
    let opened = ptsm_io::open(path)?;
    let places = places(&opened).map_err(|message| refuse(path, message))?;
    let rate_hz = opened.rate_hz();
    if rate_hz != RATE_HZ && pipeline.rate_hz.is_none() {
        return Err(Error::Source {
            id: ID.into(),
            message: format!("{} has {rate_hz} Hz, the others {RATE_HZ} Hz", path.display()),
            hint: Some(
                "give the pipeline a rate to resample to (`rate_hz`) or leave the subject out (`exclude`)"
                    .into(),
            ),
        });
    }
    let channels: Vec<_> = EEGMMIDB.iter().map(|name| ptsm_signal::Channel::named(name)).collect();
    let signals: Vec<usize> = used(pipeline, &channels).into_iter().map(|c| places[c]).collect();
    let mut recording = opened.recording(Some(&signals))?;

    let name = file_name(path);
    let mut notes: Vec<String> = opened.notes().iter().map(|note| format!("{name}: {note}")).collect();
    let count = |code: &str| opened.annotations().iter().filter(|annotation| annotation.text == code).count();
    let (first, second) = (count("T1"), count("T2"));
    if first + second == 0 {
        let mut codes: Vec<&str> =
            opened.annotations().iter().map(|annotation| annotation.text.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        let message = format!("has no event `T1` or `T2`; it has {}", listed(&codes));
        return Err(refuse(path, message));
    }
    recording.events.retain_mut(|event| match class(item.run, &event.code) {
        Some(class) => {
            event.code = class.into();
            true
        }
        None => false,
    });
    if rate_hz != RATE_HZ {
        notes.push(format!("{name}: {rate_hz} Hz, not {RATE_HZ} Hz"));
    }
    if first + second != TRIALS {
        notes.push(format!("{name}: {} task trials, not {TRIALS}", first + second));
    }
    let outside = first + second - recording.events.len();
    if outside > 0 {
        notes.push(format!("{name}: {outside} trials begin after the last sample"));
    }
    notes.extend(unchanging(&recording, pipeline).map(|note| format!("{name}: {note}")));
    let id = RecordingId { subject: item.subject, session: item.session, run: item.run };
    Ok(RecordingPart { id, signal: SignalData::Recording(recording), notes })
}

/// What an event of a run means.
fn class(run: u32, code: &str) -> Option<&'static str> {
    let one_side = matches!(run, 3 | 4 | 7 | 8 | 11 | 12);
    match (code, one_side) {
        ("T1", true) => Some("left_hand"),
        ("T2", true) => Some("right_hand"),
        ("T1", false) => Some("hands"),
        ("T2", false) => Some("feet"),
        _ => None,
    }
}

/// Where each of the 64 channels is in a file.
fn places(opened: &RecordingFile) -> Result<Vec<usize>, String> {
    let names: Vec<String> = opened.signals().iter().map(|s| ptsm_signal::normalise(&s.name)).collect();
    let place = |expected: &&str| names.iter().position(|name| name == expected);
    let missing: Vec<&str> = EEGMMIDB.iter().filter(|name| place(name).is_none()).copied().collect();
    if !missing.is_empty() {
        return Err(format!(
            "has no channel {}: {} of the 64 of this data set are not among its {} signals",
            listed(&missing[..1]),
            missing.len(),
            names.len()
        ));
    }
    let places: Vec<usize> = EEGMMIDB.iter().filter_map(place).collect();
    match places.iter().map(|&at| &opened.signals()[at]).find(|signal| !signal.microvolts) {
        Some(signal) => Err(format!("has channel `{}` in `{}`, not in volts", signal.name, signal.unit)),
        None => Ok(places),
    }
}

/// Trials in which an electrode does not change for too long.
fn unchanging(recording: &Recording, pipeline: &Pipeline) -> Option<String> {
    let longest = (FLAT_S * recording.rate_hz).round() as usize;
    let [from, to] = pipeline.window_s.map(|time| (time * recording.rate_hz).round() as i64);
    let at = |cue: usize, offset: i64| {
        usize::try_from((cue as i64).saturating_add(offset)).unwrap_or(0).min(recording.length())
    };
    let all: Vec<(usize, usize)> = recording
        .events
        .iter()
        .filter_map(|event| flat(recording, at(event.sample, from)..at(event.sample, to), longest))
        .collect();
    let &(channel, sample) = all.first()?;
    let (name, time) = (&recording.channels[channel].name, sample as f64 / recording.rate_hz);
    Some(format!(
        "{} of {} trials hold more than {FLAT_S} s that do not change; the first is `{name}` from {time:.1} s on",
        all.len(),
        recording.events.len()
    ))
}
