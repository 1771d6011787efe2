//! FIF: raw recordings and trials, as MNE saves them (`raw.save`, `epochs.save`); trials are written, too.
//!
//! A file is a list of tags; opening walks over it and keeps where the samples are. Only where a recording has no annotations
//! but channels of triggers are those read to their end, for the events in them. Recordings split into several files are read as one;
//! a file packed by gzip is held in memory. Complex numbers are refused. Tags that describe people are not looked at; the dates of a recording and of its annotations are
//! compared with one another and forgotten.

mod annotations;
mod channel;
mod contents;
mod epochs;
mod list;
mod raw;
mod split;
mod tags;
mod write;

use std::path::Path;

pub use self::list::{ListedEvent, is_event_list, read_event_list};

use self::contents::Contents;
use self::epochs::Trials;
use self::raw::RawRecording;
use self::split::Piece;
use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::recording_file::{RawHeader, RecordingFile, SignalHeader, SignalKind};
use crate::triggers::{self, TriggerEvidence};

pub use self::write::write_epochs;

/// Opens a recording or trials. Where they are split into several files, `path` is the first of them and all are opened.
pub fn open(path: &Path) -> Result<RecordingFile> {
    let mut notes = vec![];
    let (bytes, pieces) = split::read(path, &mut notes)?;
    let others: Vec<_> = pieces[1..].iter().map(|piece| piece.place.path.clone()).collect();
    Ok(assemble(bytes, &pieces, notes)?.with_files(others))
}

/// Opens a recording or trials whose bytes are at hand. `place` is what errors name. One part of a split recording is refused: it
/// would be a recording cut short.
pub fn parse(bytes: Bytes, place: &Place) -> Result<RecordingFile> {
    let (bytes, piece) = Piece::read(bytes, place)?;
    piece.refuse_previous()?;
    if let Some(next) = &piece.contents.next {
        let message = format!("is one part of a split recording; the next part is {next}");
        return Err(Error::format(place, message).with_hint("open it from a folder that holds all parts"));
    }
    assemble(vec![bytes], &[piece], vec![])
}

/// A recording or trials of files that go on from one another, at least one, with the bytes of each.
fn assemble(bytes: Vec<Bytes>, pieces: &[Piece], mut notes: Vec<String>) -> Result<RecordingFile> {
    let [Piece { place, contents }, others @ ..] = pieces else { unreachable!("there is at least one file") };
    if !(contents.rate_hz.is_finite() && contents.rate_hz > 0.0) {
        return Err(Error::format(place, format!("has the impossible rate {} Hz", contents.rate_hz)));
    }
    if !contents.closed {
        notes.push("the file does not end as it should; it may be incomplete".into());
    }
    let (mut signals, gains) = signals(contents, &mut notes);
    for other in others {
        other.check(&signals, &gains, &mut notes)?;
    }
    if contents.epochs.is_some() {
        let trials = Trials::new(bytes, pieces, gains)?;
        let (epochs, segments, annotations) = trials.layout(pieces);
        signals.iter_mut().for_each(|signal| signal.samples = trials.samples * trials.trials);
        let (format, epochs) = ("FIF epochs".into(), Some(epochs));
        return RecordingFile::new(
            place,
            RawHeader { format, signals, segments, annotations, epochs, notes },
            Box::new(trials),
        );
    }
    if contents.raw.is_empty() {
        return Err(Error::format(place, "holds neither a recording nor trials").with_hint(
            "averages, covariances and other results are not read; save the recording or the epochs",
        ));
    }
    let raw = RawRecording::new(bytes, pieces, gains)?;
    for (signal, range) in signals.iter_mut().zip(raw.ranges()) {
        (signal.samples, signal.range) = (raw.length, range);
    }
    if contents.shielded {
        notes.push("the magnetic signals hold active shielding".into());
    }
    // The first file has the annotations of all.
    let mut annotations = annotations::annotated(contents, &raw, &mut notes);
    let segments = annotations::parted(&raw.segments, &annotations, contents.rate_hz);
    if !annotations.iter().any(annotations::is_event) {
        annotations.extend(triggers::read(
            &signals,
            &raw,
            &raw.segments,
            TriggerEvidence::Stated,
            &mut notes,
        )?);
    } else if let Some(trigger) = signals.iter().find(|signal| signal.kind == SignalKind::Stimulus) {
        notes.push(format!(
            "events come from the annotations; trigger channels, such as `{}`, are not read",
            trigger.name
        ));
    }
    let (format, epochs, first) = ("FIF".into(), None, raw.start);
    let opened = RecordingFile::new(
        place,
        RawHeader { format, signals, segments, annotations, epochs, notes },
        Box::new(raw),
    );
    Ok(opened?.with_first_sample(first))
}

/// All signals, their samples not counted, and what stored numbers are multiplied by.
fn signals(contents: &Contents, notes: &mut Vec<String>) -> (Vec<SignalHeader>, Vec<f64>) {
    let mut names = contents.names.as_slice();
    if !names.is_empty() && names.len() != contents.channels.len() {
        notes.push(format!(
            "{} long names for {} channels are left out",
            names.len(),
            contents.channels.len()
        ));
        names = &[];
    }
    let signal = |(i, channel): (usize, &channel::Channel)| {
        let name = names.get(i).and_then(|name| name.as_ref()).unwrap_or(&channel.name);
        let (mut signal, gain) = channel.signal(name, contents.rate_hz);
        signal.bad = contents.bad.contains(name) || contents.bad.contains(&channel.name);
        (signal, gain)
    };
    contents.channels.iter().enumerate().map(signal).unzip()
}
