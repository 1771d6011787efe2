//! Filtering forwards and backwards, as `scipy.signal.sosfiltfilt` does.

use super::{Sections, odd_extension};
use crate::error::Result;

/// Filters forwards and backwards, so that nothing is delayed and the gain is squared. The ends are extended as SciPy does by
/// default; a signal shorter than the extension is refused.
pub fn zero_phase(sections: &Sections, signal: &[f64]) -> Result<Vec<f64>> {
    let edge = extension(sections);
    let mut extended = odd_extension(signal, edge, "filtering forwards and backwards")?;
    let steady = sections.steady_state();
    for _ in 0..2 {
        let start = extended[0];
        let mut state: Vec<_> = steady.iter().map(|z| z.map(|z| z * start)).collect();
        sections.run(&mut extended, &mut state);
        extended.reverse();
    }
    extended.truncate(edge + signal.len());
    extended.drain(..edge);
    Ok(extended)
}

/// Samples added at each end: three times the number of coefficients.
fn extension(sections: &Sections) -> usize {
    let sections = sections.as_slice();
    let first_order = sections.iter().filter(|s| s.b[2] == 0.0).count();
    let first_order = first_order.min(sections.iter().filter(|s| s.a[1] == 0.0).count());
    3 * (2 * sections.len() + 1 - first_order)
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
}
