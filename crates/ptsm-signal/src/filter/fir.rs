//! Windowed sincs, as `scipy.signal.firwin` makes them, and their use with zero phase.

use std::f64::consts::PI;

use super::versions::centred;
use super::{Pass, WindowFunction, extend, extended};
use crate::error::{Error, Result};
use crate::lanes::Isa;

/// Most coefficients of a designed filter.
pub(crate) const MOST_TAPS: usize = 1_000_001;

/// A linear-phase filter with gain 1 in the middle of its pass band (at 0 for a low-pass, at half the rate for a high-pass).
pub fn firwin(taps: usize, pass: Pass, window: WindowFunction, rate_hz: f64) -> Result<Vec<f64>> {
    if !(1..=MOST_TAPS).contains(&taps) {
        return Err(Error::pipeline(format!("{taps} coefficients are not possible, 1 to {MOST_TAPS} are")));
    }
    if let WindowFunction::Kaiser(beta) = window
        && !(0.0..=50.0).contains(&beta)
    {
        return Err(Error::pipeline(format!("a Kaiser window of beta {beta} is not possible, 0 to 50 are")));
    }
    let (left, right, centre) = match pass.normalised(rate_hz)? {
        Pass::Low(edge) => (0.0, edge, 0.0),
        Pass::High(_) if taps.is_multiple_of(2) => {
            return Err(Error::pipeline(format!(
                "a high-pass cannot have an even number of coefficients, {taps}"
            ))
            .with_hint(format!("use {} coefficients", taps + 1)));
        }
        Pass::High(edge) => (edge, 1.0, 1.0),
        Pass::Band(low, high) => (low, high, 0.5 * (low + high)),
    };
    let place = |i: usize| i as f64 - 0.5 * (taps - 1) as f64;
    let mut filter = window.weights(taps);
    for (i, h) in filter.iter_mut().enumerate() {
        *h *= right * sinc(right * place(i)) - left * sinc(left * place(i));
    }
    let gain: f64 = filter.iter().enumerate().map(|(i, h)| h * (PI * place(i) * centre).cos()).sum();
    filter.iter_mut().for_each(|h| *h /= gain);
    Ok(filter)
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// Applies a symmetric filter of odd length with its delay taken out. The ends are extended as by [`super::zero_phase`], by
/// half the filter's length; a signal not longer than that is refused.
pub fn fir(filter: &[f64], signal: &[f64]) -> Result<Vec<f64>> {
    if filter.len().is_multiple_of(2) {
        let taps = filter.len();
        return Err(Error::pipeline(format!("{taps} coefficients have no middle one"))
            .with_hint("use an odd number of coefficients"));
    }
    let extended = extended(signal, filter.len() / 2, "this filter")?;
    let mut out = vec![0.0; signal.len()];
    centred(Isa::plain(), filter, extended.as_chunks::<1>().0, out.as_chunks_mut::<1>().0);
    Ok(out)
}

/// The same for channels that have room at each end for half the filter's length; what is left there has no meaning. Results go
/// through `spare`, which is as long as the signal without that room.
pub(crate) fn zero_phase_fir<const L: usize>(
    isa: Isa,
    filter: &[f64],
    signal: &mut [[f64; L]],
    spare: &mut [[f64; L]],
) {
    let half = filter.len() / 2;
    extend(signal, half);
    centred(isa, filter, signal, spare);
    signal[half..][..spare.len()].copy_from_slice(spare);
}

/// Applies a filter to channels that reach half its length past the results at each end.
#[inline(always)]
pub(super) fn slide<const L: usize>(filter: &[f64], signal: &[[f64; L]], out: &mut [[f64; L]]) {
    // Some results at once stay in registers for all coefficients.
    for (block, out) in out.chunks_mut(TOGETHER).enumerate() {
        let mut sums = [[0.0; L]; TOGETHER];
        for (at, h) in filter.iter().rev().enumerate() {
            for (sum, x) in sums.iter_mut().zip(&signal[block * TOGETHER + at..]) {
                for l in 0..L {
                    sum[l] += h * x[l];
                }
            }
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}

const TOGETHER: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_designs_are_refused() {
        let low = Pass::Low(10.0);
        assert!(firwin(0, low, WindowFunction::Hamming, 100.0).is_err());
        assert!(firwin(usize::MAX, low, WindowFunction::Hamming, 100.0).is_err());
        assert!(firwin(10, Pass::High(10.0), WindowFunction::Hamming, 100.0).is_err());
        assert!(firwin(11, Pass::High(60.0), WindowFunction::Hamming, 100.0).is_err());
        for beta in [-1.0, 1e9, f64::NAN] {
            assert!(firwin(11, low, WindowFunction::Kaiser(beta), 100.0).is_err());
        }
        assert!(fir(&[0.5, 0.5], &[1.0; 10]).is_err() && fir(&[], &[1.0]).is_err());
        let error = fir(&[0.2; 21], &[1.0; 10]).unwrap_err();
        assert!(error.to_string().contains("at least 11"), "{error}");
    }

    #[test]
    fn a_constant_and_a_line_pass_a_low_pass_to_the_ends() {
        let filter = firwin(65, Pass::Low(10.0), WindowFunction::Hamming, 100.0).unwrap();
        let line: Vec<f64> = (0..3000).map(|t| 5.0 + 0.1 * f64::from(t)).collect();
        for (out, x) in fir(&filter, &line).unwrap().iter().zip(&line) {
            assert!((out - x).abs() < 1e-9);
        }
    }
}
