//! Samples, which lie together by time: all channels of the first, then of the second.

use std::sync::Arc;

use crate::bytes::Bytes;
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};
use crate::mat::{MatFile, NumberLocation, Order, Outline, Storage, rows_of};
use crate::recording_file::Samples;

/// Numbers of a file whose first dimension is channels.
pub(crate) fn of(outline: Outline, file: &MatFile, place: &Place) -> Box<dyn Samples> {
    let (channels, place) = (outline.dims[0], place.clone());
    match outline.place {
        NumberLocation::InFile { at, storage, order } => {
            Box::new(PlainSamples { bytes: file.bytes(), at, storage, order, channels, place })
        }
        NumberLocation::Inflated { bytes, storage, order } => {
            let bytes = Arc::new(Bytes::from(bytes));
            Box::new(PlainSamples { bytes, at: 0, storage, order, channels, place })
        }
        NumberLocation::Rows(dataset) => Box::new(Rows::new(*dataset, &outline.dims, &place)),
    }
}

/// Numbers as they are in a file, or were packed in one.
pub(crate) struct PlainSamples {
    pub(crate) bytes: Arc<Bytes>,
    /// The first of them.
    pub(crate) at: usize,
    pub(crate) storage: Storage,
    pub(crate) order: Order,
    pub(crate) channels: usize,
    pub(crate) place: Place,
}

impl Samples for PlainSamples {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let sample = self.channels * self.storage.size();
        let n = to.len() / signals.len();
        let from = self.at + first * sample;
        let Some(bytes) = self.bytes.get(from..from + n * sample) else {
            let message = format!("samples {first} to {first}+{n} are not there");
            return Err(Error::format(&self.place.at(from as u64), message).with_hint(DAMAGED));
        };
        let mut window = Window { signals, channels: self.channels, n, at: 0, to };
        macro_rules! spread {
            ($type:ident) => {{
                let (numbers, _) = bytes.as_chunks();
                match self.order {
                    Order::Little => window.spread(numbers, |bytes| <$type>::from_le_bytes(bytes) as f32),
                    Order::Big => window.spread(numbers, |bytes| <$type>::from_be_bytes(bytes) as f32),
                }
            }};
        }
        match self.storage {
            Storage::I8 => spread!(i8),
            Storage::U8 => spread!(u8),
            Storage::I16 => spread!(i16),
            Storage::U16 => spread!(u16),
            Storage::I32 => spread!(i32),
            Storage::U32 => spread!(u32),
            Storage::I64 => spread!(i64),
            Storage::U64 => spread!(u64),
            Storage::F32 => spread!(f32),
            Storage::F64 => spread!(f64),
        }
        Ok(())
    }
}

/// Numbers in a dataset of HDF5, whose rows are samples, or trials of several samples.
pub(crate) struct Rows {
    dataset: hdf5_pure::Dataset,
    channels: usize,
    /// Samples of a row.
    samples: usize,
    /// Rows read at once.
    step: usize,
    place: Place,
}

impl Rows {
    pub(crate) fn new(dataset: hdf5_pure::Dataset, dims: &[usize], place: &Place) -> Rows {
        let (channels, samples) = (dims[0], if let [_, points, _] = dims { *points } else { 1 });
        let chunk =
            dataset.chunk_shape().ok().flatten().and_then(|shape| shape.first().copied()).unwrap_or(1);
        // Whole chunks, so that none is inflated twice, and some megabytes.
        let chunk = usize::try_from(chunk).unwrap_or(usize::MAX).max(1);
        let row = channels.saturating_mul(samples).max(1);
        let step = ((1 << 20) / row).max(1).div_ceil(chunk).saturating_mul(chunk);
        Rows { dataset, channels, samples, step, place: place.clone() }
    }
}

impl Samples for Rows {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let n = to.len() / signals.len();
        let (mut row, end) = (first / self.samples, (first + n).div_ceil(self.samples));
        let mut window = Window { signals, channels: self.channels, n, at: 0, to };
        while row < end {
            let next = (row / self.step + 1).saturating_mul(self.step).min(end);
            let numbers = rows_of(&self.dataset, row..next, &self.place)?;
            // The first and the last row may be wanted in part.
            let from = first.saturating_sub(row * self.samples);
            let until = ((first + n).min(next * self.samples) - row * self.samples) * self.channels;
            let Some(part) = numbers.get(from * self.channels..until) else {
                let message = format!("rows {row} to {next} are not all there");
                return Err(Error::format(&self.place, message).with_hint(DAMAGED));
            };
            window.spread(part, |x| x);
            row = next;
        }
        Ok(())
    }
}

/// Where samples go: `[signals, n]`, filled from the left.
struct Window<'a> {
    signals: &'a [usize],
    channels: usize,
    n: usize,
    /// The next to be filled.
    at: usize,
    to: &'a mut [f32],
}

impl Window<'_> {
    /// Sorts numbers `[samples, channels]` into signals, some samples at a time so that they are still near when the next signal
    /// wants its own of them.
    fn spread<T: Copy>(&mut self, numbers: &[T], make: impl Fn(T) -> f32) {
        let block = ((1 << 14) / (self.channels * size_of::<T>())).max(16) * self.channels;
        for numbers in numbers.chunks(block) {
            let samples = numbers.len() / self.channels;
            for (k, &signal) in self.signals.iter().enumerate() {
                let to = &mut self.to[k * self.n + self.at..][..samples];
                let from = numbers[signal..].iter().step_by(self.channels);
                to.iter_mut().zip(from).for_each(|(to, &number)| *to = make(number));
            }
            self.at += samples;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_either_byte_order_are_sorted_into_signals() {
        // More channels than fit into a block of any size.
        let (channels, samples) = (3000, 40);
        let number = |sample: usize, channel: usize| (1000 * sample + channel) as f64;
        let numbers =
            (0..samples).flat_map(|sample| (0..channels).map(move |channel| number(sample, channel)));
        for order in [Order::Little, Order::Big] {
            let bytes = |x: f64| if order == Order::Big { x.to_be_bytes() } else { x.to_le_bytes() };
            let bytes: Vec<u8> = [1, 2, 3].into_iter().chain(numbers.clone().flat_map(bytes)).collect();
            let place = Place::from(std::path::Path::new("a.set"));
            let bytes = Arc::new(Bytes::from(bytes));
            let plain = PlainSamples { bytes, at: 3, storage: Storage::F64, order, channels, place };
            let mut to = vec![0.0; 2 * 37];
            plain.read(&[2999, 0], 3, &mut to).unwrap();
            for i in 0..37 {
                assert_eq!([to[i], to[37 + i]], [number(i + 3, 2999) as f32, number(i + 3, 0) as f32]);
            }
            assert!(plain.read(&[0], 4, &mut to[..37]).is_err());
        }
    }
}
