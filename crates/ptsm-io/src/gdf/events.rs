//! The table of events behind the records.

use std::collections::{HashMap, HashSet};

use crate::bytes::Bytes;
use crate::cursor::Cursor;
use crate::error::{Place, Result};
use crate::limit::few_enough;
use crate::recording_file::Annotation;

/// The start of a segment after a break.
pub(super) const BREAK: &str = "32766";

/// Bytes in front of the rows: mode, number and rate.
const HEAD: usize = 8;

/// A value of a signal that is not sampled at equal distances: no event.
const SPARSE: u16 = 0x7fff;

/// Set in the type of what ends an event, in files that follow this part of GDF. OpenViBE's own types have it set and end nothing:
/// 0x8005 is the start of a trial.
const END: u16 = 0x8000;

/// All events of a file.
#[derive(Default)]
pub(super) struct Table {
    pub(super) annotations: Vec<Annotation>,
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
    /// Reads the table at a byte of the file. Events without a rate are at that of the data. Of a table that is cut short the events
    /// are kept that are there: the samples are good without it.
    pub(super) fn read(bytes: &Bytes, place: &Place, at: usize, version: u32, data_hz: f64) -> Result<Table> {
        let mut cursor = Cursor::new(bytes, place);
        cursor.seek(at)?;
        if cursor.left() < HEAD {
            let note = format!("a table of events is cut short after {} bytes: no events", cursor.left());
            return Ok(Table { notes: vec![note], ..Table::default() });
        }
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
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let columns = Columns::of(count, mode & 2 != 0, cursor.left());
        few_enough(columns.rows, "events", place)?;
        let rate_hz = if rate_hz.is_finite() && rate_hz > 0.0 { rate_hz } else { data_hz };
        let mut table = Table::of(columns.read(&cursor)?, rate_hz, data_hz);
        table.notes.extend(columns.note());
        Ok(table)
    }

    fn of(mut rows: Vec<Row>, rate_hz: f64, data_hz: f64) -> Table {
        rows.sort_by_key(|row| row.position);
        let ends = EndTypes::of(&rows);
        let mut table = Table::default();
        let mut open: HashMap<(u16, u16), usize> = HashMap::new();
        let (mut orphans, mut others) = (0, 0);
        for row in rows {
            let onset_s = f64::from(row.position) / rate_hz;
            if ends.is_end(&row) {
                match open.remove(&(row.code & !END, row.channel)) {
                    // What says itself how long it is needs no end.
                    Some(begun) if table.annotations[begun].duration_s == 0.0 => {
                        table.annotations[begun].duration_s = onset_s - table.annotations[begun].onset_s;
                    }
                    Some(_) => {}
                    None => orphans += 1,
                }
                continue;
            }
            if row.code == 0 || row.code & !END == SPARSE {
                others += 1;
                continue;
            }
            open.insert((row.code, row.channel), table.annotations.len());
            table.annotations.push(Annotation {
                onset_s,
                duration_s: f64::from(row.samples) / rate_hz,
                sample: Some((onset_s * data_hz).round() as usize),
                text: row.code.to_string(),
            });
        }
        if orphans > 0 {
            table.notes.push(format!("{orphans} ends of events that never began are left out"));
        }
        if others > 0 {
            table.notes.push(format!("{others} rows of the table of events are no events and are left out"));
        }
        table
    }
}

/// Which types end events. A type above 0x8000 does where an event of the same type without that bit begins in the file, and where
/// at least half of all such rows follow what they would end: otherwise the file has another convention, and all are events.
struct EndTypes {
    begun: HashSet<u16>,
    followed: bool,
}

impl EndTypes {
    /// Looks at rows in the order of time.
    fn of(rows: &[Row]) -> EndTypes {
        let begun = rows.iter().map(|row| row.code).filter(|&code| code != 0 && code & END == 0).collect();
        let mut open: HashSet<(u16, u16)> = HashSet::new();
        let (mut closing, mut all) = (0, 0);
        for row in rows {
            if row.code & END == 0 {
                open.insert((row.code, row.channel));
            } else {
                all += 1;
                closing += usize::from(open.remove(&(row.code & !END, row.channel)));
            }
        }
        EndTypes { begun, followed: 2 * closing >= all }
    }

    fn is_end(&self, row: &Row) -> bool {
        self.followed && row.code & END != 0 && self.begun.contains(&(row.code & !END))
    }
}

/// The table's columns, one after the other: positions, types and, in a whole table, channels and durations.
struct Columns {
    /// Rows the table claims.
    claimed: usize,
    /// Rows whose position and type are there.
    rows: usize,
    /// Rows whose channel and duration are there too.
    whole: usize,
    /// Whether the table has channels and durations.
    durations: bool,
}

impl Columns {
    /// How much of a table is in so many bytes.
    fn of(claimed: usize, durations: bool, bytes: usize) -> Columns {
        // Values of a column that are there, after so many bytes for each row in the columns before it.
        let there = |before: usize, width: usize| {
            (bytes.saturating_sub(claimed.saturating_mul(before)) / width).min(claimed)
        };
        let rows = there(4, 2);
        Columns { claimed, rows, whole: if durations { there(8, 4) } else { rows }, durations }
    }

    /// The rows that are there. A duration that is not is as good as not told.
    fn read(&self, start: &Cursor<'_>) -> Result<Vec<Row>> {
        let column = |before: usize| {
            let mut cursor = start.clone();
            cursor.skip(self.claimed.saturating_mul(before))?;
            Ok(cursor)
        };
        if self.rows == 0 {
            return Ok(vec![]);
        }
        let (mut positions, mut codes) = (column(0)?, column(4)?);
        let row = |_| {
            // Counted from 1; a 0 can only mean the first.
            let position = positions.u32()?.saturating_sub(1);
            Ok(Row { position, code: codes.u16()?, channel: 0, samples: 0 })
        };
        let mut rows = (0..self.rows).map(row).collect::<Result<Vec<Row>>>()?;
        if self.durations && self.whole > 0 {
            let (mut channels, mut durations) = (column(6)?, column(8)?);
            for row in &mut rows[..self.whole] {
                (row.channel, row.samples) = (channels.u16()?, durations.u32()?);
            }
        }
        Ok(rows)
    }

    /// What is not there.
    fn note(&self) -> Option<String> {
        let Columns { claimed, rows, whole, .. } = self;
        let without = match rows - whole {
            0 => String::new(),
            without => format!(", {without} of them without duration"),
        };
        (whole < claimed)
            .then(|| format!("a table of {claimed} events is cut short: {rows} are used{without}"))
    }
}

fn u24(cursor: &mut Cursor<'_>) -> Result<u32> {
    let bytes = cursor.take(3)?;
    Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]))
}
