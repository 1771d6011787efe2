//! GDF 1.x and 2.x.
//!
//! Schloegl 2006, arXiv:cs/0608052. Laid out like EDF, with numbers in place of digits, samples of many types, and a table of events
//! behind the last record.
//!
//!   256 bytes about the file | 256 bytes about each signal | tags | records | events
//!
//! Who was recorded, by whom and when is stepped over.
//!
//! # Missing samples
//! GDF says that a sample outside of the digital range is an overflow or missing. Whole numbers beyond it come as NaN; numbers at its
//! ends come as they are, equal to an end of [`SignalHeader::range`](crate::SignalHeader::range), for a clipped sample and one that was never
//! taken look alike. Whoever knows how a data set marks missing samples can tell them. Fractions do not overflow and come as they are.
//!
//! # Breaks
//! Event 32766 begins a new segment: GDF calls it the start of a segment after a break.

mod events;
mod header;

use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::recording_file::{RawHeader, RecordingFile, Segment, SignalHeader, main_of};
use crate::records::Records;
use crate::triggers::{self, TriggerEvidence};

use events::{BREAK, Table};
use header::Head;

/// Opens a recording.
pub fn open(path: &Path) -> Result<RecordingFile> {
    parse(Bytes::open_filled(path)?, &path.into())
}

/// Opens a recording that is in memory.
pub fn parse(bytes: Bytes, place: &Place) -> Result<RecordingFile> {
    let mut head = Head::read(&bytes, place)?;
    let mut notes = std::mem::take(&mut head.notes);
    let signals: Vec<SignalHeader> =
        head.fields.iter().map(|field| field.signal(head.records, head.record_s)).collect();
    let (rate_hz, length) =
        main_of(&signals).first().map_or((1.0, 0), |&i| (signals[i].rate_hz, signals[i].samples));
    let table = match head.events {
        Some(at) => Table::read(&bytes, place, at, head.version, rate_hz)?,
        None => Table::default(),
    };
    notes.extend(table.notes);
    let breaks = table
        .annotations
        .iter()
        .filter(|annotation| annotation.text == BREAK)
        .filter_map(|annotation| annotation.sample);
    let segments = Segment::between(breaks.collect(), rate_hz, length);
    let outside = table
        .annotations
        .iter()
        .filter(|annotation| annotation.sample.is_none_or(|sample| sample >= length))
        .count();
    if outside > 0 {
        notes.push(format!("{outside} of {} events lie behind the last sample", table.annotations.len()));
    }
    let records = Records {
        start: head.start,
        record_bytes: head.record_bytes,
        count: head.records,
        lanes: head.fields.iter().map(|field| field.lane(true)).collect(),
        bytes,
    };
    let mut annotations = table.annotations;
    if annotations.is_empty() {
        annotations = triggers::read(&signals, &records, &segments, TriggerEvidence::Named, &mut notes)?;
    }
    let format = format!("GDF {}.{:02}", head.version / 100, head.version % 100);
    let header = RawHeader { format, signals, segments, annotations, epochs: None, notes };
    RecordingFile::new(place, header, Box::new(records))
}
