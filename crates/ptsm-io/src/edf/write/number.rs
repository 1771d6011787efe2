//! Numbers of at most eight characters.

/// The characters a number may have.
const LENGTH: usize = 8;

/// The nearest number.
pub(super) fn nearest(value: f64) -> Option<String> {
    (0..LENGTH).rev().map(|places| plain(value, places)).find(|text| text.len() <= LENGTH)
}

/// The value of the nearest number, of those not below 0, but for rounding.
pub(super) fn rounded(value: f64) -> f64 {
    let digits = value.max(1.0).log10() as i32 + 1;
    let scale = 10_f64.powi((LENGTH as i32 - 1 - digits).max(0));
    (value * scale).round() / scale
}

/// The largest number not above.
pub(super) fn below(value: f64) -> Option<String> {
    beside(value, -1.0, |number| number <= value)
}

/// The smallest number not below.
pub(super) fn above(value: f64) -> Option<String> {
    beside(value, 1.0, |number| number >= value)
}

/// The nearest number on one side.
fn beside(value: f64, direction: f64, fits: impl Fn(f64) -> bool) -> Option<String> {
    (0..LENGTH).rev().find_map(|places| {
        let unit = 0.1_f64.powi(places as i32);
        (0..2)
            .map(|steps| plain(value + direction * f64::from(steps) * unit, places))
            .find(|text| text.len() <= LENGTH && text.parse().is_ok_and(&fits))
    })
}

/// With some places behind the point, but no zeros at the end of them.
pub(super) fn plain(value: f64, places: usize) -> String {
    let mut text = format!("{value:.places$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text == "-0" { "0".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_near_as_eight_characters_allow() {
        for (value, low, near, high) in [
            (0.0, "0", "0", "0"),
            (160.0, "160", "160", "160"),
            (-3276.8, "-3276.8", "-3276.8", "-3276.8"),
            (std::f64::consts::PI, "3.141592", "3.141593", "3.141593"),
            (-std::f64::consts::PI, "-3.14160", "-3.14159", "-3.14159"),
            (1.0 / 3.0, "0.333333", "0.333333", "0.333334"),
            (1234567.89, "1234567", "1234568", "1234568"),
            (1e-9, "0", "0", "0.000001"),
            (-1e-9, "-0.00001", "0", "0"),
            (99999999.0, "99999999", "99999999", "99999999"),
            (-9999999.0, "-9999999", "-9999999", "-9999999"),
        ] {
            if value >= 0.0 {
                let number: f64 = near.parse().unwrap();
                assert!((rounded(value) - number).abs() <= 1e-12 * number, "{value}");
            }
            let short = |text: &str| plain(text.parse().unwrap(), 6);
            assert_eq!(below(value), Some(short(low)), "{value}");
            assert_eq!(nearest(value), Some(short(near)), "{value}");
            assert_eq!(above(value), Some(short(high)), "{value}");
        }
        assert_eq!((above(99999999.5), below(-9999999.5), nearest(1e9)), (None, None, None));
    }
}
