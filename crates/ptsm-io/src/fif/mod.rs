//! FIF: raw recordings and trials, as MNE saves them (`raw.save`, `epochs.save`).
//!
//! A file is a list of tags; opening walks over it and keeps where the samples are. Only where a recording has no annotations
//! but channels of triggers are those read to their end, for the events in them. Split recordings, compressed files and complex
//! numbers are refused. Tags that describe people are not looked at; the dates of a recording and of its annotations are
//! compared with one another and forgotten.

mod channel;
mod contents;
mod epochs;
mod marks;
mod raw;
mod tags;

use std::path::Path;

use self::contents::Contents;
use self::epochs::Trials;
use self::raw::Raw;
use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::opened::{Header, Kind, Opened, Signal};
use crate::triggers::{self, Trust};

/// Opens a recording or trials.
pub fn open(path: &Path) -> Result<Opened> {
    parse(Bytes::open_filled(path)?, &path.into())
}

/// Opens a recording or trials whose bytes are at hand. `place` is what errors name.
pub fn parse(bytes: Bytes, place: &Place) -> Result<Opened> {
    let contents = Contents::read(&bytes, place)?;
    if !(contents.rate_hz.is_finite() && contents.rate_hz > 0.0) {
        return Err(Error::format(place, format!("has the impossible rate {} Hz", contents.rate_hz)));
    }
    let mut notes = vec![];
    if !contents.closed {
        notes.push("the file does not end as it should; it may be incomplete".into());
    }
    let (mut signals, gains) = signals(&contents, &mut notes);
    match contents.epochs {
        Some(data) => {
            let trials = Trials::new(bytes, &contents, data, gains, place)?;
            let (epochs, stretches, marks) = trials.layout(&contents, place)?;
            signals.iter_mut().for_each(|signal| signal.samples = trials.samples * trials.trials);
            let (format, epochs) = ("FIF epochs".into(), Some(epochs));
            Opened::new(place, Header { format, signals, stretches, marks, epochs, notes }, Box::new(trials))
        }
        None if !contents.raw.is_empty() => {
            let raw = Raw::new(bytes, &contents, gains, place)?;
            for (signal, range) in signals.iter_mut().zip(raw.ranges()) {
                (signal.samples, signal.range) = (raw.length, range);
            }
            if contents.shielded {
                notes.push("the magnetic signals hold active shielding".into());
            }
            let mut marks = marks::annotated(&contents, &raw, &mut notes);
            let stretches = marks::parted(&raw.stretches, &marks, contents.rate_hz);
            if !marks.iter().any(marks::is_event) {
                marks.extend(triggers::read(&signals, &raw, &raw.stretches, Trust::Stated, &mut notes)?);
            } else if let Some(trigger) = signals.iter().find(|signal| signal.kind == Kind::Stimulus) {
                notes.push(format!(
                    "events come from the annotations; trigger channels, such as `{}`, are not read",
                    trigger.name
                ));
            }
            let (format, epochs) = ("FIF".into(), None);
            Opened::new(place, Header { format, signals, stretches, marks, epochs, notes }, Box::new(raw))
        }
        None => Err(Error::format(place, "holds neither a recording nor trials").with_hint(
            "averages, covariances and other results are not read; save the recording or the epochs",
        )),
    }
}

/// All signals, their samples not counted, and what stored numbers are multiplied by.
fn signals(contents: &Contents, notes: &mut Vec<String>) -> (Vec<Signal>, Vec<f64>) {
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
