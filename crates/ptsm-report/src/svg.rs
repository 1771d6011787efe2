//! Building SVG and HTML text: escaping, short numbers, paths, and a canvas to draw on.

use std::fmt::Write;

use crate::colour;

/// The rules figures are styled by; a page carries them once.
pub(crate) const FIGURE_RULES: &str = include_str!("figure.css");

/// Text that is safe between tags and inside quoted attributes. Characters XML forbids become a replacement mark.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            control if control.is_control() => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// A coordinate with one digit after the point, as short as SVG allows; 0 for what is not finite.
pub fn coordinate(value: f64) -> String {
    tenths(to_tenths(value))
}

// Coordinates beyond a million pixels are drawn at a million: no renderer shows them, some fail on them.
fn to_tenths(value: f64) -> i64 {
    if value.is_finite() { (value.clamp(-1e6, 1e6) * 10.0).round() as i64 } else { 0 }
}

fn tenths(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    match (value.unsigned_abs() / 10, value.unsigned_abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, tenth) => format!("{sign}.{tenth}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// Units around a figure in its own file.
const MARGIN: f64 = 12.0;

/// A figure in its own file: the drawing with the light styles a page would give it, on white, with a margin.
pub fn standalone(drawing: &str) -> String {
    let Some((head, body)) = drawing.split_once('>') else { return String::new() };
    let rules = colour::written_out(FIGURE_RULES);
    let mut head = head.to_string();
    let mut ground = "width=\"100%\" height=\"100%\"".to_string();
    if let Some((before, (width, height), after)) = view(&head) {
        let (wide, high) = (coordinate(width + 2.0 * MARGIN), coordinate(height + 2.0 * MARGIN));
        ground = format!("x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{wide}\" height=\"{high}\"");
        head = format!("{before}viewBox=\"-{MARGIN} -{MARGIN} {wide} {high}\"{after}");
    }
    format!("{head}><style>{rules}</style><rect {ground} fill=\"#fff\"/>{body}")
}

/// The size in a drawing's head, and what stands before and after it.
fn view(head: &str) -> Option<(&str, (f64, f64), &str)> {
    let (before, rest) = head.split_once("viewBox=\"0 0 ")?;
    let (size, after) = rest.split_once('"')?;
    let (width, height) = size.split_once(' ')?;
    Some((before, (width.parse().ok()?, height.parse().ok()?), after))
}

/// The `d` of a path. Points that are not finite leave a gap.
#[derive(Clone, Debug, Default)]
pub struct PathData {
    data: String,
    pen: Option<(i64, i64)>,
    in_line: bool,
}

impl PathData {
    /// Goes on to a point; the first one after a gap starts a new piece.
    pub fn to(&mut self, x: f64, y: f64) {
        if !(x.is_finite() && y.is_finite()) {
            return self.gap();
        }
        let next = (to_tenths(x), to_tenths(y));
        match self.pen {
            None => {
                let _ = write!(self.data, "M{}", pair(next.0, next.1));
                self.in_line = false;
            }
            Some(pen) if pen == next => return,
            // Relative steps are the shorter text; steps between rounded points do not add up rounding.
            Some(pen) => {
                let step = pair(next.0 - pen.0, next.1 - pen.1);
                if !self.in_line {
                    self.data.push('l');
                } else if !step.starts_with('-') {
                    self.data.push(' ');
                }
                self.data.push_str(&step);
                self.in_line = true;
            }
        }
        self.pen = Some(next);
    }

    /// A filled circle of its own; nothing where it is not finite.
    pub fn disc(&mut self, x: f64, y: f64, radius: f64) {
        self.gap();
        if x.is_finite() && y.is_finite() {
            // Half a circle there and half a circle back.
            let (r, across) = (coordinate(radius), coordinate(2.0 * radius));
            let start = pair(to_tenths(x - radius), to_tenths(y));
            let _ = write!(self.data, "M{start}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0-{across} 0z");
        }
    }

    /// Lifts the pen.
    pub fn gap(&mut self) {
        self.pen = None;
        self.in_line = false;
    }

    /// Closes the piece and lifts the pen.
    pub fn close(&mut self) {
        if self.pen.is_some() {
            self.data.push('z');
        }
        self.gap();
    }

    /// The text for the `d` attribute.
    pub fn data(&self) -> &str {
        &self.data
    }
}

fn pair(x: i64, y: i64) -> String {
    let (x, y) = (tenths(x), tenths(y));
    if y.starts_with('-') { format!("{x}{y}") } else { format!("{x} {y}") }
}

/// Which end of a text stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text starts there.
    Start,
    /// The text is centred there.
    Middle,
    /// The text ends there.
    End,
}

/// Shapes put one over the other. Colours and sizes of text come from classes.
#[derive(Clone, Debug, Default)]
pub struct Canvas {
    body: String,
    reads: String,
}

impl Canvas {
    /// A text on one line.
    pub fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = (coordinate(x), coordinate(y));
        let _ =
            write!(self.body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", escape(text));
    }

    /// A text that runs upwards and ends at its point.
    pub fn text_up(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y) = (coordinate(x), coordinate(y));
        let _ = write!(
            self.body,
            "<text class=\"{class}\" transform=\"translate({x} {y})rotate(-90)\" text-anchor=\"end\">{}</text>",
            escape(text)
        );
    }

    /// Tells the page's script how to find the numbers under a pointer: the kind of figure and where its axes lie.
    pub(crate) fn reads(&mut self, kind: &str, places: &[f64]) {
        self.reads = format!(
            " data-reads=\"{kind}\" data-places=\"{}\"",
            places.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
        );
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let mut path = PathData::default();
        path.to(from.0, from.1);
        path.to(to.0, to.1);
        self.path(class, &path);
    }

    /// A rectangle, by its left upper corner.
    pub fn rectangle(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let (x, y) = (coordinate(x), coordinate(y));
        let (width, height) = (coordinate(width.max(0.0)), coordinate(height.max(0.0)));
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// A circle.
    pub fn circle(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        let (x, y, radius) = (coordinate(x), coordinate(y), coordinate(radius));
        let _ = write!(self.body, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
    }

    /// A path; nothing when it is empty.
    pub fn path(&mut self, class: &str, path: &PathData) {
        if !path.data.is_empty() {
            let _ = write!(self.body, "<path class=\"{class}\" d=\"{}\"/>", path.data);
        }
    }

    /// SVG text that is already escaped and well-formed.
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// The whole drawing. `id` is unique on its page; `title` and `description` are what a screen reader says.
    pub fn finish(self, id: &str, title: &str, description: &str, width: f64, height: f64) -> String {
        let id = escape(id);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" viewBox=\"0 0 {} {}\" role=\"img\"{} \
             aria-labelledby=\"{id}-title {id}-description\"><title id=\"{id}-title\">{}</title>\
             <desc id=\"{id}-description\">{}</desc>{}</svg>",
            coordinate(width),
            coordinate(height),
            self.reads,
            escape(title),
            escape(description),
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_text() {
        assert_eq!(
            escape("<a b=\"c\" d='e'>&\u{1b}"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\u{fffd}"
        );
    }

    #[test]
    fn coordinates_are_short() {
        let pairs = [(0.0, "0"), (-0.04, "0"), (0.26, ".3"), (-0.5, "-.5"), (12.0, "12"), (-3.16, "-3.2")];
        for (value, text) in pairs {
            assert_eq!(coordinate(value), text);
        }
        assert_eq!(coordinate(f64::NAN), "0");
        assert_eq!(coordinate(f64::INFINITY), "0");
        assert_eq!(coordinate(1e300), "1000000");
    }

    #[test]
    fn a_figure_alone_has_a_margin() {
        let alone = standalone(&Canvas::default().finish("a", "b", "c", 440.0, 100.5));
        assert!(alone.contains(" viewBox=\"-12 -12 464 124.5\" role"), "{alone}");
        assert!(
            alone.contains("<rect x=\"-12\" y=\"-12\" width=\"464\" height=\"124.5\" fill=\"#fff\"/><title")
        );
        assert_eq!(standalone("no drawing"), "");
    }

    #[test]
    fn a_path_has_gaps_where_values_are_missing() {
        let mut path = PathData::default();
        for (x, y) in [(0.0, 0.0), (1.0, -2.0), (2.5, 0.0), (f64::NAN, 1.0), (4.0, 4.0), (4.01, 4.0)] {
            path.to(x, y);
        }
        assert_eq!(path.data(), "M0 0l1-2 1.5 2M4 4");
    }
}
