//! EEGLAB: `.set`, with samples inside or in `.fdt`.
//!
//! A `.set` is a MATLAB file of level 5 or v7.3. It holds the struct `EEG`, or the fields of that struct as variables. Of events only
//! type, latency and duration are kept, of all else only what describes the signals.
//!
//! Samples are read when asked for: a window of an `.fdt`, or of numbers that lie unpacked in the `.set`, costs the window. Numbers in a
//! packed variable of level 5 can only be had by inflating all of it, and so can what describes them: that is done once, when the file
//! is opened, and they are held from then on. Packed numbers of v7.3 lie in chunks, of which a window needs only some.

mod channels;
mod epochs;
mod events;
mod fields;
pub(crate) mod samples;
mod sizes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::fields::{Data, Fields};
use self::samples::PlainSamples;
use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::mat::{MatFile, Order, Storage};
use crate::recording_file::{RawHeader, RecordingFile, Samples};
use crate::triggers::{self, TriggerEvidence};

/// Opens a recording.
pub fn open(path: &Path) -> Result<RecordingFile> {
    let found = std::cell::OnceCell::new();
    let find = |name: &str| {
        let file = beside(path, name)?;
        Bytes::open_filled(found.get_or_init(|| file))
    };
    let opened = read(Bytes::open_filled(path)?, &path.into(), &find)?;
    Ok(opened.with_files(found.into_inner()))
}

/// The same from bytes; `place` is for messages.
pub fn parse(set: Bytes, fdt: Option<Bytes>, place: &Place) -> Result<RecordingFile> {
    let fdt = std::cell::Cell::new(fdt);
    let missing = |name: &str| Error::format(place, format!("has its samples in `{name}`"));
    read(set, place, &|name| fdt.take().ok_or_else(|| missing(name).with_hint("give both files")))
}

fn read(set: Bytes, place: &Place, find: &dyn Fn(&str) -> Result<Bytes>) -> Result<RecordingFile> {
    let file = MatFile::parse(set, place)?;
    let Fields { record, data } = fields::read(&file, place)?;
    let mut notes = vec![];
    let sizes = sizes::read(&record, data.dims(), place, &mut notes)?;
    let samples: Box<dyn Samples> = match data {
        Data::Beside(name) => Box::new(outside(&name, &sizes, place, find, &mut notes)?),
        Data::Inside(outline) => samples::of(outline, &file, place),
    };
    let events = events::read(&record, &sizes, place, &mut notes)?;
    let epochs = sizes.is_epoched().then(|| epochs::read(&record, &sizes, &events, &mut notes));
    let (segments, mut annotations) = events::place(&events, &sizes);
    let signals = channels::read(&record, &sizes, &mut notes);
    if annotations.is_empty() && epochs.is_none() {
        annotations = triggers::read(&signals, &*samples, &segments, TriggerEvidence::Named, &mut notes)?;
    }
    let header = RawHeader {
        format: if epochs.is_some() { "EEGLAB epochs" } else { "EEGLAB" }.into(),
        signals,
        segments,
        annotations,
        epochs,
        notes,
    };
    RecordingFile::new(place, header, samples)
}

/// Samples in a file of their own: numbers of single precision, all channels of a sample together.
fn outside(
    name: &str,
    sizes: &sizes::Sizes,
    place: &Place,
    find: &dyn Fn(&str) -> Result<Bytes>,
    notes: &mut Vec<String>,
) -> Result<PlainSamples> {
    if name.to_lowercase().ends_with(".dat") {
        let message = format!("has its samples in `{name}`, an old format with another order");
        return Err(Error::format(place, message).with_hint("open it in EEGLAB and save it again"));
    }
    let bytes = find(name)?;
    let expected = sizes.channels.checked_mul(sizes.samples()).and_then(|numbers| numbers.checked_mul(4));
    match expected {
        Some(expected) if expected <= bytes.len() => {
            if expected < bytes.len() {
                notes.push(format!("{} bytes after the samples are left out", bytes.len() - expected));
            }
            let (storage, order, channels) = (Storage::F32, Order::Little, sizes.channels);
            Ok(PlainSamples { bytes: Arc::new(bytes), at: 0, storage, order, channels, place: place.clone() })
        }
        _ => {
            let (channels, samples, there) = (sizes.channels, sizes.samples(), bytes.len());
            let message = format!(
                "{channels} channels of {samples} samples are not in `{name}`, which has {there} bytes"
            );
            Err(Error::format(place, message)
                .with_hint("that file is incomplete or another one; copy or download both again"))
        }
    }
}

/// The file with the samples: the one that is named or, where both files were renamed, the one with the name of the `.set`.
fn beside(set: &Path, name: &str) -> Result<PathBuf> {
    let named = Some(set.with_file_name(name)).filter(|_| !name.is_empty());
    let renamed = set.with_extension("fdt");
    match named.iter().chain([&renamed]).find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => {
            let message = format!("has its samples in `{name}`, which is not there");
            let hint = format!("put it into the same folder, under that name or as `{}`", renamed.display());
            Err(Error::format(&set.into(), message).with_hint(hint))
        }
    }
}
