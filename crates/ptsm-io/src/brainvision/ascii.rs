//! Samples written as text. Nothing says where a sample lies, so the whole file is read when it is opened.

use super::header::{Head, SampleEncoding};
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};
use crate::stored::{Encoding, Number};

/// How the result is stored.
pub(super) const ENCODING: Encoding = Encoding { number: Number::F32, big_endian: false };

/// The numbers of a file of text in binary, in the order they have there, in the unit signals come in. `hidden` signals follow those
/// the header describes.
pub(super) fn read(place: &Place, bytes: &[u8], head: &Head, hidden: usize) -> Result<Vec<u8>> {
    let SampleEncoding::Ascii { decimal, skip_lines, skip_columns } = head.written else { return Ok(vec![]) };
    let gains: Vec<f64> = head.signals.iter().map(|scaled| scaled.gain).chain(vec![1.0; hidden]).collect();
    let mut values = vec![];
    let mut rows = 0;
    // How many numbers a line must have: one of each signal, or as many as the first has.
    let mut expected = (!head.vectorized).then_some(gains.len());
    for line in bytes.split_inclusive(|&byte| byte == b'\n').skip(skip_lines) {
        let before = values.len();
        let mut column = 0;
        for field in line.split(|&byte| separates(byte, decimal)).filter(|field| !field.is_empty()) {
            column += 1;
            if column <= skip_columns {
                continue;
            }
            let at = || place.at((field.as_ptr() as usize - bytes.as_ptr() as usize) as u64);
            // Which signal it is of: that of the line, or that of the column.
            let signal = if head.vectorized { rows } else { column - skip_columns - 1 };
            let Some(gain) = gains.get(signal) else {
                let (whose, width) = (if head.vectorized { "line" } else { "column" }, gains.len());
                return Err(Error::format(
                    &at(),
                    format!("one {whose} more than the {width} channels of the header"),
                )
                .with_hint("`SkipLines` and `SkipColumns` in the header say what comes before the samples"));
            };
            let value = number(field, decimal).ok_or_else(|| {
                let text = String::from_utf8_lossy(&field[..field.len().min(20)]).into_owned();
                Error::format(&at(), format!("`{text}` is no number")).with_hint(
                    "`DecimalSymbol`, `SkipLines` and `SkipColumns` in the header say how to read it",
                )
            })?;
            values.extend(((value * gain) as f32).to_le_bytes());
        }
        if column == 0 {
            continue;
        }
        let count = (values.len() - before) / ENCODING.bytes();
        let expected = *expected.get_or_insert(count);
        if count != expected {
            let at = place.at((line.as_ptr() as usize - bytes.as_ptr() as usize) as u64);
            let message = format!("the line has {count} numbers instead of {expected}");
            return Err(Error::format(&at, message).with_hint(DAMAGED));
        }
        rows += 1;
    }
    if head.vectorized && rows != gains.len() {
        let message = format!("there are {rows} lines of samples for {} channels", gains.len());
        return Err(Error::format(place, message).with_hint(DAMAGED));
    }
    Ok(values)
}

/// Blanks, tabulators, semicolons; commas unless they are in numbers.
fn separates(byte: u8, decimal: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b';' || byte == b',' && decimal != b','
}

fn number(field: &[u8], decimal: u8) -> Option<f64> {
    let text = str::from_utf8(field).ok()?;
    if decimal == b',' { text.replace(',', ".").parse().ok() } else { text.parse().ok() }
}
