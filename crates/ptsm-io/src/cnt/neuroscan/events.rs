//! The table of events behind the samples.
//!
//! An event is where a trigger came, or a key was pressed. Tables of type 1 and 2 say at which byte of the file, tables of type 3 at
//! which sample. MNE takes the bytes of the header off the latter too, which makes events come early by some samples; Neuroscan's own
//! program and EEGLAB do not (github.com/sccn/eeglab/pull/5).

use super::header::Head;
use crate::cursor::{Cursor, DAMAGED};
use crate::error::{Error, Place, Result};
use crate::limit::few_enough;
use crate::recording_file::Annotation;

/// Bytes of the table before the first event: its type, the bytes of all events, and something nobody uses.
const TABLE: usize = 9;

/// What the high bits of a key say: a span that is left out begins or ends.
const REJECT: u8 = 0xc0;
const ACCEPT: u8 = 0xd0;

/// Whether there is a table at a place that holds what it says.
pub(super) fn is_table(bytes: &[u8], at: usize) -> bool {
    let place = Place::from(std::path::Path::new(""));
    Table::read(bytes, at, &place).is_ok_and(|table| table.events.len().is_multiple_of(table.each))
}

struct Table<'a> {
    /// Whether events count samples.
    samples: bool,
    /// Bytes of an event.
    each: usize,
    events: &'a [u8],
}

impl<'a> Table<'a> {
    fn read(bytes: &'a [u8], at: usize, place: &'a Place) -> Result<Table<'a>> {
        let mut cursor = Cursor::new(bytes, place);
        cursor.seek(at)?;
        let (kind, size) = (cursor.u8()?, cursor.u32()?);
        let each = match kind {
            1 => 8,
            2 | 3 => 19,
            _ => {
                let message = format!("a table of events of type {kind} is unknown");
                return Err(Error::format(&place.at(at as u64), message).with_hint(DAMAGED));
            }
        };
        cursor.seek(at + TABLE)?;
        Ok(Table { samples: kind == 3, each, events: cursor.take(size as usize)? })
    }
}

/// All events.
pub(super) fn read(
    bytes: &[u8],
    head: &Head,
    place: &Place,
    notes: &mut Vec<String>,
) -> Result<Vec<Annotation>> {
    let Some(at) = head.events.filter(|&at| at != bytes.len()) else { return Ok(vec![]) };
    let table = Table::read(bytes, at, place)?;
    few_enough(table.events.len() / table.each, "events", place)?;
    let rest = table.events.len() % table.each;
    if rest > 0 {
        notes.push(format!("the last {rest} bytes of the table of events are no event"));
    }
    let mut annotations: Vec<Annotation> = vec![];
    // The span to be left out that is open.
    let mut open: Option<usize> = None;
    let mut outside = 0;
    for event in table.events.chunks_exact(table.each) {
        let mut cursor = Cursor::new(event, place);
        let (trigger, key, pad) = (cursor.u16()?, cursor.u8()?, cursor.u8()?);
        let offset = u64::from(cursor.u32()?);
        let sample = match table.samples {
            true => offset,
            false => offset.saturating_sub(head.start as u64) / head.frame() as u64,
        };
        // Events are counted from 1.
        let sample = sample.saturating_sub(1);
        let onset_s = sample as f64 / head.rate_hz;
        if pad == ACCEPT {
            if let Some(annotation) = open.take() {
                annotations[annotation].duration_s = onset_s - annotations[annotation].onset_s;
            }
            continue;
        }
        let mut text = match (pad & 0x0f, key) {
            (0, 0) => trigger.to_string(),
            (0, key) => format!("Keyboard Response {key}"),
            (pad, _) => format!("KeyPad Response {pad}"),
        };
        if pad == REJECT {
            text = format!("BAD_{text}");
            open.get_or_insert(annotations.len());
        }
        let sample = usize::try_from(sample).ok().filter(|&sample| sample < head.length());
        outside += usize::from(sample.is_none());
        annotations.push(Annotation { onset_s, duration_s: 0.0, sample, text });
    }
    if let Some(annotation) = open {
        let end_s = head.length() as f64 / head.rate_hz;
        annotations[annotation].duration_s = (end_s - annotations[annotation].onset_s).max(0.0);
    }
    if outside > 0 {
        notes.push(format!("{outside} of {} events lie outside of the samples", annotations.len()));
    }
    Ok(annotations)
}
