//! Packed blocks: where each begins, and how its channels are unpacked.

use super::header::Head;
use super::raw3;
use super::riff::Chunk;
use crate::bytes::Bytes;
use crate::cursor::{Cursor, DAMAGED};
use crate::error::{Error, Place, Result};
use crate::limit::few_enough;
use crate::recording_file::Samples;

/// The blocks of a recording.
pub(super) struct PackedBlocks {
    blocks: Vec<Block>,
    /// Samples of a block; the last one has fewer.
    each: usize,
    /// Which channel comes when.
    order: Vec<usize>,
    gains: Vec<f64>,
    pub(super) length: usize,
    place: Place,
}

/// Where a block is in the file.
#[derive(Clone, Copy, Debug)]
struct Block {
    at: usize,
    size: usize,
}

impl PackedBlocks {
    /// Checks that all blocks are there and large enough for their samples, which have a bit at least.
    pub(super) fn new(raw: &Chunk, head: &Head, place: &Place) -> Result<PackedBlocks> {
        let channels = head.channels.len();
        let data = raw.needed(b"data")?;
        let refuse =
            |at: usize, message: String| Err(Error::format(&place.at(at as u64), message).with_hint(DAMAGED));
        let order = raw.needed(b"chan")?;
        let order_of = |pair: &[u8; 2]| usize::from(u16::from_le_bytes(*pair));
        let sequence: Vec<usize> = order.data().as_chunks().0.iter().map(order_of).collect();
        let mut sorted = sequence.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..channels) {
            return refuse(order.at, format!("the order of channels is not one of {channels}"));
        }
        let table = raw.needed(b"ep  ")?;
        let width = if raw.wide { 8 } else { 4 };
        few_enough(table.data().len() / width, "blocks", place)?;
        let mut cursor = Cursor::new(table.data(), place);
        let mut number =
            || -> Result<u64> { if raw.wide { cursor.u64() } else { cursor.u32().map(u64::from) } };
        let each = number()?;
        let count = (table.data().len() / width).saturating_sub(1);
        let length = head.samples;
        let (Some(each), Some(length)) =
            (usize::try_from(each).ok().filter(|&each| each > 0), usize::try_from(length).ok())
        else {
            return refuse(table.at, format!("blocks of {each} samples are not possible"));
        };
        if length == 0 || length.div_ceil(each) != count {
            return refuse(table.at, format!("{length} samples are not in {count} blocks of {each}"));
        }
        let mut starts = vec![];
        for _ in 0..count {
            starts.push(usize::try_from(number()?).unwrap_or(usize::MAX));
        }
        starts.push(data.data().len());
        let mut blocks = vec![];
        for (k, pair) in starts.windows(2).enumerate() {
            let samples = (length - k * each).min(each);
            let size = pair[1].checked_sub(pair[0]);
            let room = size.and_then(|size| size.checked_mul(8)).unwrap_or(0);
            match size.filter(|_| samples.checked_mul(channels).is_some_and(|bits| bits <= room)) {
                Some(size) if pair[1] <= data.data().len() => {
                    blocks.push(Block { at: data.at + pair[0], size });
                }
                _ => {
                    let message = format!("block {k} of {samples} samples is not there");
                    return refuse(data.at, message);
                }
            }
        }
        let gains = head.channels.iter().map(|channel| channel.gain().1).collect();
        Ok(PackedBlocks { blocks, each, order: sequence, gains, length, place: place.clone() })
    }

    /// Samples of the file these blocks are in.
    pub(super) fn over(self, bytes: Bytes) -> PackedSamples {
        PackedSamples { packed: self, bytes }
    }
}

/// Samples of a file.
pub(super) struct PackedSamples {
    packed: PackedBlocks,
    bytes: Bytes,
}

impl Samples for PackedSamples {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let PackedBlocks { blocks, each, order, gains, length, place } = &self.packed;
        let n = to.len() / signals.len();
        // Where each channel is wanted; a channel may be wanted twice. What comes after the last wanted one is not unpacked.
        let mut rows: Vec<Vec<usize>> = vec![vec![]; order.len()];
        signals.iter().enumerate().for_each(|(row, &signal)| rows[signal].push(row));
        let until = order.iter().rposition(|&channel| !rows[channel].is_empty()).map_or(0, |at| at + 1);
        let needed = first / each..(first + n).div_ceil(*each);
        for (Block { at, size }, k) in blocks[needed.clone()].iter().zip(needed) {
            let begin = k * each;
            let samples = (length - begin).min(*each);
            let (from, end) = (first.max(begin), (first + n).min(begin + samples));
            let mut rest = &self.bytes[*at..][..*size];
            let (mut before, mut channel) = (vec![0; samples], vec![0; samples]);
            for &which in &order[..until] {
                let Some(took) = raw3::unpack(rest, &before, &mut channel) else {
                    let place = place.at((at + size - rest.len()) as u64);
                    let message = format!("samples {begin} to {begin}+{samples} cannot be unpacked");
                    return Err(Error::format(&place, message).with_hint(DAMAGED));
                };
                rest = &rest[took..];
                for row in &rows[which] {
                    let to = &mut to[row * n + from - first..row * n + end - first];
                    let numbers = &channel[from - begin..end - begin];
                    to.iter_mut()
                        .zip(numbers)
                        .for_each(|(to, &x)| *to = (f64::from(x) * gains[which]) as f32);
                }
                std::mem::swap(&mut before, &mut channel);
            }
        }
        Ok(())
    }
}
