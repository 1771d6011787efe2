//! Colours: ramps for maps and colours for series, in a light and a dark version.
//!
//! Ramps are mixed in Oklab (Ottosson 2020), where equal steps look equal. Lightness always leads: a larger value stands out
//! more from the page, in both versions, for every kind of colour vision and in print without colour. Series use blue,
//! vermilion, green and so on, which stay apart with red-green blindness; shape or dashes say the same again.

/// Steps of a ramp. An odd number, so that a diverging one has a middle.
pub const STEPS: usize = 11;

/// How values become colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourRamp {
    /// From little to much: masks, weights without sign.
    #[default]
    Sequential,
    /// From negative over zero to positive: patterns, differences.
    Diverging,
}

impl ColourRamp {
    fn anchors(self) -> [[u32; 5]; 2] {
        match self {
            ColourRamp::Sequential => [
                [0xeef2f0, 0xa6d3d3, 0x4699b0, 0x215f90, 0x15305e],
                [0x252b31, 0x204e66, 0x28899a, 0x7dcdb6, 0xf4f7c5],
            ],
            ColourRamp::Diverging => [
                [0x0b3f7d, 0x5f9dd1, 0xf1f0ec, 0xe39a55, 0x8c3a06],
                [0xa9d4ff, 0x3f86c9, 0x272c32, 0xc9722b, 0xffcf9c],
            ],
        }
    }

    /// The colours, from the lowest to the highest value, as red, green and blue from 0 to 255.
    pub fn colours(self, dark: bool) -> [[u8; 3]; STEPS] {
        let anchors = self.anchors()[usize::from(dark)].map(oklab);
        std::array::from_fn(|step| {
            let place = step as f64 / (STEPS - 1) as f64 * 4.0;
            let index = (place as usize).min(3);
            let part = place - index as f64;
            let mix = |axis: usize| anchors[index][axis] * (1.0 - part) + anchors[index + 1][axis] * part;
            rgb([mix(0), mix(1), mix(2)])
        })
    }

    /// The class that fills a shape with one step.
    pub fn class(self, step: usize) -> String {
        let letter = match self {
            ColourRamp::Sequential => 'q',
            ColourRamp::Diverging => 'd',
        };
        format!("{letter}{}", step.min(STEPS - 1))
    }

    /// The class of a text that is readable on one step.
    pub(crate) fn text_class(self, step: usize) -> String {
        format!("on-{}", self.class(step))
    }
}

/// Which step of a ramp over a range a value falls in.
pub fn step(range: [f64; 2], value: f64) -> usize {
    let part = (value - range[0]) / (range[1] - range[0]);
    ((part * STEPS as f64).max(0.0) as usize).min(STEPS - 1)
}

/// Colours of series, light and dark; at least 3 to 1 against the page.
pub const SERIES: [[&str; 6]; 2] = [
    ["#0b62a8", "#c04a06", "#007a5a", "#a03c84", "#856200", "#4d5763"],
    ["#6cb6f5", "#ff9a57", "#3fcf9f", "#e796cd", "#e0bd4f", "#b4bec9"],
];

/// Colours of page and text, light and dark, by name.
const NAMED: [(&str, [&str; 2]); 8] = [
    ("page", ["#f6f5f2", "#121518"]),
    ("card", ["#ffffff", "#1a1e23"]),
    ("ink", ["#1b2026", "#e8eaec"]),
    ("muted", ["#58616b", "#a5aeb8"]),
    ("rule", ["#e1dfd9", "#30363d"]),
    ("shade", ["#ece9e1", "#282d34"]),
    ("accent", ["#0b5a9a", "#7cc0f8"]),
    ("warm", ["#fdf3e0", "#2e2718"]),
];

/// The style rules that define all colours. The reader's system chooses, or the page's switch. Print always uses the light ones.
pub fn rules() -> String {
    let named =
        |dark: bool| -> String { names(dark).map(|(name, value)| format!("--{name}:{value};")).collect() };
    let (light, dark) = (named(false), named(true));
    format!(
        ":root{{color-scheme:light;{light}}}\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-colours=light]){{color-scheme:dark;{dark}}}}}\
         @media screen{{:root[data-colours=dark]{{color-scheme:dark;{dark}}}}}{}",
        ramps()
    )
}

/// Rules with the light colours written out: many programs that draw SVG know neither variables nor media.
pub(crate) fn written_out(rules: &str) -> String {
    let mut text = format!("{}{rules}", ramps());
    for (name, value) in names(false) {
        text = text.replace(&format!("var(--{name})"), &value);
    }
    text
}

/// Every named colour.
fn names(dark: bool) -> impl Iterator<Item = (String, String)> {
    let side = usize::from(dark);
    let named = NAMED.iter().map(move |(name, values)| (name.to_string(), values[side].to_string()));
    let series = SERIES[side].iter().enumerate();
    let series = series.map(|(index, value)| (format!("c{index}"), value.to_string()));
    named.chain(series).chain(steps().flat_map(move |(ramp, step)| {
        let colour = ramp.colours(dark)[step];
        let [red, green, blue] = colour;
        let fill = format!("#{red:02x}{green:02x}{blue:02x}");
        [(ramp.class(step), fill), (ramp.text_class(step), text_on(colour).to_string())]
    }))
}

/// Black or white, whichever is further from a colour: at least 4.5 to 1.
fn text_on([red, green, blue]: [u8; 3]) -> &'static str {
    // The luminance at which both are equally far.
    if luminance(u32::from_be_bytes([0, red, green, blue])) > 0.179 { "#000" } else { "#fff" }
}

/// How light a colour is, from 0 to 1, as the accessibility guidelines (WCAG 2.2) count it.
fn luminance(colour: u32) -> f64 {
    let part = |shift: u32| {
        let value = f64::from((colour >> shift) & 0xff) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
}

/// Rules that fill shapes with the steps of all ramps, and the text on them.
fn ramps() -> String {
    steps()
        .flat_map(|(ramp, step)| [ramp.class(step), ramp.text_class(step)])
        .map(|name| format!(".{name}{{fill:var(--{name})}}"))
        .collect()
}

fn steps() -> impl Iterator<Item = (ColourRamp, usize)> {
    [ColourRamp::Sequential, ColourRamp::Diverging]
        .into_iter()
        .flat_map(|ramp| (0..STEPS).map(move |step| (ramp, step)))
}

fn oklab(colour: u32) -> [f64; 3] {
    let [red, green, blue] = [16, 8, 0].map(|shift| {
        let value = f64::from((colour >> shift) & 0xff) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    let long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue).cbrt();
    let middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue).cbrt();
    let short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue).cbrt();
    [
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    ]
}

fn rgb([lightness, a, b]: [f64; 3]) -> [u8; 3] {
    let long = (lightness + 0.3963377774 * a + 0.2158037573 * b).powi(3);
    let middle = (lightness - 0.1055613458 * a - 0.0638541728 * b).powi(3);
    let short = (lightness - 0.0894841775 * a - 1.2914855480 * b).powi(3);
    [
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    ]
    .map(|value: f64| {
        let value = value.clamp(0.0, 1.0);
        let value = if value <= 0.0031308 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
        (value * 255.0).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> u32 {
        u32::from_str_radix(&text[1..], 16).unwrap()
    }

    fn join([red, green, blue]: [u8; 3]) -> u32 {
        u32::from_be_bytes([0, red, green, blue])
    }

    /// Contrast of two colours as the accessibility guidelines (WCAG 2.2) count it.
    fn contrast(one: u32, other: u32) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        (one / other).max(other / one)
    }

    #[test]
    fn mixing_starts_and_ends_at_the_anchors() {
        for ramp in [ColourRamp::Sequential, ColourRamp::Diverging] {
            for dark in [false, true] {
                let (anchors, colours) = (ramp.anchors()[usize::from(dark)], ramp.colours(dark));
                assert_eq!((join(colours[0]), join(colours[STEPS - 1])), (anchors[0], anchors[4]));
            }
        }
    }

    #[test]
    fn larger_values_stand_out_more() {
        let lightness =
            |ramp: ColourRamp, dark: bool| ramp.colours(dark).map(|colour| oklab(join(colour))[0]);
        for dark in [false, true] {
            let sign = if dark { 1.0 } else { -1.0 };
            let steps = lightness(ColourRamp::Sequential, dark);
            assert!(steps.windows(2).all(|pair| (pair[1] - pair[0]) * sign > 0.03), "{steps:?}");
            let steps = lightness(ColourRamp::Diverging, dark);
            let (down, up) = steps.split_at(STEPS / 2);
            assert!(down.windows(2).all(|pair| (pair[0] - pair[1]) * sign > 0.02), "{steps:?}");
            assert!(up.windows(2).all(|pair| (pair[1] - pair[0]) * sign > 0.02), "{steps:?}");
        }
    }

    /// Red-green blindness keeps Oklab's blue-yellow axis: the two signs must differ there.
    #[test]
    fn signs_differ_without_red_and_green() {
        for dark in [false, true] {
            let colours = ColourRamp::Diverging.colours(dark).map(|colour| oklab(join(colour))[2]);
            for step in 0..STEPS / 2 {
                assert!(colours[STEPS - 1 - step] - colours[step] > 0.04, "{colours:?}");
            }
        }
    }

    #[test]
    fn text_and_series_are_readable() {
        let named = |name: &str, side: usize| parse(NAMED.iter().find(|(n, _)| *n == name).unwrap().1[side]);
        for side in [0, 1] {
            for ground in ["page", "card", "warm", "shade"] {
                for text in ["ink", "muted", "accent"] {
                    assert!(
                        contrast(named(text, side), named(ground, side)) >= 4.5,
                        "{text} on {ground}, {side}"
                    );
                }
                for series in SERIES[side] {
                    assert!(contrast(parse(series), named(ground, side)) >= 3.0, "{series} on {ground}");
                }
            }
        }
    }

    #[test]
    fn text_in_cells_is_readable() {
        for (ramp, step) in steps() {
            for dark in [false, true] {
                let ground = ramp.colours(dark)[step];
                let text = if text_on(ground) == "#000" { 0 } else { 0xff_ffff };
                assert!(contrast(text, join(ground)) >= 4.5, "{ramp:?} {step} {dark}");
            }
        }
    }

    #[test]
    fn values_outside_take_the_ends() {
        let steps = [-9.0, 0.0, 0.5, 1.0, 9.0, f64::NAN].map(|value| step([0.0, 1.0], value));
        assert_eq!(steps, [0, 0, 5, 10, 10, 0]);
    }
}
