//! The bar of colours under a map, with its numbers and its unit.

use crate::colour::{ColourRamp, STEPS};
use crate::layout::{WIDTH, cut};
use crate::numbers::between;
use crate::scale::{Linear, span};
use crate::svg::{Anchor, Canvas};

/// Height of the bar with all that belongs to it.
pub(crate) const BAR: f64 = 46.0;

/// The values of the first and the last colour: those asked for, or those that hold all values. A diverging ramp reaches as far below
/// zero as above.
pub(crate) fn colour_range(
    ramp: ColourRamp,
    fixed_range: Option<[f64; 2]>,
    values: impl IntoIterator<Item = f64>,
) -> [f64; 2] {
    let range = fixed_range.map_or_else(|| span(values), span);
    match ramp {
        ColourRamp::Sequential => range,
        // Zero is the middle colour.
        ColourRamp::Diverging => span(range.into_iter().flat_map(|end| [end, -end])),
    }
}

/// Draws the bar in the middle of the figure.
pub(crate) fn colour_bar(canvas: &mut Canvas, top: f64, ramp: ColourRamp, range: [f64; 2], unit: &str) {
    let (left, width) = (90.0, WIDTH - 180.0);
    let bar = Linear { domain: [0.0, STEPS as f64], range: [left, left + width] };
    for index in 0..STEPS {
        // A hair wider than its share, so that no seam shows.
        let from = bar.at(index as f64);
        let wide = width / STEPS as f64 + if index + 1 < STEPS { 0.5 } else { 0.0 };
        canvas.rectangle(&ramp.class(index), from, top, wide, 10.0);
    }
    canvas.rectangle("frame", left, top, width, 10.0);
    for part in [0.0, 0.5, 1.0] {
        let text = label(range, range[0] + (range[1] - range[0]) * part);
        canvas.text("tick", left + width * part, top + 23.0, Anchor::Middle, &text);
    }
    canvas.text("label", WIDTH / 2.0, top + 39.0, Anchor::Middle, &cut(unit, 12.0, WIDTH));
}

/// The sentence on how much the colours span.
pub(crate) fn spanned(range: [f64; 2]) -> String {
    format!("Colours span only {} to {}.", label(range, range[0]), label(range, range[1]))
}

/// A value of the legend, with enough digits to tell its three numbers apart.
fn label(range: [f64; 2], value: f64) -> String {
    between(value, (range[1] - range[0]) / 2.0)
}
