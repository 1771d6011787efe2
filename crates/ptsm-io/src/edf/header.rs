//! What the header says: 256 bytes about the file, then each field of all signals.

use crate::bytes::Bytes;
use crate::cursor::{Cursor, DAMAGED, latin1};
use crate::error::{Error, Place, Result};
use crate::records::{Field, Ranges, Value, sort_out};

/// The header, less what it says about people and dates.
pub(super) struct Head {
    /// `EDF`, `EDF+C`, `BDF+D` and so on.
    pub(super) format: String,
    /// Whether samples have 24 bits.
    pub(super) bdf: bool,
    /// Whether there may be gaps between records.
    pub(super) gaps: bool,
    /// The first byte of the first record.
    pub(super) start: usize,
    pub(super) record_bytes: usize,
    /// Whole records that are there, at least one.
    pub(super) records: usize,
    /// How long a record is. More than 0 where any signal has samples.
    pub(super) record_s: f64,
    /// Signals with samples, in the file's order.
    pub(super) fields: Vec<Field>,
    /// Text about the recording.
    pub(super) annotations: Vec<Field>,
    /// What was mended.
    pub(super) notes: Vec<String>,
}

impl Head {
    pub(super) fn read(bytes: &Bytes, place: &Place) -> Result<Head> {
        let mut cursor = Cursor::new(bytes, place);
        let bdf = match cursor.take(8)? {
            b"\xffBIOSEMI" => true,
            version if latin1(version) == "0" => false,
            _ => {
                let error = Error::format(&place.at(0), "this is neither EDF nor BDF");
                return Err(error.with_hint("EDF begins with `0`, BDF with `BIOSEMI`; check the file's name"));
            }
        };
        cursor.skip(176)?; // patient, recording, date and time
        let said_start = decimal(&cursor.text(8)?);
        let variant = cursor.text(44)?;
        let said_records = decimal(&cursor.text(8)?);
        let duration_at = cursor.clone();
        let record_s = number(&mut cursor, 8, "duration of a record")?;
        let count_at = cursor.clone();
        let count = count(&mut cursor, 4, "number of signals")?;
        if count == 0 {
            return Err(count_at.error("the file has no signals").with_hint(DAMAGED));
        }
        let fields = fields(&mut cursor, count, bdf)?;

        let mut notes = vec![];
        let end = cursor.at();
        let start = said_start
            .filter(|&said| said >= end as f64 && said <= bytes.len() as f64 && said.fract() == 0.0);
        let start = start.map_or(end, |said| said as usize);
        if said_start != Some(end as f64) {
            notes.push(format!(
                "a header of {count} signals has {end} bytes, it says otherwise: samples from byte {start} on"
            ));
        }
        if record_s < 0.0
            || record_s == 0.0 && fields.iter().any(|field| field.samples > 0 && !is_text(&field.label, bdf))
        {
            let error = duration_at.error(format!("records of {record_s} s cannot hold samples"));
            return Err(error.with_hint(DAMAGED));
        }
        let record_bytes = fields.last().map_or(0, Field::end);
        let body = bytes.len() - start;
        let records = body.checked_div(record_bytes).unwrap_or(0);
        if records == 0 {
            let message = format!("a record has {record_bytes} bytes, {body} are there");
            return Err(Error::format(&place.at(start as u64), message).with_hint(DAMAGED));
        }
        let rest = body % record_bytes;
        match said_records {
            Some(said) if said == records as f64 => {}
            Some(said) if said >= 0.0 => {
                notes.push(format!("the header says {said} records; {records} are there and are used"));
            }
            _ => {
                notes.push(format!("the header does not say how many records there are: {records} are used"))
            }
        }
        if rest > 0 {
            notes.push(format!("{rest} bytes after the last whole record are left out"));
        }
        let (mut annotations, mut fields): (Vec<Field>, Vec<Field>) =
            fields.into_iter().partition(|field| is_text(&field.label, bdf));
        annotations.retain(|field| field.samples > 0);
        sort_out(&mut fields, &mut notes);
        let plus = variant.get(..5).filter(|v| ["EDF+C", "EDF+D", "BDF+C", "BDF+D"].contains(v));
        let base = if bdf { "BDF" } else { "EDF" };
        let format = format!("{base}{}", plus.map_or("", |v| &v[3..]));
        let gaps = plus.is_some_and(|v| v.ends_with('D'));
        Ok(Head { format, bdf, gaps, start, record_bytes, records, record_s, fields, annotations, notes })
    }
}

/// Whether a signal is text about the recording.
fn is_text(label: &str, bdf: bool) -> bool {
    label == if bdf { "BDF Annotations" } else { "EDF Annotations" }
}

/// The fields of all signals. Each has 256 bytes, which are checked to be there before anything is made of their number.
fn fields(cursor: &mut Cursor<'_>, count: usize, bdf: bool) -> Result<Vec<Field>> {
    cursor.clone().skip(count.saturating_mul(256))?;
    let texts = |cursor: &mut Cursor<'_>, length: usize| -> Result<Vec<String>> {
        (0..count).map(|_| cursor.text(length)).collect()
    };
    let labels = texts(cursor, 16)?;
    cursor.skip(80 * count)?; // transducers
    let units = texts(cursor, 8)?;
    let mut limits = vec![[0.0; 4]; count];
    let names = ["physical minimum", "physical maximum", "digital minimum", "digital maximum"];
    for (which, name) in names.into_iter().enumerate() {
        for (limits, label) in limits.iter_mut().zip(&labels) {
            // Those of annotations mean nothing.
            if is_text(label, bdf) {
                cursor.skip(8)?;
            } else {
                limits[which] = number(cursor, 8, name)?;
            }
        }
    }
    cursor.skip(80 * count)?; // filters
    let value = if bdf { Value::I24 } else { Value::I16 };
    let mut fields: Vec<Field> = Vec::with_capacity(count);
    for ((label, unit), [low, high, from, until]) in labels.into_iter().zip(units).zip(limits) {
        let samples = self::count(cursor, 8, "number of samples per record")?;
        let ranges = Ranges { physical: [low, high], digital: [from, until] };
        let offset = fields.last().map_or(0, Field::end);
        fields.push(Field { label, unit, ranges, value, samples, offset });
    }
    cursor.skip(32 * count)?;
    Ok(fields)
}

/// A number in a field of some characters.
fn number(cursor: &mut Cursor<'_>, length: usize, what: &str) -> Result<f64> {
    let at = cursor.clone();
    let text = cursor.text(length)?;
    decimal(&text).ok_or_else(|| at.error(format!("{text:?} is no {what}")).with_hint(DAMAGED))
}

/// A whole number, not below 0.
fn count(cursor: &mut Cursor<'_>, length: usize, what: &str) -> Result<usize> {
    let at = cursor.clone();
    let value = number(cursor, length, what)?;
    // `1e300` is a number of eight characters too.
    if !(0.0..1e8).contains(&value) || value.fract() != 0.0 {
        return Err(at.error(format!("{value} is no {what}")).with_hint(DAMAGED));
    }
    Ok(value as usize)
}

/// A number as text; some programs write a comma for the point.
pub(super) fn decimal(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok().filter(|value: &f64| value.is_finite())
}
