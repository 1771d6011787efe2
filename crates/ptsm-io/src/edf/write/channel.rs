//! The finest 16 bits for the values of a channel.

use super::number::{above, below};

/// How values of one channel become whole numbers.
#[derive(Debug)]
pub(super) struct Coding {
    /// The smallest value, as the header has it.
    pub(super) low: String,
    /// The largest.
    pub(super) high: String,
    low_value: f64,
    /// What one step is, from the two numbers as printed: a reader knows no others.
    gain: f64,
}

impl Coding {
    /// The narrowest range that holds some values.
    pub(super) fn of(samples: &[f32]) -> Result<Coding, String> {
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for (place, &value) in samples.iter().enumerate() {
            if !value.is_finite() {
                return Err(format!("{value} at sample {place} cannot be written"));
            }
            min = min.min(value.into());
            max = max.max(value.into());
        }
        let range = || {
            let (low, high) = (below(min)?, above(max)?);
            // Where all values are one number a range must still go somewhere.
            let high = if low == high { above(max + 1.0)? } else { high };
            Some((low, high))
        };
        let (low, high) = range().ok_or_else(|| format!("values from {min} to {max} cannot be written"))?;
        let number = |text: &str| text.parse::<f64>().map_err(|error| error.to_string());
        let (low_value, high_value) = (number(&low)?, number(&high)?);
        let gain = (high_value - low_value) / f64::from(u16::MAX);
        Ok(Coding { low, high, low_value, gain })
    }

    /// The nearest step.
    pub(super) fn code(&self, value: f32) -> i16 {
        // The range holds all values: none is clipped but by the last bit of a division.
        let steps = ((f64::from(value) - self.low_value) / self.gain).round();
        (steps + f64::from(i16::MIN)) as i16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_narrow_as_eight_characters_allow() {
        let coding = Coding::of(&[-12.345678, 0.0, 45.0]).unwrap();
        assert_eq!((&*coding.low, &*coding.high), ("-12.3457", "45"));
        assert_eq!((coding.code(-12.3457), coding.code(45.0)), (i16::MIN, i16::MAX));
    }

    #[test]
    fn one_number_is_kept_to_the_bit() {
        for value in [0.0, -8092.0, 99999992.0, -9999999.0, 2.5] {
            let coding = Coding::of(&[value; 3]).unwrap();
            let steps = f64::from(coding.code(value)) - f64::from(i16::MIN);
            assert_eq!((steps * coding.gain + coding.low_value) as f32, value);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert!(Coding::of(&[0.0, f32::NAN]).unwrap_err().contains("NaN at sample 1"));
        assert!(Coding::of(&[f32::INFINITY]).is_err());
        assert!(Coding::of(&[0.0, 1e9]).unwrap_err().contains("from 0 to 1000000000"));
    }
}
