//! Changing the rate by a ratio of whole numbers, as `scipy.signal.resample_poly` does by default.

use std::array::from_fn;

use super::{Pass, Rows, WindowFunction, firwin};
use crate::error::{Error, Result};

/// Largest whole number of a ratio: the filter has 20 times as many coefficients.
const LARGEST: usize = 10_000;
/// How far a ratio of whole numbers may be from the ratio of the rates: 0.4 ms in an hour.
const TOLERANCE: f64 = 1e-7;

/// A change of rate by `up / down`, with its anti-aliasing filter (Kaiser, beta 5).
#[derive(Clone, Debug)]
pub struct Resampler {
    up: usize,
    down: usize,
    /// Reversed coefficients of each of the `up` phases, `[up][width]`.
    phases: Vec<f64>,
    width: usize,
}

impl Resampler {
    /// From one rate to another, through the smallest whole numbers with their ratio.
    pub fn between(from_hz: f64, to_hz: f64) -> Result<Resampler> {
        if !(from_hz > 0.0 && to_hz > 0.0 && from_hz.is_finite() && to_hz.is_finite()) {
            return Err(Error::pipeline(format!(
                "resampling from {from_hz} Hz to {to_hz} Hz is not possible"
            )));
        }
        let (up, down) = ratio(to_hz / from_hz);
        let reached = from_hz * up as f64 / down as f64;
        if (reached / to_hz - 1.0).abs() <= TOLERANCE {
            return Resampler::new(up, down);
        }
        let error = Error::pipeline(format!(
            "no ratio of whole numbers up to {LARGEST} leads from {from_hz} Hz to {to_hz} Hz"
        ));
        Err(if up * down == 0 {
            error
        } else {
            error.with_hint(format!("the nearest rate that works is {reached} Hz"))
        })
    }

    /// By a ratio of whole numbers from 1 to 10 000.
    pub fn new(up: usize, down: usize) -> Result<Resampler> {
        let divisor = greatest_common_divisor(up, down).max(1);
        let (up, down) = (up / divisor, down / divisor);
        let largest = up.max(down);
        if up == 0 || down == 0 || largest > LARGEST {
            return Err(Error::pipeline(format!("resampling by {up}/{down} is not possible"))
                .with_hint(format!("both numbers must be from 1 to {LARGEST}")));
        }
        if largest == 1 {
            return Ok(Resampler { up, down, phases: vec![1.0], width: 1 });
        }
        let taps = 20 * largest + 1;
        let filter = firwin(taps, Pass::Low(1.0 / largest as f64), WindowFunction::Kaiser(5.0), 2.0)?;
        let width = taps.div_ceil(up);
        let mut phases = vec![0.0; up * width];
        for (k, h) in filter.iter().enumerate() {
            phases[k % up * width + width - 1 - k / up] = h * up as f64;
        }
        Ok(Resampler { up, down, phases, width })
    }

    /// The ratio of the rates in lowest terms, new to old.
    pub fn ratio(&self) -> (usize, usize) {
        (self.up, self.down)
    }

    /// The place of an old sample among the new ones, rounded to the nearest (halves up).
    pub fn place(&self, sample: usize) -> usize {
        let (up, down) = (self.up as u128, self.down as u128);
        ((2 * sample as u128 * up + down) / (2 * down)).try_into().unwrap_or(usize::MAX)
    }

    /// How many new samples some old ones become.
    pub fn length(&self, samples: usize) -> usize {
        (samples as u128 * self.up as u128).div_ceil(self.down as u128).try_into().unwrap_or(usize::MAX)
    }

    /// The signal at the new rate. Its first samples coincide; beyond its ends it is taken as 0.
    pub fn apply(&self, signal: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.length(signal.len())];
        self.fill(signal.as_chunks::<1>().0, &[0.0], 0, out.as_chunks_mut::<1>().0);
        out
    }

    /// Samples at the new rate, from `first` on. Beyond its ends each channel is taken as its level.
    #[inline(always)]
    pub(super) fn fill<const L: usize>(
        &self,
        signal: &[[f64; L]],
        level: &[f64; L],
        first: usize,
        out: &mut [[f64; L]],
    ) {
        let half = if self.width == 1 { 0 } else { 10 * self.up.max(self.down) };
        // Coefficient `phase` meets old sample `last`, the next of that phase the one before it, and so on.
        let place = |new: usize| {
            let at = new * self.down + half;
            (at / self.up, at % self.up)
        };
        // A few results at a time: what they are made of stays in the fastest cache.
        let mut memory = Rows::default();
        for (piece, out) in out.chunks_mut(PIECE).enumerate() {
            let first = first + piece * PIECE;
            let (begin, end) = (place(first).0 + 1, place(first + out.len() - 1).0 + 1);
            // Old samples from `begin - width` to `end`, less their level.
            let known = begin.max(self.width) - self.width..end.min(signal.len());
            memory.resize(self.width + end - begin);
            let old = memory.as_mut_slice();
            let (before, here) = old.split_at_mut(self.width.saturating_sub(begin));
            let (here, after) = here.split_at_mut(known.len());
            before.fill([0.0; L]);
            after.fill([0.0; L]);
            copy_less(here, &signal[known], level);
            for (j, out) in out.iter_mut().enumerate() {
                let (last, phase) = place(first + j);
                let filter = &self.phases[phase * self.width..][..self.width];
                let sum: [f64; L] = dot(filter, &old[last + 1 - begin..][..self.width]);
                *out = from_fn(|l| sum[l] + level[l]);
            }
        }
    }
}

/// Copies samples less their level. By itself, for 512-bit vectors compilers make gathers and scatters of this loop.
#[inline(never)]
fn copy_less<const L: usize>(to: &mut [[f64; L]], from: &[[f64; L]], level: &[f64; L]) {
    for (to, x) in to.iter_mut().zip(from) {
        *to = from_fn(|l| x[l] - level[l]);
    }
}

/// Results worked out at a time.
const PIECE: usize = 64;

/// Four sums at a time, so that additions need not wait for each other.
#[inline(always)]
fn dot<const L: usize>(a: &[f64], b: &[[f64; L]]) -> [f64; L] {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [[0.0; L]; 4];
    for (a, b) in a.iter().zip(b) {
        for i in 0..4 {
            sums[i] = from_fn(|l| sums[i][l] + a[i] * b[i][l]);
        }
    }
    let mut rest = [0.0; L];
    for (a, b) in a_rest.iter().zip(b_rest) {
        rest = from_fn(|l| rest[l] + a * b[l]);
    }
    from_fn(|l| (sums[0][l] + sums[1][l]) + (sums[2][l] + sums[3][l]) + rest[l])
}

/// The first continued fraction within tolerance, else the last one of small numbers; one of them is 0 if there is none.
fn ratio(value: f64) -> (usize, usize) {
    let (mut before, mut now) = ((0u64, 1u64), (1u64, 0u64));
    let mut rest = value;
    loop {
        let whole = rest.floor();
        if whole > LARGEST as f64 {
            break;
        }
        let whole_number = whole as u64;
        let next = (whole_number * now.0 + before.0, whole_number * now.1 + before.1);
        if next.0.max(next.1) > LARGEST as u64 {
            break;
        }
        (before, now) = (now, next);
        if (now.0 as f64 / now.1 as f64 / value - 1.0).abs() <= TOLERANCE || rest == whole {
            break;
        }
        rest = 1.0 / (rest - whole);
    }
    (now.0 as usize, now.1 as usize)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_become_small_ratios() {
        for (from, to, ratio) in [
            (160.0, 100.0, (5, 8)),
            (250.0, 128.0, (64, 125)),
            (1000.0, 250.0, (1, 4)),
            (128.0, 160.0, (5, 4)),
            (512.0, 100.0, (25, 128)),
            (1000.0 / 7.0, 100.0, (7, 10)),
            (499.5, 100.0, (200, 999)),
            (160.0, 160.0, (1, 1)),
        ] {
            assert_eq!(Resampler::between(from, to).unwrap().ratio(), ratio, "{from} -> {to}");
        }
        let error = Resampler::between(5000.3, 1.0).unwrap_err();
        let nearest: f64 = error.hint().unwrap().split_whitespace().rev().nth(1).unwrap().parse().unwrap();
        assert_eq!(Resampler::between(5000.3, nearest).unwrap().ratio(), (1, 5000));
        for (from, to) in [(1.0, 1e9), (1e9, 1.0), (0.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert!(Resampler::between(from, to).is_err(), "{from} -> {to}");
        }
        assert!(Resampler::new(0, 3).is_err() && Resampler::new(0, 0).is_err());
    }

    #[test]
    fn places_are_rounded() {
        let resampler = Resampler::new(5, 8).unwrap();
        assert_eq!([0, 1, 2, 3, 4, 8, 160].map(|s| resampler.place(s)), [0, 1, 1, 2, 3, 5, 100]);
    }

    #[test]
    fn the_same_rate_changes_nothing() {
        let signal = [1.0, -2.0, 3.5];
        assert_eq!(Resampler::between(160.0, 160.0).unwrap().apply(&signal), signal);
        assert_eq!(Resampler::new(3, 7).unwrap().apply(&[]), [0.0; 0]);
    }
}
