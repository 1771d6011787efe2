//! How large a signal is, and whether an EEG can be so large.

/// Windows that are looked at, at most.
const MOST_WINDOWS: usize = 200;

/// The standard deviation of a typical second: the median over windows of a second, so that neither drifts nor artifacts count. None
/// where there is no window of numbers.
pub(crate) fn spread(samples: &[f32], rate_hz: f64) -> Option<f64> {
    let window = (rate_hz.round().max(2.0) as usize).min(samples.len());
    let count = samples.len().checked_div(window)?;
    let step = count.div_ceil(MOST_WINDOWS).max(1);
    let windows = samples.chunks_exact(window.max(1)).step_by(step);
    let mut spreads: Vec<f64> = windows.map(deviation).filter(|spread| spread.is_finite()).collect();
    spreads.sort_by(f64::total_cmp);
    spreads.get(spreads.len() / 2).copied()
}

fn deviation(window: &[f32]) -> f64 {
    let n = window.len() as f64;
    let mean = window.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    (window.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// Whether an EEG is so large. The scalp gives some ten microvolts; without a high-pass, with drifts and in bad skin contact some
/// hundreds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AmplitudeScale {
    /// Below 0.01 uV: volts taken for microvolts.
    Volts,
    /// Below 0.5 uV: too small, perhaps millivolts taken for microvolts.
    Small,
    /// What can be.
    Plausible,
    /// Above 1000 uV: counts of the amplifier or nanovolts taken for microvolts.
    Large,
}

/// Judges a spread in microvolts. Nothing at all is flat, not small.
pub(crate) fn scale(spread: f64) -> AmplitudeScale {
    match spread {
        x if x <= 0.0 => AmplitudeScale::Plausible,
        x if x < 0.01 => AmplitudeScale::Volts,
        x if x < 0.5 => AmplitudeScale::Small,
        x if x <= 1000.0 => AmplitudeScale::Plausible,
        _ => AmplitudeScale::Large,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A rhythm of this amplitude on a drift a hundred times as large, with one artifact.
    fn signal(amplitude: f32) -> Vec<f32> {
        let wave = |t: usize| (t as f32 * 0.6).sin() + 100.0 * t as f32 / 20_000.0;
        (0..20_000).map(|t| amplitude * if t == 5000 { 1e4 } else { wave(t) }).collect()
    }

    #[test]
    fn drifts_and_artifacts_do_not_count() {
        let spread = spread(&signal(20.0), 200.0).unwrap();
        assert!((10.0..40.0).contains(&spread), "{spread}");
        assert_eq!(super::spread(&[], 200.0), None);
        assert_eq!(super::spread(&[f32::NAN; 10], 5.0), None);
        assert!(super::spread(&[1.0, 2.0], 500.0).unwrap() > 0.0);
    }

    #[test]
    fn units_that_were_mistaken_show() {
        let of = |factor: f32| scale(spread(&signal(20.0 * factor), 200.0).unwrap());
        assert_eq!(
            [1.0, 1e-6, 1e-3, 1e3].map(of),
            [AmplitudeScale::Plausible, AmplitudeScale::Volts, AmplitudeScale::Small, AmplitudeScale::Large]
        );
        assert_eq!(scale(0.0), AmplitudeScale::Plausible);
    }
}
