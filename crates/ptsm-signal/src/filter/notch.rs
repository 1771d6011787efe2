//! A notch, as `scipy.signal.iirnotch` makes it.

use std::f64::consts::PI;

use super::{SecondOrderSection, Sections};
use crate::error::{Error, Result};

/// A second-order notch. Its width at -3 dB is `frequency_hz / quality`.
pub fn notch(frequency_hz: f64, quality: f64, rate_hz: f64) -> Result<Sections> {
    if !(frequency_hz > 0.0 && 2.0 * frequency_hz < rate_hz) {
        let half = rate_hz / 2.0;
        return Err(Error::pipeline(format!(
            "a notch at {frequency_hz} Hz does not lie between 0 and {half} Hz"
        ))
        .with_hint(format!("it must be below half the sampling rate of {rate_hz} Hz")));
    }
    let frequency = 2.0 * frequency_hz / rate_hz;
    if !(quality > 0.0 && frequency / quality < 1.0) {
        return Err(Error::pipeline(format!("a notch at {frequency_hz} Hz cannot have quality {quality}")));
    }
    let gain = 1.0 / (1.0 + (frequency / quality * PI / 2.0).tan());
    let cosine = (frequency * PI).cos();
    let b = [1.0, -2.0 * cosine, 1.0].map(|b| gain * b);
    Ok(Sections(vec![SecondOrderSection { b, a: [-2.0 * gain * cosine, 2.0 * gain - 1.0] }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_notches_are_refused() {
        assert!(notch(80.0, 30.0, 160.0).is_err());
        assert!(notch(50.0, 0.0, 160.0).is_err());
        assert!(notch(50.0, f64::NAN, 160.0).is_err());
        assert!(notch(50.0, 30.0, 160.0).is_ok());
    }
}
