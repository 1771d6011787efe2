//! Trials: one matrix of `[trials, channels, time]`, and an event for each.

use std::collections::HashMap;

use super::contents::Data;
use super::raw;
use super::split::{self, Piece};
use super::tags::MATRIX;
use crate::bytes::Bytes;
use crate::cursor::{Cursor, DAMAGED};
use crate::error::{Error, Result};
use crate::limit::few_enough;
use crate::recording_file::{Annotation, Epochs, Samples, Segment};
use crate::stored::Encoding;

/// The sizes that follow the values of a matrix of three dimensions: three and how many they are.
const SIZES: usize = 16;

/// Samples of trials, one trial after the other, in each one channel after the other.
#[derive(Debug)]
pub(super) struct Trials {
    /// Of each file.
    matrices: Vec<Matrix>,
    gains: Vec<f64>,
    /// Samples of one trial.
    pub(super) samples: usize,
    pub(super) trials: usize,
}

/// The trials of one file.
#[derive(Debug)]
struct Matrix {
    bytes: Bytes,
    /// The first byte.
    at: usize,
    encoding: Encoding,
    samples: usize,
    trials: usize,
    /// Trials of the files before it.
    before: usize,
}

impl Matrix {
    fn new(bytes: Bytes, Piece { place, contents }: &Piece, width: usize, before: usize) -> Result<Matrix> {
        let Some(data) = contents.epochs else {
            return Err(Error::format(place, "holds no trials, as the files before it do").with_hint(DAMAGED));
        };
        let refuse =
            |message: String| Err(Error::format(&place.at(data.at as u64), message).with_hint(DAMAGED));
        if data.of & MATRIX == 0 || data.size < SIZES {
            return refuse(format!("trials are a matrix, not {} bytes of type {}", data.size, data.of));
        }
        let encoding = raw::encoding(&Data { of: data.of & !MATRIX, ..data }, place)?;
        let mut cursor = Cursor::new(&bytes, place);
        cursor.seek(data.at + data.size - SIZES)?;
        let mut size = || cursor.i32_be();
        let (samples, channels, trials, dimensions) = (size()?, size()?, size()?, size()?);
        let shape = format!("[{trials}, {channels}, {samples}]");
        if dimensions != 3 {
            return refuse(format!("trials are a matrix of 3 dimensions, not of {dimensions}"));
        }
        let [Ok(samples), Ok(channels), Ok(trials)] = [samples, channels, trials].map(usize::try_from) else {
            return refuse(format!("a matrix {shape} is not possible"));
        };
        let needed =
            [channels, trials, encoding.bytes()].iter().try_fold(samples, |n, by| n.checked_mul(*by));
        if needed != Some(data.size - SIZES) {
            return refuse(format!("a matrix {shape} does not take the {} bytes it has", data.size - SIZES));
        }
        if channels != width {
            return refuse(format!("a matrix {shape} does not fit {width} channels"));
        }
        if samples == 0 || trials == 0 {
            return refuse(format!("a matrix {shape} holds no trial"));
        }
        if let (Some(first), Some(last)) = (contents.first, contents.last)
            && i64::from(last) - i64::from(first) + 1 != samples as i64
        {
            return refuse(format!("trials of samples {first} to {last} are not those of a matrix {shape}"));
        }
        if contents.events.len() != 3 * trials {
            let message = format!(
                "{} numbers of events are not three for each of {trials} trials",
                contents.events.len()
            );
            return Err(Error::format(place, message).with_hint(DAMAGED));
        }
        few_enough(before.saturating_add(trials), "trials", place)?;
        Ok(Matrix { bytes, at: data.at, encoding, samples, trials, before })
    }
}

impl Trials {
    /// Finds the samples in one file, or in several that go on from one another.
    pub(super) fn new(bytes: Vec<Bytes>, pieces: &[Piece], gains: Vec<f64>) -> Result<Trials> {
        let (mut matrices, mut trials): (Vec<Matrix>, usize) = (vec![], 0);
        for (bytes, piece) in bytes.into_iter().zip(pieces) {
            let matrix = Matrix::new(bytes, piece, gains.len(), trials)?;
            if let Some(first) = matrices.first()
                && (first.samples, pieces[0].contents.first) != (matrix.samples, piece.contents.first)
            {
                let message = format!(
                    "its trials of {} samples from {} on are not like those of the first file, {} from {} on",
                    matrix.samples,
                    piece.contents.first.unwrap_or(0),
                    first.samples,
                    pieces[0].contents.first.unwrap_or(0)
                );
                return Err(Error::format(&piece.place, message).with_hint(split::OTHER));
            }
            trials += matrix.trials;
            matrices.push(matrix);
        }
        let samples = matrices.first().map_or(0, |matrix| matrix.samples);
        Ok(Trials { matrices, gains, samples, trials })
    }

    /// What each trial is of and where it lies, with an annotation at its cue where that is inside.
    pub(super) fn layout(&self, pieces: &[Piece]) -> (Epochs, Vec<Segment>, Vec<Annotation>) {
        let [Piece { contents, .. }, ..] = pieces else { unreachable!("trials are in at least one file") };
        let first = contents.first.unwrap_or(0);
        let cue = usize::try_from(-i64::from(first)).ok().filter(|&cue| cue < self.samples);
        let start_s = f64::from(first) / contents.rate_hz;
        let raw_rate_hz =
            contents.raw_rate_hz.filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(contents.rate_hz);
        let origin = contents.events.first().copied().unwrap_or(0);
        let (mut codes, mut segments, mut annotations) = (vec![], vec![], vec![]);
        for Piece { contents, .. } in pieces {
            let names = names(&contents.values);
            for [sample, _, value] in contents.events.as_chunks::<3>().0 {
                let text = names.get(value).map_or_else(|| value.to_string(), |name| name.to_string());
                let begins_s = (f64::from(*sample) - f64::from(origin)) / raw_rate_hz;
                let first = codes.len() * self.samples;
                segments.push(Segment { start_s: begins_s, first, samples: self.samples });
                let sample = cue.map(|cue| first + cue);
                annotations.push(Annotation {
                    onset_s: begins_s - start_s,
                    duration_s: 0.0,
                    sample,
                    text: text.clone(),
                });
                codes.push(text);
            }
        }
        (Epochs { samples: self.samples, start_s, codes }, segments, annotations)
    }
}

/// Names of values: `left:1;right:2`. Of several names for one value the first counts.
fn names(text: &str) -> HashMap<i32, &str> {
    let mut names = HashMap::new();
    for pair in text.split(';') {
        // Names may hold colons of their own.
        if let Some((name, value)) = pair.rsplit_once(':')
            && let Ok(value) = value.trim().parse()
        {
            names.entry(value).or_insert(name);
        }
    }
    names
}

impl Samples for Trials {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let n = to.len() / signals.len();
        for (&signal, to) in signals.iter().zip(to.chunks_exact_mut(n)) {
            let mut done = 0;
            while done < n {
                let (trial, t) = ((first + done) / self.samples, (first + done) % self.samples);
                let count = (self.samples - t).min(n - done);
                let file = self.matrices.partition_point(|matrix| matrix.before <= trial) - 1;
                let Matrix { bytes, at, encoding, before, .. } = &self.matrices[file];
                let row = (trial - before) * self.gains.len() + signal;
                let at = at + (row * self.samples + t) * encoding.bytes();
                let series = &bytes[at..][..count * encoding.bytes()];
                encoding.series(series, self.gains[signal], &mut to[done..][..count]);
                done += count;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_values() {
        let names = names("left/hand:1;a:b:2; right : 3;x:1;;y;z:q");
        assert_eq!(names.len(), 3);
        assert_eq!((names[&1], names[&2], names[&3]), ("left/hand", "a:b", " right "));
    }
}
