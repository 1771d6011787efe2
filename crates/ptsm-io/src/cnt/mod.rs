//! `.cnt`: two formats of this name that have nothing in common, by Neuroscan and by ANT.

mod ant;
mod neuroscan;

use std::path::{Path, PathBuf};

use self::ant::SideFiles;
use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::recording_file::RecordingFile;

/// Opens a recording of either format; of ANT's with the events of files beside it.
pub fn open(path: &Path) -> Result<RecordingFile> {
    let (bytes, place) = (Bytes::open_filled(path)?, Place::from(path));
    if !is_ant(&bytes) {
        return parse(bytes, &place);
    }
    let named = |ending: &str| Some(path.with_extension(ending)).filter(|path| path.is_file());
    let (evt, trg) = (named("evt"), named("trg"));
    let read = |path: &Option<PathBuf>| path.as_deref().map(Bytes::open).transpose();
    let beside = SideFiles { evt: read(&evt)?, trg: read(&trg)?, seg: named("seg").is_some() };
    Ok(ant::parse(bytes, &beside, &place)?.with_files(evt.into_iter().chain(trg)))
}

/// The same from bytes, without files beside it; `place` is for messages.
pub fn parse(bytes: Bytes, place: &Place) -> Result<RecordingFile> {
    match is_ant(&bytes) {
        true => ant::parse(bytes, &SideFiles::default(), place),
        false => neuroscan::parse(bytes, place),
    }
}

/// Opens a recording of ANT with the events of an `.evt` file, both from bytes.
pub fn parse_with_events(bytes: Bytes, evt: Bytes, place: &Place) -> Result<RecordingFile> {
    ant::parse(bytes, &SideFiles { evt: Some(evt), ..SideFiles::default() }, place)
}

fn is_ant(bytes: &[u8]) -> bool {
    bytes.starts_with(b"RIFF") || bytes.starts_with(b"RF64")
}
