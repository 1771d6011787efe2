//! Linear axes: ranges, round ticks, and numbers as people write them.

/// How the numbers of an axis are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// As they are.
    #[default]
    Plain,
    /// Fractions as percent: 0.5 is `50 %`.
    Percent,
}

/// An axis: what it shows, from where to where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit: `time (s)`.
    pub label: String,
    /// From and to, at least: values outside widen it, so none is drawn in a wrong place. None to fit the values.
    pub range: Option<[f64; 2]>,
    /// How its numbers are written.
    pub numbers: Numbers,
}

impl Axis {
    /// An axis that fits its values.
    pub fn new(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// An axis of fractions, written as percent.
    pub fn percent(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), numbers: Numbers::Percent, ..Axis::default() }
    }

    /// The same axis over at least this range.
    pub fn from_to(mut self, from: f64, to: f64) -> Axis {
        self.range = Some([from, to]);
        self
    }

    /// The range that holds all values; where it is not the axis' own, widened to about `wanted` whole steps.
    pub fn domain(&self, values: impl IntoIterator<Item = f64>, wanted: usize) -> [f64; 2] {
        let all = span(values.into_iter().chain(self.range.into_iter().flatten()));
        if self.range.is_some_and(|range| span(range) == all) { all } else { rounded(all, wanted) }
    }

    /// One value in words, with enough digits for a label.
    pub fn say(&self, value: f64) -> String {
        match self.numbers {
            Numbers::Plain => number(value),
            Numbers::Percent if value.is_finite() => format!("{} %", typographic(&trimmed(value * 100.0, 1))),
            Numbers::Percent => "no value".into(),
        }
    }

    /// A tick's text: as many digits as its step needs.
    pub fn tick(&self, value: f64, step: f64) -> String {
        match self.numbers {
            Numbers::Plain => tick_text(value, step),
            Numbers::Percent => format!("{} %", tick_text(value * 100.0, step * 100.0)),
        }
    }
}

/// The smallest range that holds all finite values; widened where it would have no width, `[0, 1]` where there is no value.
pub fn span(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    // Differences of larger numbers overflow.
    for value in values.into_iter().filter(|value| value.is_finite()).map(|value| value.clamp(-1e300, 1e300))
    {
        (low, high) = (low.min(value), high.max(value));
    }
    if low > high {
        return [0.0, 1.0];
    }
    let magnitude = low.abs().max(high.abs());
    if high - low <= 1e-9 * magnitude || high == low {
        let pad = if magnitude > 0.0 { 0.1 * magnitude } else { 0.5 };
        return [low - pad, high + pad];
    }
    [low, high]
}

/// Round numbers on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// Where, rising.
    pub values: Vec<f64>,
    /// From one to the next: 1, 2 or 5 times a power of ten.
    pub step: f64,
}

/// About `wanted` round numbers inside a range: at most one more, at least two from five on. Fewer than three cannot be
/// promised.
pub fn ticks(range: [f64; 2], wanted: usize) -> Ticks {
    let [low, high] = span(range);
    let rough = (high - low) / wanted.max(3) as f64;
    let power = 10f64.powi(rough.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= 0.999 * rough).unwrap_or(10.0);
    let step = factor * power;
    // A tick that misses the end by rounding alone still counts.
    let slack = 1e-6;
    let first = (low / step - slack).ceil() as i64;
    let last = (high / step + slack).floor() as i64;
    Ticks { values: (first..=last).map(|index| index as f64 * step).collect(), step }
}

/// The range widened to whole steps, so that it starts and ends at a tick.
pub fn rounded(range: [f64; 2], wanted: usize) -> [f64; 2] {
    let [low, high] = span(range);
    let step = ticks([low, high], wanted).step;
    [(low / step + 1e-6).floor() * step, (high / step - 1e-6).ceil() * step]
}

/// From values to places on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// The values at both ends.
    pub domain: [f64; 2],
    /// Their places.
    pub range: [f64; 2],
}

impl Linear {
    /// The place of a value; not finite where the value is not.
    pub fn at(&self, value: f64) -> f64 {
        let [low, high] = self.domain;
        let [from, to] = self.range;
        from + (value - low) / (high - low) * (to - from)
    }

    /// The place of a value, moved to the nearer end where it is outside.
    pub fn clamped(&self, value: f64) -> f64 {
        let [low, high] = self.domain;
        self.at(value.max(low.min(high)).min(high.max(low)))
    }
}

fn tick_text(value: f64, step: f64) -> String {
    let largest = value.abs().max(step);
    if largest >= 1e6 || step < 1e-4 {
        let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
        return if value == 0.0 { "0".into() } else { typographic(&shortest_scientific(value)) };
    }
    let decimals = (-(step * 1.0001).log10().floor()).max(0.0) as usize;
    typographic(&without_negative_zero(format!("{value:.decimals$}")))
}

fn shortest_scientific(value: f64) -> String {
    let text = format!("{value:.3e}");
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
    typographic(&plain_number(value))
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

fn plain_number(value: f64) -> String {
    if value.is_finite() { significant(value, 3) } else { "no value".into() }
}

fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let exponent = value.abs().log10().floor() as i32;
    if !(-4..9).contains(&exponent) {
        return shortest_scientific(value);
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

    /// Ranges of every size, by a small random generator (splitmix64).
    fn ranges() -> impl Iterator<Item = [f64; 2]> {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as f64 / u64::MAX as f64
        };
        (0..20_000).map(move |_| {
            let size = 10f64.powf(random() * 40.0 - 20.0);
            let start = (random() - 0.5) * size * 10f64.powf(random() * 4.0);
            [start, start + size * (0.01 + random())]
        })
    }

    #[test]
    fn ticks_are_round_rising_and_inside() {
        for range in ranges() {
            for wanted in [3, 5, 8] {
                let ticks = ticks(range, wanted);
                let width = range[1] - range[0];
                assert!(ticks.values.windows(2).all(|pair| pair[0] < pair[1]), "{range:?} {ticks:?}");
                for value in &ticks.values {
                    assert!(*value >= range[0] - 1e-5 * width && *value <= range[1] + 1e-5 * width);
                }
                let fewest = if wanted >= 5 { 2 } else { 1 };
                assert!((fewest..=wanted + 1).contains(&ticks.values.len()), "{range:?} {wanted} {ticks:?}");
                let mantissa = ticks.step / 10f64.powf((ticks.step * 1.0001).log10().floor());
                assert!([1.0, 2.0, 5.0].iter().any(|round| (mantissa - round).abs() < 1e-6), "{mantissa}");
            }
        }
    }

    #[test]
    fn labels_tell_ticks_apart() {
        for range in ranges().filter(|range| range[1].abs() < 1e5 && range[1] - range[0] > 1e-2) {
            let ticks = ticks(range, 6);
            let texts: std::collections::HashSet<String> =
                ticks.values.iter().map(|value| Axis::default().tick(*value, ticks.step)).collect();
            assert_eq!(texts.len(), ticks.values.len(), "{range:?} {texts:?}");
        }
    }

    #[test]
    fn rounded_ranges_hold_the_range_and_end_at_ticks() {
        for range in ranges() {
            let wide = rounded(range, 5);
            let slack = 1e-5 * (range[1] - range[0]);
            assert!(wide[0] <= range[0] + slack && wide[1] >= range[1] - slack && wide[0] < wide[1]);
        }
    }

    #[test]
    fn strange_ranges_are_mended() {
        assert_eq!(span([]), [0.0, 1.0]);
        assert_eq!(span([f64::NAN, f64::INFINITY]), [0.0, 1.0]);
        assert_eq!(span([0.0]), [-0.5, 0.5]);
        assert_eq!(span([2.0, 2.0]), [1.8, 2.2]);
        assert_eq!(span([3.0, 1.0]), [1.0, 3.0]);
        for range in
            [[f64::MIN, f64::MAX], [f64::MIN_POSITIVE, 2.0 * f64::MIN_POSITIVE], [5.0, 5.0], [0.0, -0.0]]
        {
            let ticks = ticks(range, 5);
            assert!(
                ticks.values.len() < 20 && ticks.values.iter().all(|value| value.is_finite()),
                "{range:?}"
            );
        }
    }

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
        let axis = Axis::percent("accuracy");
        assert_eq!((axis.say(0.5833).as_str(), axis.tick(0.6, 0.2).as_str()), ("58.3 %", "60 %"));
        assert_eq!(Axis::new("x").tick(-0.0, 0.5), "0.0");
    }
}
