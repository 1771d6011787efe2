//! Neuroscan's continuous recordings: a header of 900 bytes, 75 for each channel, samples, and a table of events.
//!
//! The header does not say whether samples have 16 or 32 bits; it follows from how many there are and where the table begins, or from a
//! byte far behind in the file. Of the header only what describes the signals is looked at.

mod events;
mod header;

use self::header::Head;
use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::recording_file::{RawHeader, RecordingFile};
use crate::records::Records;

/// Opens a recording; `place` is for messages.
pub(super) fn parse(bytes: Bytes, place: &Place) -> Result<RecordingFile> {
    let mut notes = vec![];
    let head = Head::read(&bytes, place, &mut notes)?;
    let annotations = events::read(&bytes, &head, place, &mut notes)?;
    let (mut signals, mut lanes) = (vec![], vec![]);
    for (at, channel) in head.channels.iter().enumerate() {
        signals.push(channel.signal(&head));
        lanes.push(channel.lane(at, &head));
    }
    header::tell_scales(&head.channels, &mut notes);
    let records =
        Records { start: head.start, record_bytes: head.record_bytes(), count: head.records, lanes, bytes };
    let header = RawHeader {
        format: format!("Neuroscan, {} bits", 8 * head.value.width()),
        signals,
        segments: vec![],
        annotations,
        epochs: None,
        notes,
    };
    RecordingFile::new(place, header, Box::new(records))
}
