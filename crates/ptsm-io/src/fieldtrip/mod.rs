//! FieldTrip: `.mat` with a struct of the fields `label`, `trial` and `time`, as `ft_preprocessing` makes it.
//!
//! One trial is a recording, several of one length are epochs, with the first column of `trialinfo` as their codes. Of the struct only
//! what describes the signals is looked at. Where the file is a recording, events are those of a variable `event` beside it, as
//! `ft_read_event` makes it.

mod channels;
mod events;
mod fields;
mod trials;

use std::path::Path;

use self::fields::Fields;
use self::trials::Trials;
use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::mat::MatFile;
use crate::recording_file::{Annotation, Epochs, RawHeader, RecordingFile, Segment};

/// Opens a recording.
pub fn open(path: &Path) -> Result<RecordingFile> {
    parse(Bytes::open_filled(path)?, &path.into())
}

/// The same from bytes; `place` is for messages.
pub fn parse(bytes: Bytes, place: &Place) -> Result<RecordingFile> {
    read(bytes, place)?.ok_or_else(|| {
        Error::format(place, "holds no recording of FieldTrip: no struct with `label`, `trial` and `time`")
            .with_hint("a manifest says which variable of a MATLAB file holds what: `ptsm data add DIR`")
    })
}

/// Opens a recording where a MATLAB file holds one of FieldTrip; none where it holds other things.
pub fn find(path: &Path) -> Result<Option<RecordingFile>> {
    read(Bytes::open_filled(path)?, &path.into())
}

fn read(bytes: Bytes, place: &Place) -> Result<Option<RecordingFile>> {
    let file = MatFile::parse(bytes, place)?;
    let Some(fields) = Fields::read(&file, place)? else { return Ok(None) };
    let mut notes = vec![];
    let Fields { record, outlines, place } = fields;
    let trials = Trials::new(&record, outlines, &file, &place)?;
    let codes = events::codes(&record, trials.count(), &mut notes);
    let (signals, factors) = channels::read(&record, &trials, &place, &mut notes)?;
    let epochs =
        trials.is_epoched().then_some(Epochs { samples: trials.samples, start_s: trials.start_s, codes });
    let (segments, annotations) = match &epochs {
        Some(epochs) => layout(epochs, trials.rate_hz),
        None => (vec![], events::read(&file, &record, &trials, &mut notes)?),
    };
    let format = if epochs.is_some() { "FieldTrip epochs" } else { "FieldTrip" }.into();
    let header = RawHeader { format, signals, segments, annotations, epochs, notes };
    let whole = Place { member: None, ..place };
    RecordingFile::new(&whole, header, Box::new(trials.scaled(factors))).map(Some)
}

/// Where each trial lies, with an annotation at its cue where that is inside.
fn layout(epochs: &Epochs, rate_hz: f64) -> (Vec<Segment>, Vec<Annotation>) {
    let cue = (-epochs.start_s * rate_hz).round();
    let cue = (0.0..epochs.samples as f64).contains(&cue).then_some(cue as usize);
    let place = |(trial, code): (usize, &String)| {
        let first = trial * epochs.samples;
        let start_s = first as f64 / rate_hz;
        let annotation = Annotation {
            onset_s: start_s - epochs.start_s,
            duration_s: 0.0,
            sample: cue.map(|cue| first + cue),
            text: code.clone(),
        };
        (Segment { start_s, first, samples: epochs.samples }, annotation)
    };
    let (segments, mut annotations): (Vec<_>, Vec<_>) = epochs.codes.iter().enumerate().map(place).unzip();
    annotations.retain(|annotation: &Annotation| !annotation.text.is_empty());
    (segments, annotations)
}
