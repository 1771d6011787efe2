//! The table of events behind the records.

use std::collections::HashMap;

use crate::bytes::Bytes;
use crate::cursor::{Cursor, DAMAGED};
use crate::error::{Place, Result};
use crate::opened::Mark;

/// The start of a segment after a break.
pub(super) const BREAK: &str = "32766";

/// A value of a signal that is not sampled at equal distances: no event.
const SPARSE: u16 = 0x7fff;

/// Set in the type of what ends an event.
const END: u16 = 0x8000;

/// All events of a file.
#[derive(Default)]
pub(super) struct Table {
    pub(super) marks: Vec<Mark>,
    pub(super) notes: Vec<String>,
}

/// One row.
struct Row {
    /// Its sample at the table's rate, counted from 0.
    position: u32,
    code: u16,
    channel: u16,
    samples: u32,
}

impl Table {
    /// Reads the table at a byte of the file. Events without a rate are at that of the data.
    pub(super) fn read(bytes: &Bytes, place: &Place, at: usize, version: u32, data_hz: f64) -> Result<Table> {
        let mut cursor = Cursor::new(bytes, place);
        cursor.seek(at)?;
        let mode = cursor.u8()?;
        // Bit 1 adds channels and durations, bit 2 the time of day, which is not kept.
        if mode & !0b110 != 1 {
            let note = format!("{} bytes behind the last record are no table of events", bytes.len() - at);
            return Ok(Table { notes: vec![note], ..Table::default() });
        }
        let (count, rate_hz) = if version < 194 {
            let rate_hz = f64::from(u24(&mut cursor)?);
            (cursor.u32()?, rate_hz)
        } else {
            let count = u24(&mut cursor)?;
            (count, f64::from(cursor.f32()?))
        };
        let rows = rows(&mut cursor, count, mode & 2 != 0)?;
        let rate_hz = if rate_hz.is_finite() && rate_hz > 0.0 { rate_hz } else { data_hz };
        Ok(Table::of(rows, rate_hz, data_hz))
    }

    fn of(mut rows: Vec<Row>, rate_hz: f64, data_hz: f64) -> Table {
        rows.sort_by_key(|row| row.position);
        let mut table = Table::default();
        let mut open: HashMap<(u16, u16), usize> = HashMap::new();
        let (mut ends, mut others) = (0, 0);
        for row in rows {
            let onset_s = f64::from(row.position) / rate_hz;
            if row.code & END != 0 {
                match open.remove(&(row.code & !END, row.channel)) {
                    Some(begun) => table.marks[begun].duration_s = onset_s - table.marks[begun].onset_s,
                    None => ends += 1,
                }
                continue;
            }
            if row.code == 0 || row.code == SPARSE {
                others += 1;
                continue;
            }
            if row.samples == 0 {
                open.insert((row.code, row.channel), table.marks.len());
            }
            table.marks.push(Mark {
                onset_s,
                duration_s: f64::from(row.samples) / rate_hz,
                sample: Some((onset_s * data_hz).round() as usize),
                text: row.code.to_string(),
            });
        }
        if ends > 0 {
            table.notes.push(format!("{ends} ends of events that never began are left out"));
        }
        if others > 0 {
            table.notes.push(format!("{others} rows of the table of events are no events and are left out"));
        }
        table
    }
}

/// The table's columns, one after the other. They are checked to be there before anything is made of their length.
fn rows(cursor: &mut Cursor<'_>, count: u32, whole: bool) -> Result<Vec<Row>> {
    let width = if whole { 12 } else { 6 };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if cursor.clone().skip(count.saturating_mul(width)).is_err() {
        let message =
            format!("a table of {count} events is cut short: the file ends after {} bytes", cursor.left());
        return Err(cursor.error(message).with_hint(DAMAGED));
    }
    // Counted from 1; a 0 can only mean the first.
    let mut rows = (0..count)
        .map(|_| {
            let position = cursor.u32()?.saturating_sub(1);
            Ok(Row { position, code: 0, channel: 0, samples: 0 })
        })
        .collect::<Result<Vec<Row>>>()?;
    rows.iter_mut().try_for_each(|row| cursor.u16().map(|code| row.code = code))?;
    if whole {
        rows.iter_mut().try_for_each(|row| cursor.u16().map(|channel| row.channel = channel))?;
        rows.iter_mut().try_for_each(|row| cursor.u32().map(|samples| row.samples = samples))?;
    }
    Ok(rows)
}

fn u24(cursor: &mut Cursor<'_>) -> Result<u32> {
    let bytes = cursor.take(3)?;
    Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]))
}
