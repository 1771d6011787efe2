//! A line chart: values over time, trials or epochs.

use ptsm_eval::{Column, Table};

use crate::drawing::Drawing;
use crate::layout::{Key, WIDTH, cut, header, line_class, marker, width};
use crate::numbers::cells;
use crate::scale::{Axis, Linear, span, ticks};
use crate::svg::{Anchor, Canvas, PathData, escape};

const HEIGHT: f64 = 210.0;
/// With a diagonal the chart is about as high as wide.
const SQUARE: f64 = 340.0;
const STRIP: f64 = 16.0;

/// One point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// The value; a gap where it is not finite.
    pub y: f64,
    /// Low and high end of its interval.
    pub band: Option<[f64; 2]>,
}

/// A line and its band.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

impl Series {
    /// A line without a band.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let points = points.into_iter().map(|(x, y)| Point { x, y, band: None }).collect();
        Series { name: name.into(), points }
    }
}

/// A shaded span of the horizontal axis, such as the task window.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadedSpan {
    /// Where it starts.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it is.
    pub label: String,
}

/// A line across the chart, such as chance or the cue.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceLine {
    /// Where.
    pub at: f64,
    /// What it is.
    pub label: String,
}

/// A line chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// Shaded spans.
    pub windows: Vec<ShadedSpan>,
    /// Horizontal lines.
    pub levels: Vec<ReferenceLine>,
    /// Vertical lines.
    pub marks: Vec<ReferenceLine>,
    /// The same where there is nothing to find, such as with shuffled labels: in grey, behind the lines.
    pub null: Option<Series>,
    /// What the diagonal means, where both axes are the same: `perfectly calibrated`. None for no diagonal.
    pub diagonal: Option<String>,
    /// Whether intervals are bars at their points instead of a band.
    pub bars: bool,
}

/// The chart's area and its axes.
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Linear,
    y: Linear,
}

impl LineChart {
    /// A reliability diagram: the share of right decisions (y) against their predicted probability (x).
    pub fn reliability(title: impl Into<String>, series: Vec<Series>) -> LineChart {
        LineChart {
            title: title.into(),
            x: Axis::percent("probability of the decision"),
            y: Axis::percent("share of right decisions"),
            series,
            diagonal: Some("perfectly calibrated".into()),
            bars: true,
            ..LineChart::default()
        }
    }

    /// The lines, and what they are without anything to find.
    fn all(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().chain(&self.null)
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.all().flat_map(|series| &series.points)
    }

    fn x_domain(&self) -> [f64; 2] {
        let windows = self.windows.iter().flat_map(|window| [window.from, window.to]);
        let marks = self.marks.iter().map(|mark| mark.at);
        let values = self.points().map(|point| point.x).chain(windows).chain(marks);
        // Time starts where the data start: a round start would show an empty span.
        span(values.chain(self.x.range.into_iter().flatten()))
    }

    fn y_domain(&self) -> [f64; 2] {
        let bands = self.points().filter_map(|point| point.band).flatten();
        let levels = || self.levels.iter().map(|level| level.at);
        let values = self.points().map(|point| point.y).chain(bands).chain(levels());
        let [low, high] = self.y.domain(values, 5);
        // A level on the frame would not be seen.
        let step = ticks([low, high], 5).step;
        let on = |end: f64| {
            self.y.range.is_none() && levels().any(|at| at != 0.0 && (at - end).abs() < 1e-6 * step)
        };
        [if on(low) { low - step } else { low }, if on(high) { high + step } else { high }]
    }

    /// Labels over the plot, each above its place, in as few rows as they need.
    fn strips(&self, x: Linear, right: f64) -> (Vec<(f64, usize, String)>, usize) {
        let windows = self.windows.iter().map(|window| ((window.from + window.to) / 2.0, &window.label));
        let marks = self.marks.iter().map(|mark| (mark.at, &mark.label));
        let mut row_ends: Vec<f64> = Vec::new();
        let mut labels: Vec<(f64, &String)> = windows.chain(marks).filter(|(at, _)| at.is_finite()).collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut placed = Vec::new();
        for (at, label) in labels.into_iter().filter(|(_, label)| !label.is_empty()) {
            let label = cut(label, 12.0, 200.0);
            let half = width(&label, 12.0) / 2.0;
            let centre = x.clamped(at).max(x.range[0].min(right) + half).min(right - half);
            let row = row_ends.iter().position(|end| *end + 8.0 <= centre - half).unwrap_or(row_ends.len());
            if row == row_ends.len() {
                row_ends.push(0.0);
            }
            row_ends[row] = centre + half;
            placed.push((centre, row, label));
        }
        (placed, row_ends.len())
    }

    fn draw_axes(&self, canvas: &mut Canvas, plot: &Plot) {
        let lines = ticks(plot.y.domain, 5);
        for value in &lines.values {
            let y = plot.y.at(*value);
            canvas.line("grid", (plot.left, y), (plot.right, y));
            canvas.text("tick", plot.left - 7.0, y + 4.0, Anchor::End, &self.y.tick(*value, lines.step));
        }
        canvas.line("axis", (plot.left, plot.bottom), (plot.right, plot.bottom));
        let places = ticks(plot.x.domain, 7);
        for value in &places.values {
            let x = plot.x.at(*value);
            canvas.line("axis", (x, plot.bottom), (x, plot.bottom + 4.0));
            canvas.text("tick", x, plot.bottom + 17.0, Anchor::Middle, &self.x.tick(*value, places.step));
        }
        let label = cut(&self.x.label, 12.0, WIDTH);
        canvas.text("label", (plot.left + plot.right) / 2.0, plot.bottom + 34.0, Anchor::Middle, &label);
    }

    fn draw_references(&self, canvas: &mut Canvas, plot: &Plot) {
        for mark in self.marks.iter().filter(|mark| mark.at.is_finite()) {
            let x = plot.x.at(mark.at);
            canvas.line("reference", (x, plot.top), (x, plot.bottom));
        }
        for level in self.levels.iter().filter(|level| level.at.is_finite()) {
            let y = plot.y.at(level.at);
            canvas.line("reference", (plot.left, y), (plot.right, y));
        }
        if self.diagonal.is_some() {
            let (low, high) =
                (plot.x.domain[0].max(plot.y.domain[0]), plot.x.domain[1].min(plot.y.domain[1]));
            if low < high {
                let at = |value: f64| (plot.x.at(value), plot.y.at(value));
                canvas.line("reference", at(low), at(high));
            }
        }
    }

    /// Every point's interval as a bar.
    fn draw_bars(&self, canvas: &mut Canvas, plot: &Plot, index: usize, series: &Series) {
        let mut path = PathData::default();
        for point in &series.points {
            if let Some([low, high]) = point.band {
                let x = plot.x.at(point.x);
                path.to(x, plot.y.clamped(low));
                path.to(x, plot.y.clamped(high));
                path.gap();
            }
        }
        canvas.path(&format!("bar c{}", index % 6), &path);
    }

    fn draw_null(&self, canvas: &mut Canvas, plot: &Plot, null: &Series) {
        canvas.path("band luck", &band(plot, null));
        let mut path = PathData::default();
        for point in &null.points {
            path.to(plot.x.at(point.x), plot.y.clamped(point.y));
        }
        canvas.path("line luck", &path);
    }

    fn draw_line(&self, canvas: &mut Canvas, plot: &Plot, index: usize, series: &Series) {
        let mut path = PathData::default();
        let is_visible = |point: &Point| point.x.is_finite() && point.y.is_finite();
        for point in &series.points {
            if is_visible(point) {
                path.to(plot.x.at(point.x), plot.y.clamped(point.y));
            } else {
                path.gap();
            }
        }
        canvas.path(&line_class(index), &path);
        // Few points show where they are; one alone between gaps has no line and needs a marker.
        let few = series.points.len() <= 40;
        for (at, point) in series.points.iter().enumerate().filter(|(_, point)| is_visible(point)) {
            let alone = |other: Option<&Point>| other.is_none_or(|other| !is_visible(other));
            let before = at.checked_sub(1).and_then(|before| series.points.get(before));
            if few || (alone(before) && alone(series.points.get(at + 1))) {
                let said = format!("{}, {}: {}", series.name, self.x.say(point.x), self.y.say(point.y));
                canvas.raw(&format!("<g><title>{}</title>", escape(&said)));
                marker(canvas, index, plot.x.at(point.x), plot.y.clamped(point.y), 2.8);
                canvas.raw("</g>");
            }
        }
    }

    fn description(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        let [from, to] = self.x_domain();
        let [low, high] = span(self.points().map(|point| point.y));
        format!(
            "Line chart of {} over {}, from {} to {}: {}. Values lie between {} and {}.",
            self.y.label,
            self.x.label,
            self.x.say(from),
            self.x.say(to),
            if names.is_empty() { "no lines".into() } else { names.join(", ") },
            self.y.say(low),
            self.y.say(high)
        )
    }
}

/// The area between the ends of a series' intervals.
fn band(plot: &Plot, series: &Series) -> PathData {
    let mut path = PathData::default();
    let known = |point: &Point| match point.band {
        Some([low, high]) => point.x.is_finite() && low.is_finite() && high.is_finite(),
        None => false,
    };
    for piece in series.points.split(|point| !known(point)).filter(|piece| piece.len() > 1) {
        let ends = |point: &Point| point.band.unwrap_or_default();
        for point in piece {
            path.to(plot.x.at(point.x), plot.y.clamped(ends(point)[1]));
        }
        for point in piece.iter().rev() {
            path.to(plot.x.at(point.x), plot.y.clamped(ends(point)[0]));
        }
        path.close();
    }
    path
}

impl Drawing for LineChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let mut legend: Vec<(Key, String)> = Vec::new();
        if self.series.len() > 1 {
            legend.extend(
                self.series.iter().enumerate().map(|(index, series)| (Key::Line(index), series.name.clone())),
            );
        }
        if let Some(null) = &self.null {
            legend.push((Key::Luck, null.name.clone()));
        }
        if let Some(diagonal) = &self.diagonal {
            legend.push((Key::Reference, diagonal.clone()));
        }
        legend.extend(
            self.levels
                .iter()
                .map(|level| (Key::Reference, format!("{} {}", level.label, self.y.say(level.at)))),
        );
        let mut top = header(&mut canvas, &self.title, &legend, WIDTH);
        let y_domain = self.y_domain();
        let lines = ticks(y_domain, 5);
        let texts = lines.values.iter().map(|value| width(&self.y.tick(*value, lines.step), 12.0));
        let left = texts.fold(16.0, f64::max) + 9.0;
        let x_domain = self.x_domain();
        let places = ticks(x_domain, 7);
        let last = places.values.last().map_or(0.0, |value| width(&self.x.tick(*value, places.step), 12.0));
        let right = WIDTH - (last / 2.0).max(8.0);
        if !self.y.label.is_empty() {
            top += STRIP;
            canvas.text("label", 0.0, top - 3.0, Anchor::Start, &cut(&self.y.label, 12.0, WIDTH));
        }
        let x = Linear { domain: x_domain, range: [left, right] };
        let (labels, rows) = self.strips(x, right);
        let first_row = top;
        top += rows as f64 * STRIP + 7.0;
        let height = if self.diagonal.is_some() { SQUARE } else { HEIGHT };
        let bottom = top + height;
        let plot = Plot { left, right, top, bottom, x, y: Linear { domain: y_domain, range: [bottom, top] } };
        for window in &self.windows {
            let (from, to) =
                (plot.x.clamped(window.from.min(window.to)), plot.x.clamped(window.from.max(window.to)));
            canvas.rectangle("shade", from, top, to - from, height);
        }
        for (centre, row, label) in labels {
            let baseline = first_row + (rows - row) as f64 * STRIP + 1.0;
            canvas.text("label", centre, baseline, Anchor::Middle, &label);
        }
        self.draw_axes(&mut canvas, &plot);
        if let Some(null) = &self.null {
            self.draw_null(&mut canvas, &plot, null);
        }
        for (index, series) in self.series.iter().enumerate() {
            match self.bars {
                true => self.draw_bars(&mut canvas, &plot, index, series),
                false => canvas.path(&format!("band c{}", index % 6), &band(&plot, series)),
            }
        }
        self.draw_references(&mut canvas, &plot);
        for (index, series) in self.series.iter().enumerate() {
            self.draw_line(&mut canvas, &plot, index, series);
        }
        canvas.reads("lines", &[left, right, x_domain[0], x_domain[1], top, bottom]);
        canvas.finish(id, &self.title, &self.description(), WIDTH, bottom + 40.0)
    }

    fn table(&self) -> Table {
        let mut places: Vec<f64> = self.points().map(|point| point.x).filter(|x| x.is_finite()).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let x_header = if self.x.label.is_empty() { "x" } else { &self.x.label };
        let mut columns = vec![Column::number(x_header)];
        let mut rows: Vec<Vec<String>> = cells(&places).into_iter().map(|text| vec![text]).collect();
        let mut add = |header: String, values: Vec<f64>| {
            columns.push(Column::number(header));
            for (row, text) in rows.iter_mut().zip(cells(&values)) {
                row.push(text);
            }
        };
        for series in self.all() {
            let mut points: Vec<&Point> = series.points.iter().filter(|point| point.x.is_finite()).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let at = |x: &f64| {
                points.binary_search_by(|point| point.x.total_cmp(x)).ok().map(|index| points[index])
            };
            add(
                series.name.clone(),
                places.iter().map(|x| at(x).map_or(f64::NAN, |point| point.y)).collect(),
            );
            if points.iter().any(|point| point.band.is_some()) {
                let end = |x: &f64, side: usize| {
                    at(x).and_then(|point| point.band).map_or(f64::NAN, |band| band[side])
                };
                add(format!("{} low", series.name), places.iter().map(|x| end(x, 0)).collect());
                add(format!("{} high", series.name), places.iter().map(|x| end(x, 1)).collect());
            }
        }
        Table { columns, rows, note: String::new() }
    }

    fn reading(&self) -> String {
        let bands = self.points().any(|point| point.band.is_some());
        let intervals = match (bands, self.bars) {
            (true, true) => "bars are intervals",
            (true, false) => "the band is the interval around it",
            (false, _) => "dashed lines are references",
        };
        if self.diagonal.is_some() {
            return format!(
                "Below the diagonal the decoder is over-confident, above it under-confident; {intervals}."
            );
        }
        match &self.null {
            Some(_) => {
                format!(
                    "Follow each line from left to right; {intervals}, and grey is what chance alone reaches."
                )
            }
            None => format!("Follow each line from left to right; {intervals}."),
        }
    }

    fn caution(&self) -> String {
        let [low, high] = self.y_domain();
        if self.diagonal.is_some() {
            "Points that are based on few trials lie off the diagonal by chance: look at the length of their bars.".into()
        } else if low > 0.0 || high < 0.0 {
            "The vertical axis does not start at zero, so differences look larger than they are.".into()
        } else {
            "A line joins its points; what happens between them was not measured.".into()
        }
    }
}
