//! EDF, EDF+, BDF and BDF+.
//!
//! Kemp et al. 1992, doi:10.1016/0013-4694(92)90009-7 (EDF); Kemp and Olivan 2003, doi:10.1016/S1388-2457(03)00123-8 (EDF+). BDF is the
//! same with 24 bits per sample.
//!
//!   256 bytes about the file | 256 bytes about each signal | record 0: samples of signal 0, of signal 1, ... | record 1 | ...
//!
//! Who was recorded, by whom and when is stepped over. Opening reads the header and the annotations: in EDF+ and BDF+ a block of each
//! record, in BDF the trigger signal.

mod annotations;
mod header;
mod status;
mod timeline;
mod write;

use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::limit::few_enough;
use crate::recording_file::{Annotation, RawHeader, RecordingFile, SignalHeader};
use crate::records::Records;
use crate::triggers::{self, TriggerEvidence};

use annotations::Annotations;
use header::Head;
use timeline::Timeline;

pub use write::{WrittenEdf, write};

/// Opens a recording.
pub fn open(path: &Path) -> Result<RecordingFile> {
    parse(Bytes::open_filled(path)?, &path.into())
}

/// Opens a recording that is in memory.
pub fn parse(bytes: Bytes, place: &Place) -> Result<RecordingFile> {
    let mut head = Head::read(&bytes, place)?;
    if head.fields.is_empty() && !head.annotations.is_empty() {
        return Err(Error::format(place, "holds annotations only, no signal").with_hint(
            "it belongs to a recording, often beside it under nearly the same name: open that one",
        ));
    }
    let mut notes = std::mem::take(&mut head.notes);
    let signals: Vec<SignalHeader> =
        head.fields.iter().map(|field| field.signal(head.records, head.record_s)).collect();
    let records = Records {
        start: head.start,
        record_bytes: head.record_bytes,
        count: head.records,
        lanes: head.fields.iter().map(|field| field.lane(false)).collect(),
        bytes,
    };
    let labels = head.fields.iter().map(|field| &*field.label).collect();
    let annotations = Annotations::read(&records, &head.annotations, &labels, place)?;
    if annotations.damaged > 0 {
        notes.push(format!(
            "annotations of {} records are damaged: those behind the damage are left out",
            annotations.damaged
        ));
    }
    let timeline = Timeline::new(&head, &signals, &annotations, place, &mut notes)?;
    let mut annotations = annotations.annotations;
    annotations.iter_mut().for_each(|annotation| annotation.onset_s -= timeline.zero_s);
    let status = head
        .fields
        .iter()
        .zip(&signals)
        .find(|(field, _)| head.bdf && field.label.eq_ignore_ascii_case("Status"));
    if let Some((field, signal)) = status {
        let triggers = status::read(&records, field, |record| timeline.begins(record));
        few_enough(annotations.len() + triggers.rises.len(), "annotations and triggers", place)?;
        annotations.extend(triggers.rises.iter().map(|trigger| Annotation {
            onset_s: timeline.time_s(trigger.record, trigger.sample as f64 / signal.rate_hz),
            duration_s: 0.0,
            sample: None,
            text: trigger.value.to_string(),
        }));
        notes.extend(triggers.notes);
    }
    timeline.place(&mut annotations, &mut notes);
    if annotations.is_empty() && status.is_none() {
        annotations =
            triggers::read(&signals, &records, &timeline.segments, TriggerEvidence::Named, &mut notes)?;
    }
    let header = RawHeader {
        format: head.format,
        signals,
        segments: timeline.segments,
        annotations,
        epochs: None,
        notes,
    };
    RecordingFile::new(place, header, Box::new(records))
}
