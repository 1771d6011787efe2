//! Windows as whole samples.

use std::array::from_fn;
use std::ops::Range;

use super::Pipeline;
use crate::error::{Error, Result};

/// A trial's window and its baseline's, in samples after the cue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) window: Span,
    pub(super) baseline: Option<Span>,
}

/// Some samples after the cue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) first: i64,
    pub(super) samples: usize,
}

impl Grid {
    /// Times are rounded to the nearest sample.
    pub(super) fn new(pipeline: &Pipeline, rate_hz: f64) -> Result<Grid> {
        let window = Span::new("window_s", pipeline.window_s, rate_hz)?;
        let baseline = pipeline.baseline_s.map(|seconds| Span::new("baseline_s", seconds, rate_hz));
        Ok(Grid { window, baseline: baseline.transpose()? })
    }

    /// Whether all of it lies inside a signal of some length with the cue at some place.
    pub(super) fn fits(&self, cue: i64, length: usize) -> bool {
        self.window.place(cue, length).is_some()
            && self.baseline.is_none_or(|span| span.place(cue, length).is_some())
    }

    /// The samples that windows and baselines of some cues lie in, as ranges in order that do not meet.
    pub(super) fn needed_ranges(&self, cues: impl Iterator<Item = i64>, length: usize) -> Vec<Range<usize>> {
        let spans = [Some(self.window), self.baseline];
        let range = |cue| move |span: Span| span.place(cue, length).map(|at| at..at + span.samples);
        let mut all: Vec<Range<usize>> =
            cues.flat_map(|cue| spans.into_iter().flatten().filter_map(range(cue))).collect();
        all.sort_by_key(|range| range.start);
        all.dedup_by(|next, last| {
            let touch = next.start <= last.end;
            if touch {
                last.end = last.end.max(next.end);
            }
            touch
        });
        all
    }

    /// Copies the window of some channels that lie side by side, less the baseline's mean. Both must fit; otherwise nothing is
    /// copied.
    ///
    /// # Shapes
    /// `to` is `[channels, T]` with at most L channels.
    pub(super) fn copy<const L: usize>(&self, signal: &[[f64; L]], cue: i64, to: &mut [f32]) {
        let part = |span: Span| span.place(cue, signal.len()).map(|at| &signal[at..at + span.samples]);
        let mut base = [0.0; L];
        if let Some(baseline) = self.baseline.and_then(part) {
            let sum = baseline.iter().fold([0.0; L], |sum, x| from_fn(|l| sum[l] + x[l]));
            base = sum.map(|sum| sum / baseline.len() as f64);
        }
        let window = part(self.window).unwrap_or_default();
        for (l, to) in to.chunks_exact_mut(self.window.samples).enumerate().take(L) {
            for (to, x) in to.iter_mut().zip(window) {
                *to = (x[l] - base[l]) as f32;
            }
        }
    }
}

impl Span {
    fn new(what: &str, [start_s, end_s]: [f64; 2], rate_hz: f64) -> Result<Span> {
        let samples = ((end_s - start_s) * rate_hz).round() as usize;
        if samples == 0 {
            return Err(Error::pipeline(format!(
                "`{what}` from {start_s} s to {end_s} s holds no sample at {rate_hz} Hz"
            )));
        }
        Ok(Span { first: (start_s * rate_hz).round() as i64, samples })
    }

    /// Where it begins in a signal, if all of it is inside.
    pub(super) fn place(self, cue: i64, length: usize) -> Option<usize> {
        let at = usize::try_from(cue.checked_add(self.first)?).ok()?;
        (at.checked_add(self.samples)? <= length).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_rounded_to_samples_and_must_fit() {
        let pipeline =
            Pipeline { window_s: [0.5, 2.0], baseline_s: Some([-0.2, 0.0]), ..Pipeline::default() };
        let grid = Grid::new(&pipeline, 10.0).unwrap();
        assert_eq!(grid.window, Span { first: 5, samples: 15 });
        assert_eq!(grid.baseline, Some(Span { first: -2, samples: 2 }));
        assert!(grid.fits(2, 22) && !grid.fits(1, 22) && !grid.fits(2, 21) && !grid.fits(i64::MAX, 22));
        let signal: Vec<f64> = (0..22).map(f64::from).collect();
        let mut out = [0.0; 15];
        grid.copy(signal.as_chunks::<1>().0, 2, &mut out);
        assert_eq!((out[0], out[14]), (6.5, 20.5));
        assert!(Grid::new(&Pipeline { window_s: [0.0, 0.01], ..pipeline }, 10.0).is_err());
    }

    #[test]
    fn only_what_windows_and_baselines_cover_is_needed() {
        let pipeline =
            Pipeline { window_s: [0.5, 2.0], baseline_s: Some([-0.2, 0.0]), ..Pipeline::default() };
        let grid = Grid::new(&pipeline, 10.0).unwrap();
        assert_eq!(grid.needed_ranges([10].into_iter(), 100), [8..10, 15..30]);
        assert_eq!(grid.needed_ranges([40, 10, 15].into_iter(), 100), [8..10, 13..35, 38..40, 45..60]);
        // What does not fit is nowhere.
        assert_eq!(grid.needed_ranges([1, 90].into_iter(), 100), [6..21, 88..90]);
    }
}
