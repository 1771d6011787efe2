//! What the figures share: title, legend, markers, widths of text.

use crate::svg::{Anchor, Canvas, PathData};

/// Width of the charts. Narrow, so that text stays readable when a phone shrinks the drawing.
pub(crate) const WIDTH: f64 = 440.0;
/// Width of a character in sizes of the font; on the wide side, for fonts that are.
const WIDE: f64 = 0.62;
const TITLE_LINE: f64 = 19.0;
const LEGEND_LINE: f64 = 19.0;

/// What a line of the legend explains.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    /// A line of a series.
    Line(usize),
    /// A marker of a series.
    Marker(usize),
    /// A dashed reference line.
    Reference,
    /// A shaded area.
    Shade,
    /// Nothing but words.
    Nothing,
    /// A grey line in its band: what luck does.
    Luck,
}

/// The width of a text in pixels, roughly: there is no font to measure.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    ptsm_eval::text_width(text) as f64 * size * WIDE
}

/// A text cut to a width, with a sign that it was cut.
pub(crate) fn cut(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_string();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if width(&kept, size) + 2.0 * size * WIDE > most {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

/// The words of a text in lines of at most a width; a longer word is cut.
fn wrap(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = cut(word, size, most);
        match lines.last_mut() {
            Some(line) if width(line, size) + width(&word, size) + size * WIDE <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Draws title and legend; tells where the rest starts.
pub(crate) fn header(canvas: &mut Canvas, title: &str, legend: &[(Key, String)], page_width: f64) -> f64 {
    let mut y = 0.0;
    for line in wrap(title, 15.5, page_width) {
        y += TITLE_LINE;
        canvas.text("title", 0.0, y - 3.0, Anchor::Start, &line);
    }
    let mut x = 0.0;
    for (index, (key, text)) in legend.iter().enumerate() {
        let text = cut(text, 12.0, page_width - 30.0);
        let gap = match key {
            Key::Nothing => 0.0,
            Key::Marker(_) => 15.0,
            _ => 26.0,
        };
        let needed = gap + width(&text, 12.0) + 10.0;
        if index == 0 || x + needed - 10.0 > page_width {
            (x, y) = (0.0, y + LEGEND_LINE);
        }
        draw_key(canvas, *key, x, y - 4.0);
        canvas.text("label", x + gap, y, Anchor::Start, &text);
        x += needed;
    }
    y + 6.0
}

fn draw_key(canvas: &mut Canvas, key: Key, x: f64, y: f64) {
    match key {
        Key::Line(index) => canvas.line(&line_class(index), (x, y), (x + 20.0, y)),
        Key::Marker(index) => marker(canvas, index, x + 5.0, y, 4.5),
        Key::Reference => canvas.line("reference", (x, y), (x + 20.0, y)),
        Key::Shade => canvas.rectangle("shade", x, y - 6.0, 20.0, 12.0),
        Key::Nothing => {}
        Key::Luck => {
            canvas.rectangle("band luck", x, y - 6.0, 20.0, 12.0);
            canvas.line("line luck", (x, y), (x + 20.0, y));
        }
    }
}

/// Series up to this many differ in colour or in shape and dashes.
pub(crate) const DIFFERENT: usize = 24;

/// Which of four shapes or dashes a series has; where colours repeat it is another one.
fn kind(index: usize) -> usize {
    (index % 6 + index / 6) % 4
}

/// The class of a series' line: its colour and its dashes.
pub(crate) fn line_class(index: usize) -> String {
    format!("line c{} p{}", index % 6, kind(index))
}

/// A series' marker: its colour and its shape.
pub(crate) fn marker(canvas: &mut Canvas, index: usize, x: f64, y: f64, size: f64) {
    markers(canvas, "marker", index, [(x, y)], size);
}

/// Many markers of one series as one shape, so that thousands stay a small text.
pub(crate) fn markers(
    canvas: &mut Canvas,
    class: &str,
    index: usize,
    places: impl IntoIterator<Item = (f64, f64)>,
    size: f64,
) {
    let class = format!("{class} c{}", index % 6);
    let corners: &[(f64, f64)] = match kind(index) {
        0 => &[],
        1 => &[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
        2 => &[(0.0, -1.15), (1.1, 0.8), (-1.1, 0.8)],
        _ => &[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)],
    };
    let mut path = PathData::default();
    for (x, y) in places {
        if corners.is_empty() {
            path.disc(x, y, size);
        }
        for (right, down) in corners {
            path.to(x + right * size, y + down * size);
        }
        path.close();
    }
    canvas.path(&class, &path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_differ_as_far_as_promised() {
        let classes: std::collections::HashSet<String> = (0..DIFFERENT).map(line_class).collect();
        assert_eq!(classes.len(), DIFFERENT);
    }

    #[test]
    fn long_titles_wrap_and_long_words_are_cut() {
        let lines = wrap(&format!("a few words and {}", "x".repeat(300)), 15.0, 200.0);
        assert!(lines.len() == 2 && lines.iter().all(|line| width(line, 15.0) <= 200.0), "{lines:?}");
        assert!(wrap("", 15.0, 200.0).is_empty());
    }
}
