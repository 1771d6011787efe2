//! Binary samples: where each of them lies.

use super::header::Head;
use crate::bytes::Bytes;
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};
use crate::recording_file::Samples;
use crate::stored::Encoding;

/// Samples in a file, as many as it holds.
#[derive(Debug)]
pub(super) struct Binary {
    data: Bytes,
    encoding: Encoding,
    vectorized: bool,
    /// Signals in the file.
    width: usize,
    /// Samples of each.
    pub(super) length: usize,
    /// What each signal's numbers are multiplied by.
    gains: Vec<f64>,
}

impl Binary {
    /// Checks that the file holds what the header says. `hidden` signals follow those the header describes.
    pub(super) fn new(
        place: &Place,
        data: Bytes,
        head: &mut Head,
        encoding: Encoding,
        hidden: usize,
    ) -> Result<Binary> {
        let width = head.signals.len() + hidden;
        let row = width * encoding.bytes();
        let (size, length) = (data.len(), data.len() / row);
        if length == 0 {
            let message = format!("its {size} bytes are no sample of {width} channels");
            return Err(Error::format(place, message).with_hint(DAMAGED));
        }
        let rest = size % row;
        if head.vectorized {
            // The place of every signal but the first follows from the length: a wrong one would mix them.
            if rest > 0 || head.points.is_some_and(|points| points != length) {
                let message = match head.points {
                    Some(points) => format!(
                        "the header says {points} samples of {width} channels (`DataPoints`), the file holds {length}{}",
                        if rest > 0 { format!(" and {rest} bytes more") } else { String::new() }
                    ),
                    None => format!("its {size} bytes are no whole number of samples of {width} channels"),
                };
                return Err(Error::format(place, message).with_hint(DAMAGED));
            }
        } else {
            if let Some(points) = head.points.filter(|&points| points != length) {
                head.notes.push(format!(
                    "the header says {points} samples (`DataPoints`), the file holds {length}"
                ));
            }
            if rest > 0 {
                head.notes.push(format!("the last {rest} bytes are no whole sample and are left out"));
            }
        }
        let gains = head.signals.iter().map(|scaled| scaled.gain).collect();
        Ok(Binary { data, encoding, vectorized: head.vectorized, width, length, gains })
    }
}

impl Samples for Binary {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let n = to.len() / signals.len();
        let bytes = self.encoding.bytes();
        if self.vectorized {
            for (&signal, to) in signals.iter().zip(to.chunks_exact_mut(n)) {
                let series = &self.data[(signal * self.length + first) * bytes..][..n * bytes];
                self.encoding.series(series, self.gains[signal], to);
            }
        } else {
            let columns: Vec<(usize, f64)> =
                signals.iter().map(|&signal| (signal, self.gains[signal])).collect();
            let row = self.width * bytes;
            self.encoding.columns(&self.data[first * row..][..n * row], self.width, &columns, to, 0);
        }
        Ok(())
    }
}
