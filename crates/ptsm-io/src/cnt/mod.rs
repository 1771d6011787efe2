//! `.cnt`: two formats of this name that have nothing in common, by Neuroscan and by ANT.

mod neuroscan;

use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::opened::Opened;

/// Opens a recording of either format.
pub fn open(path: &Path) -> Result<Opened> {
    parse(Bytes::open(path)?, &path.into())
}

/// The same from bytes; `place` is for messages.
pub fn parse(bytes: Bytes, place: &Place) -> Result<Opened> {
    match bytes.first_chunk::<4>() {
        Some(b"RIFF" | b"RF64") => {
            Err(Error::format(place, "is a recording of ANT (eeprobe), whose packed samples are not read")
                .with_hint("convert it with MNE: raw = mne.io.read_raw_ant(FILE); raw.export(\"FILE.edf\")"))
        }
        _ => neuroscan::parse(bytes, place),
    }
}
