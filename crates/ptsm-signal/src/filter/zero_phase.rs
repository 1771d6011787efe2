//! Filtering forwards and backwards, as `scipy.signal.sosfiltfilt` does.

use std::array::from_fn;

use super::rows::Rows;
use super::sections::Direction;
use super::versions;
use super::{Sections, extend, extended, long_enough};
use crate::error::Result;
use crate::lanes::{Isa, LANES, interleave};

/// Filters forwards and backwards, so that nothing is delayed and the gain is squared. The ends are extended as SciPy does by
/// default; a signal shorter than the extension is refused.
pub fn zero_phase(sections: &Sections, signal: &[f64]) -> Result<Vec<f64>> {
    let edge = sections.edge();
    let mut both = extended(signal, edge, PURPOSE)?;
    both_ways(Isa::plain(), sections, both.as_chunks_mut::<1>().0, edge);
    both.truncate(edge + signal.len());
    both.drain(..edge);
    Ok(both)
}

/// The same for all channels of a signal `[C, T]`, several at once; the numbers are those of [`zero_phase`].
pub fn zero_phase_channels(sections: &Sections, signal: &[f32], channels: usize) -> Result<Vec<f64>> {
    let samples = signal.len().checked_div(channels).unwrap_or(0);
    let edge = sections.edge();
    long_enough(samples, edge, PURPOSE)?;
    let (isa, mut rows) = (Isa::best(), Rows::<LANES>::default());
    let mut filtered = vec![0.0; channels * samples];
    let groups = signal[..channels * samples].chunks(LANES * samples);
    for (group, out) in groups.zip(filtered.chunks_mut(LANES * samples)) {
        let count = group.len() / samples;
        rows.resize(samples + 2 * edge);
        let both = rows.as_mut_slice();
        // Lanes that nobody needs carry the first channel once more.
        let all = from_fn(|l| &group[if l < count { l * samples } else { 0 }..][..samples]);
        interleave(isa, all, &mut both[edge..][..samples]);
        both_ways(isa, sections, both, edge);
        for (l, out) in out.chunks_exact_mut(samples).enumerate() {
            out.iter_mut().zip(&both[edge..]).for_each(|(out, lanes)| *out = lanes[l]);
        }
    }
    Ok(filtered)
}

/// What needs a signal of some length.
pub(crate) const PURPOSE: &str = "filtering forwards and backwards";

/// Filters channels that have `edge` samples of room at each end; what is left there has no meaning.
pub(crate) fn both_ways<const L: usize>(isa: Isa, sections: &Sections, signal: &mut [[f64; L]], edge: usize) {
    extend(signal, edge);
    for direction in [Direction::Forwards, Direction::Backwards] {
        let first = match direction {
            Direction::Forwards => signal.first(),
            Direction::Backwards => signal.last(),
        };
        let Some(first) = first else { return };
        let mut state = sections.settled(first);
        versions::run(isa, sections, signal, &mut state, direction);
    }
}

impl Sections {
    /// Samples that filtering both ways adds at each end: three times the number of coefficients.
    pub(crate) fn edge(&self) -> usize {
        let sections = self.as_slice();
        let first_order = sections.iter().filter(|s| s.b[2] == 0.0).count();
        let first_order = first_order.min(sections.iter().filter(|s| s.a[1] == 0.0).count());
        3 * (2 * sections.len() + 1 - first_order)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Pass, butterworth};
    use super::*;

    #[test]
    fn a_signal_too_short_says_how_long_it_must_be() {
        let sections = butterworth(4, Pass::Band(8.0, 30.0), 160.0).unwrap();
        let error = zero_phase(&sections, &[1.0; 27]).unwrap_err();
        assert!(
            error.to_string().contains("27 samples") && error.to_string().contains("at least 28"),
            "{error}"
        );
        assert_eq!(zero_phase(&sections, &[1.0; 28]).unwrap().len(), 28);
        assert!(zero_phase(&sections, &[]).is_err());
        assert!(zero_phase_channels(&sections, &[1.0; 2 * 27], 2).is_err());
        assert!(zero_phase_channels(&sections, &[], 0).is_err());
    }

    #[test]
    fn the_peak_of_a_symmetric_pulse_stays_where_it_is() {
        let pulse: Vec<f64> = (0..401).map(|t| (-((f64::from(t) - 200.0) / 8.0).powi(2)).exp()).collect();
        for pass in [Pass::Low(30.0), Pass::Band(1.0, 40.0), Pass::High(0.5)] {
            let out = zero_phase(&butterworth(4, pass, 160.0).unwrap(), &pulse).unwrap();
            let peak = (0..401).max_by(|&a, &b| out[a].total_cmp(&out[b])).unwrap();
            assert_eq!(peak, 200, "{pass:?}");
        }
    }

    #[test]
    fn a_sine_passes_inside_the_band_and_not_outside() {
        let sections = butterworth(4, Pass::Band(8.0, 30.0), 160.0).unwrap();
        let gain = |hz: f64| {
            let sine: Vec<f64> =
                (0..1600).map(|t| (std::f64::consts::TAU * hz * f64::from(t) / 160.0).sin()).collect();
            let out = zero_phase(&sections, &sine).unwrap();
            let power = |x: &[f64]| x[400..1200].iter().map(|v| v * v).sum::<f64>();
            (power(&out) / power(&sine)).sqrt()
        };
        for hz in [12.0, 16.0, 22.0] {
            assert!((gain(hz) - 1.0).abs() < 0.01, "{hz} Hz: {}", gain(hz));
        }
        for hz in [1.0, 3.0, 50.0, 70.0] {
            assert!(gain(hz) < 0.01, "{hz} Hz: {}", gain(hz));
        }
        // At an edge a Butterworth filter has half the power; twice applied, a quarter.
        assert!((gain(8.0) - 0.5).abs() < 1e-3 && (gain(30.0) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn several_channels_at_once_are_each_by_itself() {
        let sections = butterworth(4, Pass::Band(8.0, 30.0), 160.0).unwrap();
        for (channels, samples) in [(1, 28), (7, 100), (8, 61), (19, 77)] {
            let signal: Vec<f32> = (0..channels * samples).map(|i| (i as f32 * 0.7).sin() * 5.0).collect();
            let all = zero_phase_channels(&sections, &signal, channels).unwrap();
            for (row, found) in signal.chunks(samples).zip(all.chunks(samples)) {
                let row: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
                assert_eq!(zero_phase(&sections, &row).unwrap(), found, "{channels} channels");
            }
        }
    }
}
