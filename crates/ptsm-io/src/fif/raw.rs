//! Raw recordings: samples in parts, one after the other, perhaps with gaps between them.

use super::contents::{Data, Part};
use super::split::Piece;
use super::tags::{F32, F64, I16, I32};
use crate::bytes::Bytes;
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};
use crate::recording_file::{Samples, Segment};
use crate::stored::{Encoding, Number};

/// Numbers of 16 bits, as the acquisition packs them.
const PACKED: u32 = 16;
/// Complex numbers.
const COMPLEX: [u32; 2] = [20, 21];

/// How numbers of a type are stored.
pub(super) fn encoding(data: &Data, place: &Place) -> Result<Encoding> {
    let number = match data.of {
        I16 | PACKED => Number::I16,
        I32 => Number::I32,
        F32 => Number::F32,
        F64 => Number::F64,
        other => {
            let message = if COMPLEX.contains(&other) {
                "the samples are complex numbers; only real ones are read".into()
            } else {
                format!("samples of type {other} are unknown")
            };
            return Err(Error::format(&place.at(data.at as u64), message)
                .with_hint("save samples in time as `single` or `double`"));
        }
    };
    Ok(Encoding { number, big_endian: true })
}

/// Samples of all signals, row by row.
#[derive(Debug)]
struct Buffer {
    /// Its first sample.
    first: usize,
    samples: usize,
    /// The file it is in.
    file: usize,
    /// Its first byte.
    at: usize,
    encoding: Encoding,
}

/// A raw recording.
#[derive(Debug)]
pub(super) struct RawRecording {
    /// Of each file.
    bytes: Vec<Bytes>,
    buffers: Vec<Buffer>,
    /// What each signal's numbers are multiplied by.
    gains: Vec<f64>,
    /// Samples of each signal.
    pub(super) length: usize,
    pub(super) segments: Vec<Segment>,
    /// The number of the first sample since the device was started.
    pub(super) start: i64,
    /// The same in seconds.
    pub(super) start_s: f64,
}

impl RawRecording {
    /// Finds the samples of one file, or of several that go on from one another. Where some were not recorded there is a gap; they
    /// are not made up as zeros, which would look like signals to a filter.
    pub(super) fn new(bytes: Vec<Bytes>, pieces: &[Piece], gains: Vec<f64>) -> Result<RawRecording> {
        let width = gains.len();
        let [first, ..] = pieces else { unreachable!("a recording is at least one file") };
        let rate_hz = first.contents.rate_hz;
        let mut buffers: Vec<Buffer> = vec![];
        let mut segments: Vec<Segment> = vec![];
        let (mut length, mut clock, mut start) = (0usize, 0u64, i64::from(first.contents.first.unwrap_or(0)));
        let (mut parts, mut gap) = (0u64, 0u64);
        let all = pieces.iter().enumerate().flat_map(|(file, piece)| {
            // Later files count on from the first sample of all; what they leave out was not recorded. Some count from 0 again.
            let begin = piece.contents.first.filter(|_| file > 0).map(Part::Begin);
            begin.into_iter().chain(piece.contents.raw.iter().copied()).map(move |part| (file, piece, part))
        });
        for (file, Piece { place, .. }, part) in all {
            let data = match part {
                Part::Begin(sample) => {
                    let expected = start.saturating_add_unsigned(clock).saturating_add_unsigned(gap);
                    let missing = i64::from(sample).saturating_sub(expected);
                    gap = gap.saturating_add(u64::try_from(missing).unwrap_or(0));
                    continue;
                }
                Part::SkipParts(count) => {
                    parts = parts.saturating_add(count as u64);
                    continue;
                }
                Part::SkipSamples(count) => {
                    gap = gap.saturating_add(count as u64);
                    continue;
                }
                Part::Samples(data) => data,
            };
            let encoding = encoding(&data, place)?;
            let row = width * encoding.bytes();
            if !data.size.is_multiple_of(row) {
                let message =
                    format!("{} bytes are no whole number of samples of {width} channels", data.size);
                return Err(Error::format(&place.at(data.at as u64), message).with_hint(DAMAGED));
            }
            let samples = data.size / row;
            if samples == 0 {
                continue;
            }
            gap = gap.saturating_add(parts.saturating_mul(samples as u64));
            if segments.is_empty() {
                // What was skipped before the first sample belongs to no recording.
                start = start.saturating_add_unsigned(gap);
            } else {
                clock = clock.saturating_add(gap);
            }
            match segments.last_mut() {
                Some(last) if gap == 0 => last.samples += samples,
                _ => segments.push(Segment { start_s: clock as f64 / rate_hz, first: length, samples }),
            }
            buffers.push(Buffer { first: length, samples, file, at: data.at, encoding });
            length += samples;
            clock = clock.saturating_add(samples as u64);
            (parts, gap) = (0, 0);
        }
        if buffers.is_empty() {
            return Err(Error::format(&first.place, "holds no samples").with_hint(DAMAGED));
        }
        let start_s = start as f64 / rate_hz;
        Ok(RawRecording { bytes, buffers, gains, length, segments, start, start_s })
    }

    /// The smallest and largest value of each signal, where all parts are whole numbers of one type.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Option<[f64; 2]>> {
        let mut encodings = self.buffers.iter().map(|buffer| buffer.encoding);
        let first = encodings.next();
        let one = first.filter(|one| encodings.all(|other| other == *one));
        self.gains.iter().map(move |gain| one.and_then(|encoding| encoding.range(*gain)))
    }
}

impl Samples for RawRecording {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let end = first + to.len() / signals.len();
        let columns: Vec<(usize, f64)> = signals.iter().map(|&signal| (signal, self.gains[signal])).collect();
        let width = self.gains.len();
        let from = self.buffers.partition_point(|buffer| buffer.first + buffer.samples <= first);
        for buffer in self.buffers[from..].iter().take_while(|buffer| buffer.first < end) {
            let row = width * buffer.encoding.bytes();
            let skip = first.saturating_sub(buffer.first);
            let count = (end - buffer.first).min(buffer.samples) - skip;
            let rows = &self.bytes[buffer.file][buffer.at + skip * row..][..count * row];
            buffer.encoding.columns(rows, width, &columns, to, buffer.first + skip - first);
        }
        Ok(())
    }
}
