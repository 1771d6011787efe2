//! FIF: raw recordings and trials, as MNE saves them (`raw.save`, `epochs.save`).
//!
//! A file is a list of tags; opening walks over it and keeps where the samples are. Split recordings, compressed files and complex
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
use crate::opened::{Header, Opened, Samples, Signal};

/// Opens a recording or trials.
pub fn open(path: &Path) -> Result<Opened> {
    parse(path, Bytes::open(path)?)
}

/// Opens a recording or trials whose bytes are at hand. `path` is what errors name.
pub fn parse(path: &Path, bytes: Bytes) -> Result<Opened> {
    let place = &Place::from(path);
    let contents = Contents::read(&bytes, place)?;
    if !(contents.rate_hz.is_finite() && contents.rate_hz > 0.0) {
        return Err(Error::format(place, format!("has the impossible rate {} Hz", contents.rate_hz)));
    }
    let mut notes = vec![];
    if !contents.closed {
        notes.push("the file does not end as it should; it may be incomplete".into());
    }
    let (signals, gains) = signals(&contents, &mut notes);
    match contents.epochs {
        Some(data) => trials(place, bytes, &contents, data, signals, gains, notes),
        None if contents.raw.is_empty() => Err(Error::format(place, "holds neither a recording nor trials")
            .with_hint(
                "averages, covariances and other results are not read; save the recording or the epochs",
            )),
        None => recording(place, bytes, &contents, signals, gains, notes),
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

fn recording(
    place: &Place,
    bytes: Bytes,
    contents: &Contents,
    mut signals: Vec<Signal>,
    gains: Vec<f64>,
    mut notes: Vec<String>,
) -> Result<Opened> {
    let raw = Raw::new(bytes, contents, gains.clone(), place)?;
    for (signal, gain) in signals.iter_mut().zip(&gains) {
        signal.samples = raw.length;
        signal.range = raw.encoding.and_then(|encoding| encoding.range(*gain));
    }
    if contents.shielded {
        notes.push("the magnetic signals hold active shielding".into());
    }
    let mut marks = marks::annotated(contents, &raw, &mut notes);
    let stretches = marks::parted(&raw.stretches, &marks, contents.rate_hz);
    if !marks.iter().any(marks::is_event) {
        marks.extend(marks::triggered(&signals, &raw, &mut notes)?);
    }
    let header = Header { format: "FIF".into(), signals, stretches, marks, epochs: None, notes };
    Opened::new(place, header, Box::new(raw))
}

fn trials(
    place: &Place,
    bytes: Bytes,
    contents: &Contents,
    data: contents::Data,
    mut signals: Vec<Signal>,
    gains: Vec<f64>,
    notes: Vec<String>,
) -> Result<Opened> {
    let trials = Trials::new(bytes, contents, data, gains, place)?;
    let (epochs, stretches, marks) = trials.layout(contents, place)?;
    signals.iter_mut().for_each(|signal| signal.samples = trials.samples * trials.trials);
    let header =
        Header { format: "FIF epochs".into(), signals, stretches, marks, epochs: Some(epochs), notes };
    Opened::new(place, header, Box::new(trials) as Box<dyn Samples>)
}
