//! A heat map: rows and columns with names, and a colour for each pair of them.

use ptsm_eval::{Column, Table};

use crate::colour::{ColourRamp, STEPS, step};
use crate::drawing::Drawing;
use crate::layout::{WIDTH, cut, header, width};
use crate::legend::{BAR, colour_bar, colour_range, spanned};
use crate::numbers::{cells, number};
use crate::scalp::meaning;
use crate::svg::{Anchor, Canvas, PathData, escape};

/// With more cells than this they are drawn as one shape for each colour, or the page would grow too large.
const MOST_SINGLE: usize = 400;

/// Rows by columns of values as colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// What a row is: `subject`.
    pub row_label: String,
    /// What a column is: `channel`.
    pub column_label: String,
    /// The rows' names, from the top.
    pub rows: Vec<String>,
    /// The columns' names, from the left.
    pub columns: Vec<String>,
    /// The values, a list for each row; what is missing or not finite is an empty cell.
    pub values: Vec<Vec<f64>>,
    /// What stands in the cells, lines apart by `\n`; empty for colour alone.
    pub texts: Vec<Vec<String>>,
    /// The values of the first and the last colour; none to fit the values.
    pub range: Option<[f64; 2]>,
    /// What the values are, with their unit.
    pub unit: String,
    /// How values become colours.
    pub ramp: ColourRamp,
    /// The sentence on how to read it; empty for the general one.
    pub reading: String,
}

/// Where the cells lie.
struct Cells {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl HeatMap {
    /// A confusion matrix: a row for each true class, a column for each decoded class, counts and the row's percent in the cells.
    pub fn confusion(title: impl Into<String>, classes: Vec<String>, counts: &[Vec<f64>]) -> HeatMap {
        let share = |row: &Vec<f64>, count: f64| count / row.iter().filter(|c| c.is_finite()).sum::<f64>();
        let text = |row: &Vec<f64>, count: f64| match share(row, count) {
            share if share.is_finite() => format!("{}\n{:.0} %", number(count), 100.0 * share),
            _ => String::new(),
        };
        HeatMap {
            title: title.into(),
            row_label: "true class".into(),
            column_label: "decoded as".into(),
            rows: classes.clone(),
            columns: classes,
            values: counts.iter().map(|row| row.iter().map(|c| share(row, *c)).collect()).collect(),
            texts: counts.iter().map(|row| row.iter().map(|c| text(row, *c)).collect()).collect(),
            range: Some([0.0, 1.0]),
            unit: "share of the true class' trials".into(),
            ramp: ColourRamp::Sequential,
            reading:
                "A row is the true class, a column is the class the decoder chose: trials on the diagonal are right. \
                      Cells hold the number of trials and their share of the row."
                    .into(),
        }
    }

    /// A pairwise comparison: the row's score minus the column's, and `+` or `−` where the difference is significant, `·` where it may be chance.
    /// `real` says which differences are; the diagonal is empty.
    pub fn pairwise(
        title: impl Into<String>,
        names: Vec<String>,
        differences: &[Vec<f64>],
        real: impl Fn(usize, usize) -> bool,
        unit: impl Into<String>,
    ) -> HeatMap {
        let value = |row: usize, column: usize| match row == column {
            true => f64::NAN,
            false => differences.get(row).and_then(|r| r.get(column)).copied().unwrap_or(f64::NAN),
        };
        let text = |row: usize, column: usize| match value(row, column) {
            difference if !difference.is_finite() => "",
            difference if !real(row, column) || difference == 0.0 => "·",
            difference if difference > 0.0 => "+",
            _ => "\u{2212}",
        };
        let all = 0..names.len();
        HeatMap {
            title: title.into(),
            row_label: "method".into(),
            column_label: "against".into(),
            values: all.clone().map(|row| all.clone().map(|column| value(row, column)).collect()).collect(),
            texts: all.clone().map(|row| all.clone().map(|c| text(row, c).to_string()).collect()).collect(),
            rows: names.clone(),
            columns: names,
            range: None,
            unit: unit.into(),
            ramp: ColourRamp::Diverging,
            reading: "Orange: the row's method scores higher than the column's. A plus or a minus marks a difference that \
                      is significant, a dot one that may be chance."
                .into(),
        }
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        self.values.get(row).and_then(|row| row.get(column)).copied().unwrap_or(f64::NAN)
    }

    fn text(&self, row: usize, column: usize) -> &str {
        self.texts.get(row).and_then(|row| row.get(column)).map_or("", String::as_str)
    }

    fn colour_range(&self) -> [f64; 2] {
        colour_range(self.ramp, self.range, self.values.iter().flatten().copied())
    }

    fn layout(&self, top: f64) -> Cells {
        let names = self.rows.iter().map(|name| width(name, 12.0)).fold(14.0, f64::max).min(120.0);
        let left = names + 9.0;
        let columns = self.columns.len().max(1) as f64;
        let width = ((WIDTH - left - 2.0) / columns).min(72.0);
        let height = match self.texts.is_empty() {
            true => (900.0 / self.rows.len().max(1) as f64).clamp(4.0, 22.0),
            false => width.clamp(18.0, 44.0),
        };
        Cells { left, top, width, height }
    }

    /// Small maps: every cell is a shape with its name and value.
    fn draw_single(&self, canvas: &mut Canvas, at: &Cells, range: [f64; 2]) {
        let gap = if at.width.min(at.height) > 12.0 { 1.0 } else { 0.0 };
        for (row, row_name) in self.rows.iter().enumerate() {
            for (column, column_name) in self.columns.iter().enumerate() {
                let value = self.value(row, column);
                let (x, y) = (at.left + column as f64 * at.width, at.top + row as f64 * at.height);
                let said = format!("{row_name}, {column_name}: {}", number(value));
                canvas.raw(&format!("<g><title>{}</title>", escape(&said)));
                let step = step(range, value);
                let class = if value.is_finite() { self.ramp.class(step) } else { "missing".into() };
                canvas.rectangle(&class, x, y, at.width - gap, at.height - gap);
                let lines: Vec<&str> = self.text(row, column).lines().collect();
                let fits = lines.iter().all(|line| width(line, 11.0) <= at.width)
                    && 13.0 * lines.len() as f64 <= at.height;
                for (index, line) in lines.iter().enumerate().filter(|_| fits) {
                    let below = (index as f64 + 0.5 - lines.len() as f64 / 2.0) * 13.0 + 4.0;
                    let (x, y) = (x + (at.width - gap) / 2.0, y + (at.height - gap) / 2.0 + below);
                    let class = if value.is_finite() { self.ramp.text_class(step) } else { "label".into() };
                    // A sign alone is drawn larger.
                    let sign = lines.len() == 1
                        && line.chars().count() == 1
                        && !line.chars().all(char::is_alphanumeric);
                    let (size, down) = if sign { ("sign", 2.0) } else { ("cell", 0.0) };
                    canvas.text(&format!("{size} {class}"), x, y + down, Anchor::Middle, line);
                }
                canvas.raw("</g>");
            }
        }
    }

    /// Large maps: neighbours of one colour are one shape.
    fn draw_joined(&self, canvas: &mut Canvas, at: &Cells, range: [f64; 2]) {
        let mut paths = vec![PathData::default(); STEPS];
        for row in 0..self.rows.len() {
            let colour = |column: usize| Some(self.value(row, column)).filter(|v| v.is_finite());
            let colours: Vec<Option<usize>> =
                (0..self.columns.len()).map(|column| colour(column).map(|v| step(range, v))).collect();
            let (top, bottom) = (at.top + row as f64 * at.height, at.top + (row as f64 + 1.0) * at.height);
            let mut column = 0;
            for run in colours.chunk_by(|one, next| one == next) {
                let (from, to) = (column, column + run.len());
                column = to;
                let Some(step) = run[0] else { continue };
                let (from, to) = (at.left + from as f64 * at.width, at.left + to as f64 * at.width);
                for (x, y) in [(from, top), (to, top), (to, bottom), (from, bottom)] {
                    paths[step].to(x, y);
                }
                paths[step].close();
            }
        }
        let (width, height) = (at.width * self.columns.len() as f64, at.height * self.rows.len() as f64);
        canvas.rectangle("missing", at.left, at.top, width, height);
        for (step, path) in paths.iter().enumerate() {
            canvas.path(&format!("tiles {}", self.ramp.class(step)), path);
        }
    }

    fn draw_names(&self, canvas: &mut Canvas, at: &Cells) -> f64 {
        let every = (12.0 / at.height).ceil() as usize;
        for (row, name) in self.rows.iter().enumerate().step_by(every.max(1)) {
            let y = at.top + (row as f64 + 0.5) * at.height + 4.0;
            canvas.text("tick", at.left - 7.0, y, Anchor::End, &cut(name, 12.0, at.left - 7.0));
        }
        let bottom = at.top + at.height * self.rows.len() as f64;
        let longest = self.columns.iter().map(|name| width(name, 12.0)).fold(0.0, f64::max);
        let numbers = self.columns.iter().all(|name| name.parse::<f64>().is_ok());
        // Numbers can be left out between others; names lie down first.
        let upright = numbers || longest + 4.0 <= at.width;
        let needed = if upright { longest + 6.0 } else { 11.0 };
        let every = (needed / at.width).ceil() as usize;
        for (column, name) in self.columns.iter().enumerate().step_by(every.max(1)) {
            let x = at.left + (column as f64 + 0.5) * at.width;
            match upright {
                true => canvas.text("tick", x, bottom + 15.0, Anchor::Middle, name),
                false => canvas.text_up("tick", x + 4.0, bottom + 6.0, &cut(name, 12.0, 90.0)),
            }
        }
        bottom + if upright { 20.0 } else { longest.min(90.0) + 10.0 }
    }

    fn description(&self) -> String {
        let pairs = || {
            let columns = 0..self.columns.len();
            let all = (0..self.rows.len()).flat_map(move |row| columns.clone().map(move |c| (row, c)));
            all.filter(|(row, column)| self.value(*row, *column).is_finite())
        };
        let size = format!("Heat map of {} rows and {} columns", self.rows.len(), self.columns.len());
        let by = |sign: f64| {
            pairs().max_by(|a, b| (sign * self.value(a.0, a.1)).total_cmp(&(sign * self.value(b.0, b.1))))
        };
        let said = |(row, column): (usize, usize)| {
            format!("{}, {} ({})", self.rows[row], self.columns[column], number(self.value(row, column)))
        };
        match (by(1.0), by(-1.0)) {
            (Some(high), Some(low)) => format!("{size}. Highest at {}, lowest at {}.", said(high), said(low)),
            _ => format!("{size} without values."),
        }
    }
}

impl Drawing for HeatMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let mut top = header(&mut canvas, &self.title, &[], WIDTH);
        if !self.row_label.is_empty() {
            top += 16.0;
            canvas.text("label", 0.0, top - 4.0, Anchor::Start, &cut(&self.row_label, 12.0, WIDTH));
        }
        let range = self.colour_range();
        let at = self.layout(top);
        let count = self.rows.len() * self.columns.len();
        match count > MOST_SINGLE && self.texts.is_empty() {
            true => self.draw_joined(&mut canvas, &at, range),
            false => self.draw_single(&mut canvas, &at, range),
        }
        let mut bottom = self.draw_names(&mut canvas, &at);
        let centre = at.left + at.width * self.columns.len() as f64 / 2.0;
        if !self.column_label.is_empty() {
            bottom += 14.0;
            canvas.text("label", centre, bottom - 2.0, Anchor::Middle, &cut(&self.column_label, 12.0, WIDTH));
        }
        bottom += 10.0;
        if self.values.iter().flatten().any(|value| value.is_finite()) {
            colour_bar(&mut canvas, bottom, self.ramp, range, &self.unit);
            bottom += BAR;
        }
        let long = if self.texts.is_empty() { 0.0 } else { 1.0 };
        let (rows, columns) = (self.rows.len() as f64, self.columns.len() as f64);
        canvas.reads("cells", &[at.left, at.top, at.width, at.height, rows, columns, long]);
        canvas.finish(id, &self.title, &self.description(), WIDTH, bottom)
    }

    /// As a matrix; where cells hold text, a row for each cell.
    fn table(&self) -> Table {
        let named =
            |label: &str, other: &str| if label.is_empty() { other.into() } else { label.to_string() };
        let count = self.columns.len();
        let all: Vec<f64> = (0..self.rows.len() * count).map(|i| self.value(i / count, i % count)).collect();
        let values = cells(&all);
        let row_label = named(&self.row_label, "row");
        if self.texts.is_empty() {
            let mut columns = vec![Column::text(row_label)];
            columns.extend(self.columns.iter().map(Column::number));
            let row = |(row, name): (usize, &String)| {
                let own = values[row * count..(row + 1) * count].iter().cloned();
                std::iter::once(name.clone()).chain(own).collect()
            };
            let note = if self.unit.is_empty() { String::new() } else { format!("Values: {}.", self.unit) };
            return Table { columns, rows: self.rows.iter().enumerate().map(row).collect(), note };
        }
        let columns = vec![
            Column::text(row_label),
            Column::text(named(&self.column_label, "column")),
            Column::number(named(&self.unit, "value")),
            Column::text("shown"),
        ];
        let row = |(index, value): (usize, String)| {
            let (row, column) = (index / count, index % count);
            let text = self.text(row, column).replace('\n', ", ");
            vec![self.rows[row].clone(), self.columns[column].clone(), value, text]
        };
        Table { columns, rows: values.into_iter().enumerate().map(row).collect(), note: String::new() }
    }

    fn reading(&self) -> String {
        if !self.reading.is_empty() {
            return self.reading.clone();
        }
        let named = |label: &str| if label.is_empty() { "thing".into() } else { label.to_string() };
        format!(
            "One row is one {}, one column one {}; {}, and an empty cell has no value.",
            named(&self.row_label),
            named(&self.column_label),
            meaning(self.ramp)
        )
    }

    fn caution(&self) -> String {
        format!(
            "{} Eyes compare colours badly over a distance: read the numbers before two cells are called different.",
            spanned(self.colour_range())
        )
    }
}
