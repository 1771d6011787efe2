//! Scores under several conditions: one row each, every subject a point, the mean with its interval over subjects, the chance level behind them.

use ptsm_eval::{Column, Table};

use crate::dots::PointEstimate;
use crate::drawing::Drawing;
use crate::layout::{Key, WIDTH, cut, header, marker, markers, width};
use crate::numbers::cells;
use crate::scale::{Axis, Linear, ticks};
use crate::svg::{Anchor, Canvas};

/// How high a row is.
const HEIGHT: f64 = 30.0;
/// How far points lie from the middle of their row at most, so that equal scores do not hide one another.
const APART: f64 = 9.0;
/// What names take of the width at most.
const NAMES: f64 = 196.0;

/// The scores under one condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConditionScores {
    /// What the condition is.
    pub name: String,
    /// Each subject's score, the same subjects in every row; not finite where there is none.
    pub subjects: Vec<f64>,
    /// Their mean, with its interval over subjects.
    pub mean: Option<PointEstimate>,
    /// Rows of one group share a colour and a shape.
    pub group: usize,
}

/// Scores under conditions, in the order in which they are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConditionPlot {
    /// What it shows.
    pub title: String,
    /// The scores' axis.
    pub axis: Axis,
    /// One row for each condition.
    pub rows: Vec<ConditionScores>,
    /// What the groups of rows are, in their order; nothing to say with one.
    pub groups: Vec<String>,
    /// The chance level.
    pub chance: Option<f64>,
}

impl ConditionPlot {
    fn domain(&self) -> [f64; 2] {
        let ends = |mean: &PointEstimate| {
            let [low, high] = mean.interval.unwrap_or([mean.value; 2]);
            [mean.value, low, high]
        };
        let means = self.rows.iter().filter_map(|row| row.mean.as_ref()).flat_map(ends);
        let scores = self.rows.iter().flat_map(|row| row.subjects.iter().copied());
        self.axis.domain(scores.chain(means).chain(self.chance), 6)
    }

    fn legend(&self) -> Vec<(Key, String)> {
        let mut legend: Vec<(Key, String)> = match self.groups.len() {
            0 | 1 => vec![],
            _ => self.groups.iter().enumerate().map(|(i, name)| (Key::Marker(i), name.clone())).collect(),
        };
        let chance = self.chance.filter(|chance| chance.is_finite());
        legend
            .extend(chance.map(|chance| (Key::Reference, format!("chance level {}", self.axis.say(chance)))));
        legend
    }

    fn description(&self) -> String {
        let mean = |row: &ConditionScores| {
            format!("{} {}", row.name, self.axis.say(row.mean.map_or(f64::NAN, |mean| mean.value)))
        };
        let means: Vec<String> = self.rows.iter().map(mean).collect();
        let mut text = format!("Means over subjects ({}): {}.", self.axis.label, means.join(", "));
        if let Some(chance) = self.chance {
            text += &format!(" Chance is {}.", self.axis.say(chance));
        }
        text
    }
}

impl Drawing for ConditionPlot {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let top = header(&mut canvas, &self.title, &self.legend(), WIDTH) + 6.0;
        let names = self.rows.iter().map(|row| width(&row.name, 12.0));
        let left = names.fold(20.0, f64::max).min(NAMES) + 10.0;
        let domain = self.domain();
        let scale = Linear { domain, range: [left, WIDTH - 22.0] };
        let end = top + HEIGHT * self.rows.len() as f64 + 4.0;
        let places = ticks(domain, 6);
        for value in &places.values {
            let x = scale.at(*value);
            canvas.line("grid", (x, top), (x, end));
            canvas.text("tick", x, end + 16.0, Anchor::Middle, &self.axis.tick(*value, places.step));
        }
        if let Some(chance) = self.chance.filter(|chance| chance.is_finite()) {
            let x = scale.clamped(chance);
            canvas.line("reference", (x, top), (x, end));
        }
        for (index, row) in self.rows.iter().enumerate() {
            let y = top + (index as f64 + 0.5) * HEIGHT;
            canvas.text("tick", left - 9.0, y + 4.0, Anchor::End, &cut(&row.name, 12.0, left - 9.0));
            let n = row.subjects.len();
            let points = row.subjects.iter().enumerate().filter(|(_, score)| score.is_finite());
            let point = |(i, score): (usize, &f64)| {
                // Subjects keep their place in every row, from above to below.
                let share = (i as f64 + 0.5) / n as f64 - 0.5;
                (scale.clamped(*score), y + 2.0 * APART * share)
            };
            markers(&mut canvas, "point faint", row.group, points.map(point), 2.0);
            let Some(mean) = row.mean.filter(|mean| mean.value.is_finite()) else { continue };
            if let Some([low, high]) = mean.interval.filter(|ends| ends.iter().all(|end| end.is_finite())) {
                let class = format!("interval c{}", row.group % 6);
                canvas.line(&class, (scale.clamped(low), y), (scale.clamped(high), y));
            }
            marker(&mut canvas, row.group, scale.clamped(mean.value), y, 6.0);
        }
        canvas.line("axis", (left, end), (scale.range[1], end));
        let label = cut(&self.axis.label, 12.0, WIDTH);
        canvas.text("label", (left + scale.range[1]) / 2.0, end + 33.0, Anchor::Middle, &label);
        canvas.reads("rows", &[left, scale.range[1], top, HEIGHT, self.rows.len() as f64]);
        canvas.finish(id, &self.title, &self.description(), WIDTH, end + 39.0)
    }

    fn table(&self) -> Table {
        let end = |side: usize| {
            let end = move |row: &ConditionScores| {
                row.mean.and_then(|mean| mean.interval).map_or(f64::NAN, |ends| ends[side])
            };
            cells(&self.rows.iter().map(end).collect::<Vec<_>>())
        };
        let mean = |row: &ConditionScores| row.mean.map_or(f64::NAN, |mean| mean.value);
        let means = cells(&self.rows.iter().map(mean).collect::<Vec<_>>());
        let rows = self.rows.iter().zip(means).zip(end(0).into_iter().zip(end(1)));
        let rows = rows.map(|((row, mean), (low, high))| {
            let scored = row.subjects.iter().filter(|score| score.is_finite()).count();
            vec![row.name.clone(), mean, low, high, scored.to_string()]
        });
        let mut columns = vec![Column::text("condition")];
        columns.extend(["mean", "mean, low end", "mean, high end", "subjects"].map(Column::number));
        Table { columns, rows: rows.collect(), note: String::new() }
    }

    fn reading(&self) -> String {
        "One row is one condition: each small point is a subject, at the same height in every row, the large mark is their mean and the bar its 95 % interval over subjects; further right is better."
            .into()
    }

    fn caution(&self) -> String {
        "Rows share their subjects: whether two rows differ is told by the differences within subjects, not by whether their bars overlap."
            .into()
    }
}
