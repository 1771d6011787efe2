//! BrainVision: a header, markers and samples in three files.
//!
//! The header (`.vhdr`) and the markers (`.vmrk`) are text, the samples (`.eeg`, `.dat`) numbers or text. `.ahdr` and `.amrk` are
//! the same with one more signal in the samples, which nobody describes and which is left out.

mod ascii;
mod channels;
mod files;
mod header;
mod markers;
mod samples;
mod text;

use std::path::Path;

use self::header::{Head, SampleEncoding};
use self::markers::Markers;
use self::samples::Binary;
use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::recording_file::{RawHeader, RecordingFile, Segment};
use crate::triggers::{self, TriggerEvidence};

/// Opens a recording by its header. The other two files are found by the names in it, or by its own name.
pub fn open(path: &Path) -> Result<RecordingFile> {
    let place = Place::from(path);
    let mut head = Head::read(&place, &Bytes::open_filled(path)?)?;
    let data = files::samples(path, head.data_file.as_deref(), &mut head.notes)?;
    let markers = files::markers(path, head.marker_file.as_deref(), &mut head.notes);
    let marker_bytes = markers.as_deref().map(Bytes::open).transpose()?;
    let parts = markers.as_deref().zip(marker_bytes.as_deref());
    let opened = assemble(&place, head, parts, (&Place::from(&*data), Bytes::open_filled(&data)?))?;
    Ok(opened.with_files([data].into_iter().chain(markers)))
}

/// Opens a recording whose three parts are in memory; the names of files in the header are not looked at. `path` is what errors
/// name; where it ends in `.ahdr` the samples have one signal more than the header describes.
pub fn parse(path: &Path, header: &[u8], markers: Option<&[u8]>, samples: Bytes) -> Result<RecordingFile> {
    let place = Place::from(path);
    let head = Head::read(&place, header)?;
    assemble(&place, head, markers.map(|bytes| (path, bytes)), (&place, samples))
}

fn assemble(
    place: &Place,
    mut head: Head,
    markers: Option<(&Path, &[u8])>,
    (data_place, data): (&Place, Bytes),
) -> Result<RecordingFile> {
    let hidden = usize::from(files::is_ahdr(&place.path));
    let (encoding, data) = match head.written {
        SampleEncoding::Binary(encoding) => (encoding, data),
        SampleEncoding::Ascii { .. } => {
            let values = ascii::read(data_place, &data, &head, hidden)?;
            // They are in the unit signals come in already.
            head.signals.iter_mut().for_each(|scaled| scaled.gain = 1.0);
            (ascii::ENCODING, Bytes::from(values))
        }
    };
    let samples = Binary::new(data_place, data, &mut head, encoding, hidden)?;
    let length = samples.length;
    let Markers { mut annotations, segments, notes } = match markers {
        Some((path, bytes)) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            markers::read(&name, bytes, head.rate_hz, length)
        }
        None => Markers::default(),
    };
    head.notes.extend(notes);
    let mut signals: Vec<_> = head.signals.into_iter().map(|scaled| scaled.signal).collect();
    signals.iter_mut().for_each(|signal| signal.samples = length);
    if annotations.is_empty() {
        let whole = [Segment { start_s: 0.0, first: 0, samples: length }];
        let parts = if segments.is_empty() { &whole[..] } else { &segments };
        annotations = triggers::read(&signals, &samples, parts, TriggerEvidence::Named, &mut head.notes)?;
    }
    let header = RawHeader {
        format: "BrainVision".into(),
        signals,
        segments,
        annotations,
        epochs: None,
        notes: head.notes,
    };
    RecordingFile::new(place, header, Box::new(samples))
}
