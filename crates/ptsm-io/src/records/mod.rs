//! Records: how EDF, BDF and GDF keep samples. A file is one record after the other; a record holds some samples of the first signal,
//! then of the second, and so on.

mod field;
mod scale;
mod value;

use std::ops::Range;

use crate::bytes::Bytes;
use crate::error::Result;
use crate::recording_file::Samples;

pub(crate) use field::{Field, rate_hz, sort_out};
pub(crate) use scale::{Ranges, Scale};
pub(crate) use value::{Value, i24};

/// Records are gone through in blocks of about this many bytes, which stay in the cache while each signal is picked out of them.
const BLOCK_BYTES: usize = 1 << 17;

/// Where one signal lies in each record.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// Its first byte in a record.
    pub(crate) offset: usize,
    /// Samples per record.
    pub(crate) samples: usize,
    /// How one is stored.
    pub(crate) value: Value,
    /// What a stored number means.
    pub(crate) scale: Scale,
}

/// The records of a file. Whoever makes one has checked that all of them are there and that lanes lie inside a record.
pub(crate) struct Records {
    pub(crate) bytes: Bytes,
    /// The first byte of the first record.
    pub(crate) start: usize,
    pub(crate) record_bytes: usize,
    pub(crate) count: usize,
    /// One for each signal.
    pub(crate) lanes: Vec<Lane>,
}

impl Records {
    /// The bytes of one field of each record, record by record.
    pub(crate) fn parts(&self, field: &Field) -> impl Iterator<Item = &[u8]> {
        let part = field.offset..field.end();
        self.bytes[self.start..][..self.record_bytes * self.count]
            .chunks_exact(self.record_bytes)
            .map(move |record| &record[part.clone()])
    }

    /// Samples of signals that have the same number of samples per record, each into its row.
    fn rows(&self, lanes: &[&Lane], first: usize, n: usize, to: &mut [f32]) {
        let Some(samples) = lanes.first().map(|lane| lane.samples) else { return };
        let window = first..first + n;
        let (mut record, end) = (window.start / samples, window.end.div_ceil(samples));
        let step = (BLOCK_BYTES / self.record_bytes).max(1);
        while record < end {
            let block = record..end.min(record.saturating_add(step));
            for (lane, row) in lanes.iter().zip(to.chunks_exact_mut(n)) {
                lane.value.with(Pick {
                    records: self,
                    lane,
                    block: block.clone(),
                    window: window.clone(),
                    row,
                });
            }
            record = block.end;
        }
    }
}

/// One signal's samples of some records, as far as they lie in the window, into the window's row.
struct Pick<'a> {
    records: &'a Records,
    lane: &'a Lane,
    block: Range<usize>,
    window: Range<usize>,
    row: &'a mut [f32],
}

impl value::Job for Pick<'_> {
    fn run<const WIDTH: usize>(self, read: impl Fn([u8; WIDTH]) -> f64 + Copy) {
        let Pick { records, lane, block, window, row } = self;
        let record_bytes = records.record_bytes;
        // Records of one sample, as some files of GDF have them, are gone through in one go.
        if lane.samples == 1 {
            let stored = &records.bytes[records.start + block.start * record_bytes..];
            let numbers = stored.chunks_exact(record_bytes).map(|record| {
                let mut number = [0; WIDTH];
                number.copy_from_slice(&record[lane.offset..][..WIDTH]);
                read(number)
            });
            lane.scale.convert(numbers, &mut row[block.start - window.start..block.end - window.start]);
            return;
        }
        for record in block {
            let begin = record * lane.samples;
            let from = window.start.max(begin);
            let until = window.end.min(begin + lane.samples);
            let at = records.start + record * record_bytes + lane.offset + (from - begin) * WIDTH;
            let stored = &records.bytes[at..][..(until - from) * WIDTH];
            let to = &mut row[from - window.start..until - window.start];
            lane.scale.convert(stored.as_chunks().0.iter().map(|&number| read(number)), to);
        }
    }
}

impl Samples for Records {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let lanes: Vec<&Lane> = signals.iter().map(|&signal| &self.lanes[signal]).collect();
        let n = to.len() / lanes.len();
        if lanes.iter().all(|lane| lane.samples == lanes[0].samples) {
            self.rows(&lanes, first, n, to);
        } else {
            for (lane, row) in lanes.iter().zip(to.chunks_exact_mut(n)) {
                self.rows(&[*lane], first, n, row);
            }
        }
        Ok(())
    }
}
