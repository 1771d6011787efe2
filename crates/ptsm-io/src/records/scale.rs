//! From stored numbers to physical ones.

/// What a stored number means: (number - `digital_min`) * `gain` + `physical_min`, so that the smallest number is the smallest value
/// to the bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    digital_min: f64,
    gain: f64,
    physical_min: f64,
    /// Smaller and larger numbers than these are no samples.
    valid: Option<[f64; 2]>,
}

/// The ranges a header gives for a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranges {
    /// From the smallest to the largest number, in the file's unit. May fall.
    pub(crate) physical: [f64; 2],
    /// The same as stored.
    pub(crate) digital: [f64; 2],
}

impl Ranges {
    /// The scale, with `factor` between the file's unit and the one samples come in. None where a range is none, as where it ends
    /// where it begins.
    pub(crate) fn scale(&self, factor: f64) -> Option<Scale> {
        let ([low, high], [from, until]) = (self.physical, self.digital);
        let gain = (high - low) / (until - from) * factor;
        let usable = gain.is_normal() && (low * factor).is_finite() && from.is_finite();
        usable.then_some(Scale { digital_min: from, gain, physical_min: low * factor, valid: None })
    }

    /// The smallest and the largest value, with the same factor.
    pub(crate) fn values(&self, factor: f64) -> Option<[f64; 2]> {
        let range = if self.scale(factor).is_some() { self.physical } else { self.digital };
        let [a, b] = range.map(|value| value * factor);
        (a.is_finite() && b.is_finite() && a != b).then(|| [a.min(b), a.max(b)])
    }
}

impl Scale {
    /// Numbers as they are, times a factor.
    pub(crate) fn plain(factor: f64) -> Scale {
        Scale { digital_min: 0.0, gain: factor, physical_min: 0.0, valid: None }
    }

    /// Numbers of which this one is zero, times a factor.
    pub(crate) fn around(zero: f64, factor: f64) -> Scale {
        Scale { digital_min: zero, gain: factor, physical_min: 0.0, valid: None }
    }

    /// The same, with NaN for smaller and larger numbers than these.
    pub(crate) fn within(self, [a, b]: [f64; 2]) -> Scale {
        Scale { valid: Some([a.min(b), a.max(b)]), ..self }
    }

    /// Converts some numbers.
    pub(crate) fn convert(&self, numbers: impl Iterator<Item = f64>, to: &mut [f32]) {
        let Scale { digital_min, gain, physical_min, valid } = *self;
        let physical = |number: f64| ((number - digital_min) * gain + physical_min) as f32;
        match valid {
            None => to.iter_mut().zip(numbers).for_each(|(to, number)| *to = physical(number)),
            Some([low, high]) => to.iter_mut().zip(numbers).for_each(|(to, number)| {
                *to = if number < low || number > high { f32::NAN } else { physical(number) };
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(scale: &Scale, numbers: &[f64]) -> Vec<f32> {
        let mut to = vec![0.0; numbers.len()];
        scale.convert(numbers.iter().copied(), &mut to);
        to
    }

    #[test]
    fn ranges_make_a_line_that_may_fall() {
        let rising = Ranges { physical: [-100.1, 100.1], digital: [-2048.0, 2047.0] };
        assert_eq!(converted(&rising.scale(1.0).unwrap(), &[-2048.0, 2047.0]), [-100.1, 100.1]);
        let falling = Ranges { physical: [1.0, -1.0], digital: [0.0, 4.0] };
        assert_eq!(converted(&falling.scale(1000.0).unwrap(), &[0.0, 1.0, 4.0]), [1000.0, 500.0, -1000.0]);
        assert_eq!(falling.values(1000.0), Some([-1000.0, 1000.0]));
    }

    #[test]
    fn ranges_that_are_none_give_no_scale() {
        for (physical, digital) in [
            ([0.0, 0.0], [-1.0, 1.0]),
            ([-1.0, 1.0], [5.0, 5.0]),
            ([f64::NAN, 1.0], [0.0, 1.0]),
            ([0.0, f64::INFINITY], [0.0, 1.0]),
            ([0.0, 1.0], [0.0, f64::INFINITY]),
            ([-f64::MAX, f64::MAX], [0.0, 1.0]),
        ] {
            assert_eq!(Ranges { physical, digital }.scale(1.0), None, "{physical:?} {digital:?}");
        }
        assert_eq!(converted(&Scale::plain(1000.0), &[-3.0]), [-3000.0]);
        let equal = Ranges { physical: [0.0, 0.0], digital: [-8.0, 7.0] };
        assert_eq!(equal.values(10.0), Some([-80.0, 70.0]));
        assert_eq!(Ranges { physical: [0.0, 0.0], digital: [1.0, 1.0] }.values(1.0), None);
    }

    #[test]
    fn numbers_outside_of_valid_ones_are_missing() {
        let scale = Scale::plain(1.0).within([7.0, -8.0]);
        let got = converted(&scale, &[-9.0, -8.0, 7.0, 8.0]);
        assert!(got[0].is_nan() && got[1..3] == [-8.0, 7.0] && got[3].is_nan());
    }
}
