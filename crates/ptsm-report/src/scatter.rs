//! Points in two dimensions, in groups: an embedding of trials.

use ptsm_eval::{Column, Table};

use crate::drawing::Drawing;
use crate::layout::{DIFFERENT, Key, WIDTH, cut, header, markers, width};
use crate::numbers::cells;
use crate::scale::{Axis, Linear, ticks};
use crate::svg::{Anchor, Canvas};

const HEIGHT: f64 = 340.0;

/// Points that belong together: a class, a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointGroup {
    /// Its name.
    pub name: String,
    /// Its points; those that are not finite are not drawn.
    pub points: Vec<(f64, f64)>,
}

/// Points in two dimensions. Each group has a colour and a shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterPlot {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The groups.
    pub groups: Vec<PointGroup>,
}

impl ScatterPlot {
    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.groups.iter().flat_map(|group| &group.points)
    }

    fn legend(&self) -> Vec<(Key, String)> {
        if self.groups.len() < 2 {
            return vec![];
        }
        let mut legend: Vec<(Key, String)> = self
            .groups
            .iter()
            .take(DIFFERENT)
            .enumerate()
            .map(|(index, group)| (Key::Marker(index), group.name.clone()))
            .collect();
        if self.groups.len() > DIFFERENT {
            legend.push((Key::Nothing, format!("and {} more", self.groups.len() - DIFFERENT)));
        }
        legend
    }
}

impl Drawing for ScatterPlot {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let mut top = header(&mut canvas, &self.title, &self.legend(), WIDTH);
        if !self.y.label.is_empty() {
            top += 16.0;
            canvas.text("label", 0.0, top - 3.0, Anchor::Start, &cut(&self.y.label, 12.0, WIDTH));
        }
        top += 7.0;
        let bottom = top + HEIGHT;
        let x_domain = self.x.domain(self.points().map(|point| point.0), 6);
        let y_domain = self.y.domain(self.points().map(|point| point.1), 6);
        let (across, up) = (ticks(x_domain, 6), ticks(y_domain, 6));
        let texts = up.values.iter().map(|value| width(&self.y.tick(*value, up.step), 12.0));
        let left = texts.fold(16.0, f64::max) + 9.0;
        let x = Linear { domain: x_domain, range: [left, WIDTH - 14.0] };
        let y = Linear { domain: y_domain, range: [bottom, top] };
        for value in &up.values {
            let at = y.at(*value);
            canvas.line("grid", (left, at), (x.range[1], at));
            canvas.text("tick", left - 7.0, at + 4.0, Anchor::End, &self.y.tick(*value, up.step));
        }
        for value in &across.values {
            let at = x.at(*value);
            canvas.line("grid", (at, top), (at, bottom));
            canvas.text("tick", at, bottom + 17.0, Anchor::Middle, &self.x.tick(*value, across.step));
        }
        canvas.line("axis", (left, bottom), (x.range[1], bottom));
        let label = cut(&self.x.label, 12.0, WIDTH);
        canvas.text("label", (left + x.range[1]) / 2.0, bottom + 34.0, Anchor::Middle, &label);
        let size = if self.points().count() > 500 { 2.4 } else { 3.4 };
        for (index, group) in self.groups.iter().enumerate() {
            let visible = group.points.iter().filter(|point| point.0.is_finite() && point.1.is_finite());
            let places = visible.map(|point| (x.clamped(point.0), y.clamped(point.1)));
            markers(&mut canvas, "point", index, places, size);
        }
        let [right, from, to] = [x.range[1], x_domain[0], x_domain[1]];
        canvas.reads("points", &[left, right, from, to, bottom, top, y_domain[0], y_domain[1]]);
        let names: Vec<String> =
            self.groups.iter().map(|group| format!("{} ({})", group.name, group.points.len())).collect();
        let description = format!(
            "Points in two dimensions, {} over {}: {}.",
            self.y.label,
            self.x.label,
            if names.is_empty() { "none".into() } else { names.join(", ") }
        );
        canvas.finish(id, &self.title, &description, WIDTH, bottom + 40.0)
    }

    fn table(&self) -> Table {
        let named = |axis: &Axis, other: &str| match axis.label.as_str() {
            "" => other.to_string(),
            label => label.to_string(),
        };
        let columns = vec![
            Column::text("group"),
            Column::number(named(&self.x, "x")),
            Column::number(named(&self.y, "y")),
        ];
        let x = cells(&self.points().map(|point| point.0).collect::<Vec<f64>>());
        let y = cells(&self.points().map(|point| point.1).collect::<Vec<f64>>());
        let groups = self.groups.iter().flat_map(|group| group.points.iter().map(|_| group.name.clone()));
        let rows = groups.zip(x).zip(y).map(|((group, x), y)| vec![group, x, y]).collect();
        Table { columns, rows, note: String::new() }
    }

    fn reading(&self) -> String {
        "One marker is one trial; markers of one colour and shape belong to one group, and groups that lie apart here differ in the features.".into()
    }

    fn caution(&self) -> String {
        let many = match self.groups.len() > DIFFERENT {
            true => " There are more groups than colours and shapes, so some look alike.",
            false => "",
        };
        format!(
            "Two dimensions cannot show many: groups that overlap here may be apart in the features, and distances between \
             groups mean little.{many}"
        )
    }
}
