//! ANT's recordings (eeprobe, eego): a RIFF file, or RF64 where it is large, of the form `CNT `.
//!
//! `eeph` is a text that says what channels there are, `evt ` a list of triggers, and the list `raw3` holds the samples: packed blocks of
//! some seconds (`data`), where each of them begins (`ep  `), and in which order channels lie in them (`chan`). Of `info` only when the
//! recording began is looked at, to find the samples of events in an `.evt` file beside it.

mod events;
mod evt;
mod header;
mod raw3;
mod riff;
mod samples;

pub(super) use self::events::SideFiles;
use self::header::Head;
use self::riff::Chunk;
use self::samples::PackedBlocks;
use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::recording_file::{RawHeader, RecordingFile, Segment};

/// Opens a recording with the files beside it; `place` is for messages.
pub(super) fn parse(bytes: Bytes, beside: &SideFiles, place: &Place) -> Result<RecordingFile> {
    let file = Chunk::form(&bytes, place)?;
    let mut notes = vec![];
    let head = Head::read(file.needed(b"eeph")?.data(), place)?;
    let events = events::read(&file, beside, &head, place, &mut notes)?;
    let raw = file.list(b"raw3")?;
    let packed = PackedBlocks::new(&raw, &head, place)?;
    header::tell_scales(&head.channels, &mut notes);
    let mut signals: Vec<_> = head.channels.iter().map(|channel| channel.signal(&head)).collect();
    signals.iter_mut().for_each(|signal| signal.samples = packed.length);
    let header = RawHeader {
        format: "ANT".into(),
        signals,
        segments: Segment::between(events.breaks, head.rate_hz, packed.length),
        annotations: events.annotations,
        epochs: None,
        notes,
    };
    let samples = packed.over(bytes);
    RecordingFile::new(place, header, Box::new(samples))
}
