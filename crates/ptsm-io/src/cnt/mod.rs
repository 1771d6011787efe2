//! `.cnt`: two formats of this name that have nothing in common, by Neuroscan and by ANT.

mod ant;
mod neuroscan;

use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::opened::Opened;

/// Opens a recording of either format.
pub fn open(path: &Path) -> Result<Opened> {
    parse(Bytes::open(path)?, &path.into())
}

/// The same from bytes; `place` is for messages.
pub fn parse(bytes: Bytes, place: &Place) -> Result<Opened> {
    match bytes.first_chunk::<4>() {
        Some(b"RIFF" | b"RF64") => ant::parse(bytes, place),
        _ => neuroscan::parse(bytes, place),
    }
}
