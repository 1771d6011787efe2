//! ANT's recordings (eeprobe, eego): a RIFF file, or RF64 where it is large, of the form `CNT `.
//!
//! `eeph` is a text that says what channels there are, `evt ` a list of triggers, and the list `raw3` holds the samples: packed blocks of
//! some seconds (`data`), where each of them begins (`ep  `), and in which order channels lie in them (`chan`). What `info` says about
//! people and places is not looked at.

mod events;
mod header;
mod raw3;
mod riff;
mod samples;

use std::path::Path;

use self::header::Head;
use self::riff::Chunk;
use self::samples::Packed;
use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::opened::{Header, Opened, Stretch};

/// Opens a recording; `place` is for messages. Of files beside it only whether they are there is looked at.
pub(super) fn parse(bytes: Bytes, place: &Place) -> Result<Opened> {
    let file = Chunk::form(&bytes, place)?;
    let mut notes = vec![];
    let head = Head::read(file.needed(b"eeph")?.data(), place)?;
    let (events, breaks) = events::read(&file, &head, place)?;
    if beside(&place.path, "evt") {
        notes.push(
            "events and impedances of the `.evt` file are not read; triggers inside of the recording are"
                .into(),
        );
    }
    let raw = file.list(b"raw3")?;
    let packed = Packed::new(&raw, &head, place)?;
    header::tell_scales(&head.channels, &mut notes);
    let mut signals: Vec<_> = head.channels.iter().map(|channel| channel.signal(&head)).collect();
    signals.iter_mut().for_each(|signal| signal.samples = packed.length);
    let header = Header {
        format: "ANT".into(),
        signals,
        stretches: Stretch::between(breaks, head.rate_hz, packed.length),
        marks: events,
        epochs: None,
        notes,
    };
    let samples = packed.over(bytes);
    Opened::new(place, header, Box::new(samples))
}

/// Whether a file of the same name and another ending is there.
fn beside(path: &Path, ending: &str) -> bool {
    path.with_extension(ending).is_file()
}
