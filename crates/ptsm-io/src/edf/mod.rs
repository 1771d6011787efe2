//! EDF, EDF+, BDF and BDF+.
//!
//! Kemp et al. 1992, doi:10.1016/0013-4694(92)90009-7 (EDF); Kemp and Olivan 2003, doi:10.1016/S1388-2457(03)00123-8 (EDF+). BDF is the
//! same with 24 bits per sample.
//!
//!   256 bytes about the file | 256 bytes about each signal | record 0: samples of signal 0, of signal 1, ... | record 1 | ...
//!
//! Who was recorded, by whom and when is stepped over. Opening reads the header and the annotations: in EDF+ and BDF+ a block of each
//! record, in BDF the trigger signal.

mod annotations;
mod header;
mod status;
mod timeline;

use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Place, Result};
use crate::opened::{Header, Kind, Mark, Opened, Signal};
use crate::records::{Lane, Records, Scale, few, kind_of, voltage};

use annotations::Annotations;
use header::{Field, Head};
use timeline::Timeline;

/// Opens a recording.
pub fn open(path: &Path) -> Result<Opened> {
    parse(Bytes::open(path)?, &path.into())
}

/// Opens a recording that is in memory.
pub fn parse(bytes: Bytes, place: &Place) -> Result<Opened> {
    let mut head = Head::read(&bytes, place)?;
    let mut notes = std::mem::take(&mut head.notes);
    let (annotated, fields): (Vec<&Field>, Vec<&Field>) =
        head.fields.iter().filter(|field| field.samples > 0).partition(|field| field.annotations);
    let (signals, lanes): (Vec<Signal>, Vec<Lane>) =
        fields.iter().map(|field| (signal(&head, field), lane(&head, field))).unzip();
    let unscaled: Vec<&str> =
        fields.iter().filter(|field| field.ranges.scale(1.0).is_none()).map(|field| &*field.label).collect();
    if !unscaled.is_empty() {
        let names = few(unscaled.into_iter());
        notes.push(format!("the header gives no range for {names}: samples are the stored numbers"));
    }
    let records =
        Records { start: head.start, record_bytes: head.record_bytes, count: head.records, lanes, bytes };

    let labels = fields.iter().map(|field| &*field.label).collect();
    let annotations = Annotations::read(&records, &annotated, &labels);
    let timeline = Timeline::new(&head, &signals, &annotations, &mut notes);
    let mut marks = annotations.marks;
    marks.iter_mut().for_each(|mark| mark.onset_s -= timeline.zero_s);
    if head.bdf {
        for (field, signal) in fields.iter().zip(&signals).filter(|(_, signal)| signal.kind == Kind::Stimulus)
        {
            let triggers = status::rises(&records, field);
            marks.extend(triggers.map(|trigger| Mark {
                onset_s: timeline.time_s(trigger.record, trigger.sample as f64 / signal.rate_hz),
                duration_s: 0.0,
                sample: None,
                text: trigger.value.to_string(),
            }));
        }
    }
    timeline.place(&mut marks, &mut notes);
    let header =
        Header { format: head.format, signals, stretches: timeline.stretches, marks, epochs: None, notes };
    Opened::new(place, header, Box::new(records))
}

/// How many of the unit samples come in are in one of the file's unit, and whether those are microvolts. Triggers are no voltage,
/// whatever the file says.
fn factor(field: &Field) -> (f64, bool) {
    match voltage(&field.unit) {
        Some((_, microvolts)) if kind_of(&field.label, &field.unit) != Kind::Stimulus => (microvolts, true),
        _ => (1.0, false),
    }
}

fn signal(head: &Head, field: &Field) -> Signal {
    let (factor, microvolts) = factor(field);
    Signal {
        kind: kind_of(&field.label, &field.unit),
        unit: voltage(&field.unit).map_or(&*field.unit, |(name, _)| name).to_string(),
        microvolts,
        range: field.ranges.values(factor),
        ..Signal::new(&*field.label, field.samples as f64 / head.record_s, head.records * field.samples)
    }
}

fn lane(head: &Head, field: &Field) -> Lane {
    let (factor, _) = factor(field);
    let scale = field.ranges.scale(factor).unwrap_or_else(|| Scale::plain(factor));
    Lane { offset: field.offset, samples: field.samples, value: head.value(), scale }
}
