//! Events: triggers inside of the recording, or what files beside it say. Those go first, as in ANT's own library.

use super::evt::{self, Moment};
use super::header::Head;
use super::riff::Chunk;
use crate::bytes::Bytes;
use crate::cursor::{Cursor, latin1};
use crate::error::{Place, Result};
use crate::limit::{MOST, few_enough};
use crate::recording_file::Annotation;

/// The code that says that samples are missing in front of it.
const GAP: &str = "__";

/// Times are dates in double precision, exact to less than this part of a sample.
const NEAR: f64 = 5e-3;

/// Files beside a recording.
#[derive(Debug, Default)]
pub(in crate::cnt) struct SideFiles {
    /// Events of ANT's programs.
    pub(in crate::cnt) evt: Option<Bytes>,
    /// Triggers as text.
    pub(in crate::cnt) trg: Option<Bytes>,
    /// Whether there is a file about pauses.
    pub(in crate::cnt) seg: bool,
}

/// What happened, and the samples in front of which others are missing.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) annotations: Vec<Annotation>,
    pub(super) breaks: Vec<usize>,
}

impl Events {
    /// Adds a trigger.
    fn add(&mut self, sample: u64, code: &str, head: &Head) {
        let inside = usize::try_from(sample).ok().filter(|_| sample < head.samples);
        if code == GAP {
            self.breaks.extend(inside);
        } else if !code.is_empty() {
            let onset_s = sample as f64 / head.rate_hz;
            self.annotations.push(Annotation {
                onset_s,
                duration_s: 0.0,
                sample: inside,
                text: code.to_string(),
            });
        }
    }
}

/// All events.
pub(super) fn read(
    file: &Chunk,
    beside: &SideFiles,
    head: &Head,
    place: &Place,
    notes: &mut Vec<String>,
) -> Result<Events> {
    let inside = inside(file, head, place)?;
    let mut annotations = vec![];
    if let Some(evt) = &beside.evt {
        annotations = in_evt(evt, file, beside, head, place, notes)?;
    }
    if annotations.is_empty()
        && let Some(trg) = &beside.trg
    {
        let events = in_trg(trg, head, notes);
        if !events.annotations.is_empty() {
            return Ok(Events { breaks: [inside.breaks, events.breaks].concat(), ..events });
        }
    }
    Ok(if annotations.is_empty() { inside } else { Events { annotations, ..inside } })
}

/// Triggers inside of the recording: a sample, and a code of eight letters.
fn inside(file: &Chunk, head: &Head, place: &Place) -> Result<Events> {
    let mut events = Events::default();
    let Some(chunk) = file.find(b"evt ")? else { return Ok(events) };
    let each = if file.wide { 16 } else { 12 };
    few_enough(chunk.data().len() / each, "events", place)?;
    for event in chunk.data().chunks_exact(each) {
        let mut cursor = Cursor::new(event, place);
        let sample = if file.wide { cursor.u64()? } else { u64::from(cursor.u32()?) };
        let code = cursor.take(8)?;
        let code = latin1(code.split(|&byte| byte == 0).next().unwrap_or_default());
        events.add(sample, &code, head);
    }
    Ok(events)
}

/// Lines of a time in seconds, sometimes a byte of another format, and a code.
fn in_trg(bytes: &[u8], head: &Head, notes: &mut Vec<String>) -> Events {
    let mut events = Events::default();
    let text = latin1(bytes);
    let mut lines = text.lines();
    // The first line has the time between samples.
    let first = lines.next().unwrap_or_default().split_whitespace().next();
    let period: Option<f64> = first.and_then(|period| period.parse().ok());
    if period.is_none_or(|period| (period * head.rate_hz - 1.0).abs() > 1e-5) {
        notes.push("the `.trg` file is of another rate and is left out".into());
        return events;
    }
    for line in lines.take(MOST) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (time, code) = match words[..] {
            [time, place, code, ..] if code != "cls" && place.parse::<i64>().is_ok() => (time, code),
            [time, code, ..] => (time, code),
            _ => continue,
        };
        if let Some(time) = time.parse::<f64>().ok().filter(|time| time.is_finite() && *time >= 0.0) {
            events.add((time * head.rate_hz).round() as u64, code, head);
        }
    }
    events
}

/// Events of the `.evt` file that lie inside of the recording. Of a recording with pauses their samples are not known.
fn in_evt(
    bytes: &[u8],
    file: &Chunk,
    beside: &SideFiles,
    head: &Head,
    place: &Place,
    notes: &mut Vec<String>,
) -> Result<Vec<Annotation>> {
    let (events, whole) = evt::read(bytes, place);
    if !whole {
        notes.push(format!("the `.evt` file could be read for its first {} events only", events.len()));
    }
    let Some(start) = start(file, place)?.filter(|_| !beside.seg) else {
        if !events.is_empty() {
            let why = if beside.seg { "was paused" } else { "does not say when it began" };
            notes.push(format!(
                "the recording {why}: {} events of its `.evt` file are left out",
                events.len()
            ));
        }
        return Ok(vec![]);
    };
    let mut annotations: Vec<Annotation> = vec![];
    // The time without an amplifier that is open.
    let mut open: Option<usize> = None;
    for event in &events {
        let at = (event.at.since(start) * head.rate_hz + NEAR).floor();
        if event.at.days <= 0.0 || !(0.0..head.samples as f64).contains(&at) {
            continue;
        }
        let onset_s = at / head.rate_hz;
        if event.reconnects() {
            if let Some(annotation) = open.take() {
                annotations[annotation].duration_s = onset_s - annotations[annotation].onset_s;
            }
            continue;
        }
        let mut text = event.text();
        if event.disconnects() {
            text = "BAD_disconnection".into();
            open = Some(annotations.len());
        }
        let duration_s = event.duration_s.max(0.0);
        annotations.push(Annotation { onset_s, duration_s, sample: Some(at as usize), text });
    }
    if let Some(annotation) = open {
        annotations[annotation].duration_s =
            head.samples as f64 / head.rate_hz - annotations[annotation].onset_s;
    }
    Ok(annotations)
}

/// When the recording began; nothing else of what is said about it is looked at.
fn start(file: &Chunk, place: &Place) -> Result<Option<Moment>> {
    let Some(chunk) = file.find(b"info")? else { return Ok(None) };
    let text = latin1(chunk.data());
    let after = |name: &str| -> Option<f64> {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| *line == name)?;
        lines.next()?.parse().ok()
    };
    let moment = match after("[StartDate]") {
        Some(days) => Moment { days, seconds: after("[StartFraction]").unwrap_or(0.0) },
        // Old files have two numbers in the place of the text.
        None if chunk.data().len() >= 16 => {
            let mut cursor = Cursor::new(chunk.data(), place);
            Moment { days: cursor.f64()?, seconds: cursor.f64()? }
        }
        None => return Ok(None),
    };
    // From 1975 to 9999.
    Ok(Some(moment)
        .filter(|moment| (27538.0..2958464.0).contains(&moment.days) && moment.seconds.is_finite()))
}
