//! Numbers as people write them: on axes, in sentences and in tables.

/// How the numbers of an axis are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberStyle {
    /// As they are.
    #[default]
    Plain,
    /// Fractions as percent: 0.5 is `50 %`.
    Percent,
}

impl NumberStyle {
    /// One value in words, with enough digits for a label.
    pub fn say(self, value: f64) -> String {
        match self {
            NumberStyle::Plain => number(value),
            NumberStyle::Percent if value.is_finite() => {
                format!("{} %", typographic(&trimmed(value * 100.0, 1)))
            }
            NumberStyle::Percent => "no value".into(),
        }
    }

    /// A tick's text: as many digits as its step needs.
    pub fn tick(self, value: f64, step: f64) -> String {
        match self {
            NumberStyle::Plain => tick_text(value, step),
            NumberStyle::Percent => format!("{} %", tick_text(value * 100.0, step * 100.0)),
        }
    }
}

fn tick_text(value: f64, step: f64) -> String {
    let largest = value.abs().max(step);
    if largest >= 1e6 || step < 1e-4 {
        let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
        return if value == 0.0 { "0".into() } else { typographic(&shortest_scientific(value, 3)) };
    }
    let decimals = (-(step * 1.0001).log10().floor()).max(0.0) as usize;
    typographic(&without_negative_zero(format!("{value:.decimals$}")))
}

fn shortest_scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{exponent}")
        }
        None => text,
    }
}

/// A number for reading: three significant digits, `no value` where it is not finite.
pub fn number(value: f64) -> String {
    if value.is_finite() { typographic(&significant(value, 3)) } else { "no value".into() }
}

/// A number for reading beside others that are a step away: as [`number`], with more digits where it takes them to tell them apart.
pub fn between(value: f64, step: f64) -> String {
    if !value.is_finite() {
        return "no value".into();
    }
    let step = step.abs();
    // What rounding left of zero is zero.
    let value = if value.abs() < 1e-6 * step { 0.0 } else { value };
    // Rounded to a tenth of the step or finer.
    let size = value.abs().max(step);
    let digits = if step > 0.0 { (size.log10().floor() - step.log10().floor()) as i32 + 2 } else { 3 };
    typographic(&significant(value, digits.clamp(3, 16)))
}

/// A number for tables and files: four significant digits, a plain minus sign, empty where it is not finite.
pub fn cell(value: f64) -> String {
    if value.is_finite() { significant(value, 4) } else { String::new() }
}

/// A column of numbers with the same decimals, so that they line up; each with its own where they differ by more than a
/// thousand times.
pub fn cells(values: &[f64]) -> Vec<String> {
    let sizes = || values.iter().map(|value| value.abs()).filter(|size| size.is_finite() && *size > 0.0);
    let (smallest, largest) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let single: Vec<String> = values.iter().map(|value| cell(*value)).collect();
    if largest >= 1e9 || smallest < 1e-4 || largest > 1e3 * smallest {
        return single;
    }
    let decimals =
        single.iter().map(|text| text.split_once('.').map_or(0, |parts| parts.1.len())).max().unwrap_or(0);
    let useful = (3.0 - largest.log10().floor()).max(0.0) as usize;
    let decimals = decimals.min(useful);
    let write = |value: &f64| match value.is_finite() {
        true => without_negative_zero(format!("{value:.decimals$}")),
        false => String::new(),
    };
    values.iter().map(write).collect()
}

fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let exponent = value.abs().log10().floor() as i32;
    if !(-4..9).contains(&exponent) {
        return shortest_scientific(value, (digits - 1).max(3) as usize);
    }
    trimmed(value, (digits - 1 - exponent).max(0) as usize)
}

/// A fixed number of decimals, without the zeros at the end.
fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text };
    without_negative_zero(text)
}

fn without_negative_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.into(),
        _ => text,
    }
}

fn typographic(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, text) in [(0.0, "0"), (0.12345, "0.123"), (-2.5, "\u{2212}2.5"), (12345.6, "12346")] {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(1.5e-7), "1.5e\u{2212}7");
        assert_eq!(number(f64::NAN), "no value");
        assert_eq!(cell(-0.123_456), "-0.1235");
        assert_eq!(cell(f64::NAN), "");
        assert_eq!(cells(&[0.84, 0.92051, f64::NAN, -0.0]), ["0.8400", "0.9205", "", "0.0000"]);
        assert_eq!(cells(&[1.0, 2.0, 60.0]), ["1", "2", "60"]);
        assert_eq!(cells(&[1.0, 0.000_123_4]), ["1", "0.0001234"]);
        assert_eq!(cells(&[f64::NAN]), [""]);
        assert_eq!(cells(&[]), [""; 0]);
        for (value, step, text) in [
            (0.5, 0.1, "0.5"),
            (0.50049, 0.0005, "0.50049"),
            (12345.678, 1.0, "12345.7"),
            (1e-20, 0.1, "0"),
            (1e12 + 1e4, 1e4, "1.00000001e12"),
            (f64::NAN, 1.0, "no value"),
        ] {
            assert_eq!(between(value, step), text);
        }
        let percent = NumberStyle::Percent;
        assert_eq!((percent.say(0.5833).as_str(), percent.tick(0.6, 0.2).as_str()), ("58.3 %", "60 %"));
        assert_eq!(NumberStyle::Plain.tick(-0.0, 0.5), "0.0");
    }
}
