//! What the header says: 256 bytes about the file, then each field of all signals. Version 2 begins at 1.90.

use crate::bytes::Bytes;
use crate::cursor::{Cursor, DAMAGED};
use crate::error::{Error, Place, Result};
use crate::records::{Field, Ranges, Value, sort_out};

/// The header, less what it says about people and dates.
pub(super) struct Head {
    /// In hundredths: 125, 220.
    pub(super) version: u32,
    /// The first byte of the first record.
    pub(super) start: usize,
    pub(super) record_bytes: usize,
    /// Whole records that are there, at least one.
    pub(super) records: usize,
    pub(super) record_s: f64,
    /// Signals with samples, in the file's order.
    pub(super) fields: Vec<Field>,
    /// The first byte behind the records; none where nobody knows where that is, or nothing is there.
    pub(super) events: Option<usize>,
    /// What was mended.
    pub(super) notes: Vec<String>,
}

impl Head {
    pub(super) fn read(bytes: &Bytes, place: &Place) -> Result<Head> {
        let mut cursor = Cursor::new(bytes, place);
        let version = version(&cursor.text(8)?).ok_or_else(|| {
            Error::format(&place.at(0), "this is not GDF of version 1 or 2")
                .with_hint("GDF begins with `GDF 1.` or `GDF 2.`; check the file's name")
        })?;
        let second = version >= 190;
        let mut notes = vec![];
        cursor.skip(176)?; // patient, recording, place, date and birthday
        let said_start = match second {
            true => 256 * u64::from(cursor.u16()?),
            // A length below 0 is none.
            false => u64::try_from(cursor.i64()?).unwrap_or(0),
        };
        cursor.seek(236)?; // equipment, laboratory, technician, size of the head
        let said_records = cursor.i64()?;
        let record_s = record_s(&mut cursor, second, &mut notes)?;
        let count_at = cursor.clone();
        let count = match second {
            true => usize::from(cursor.u16()?),
            false => usize::try_from(cursor.u32()?).unwrap_or(usize::MAX),
        };
        if count == 0 {
            return Err(count_at.error("the file has no signals").with_hint(DAMAGED));
        }
        cursor.seek(256)?;
        let mut fields = fields(&mut cursor, count, second)?;
        let end = cursor.at();
        let start = usize::try_from(said_start).ok().filter(|start| (end..=bytes.len()).contains(start));
        if start.is_none() {
            notes.push(format!(
                "a header of {count} signals has {end} bytes, not {said_start}: samples from there on"
            ));
        }
        let start = start.unwrap_or(end);
        let record_bytes = fields.last().map_or(0, Field::end);
        let body = bytes.len() - start;
        let there = body.checked_div(record_bytes).unwrap_or(0);
        let said = usize::try_from(said_records).ok();
        let records = said.map_or(there, |said| said.min(there));
        if records == 0 {
            let message = format!(
                "{said_records} records of {record_bytes} bytes each are none of the {body} that are there"
            );
            return Err(Error::format(&place.at(start as u64), message).with_hint(DAMAGED));
        }
        match said {
            Some(said) if said == records => {}
            Some(said) => {
                notes.push(format!("the header says {said} records: {records} are there, and no events"))
            }
            None => notes.push(format!(
                "the header does not say how many records there are: {records} are used, without events"
            )),
        }
        let behind = start + records * record_bytes;
        let events = (said == Some(records) && behind < bytes.len()).then_some(behind);
        sort_out(&mut fields, &mut notes);
        Ok(Head { version, start, record_bytes, records, record_s, fields, events, notes })
    }
}

/// `GDF 2.20` in hundredths.
fn version(text: &str) -> Option<u32> {
    let (major, minor) = text.strip_prefix("GDF ")?.split_once('.')?;
    let digits = |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let minor = match minor.len() {
        1 => digits(minor)? * 10,
        2 => digits(minor)?,
        _ => return None,
    };
    Some(digits(major)?.checked_mul(100)? + minor).filter(|version| (100..300).contains(version))
}

/// How long a record is: a fraction of two whole numbers, from about 2.20 on of some writers one number in their place.
fn record_s(cursor: &mut Cursor<'_>, second: bool, notes: &mut Vec<String>) -> Result<f64> {
    let at = cursor.clone();
    let number = cursor.clone().f64()?;
    let (above, below) = (cursor.u32()?, cursor.u32()?);
    // As a fraction such a number would have more than a thousand million below the line, as a number such a fraction would be
    // next to nothing: they cannot be taken for one another.
    if second && (1e-6..1e6).contains(&number) {
        return Ok(number);
    }
    if above == 0 {
        notes.push("the header does not say how long a record is: 1 s is assumed".into());
        return Ok(1.0);
    }
    if below == 0 {
        return Err(at.error(format!("{above}/0 s is no length of a record")).with_hint(DAMAGED));
    }
    Ok(f64::from(above) / f64::from(below))
}

/// The fields of all signals. Each has 256 bytes, which are checked to be there before anything is made of their number.
fn fields(cursor: &mut Cursor<'_>, count: usize, second: bool) -> Result<Vec<Field>> {
    cursor.clone().skip(count.saturating_mul(256))?;
    let labels = (0..count).map(|_| cursor.text(16)).collect::<Result<Vec<_>>>()?;
    cursor.skip(80 * count)?; // transducers
    let units = units(cursor, count, second)?;
    let floats = |cursor: &mut Cursor<'_>| (0..count).map(|_| cursor.f64()).collect::<Result<Vec<f64>>>();
    let (low, high) = (floats(cursor)?, floats(cursor)?);
    let [from, until] = if second {
        [floats(cursor)?, floats(cursor)?]
    } else {
        let mut wholes = || (0..count).map(|_| Ok(cursor.i64()? as f64)).collect::<Result<Vec<f64>>>();
        [wholes()?, wholes()?]
    };
    cursor.skip(80 * count)?; // filters
    let samples = (0..count).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
    let mut fields: Vec<Field> = Vec::with_capacity(count);
    for (i, (label, unit)) in labels.into_iter().zip(units).enumerate() {
        let at = cursor.clone();
        let kind = cursor.u32()?;
        let value = value(kind).ok_or_else(|| {
            at.error(format!("samples of `{label}` are of type {kind}, which cannot be read"))
                .with_hint("convert the file to 16-bit samples")
        })?;
        let ranges = Ranges { physical: [low[i], high[i]], digital: [from[i], until[i]] };
        let offset = fields.last().map_or(0, Field::end);
        let samples = usize::try_from(samples[i]).unwrap_or(usize::MAX);
        fields.push(Field { label, unit, ranges, value, samples, offset });
    }
    cursor.skip(32 * count)?; // positions and impedances
    Ok(fields)
}

/// What each signal counts in: a text, in version 2 a code that goes before it.
fn units(cursor: &mut Cursor<'_>, count: usize, second: bool) -> Result<Vec<String>> {
    let length = if second { 6 } else { 8 };
    let texts = (0..count).map(|_| cursor.text(length)).collect::<Result<Vec<_>>>()?;
    if !second {
        return Ok(texts);
    }
    texts.into_iter().map(|text| Ok(unit(cursor.u16()?, text))).collect()
}

/// A unit by its code, of which the low 5 bits are a power of ten: 4275 is 4256 (volt) and 19 (micro).
fn unit(code: u16, text: String) -> String {
    const VOLT: u16 = 4256;
    let prefix = match code & 0x1f {
        _ if code & !0x1f != VOLT => None,
        0 => Some(""),
        18 => Some("m"),
        19 => Some("u"),
        20 => Some("n"),
        _ => None,
    };
    match (prefix, code) {
        (Some(prefix), _) => format!("{prefix}V"),
        (None, 0) => text,
        // A number without a unit.
        (None, 512) => String::new(),
        (None, _) if text.is_empty() => format!("code {code}"),
        (None, _) => text,
    }
}

/// How samples of a type are stored. Numbers of bits that fill no bytes are not known to be written by anyone.
fn value(kind: u32) -> Option<Value> {
    Some(match kind {
        1 | 263 => Value::I8,
        2 | 519 => Value::U8,
        3 | 271 => Value::I16,
        4 | 527 => Value::U16,
        279 => Value::I24,
        535 => Value::U24,
        5 | 287 => Value::I32,
        6 | 543 => Value::U32,
        7 | 319 => Value::I64,
        8 | 575 => Value::U64,
        16 => Value::F32,
        17 => Value::F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_with_two_places() {
        for (text, hundredths) in [("GDF 1.25", Some(125)), ("GDF 2.2", Some(220)), ("GDF 2.51", Some(251))] {
            assert_eq!(version(text), hundredths, "{text}");
        }
        for text in ["GDF", "GDF 3.00", "GDF 0.10", "GDF 1.+5", "GDF +1.5", "GDF 2", "GDF 1.255", "EDF 1.25"]
        {
            assert_eq!(version(text), None, "{text}");
        }
    }

    #[test]
    fn units_have_codes() {
        for (code, text, expected) in [
            (4275, "", "uV"),
            (4274, "uV", "mV"),
            (4256, "", "V"),
            (4276, "", "nV"),
            (0, "uV", "uV"),
            (512, "", ""),
            (4288, "Ohm", "Ohm"),
            (4288, "", "code 4288"),
            (4259, "", "code 4259"),
        ] {
            assert_eq!(unit(code, text.into()), expected, "{code}");
        }
    }
}
