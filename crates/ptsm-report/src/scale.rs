//! Linear axes: ranges, round ticks, and places of values.

use crate::numbers::NumberStyle;

/// An axis: what it shows, from where to where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit: `time (s)`.
    pub label: String,
    /// From and to, at least: values outside widen it, so none is drawn in a wrong place. None to fit the values.
    pub range: Option<[f64; 2]>,
    /// How its numbers are written.
    pub numbers: NumberStyle,
}

impl Axis {
    /// An axis that fits its values.
    pub fn new(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// An axis of fractions, written as percent.
    pub fn percent(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), numbers: NumberStyle::Percent, ..Axis::default() }
    }

    /// The same axis over at least this range.
    pub fn from_to(mut self, from: f64, to: f64) -> Axis {
        self.range = Some([from, to]);
        self
    }

    /// The range that holds all values; where it is not the axis' own, widened to about `count` whole steps.
    pub fn domain(&self, values: impl IntoIterator<Item = f64>, count: usize) -> [f64; 2] {
        let all = span(values.into_iter().chain(self.range.into_iter().flatten()));
        if self.range.is_some_and(|range| span(range) == all) { all } else { rounded(all, count) }
    }

    /// One value in words, with enough digits for a label.
    pub fn say(&self, value: f64) -> String {
        self.numbers.say(value)
    }

    /// A tick's text: as many digits as its step needs.
    pub fn tick(&self, value: f64, step: f64) -> String {
        self.numbers.tick(value, step)
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

/// About `count` round numbers inside a range: at most one more, at least two from five on. Fewer than three cannot be
/// promised.
pub fn ticks(range: [f64; 2], count: usize) -> Ticks {
    let [low, high] = span(range);
    let rough = (high - low) / count.max(3) as f64;
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
pub fn rounded(range: [f64; 2], count: usize) -> [f64; 2] {
    let [low, high] = span(range);
    let step = ticks([low, high], count).step;
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
            for count in [3, 5, 8] {
                let ticks = ticks(range, count);
                let width = range[1] - range[0];
                assert!(ticks.values.windows(2).all(|pair| pair[0] < pair[1]), "{range:?} {ticks:?}");
                for value in &ticks.values {
                    assert!(*value >= range[0] - 1e-5 * width && *value <= range[1] + 1e-5 * width);
                }
                let fewest = if count >= 5 { 2 } else { 1 };
                assert!((fewest..=count + 1).contains(&ticks.values.len()), "{range:?} {count} {ticks:?}");
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
    fn degenerate_ranges_are_mended() {
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
}
