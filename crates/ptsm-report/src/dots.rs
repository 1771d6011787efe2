//! Scores per subject: one row each, one marker per model, the chance level behind them, means below.

use ptsm_eval::{Column, Table};

use crate::drawing::Drawing;
use crate::layout::{Key, WIDTH, cut, header, marker, width};
use crate::numbers::cells;
use crate::scale::{Axis, Linear, ticks};
use crate::svg::{Anchor, Canvas, escape};

/// A value and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointEstimate {
    /// The value.
    pub value: f64,
    /// Low and high end.
    pub interval: Option<[f64; 2]>,
}

/// The scores of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelScores {
    /// The model's name.
    pub name: String,
    /// Each subject's name and score; not finite where there is none.
    pub subjects: Vec<(String, f64)>,
    /// Low and high end of each subject's score, in the same order; empty for none.
    pub intervals: Vec<[f64; 2]>,
    /// Their mean.
    pub mean: Option<PointEstimate>,
}

/// The chance level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChanceLevel {
    /// The expected score at the chance level.
    pub level: f64,
    /// Scores up to here are within chance: one subject exceeds it by chance with a probability below 0.05.
    pub threshold: Option<f64>,
}

/// Scores per subject. Subjects stand in the order of the first model's scores, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DotPlot {
    /// What it shows.
    pub title: String,
    /// The scores' axis.
    pub axis: Axis,
    /// One entry for each model.
    pub models: Vec<ModelScores>,
    /// The chance level.
    pub chance: Option<ChanceLevel>,
}

impl DotPlot {
    /// Every subject once with its score in each model, best first.
    fn rows(&self) -> Vec<(&str, Vec<PointEstimate>)> {
        let mut rows: Vec<(&str, Vec<PointEstimate>)> = Vec::new();
        let none = PointEstimate { value: f64::NAN, interval: None };
        let mut places = std::collections::HashMap::new();
        for (model, scores) in self.models.iter().enumerate() {
            for (index, (subject, score)) in scores.subjects.iter().enumerate() {
                let place = *places.entry(subject.as_str()).or_insert_with(|| {
                    rows.push((subject, vec![none; self.models.len()]));
                    rows.len() - 1
                });
                let interval =
                    scores.intervals.get(index).filter(|ends| ends.iter().all(|end| end.is_finite()));
                rows[place].1[model] = PointEstimate { value: *score, interval: interval.copied() };
            }
        }
        let key = |row: &(&str, Vec<PointEstimate>)| {
            row.1.iter().map(|score| score.value).find(|v| v.is_finite()).unwrap_or(f64::NEG_INFINITY)
        };
        rows.sort_by(|a, b| key(b).total_cmp(&key(a)));
        rows
    }

    fn domain(&self) -> [f64; 2] {
        let scores = self.models.iter().flat_map(|model| model.subjects.iter().map(|subject| subject.1));
        let means = self.models.iter().filter_map(|model| model.mean).flat_map(|mean| {
            let [low, high] = mean.interval.unwrap_or([mean.value; 2]);
            [mean.value, low, high]
        });
        let chance = self
            .chance
            .into_iter()
            .flat_map(|chance| [chance.level, chance.threshold.unwrap_or(chance.level)]);
        let ends = self.models.iter().flat_map(|model| model.intervals.iter().flatten().copied());
        self.axis.domain(scores.chain(means).chain(ends).chain(chance), 6)
    }

    fn legend(&self) -> Vec<(Key, String)> {
        let mut legend = Vec::new();
        if self.models.len() > 1 {
            legend.extend(
                self.models.iter().enumerate().map(|(index, model)| (Key::Marker(index), model.name.clone())),
            );
        }
        if let Some(chance) = self.chance {
            legend.push((Key::Reference, format!("chance level {}", self.axis.say(chance.level))));
            if let Some(threshold) = chance.threshold {
                legend.push((
                    Key::Shade,
                    format!("within chance: up to {} (p < 0.05 each)", self.axis.say(threshold)),
                ));
            }
        }
        legend
    }

    fn draw_means(&self, canvas: &mut Canvas, scale: Linear, left: f64, mut y: f64) -> f64 {
        for (index, model) in self.models.iter().enumerate() {
            let Some(mean) = model.mean.filter(|mean| mean.value.is_finite()) else { continue };
            y += 20.0;
            let name = if self.models.len() > 1 { format!("mean, {}", model.name) } else { "mean".into() };
            canvas.text("strong", left - 9.0, y + 4.0, Anchor::End, &cut(&name, 12.0, left - 9.0));
            if let Some([low, high]) = mean.interval.filter(|ends| ends.iter().all(|end| end.is_finite())) {
                let class = format!("interval c{}", index % 6);
                canvas.line(&class, (scale.clamped(low), y), (scale.clamped(high), y));
            }
            marker(canvas, index, scale.clamped(mean.value), y, 6.0);
        }
        y
    }

    fn description(&self, rows: &[(&str, Vec<PointEstimate>)]) -> String {
        let means: Vec<String> = self
            .models
            .iter()
            .filter_map(|model| Some(format!("{} {}", model.name, self.axis.say(model.mean?.value))))
            .collect();
        let mut text = format!("Scores of {} subjects ({}).", rows.len(), self.axis.label);
        if !means.is_empty() {
            text += &format!(" Means: {}.", means.join(", "));
        }
        if let Some(chance) = self.chance {
            text += &format!(" Chance is {}.", self.axis.say(chance.level));
        }
        text
    }
}

impl Drawing for DotPlot {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let rows = self.rows();
        let top = header(&mut canvas, &self.title, &self.legend(), WIDTH) + 6.0;
        // Hundreds of subjects still fit: rows get lower, and names skip rows.
        let height = (1100.0 / rows.len().max(1) as f64).clamp(5.0, 20.0);
        let size = (height * 0.27).clamp(2.2, 4.6);
        let every = (13.0 / height).ceil() as usize;
        let mean_name =
            |model: &ModelScores| if self.models.len() > 1 { width(&model.name, 12.0) + 46.0 } else { 36.0 };
        let names = rows.iter().map(|row| width(row.0, 12.0));
        let means = self.models.iter().filter(|model| model.mean.is_some()).map(mean_name);
        let left = names.chain(means).fold(20.0, f64::max).min(130.0) + 10.0;
        let domain = self.domain();
        let scale = Linear { domain, range: [left, WIDTH - 22.0] };
        let bottom = top + height * rows.len() as f64;
        let summaries = self.models.iter().filter(|model| model.mean.is_some()).count() as f64;
        let end = bottom + if summaries > 0.0 { 20.0 * summaries + 16.0 } else { 4.0 };
        if let Some(threshold) =
            self.chance.and_then(|chance| chance.threshold).filter(|value| value.is_finite())
        {
            canvas.rectangle("shade", left, top, scale.clamped(threshold) - left, end - top);
        }
        let places = ticks(domain, 6);
        for value in &places.values {
            let x = scale.at(*value);
            canvas.line("grid", (x, top), (x, end));
            canvas.text("tick", x, end + 16.0, Anchor::Middle, &self.axis.tick(*value, places.step));
        }
        if let Some(chance) = self.chance.filter(|chance| chance.level.is_finite()) {
            let x = scale.clamped(chance.level);
            canvas.line("reference", (x, top), (x, end));
        }
        for (index, (subject, scores)) in rows.iter().enumerate() {
            let y = top + (index as f64 + 0.5) * height;
            if index % every == 0 {
                canvas.text("tick", left - 9.0, y + 4.0, Anchor::End, &cut(subject, 12.0, left - 9.0));
            }
            canvas.line("row", (left, y), (scale.range[1], y));
            // The first model lies on top.
            for (model, score) in scores.iter().enumerate().rev().filter(|(_, score)| score.value.is_finite())
            {
                let name = &self.models[model].name;
                let said = format!("{subject}, {name}: {}", self.axis.say(score.value));
                canvas.raw(&format!("<g><title>{}</title>", escape(&said)));
                if let Some([low, high]) = score.interval {
                    let class = format!("bar c{}", model % 6);
                    canvas.line(&class, (scale.clamped(low), y), (scale.clamped(high), y));
                }
                marker(&mut canvas, model, scale.clamped(score.value), y, size);
                canvas.raw("</g>");
            }
        }
        if summaries > 0.0 {
            canvas.line("axis", (left, bottom + 4.0), (scale.range[1], bottom + 4.0));
            self.draw_means(&mut canvas, scale, left, bottom);
        }
        canvas.line("axis", (left, end), (scale.range[1], end));
        let label = cut(&self.axis.label, 12.0, WIDTH);
        canvas.text("label", (left + scale.range[1]) / 2.0, end + 33.0, Anchor::Middle, &label);
        canvas.reads("rows", &[left, scale.range[1], top, height, rows.len() as f64]);
        canvas.finish(id, &self.title, &self.description(&rows), WIDTH, end + 39.0)
    }

    fn table(&self) -> Table {
        let sorted = self.rows();
        let summary = self.models.iter().any(|model| model.mean.is_some());
        let mut columns = vec![Column::text("subject")];
        let mut rows: Vec<Vec<String>> = sorted.iter().map(|row| vec![row.0.to_string()]).collect();
        if summary {
            rows.extend(["mean", "mean, low end", "mean, high end"].map(|name| vec![name.to_string()]));
        }
        let mut add = |header: String, values: Vec<f64>| {
            columns.push(Column::number(header));
            for (row, text) in rows.iter_mut().zip(cells(&values)) {
                row.push(text);
            }
        };
        for (index, model) in self.models.iter().enumerate() {
            let mut values: Vec<f64> = sorted.iter().map(|row| row.1[index].value).collect();
            if summary {
                let [low, high] = model.mean.and_then(|mean| mean.interval).unwrap_or([f64::NAN; 2]);
                values.extend([model.mean.map_or(f64::NAN, |mean| mean.value), low, high]);
            }
            add(model.name.clone(), values);
            if !model.intervals.is_empty() {
                let end = |side: usize| {
                    let ends =
                        sorted.iter().map(move |row| row.1[index].interval.map_or(f64::NAN, |i| i[side]));
                    ends.chain([f64::NAN; 3].into_iter().filter(|_| summary)).collect()
                };
                add(format!("{} low", model.name), end(0));
                add(format!("{} high", model.name), end(1));
            }
        }
        Table { columns, rows, note: String::new() }
    }

    fn reading(&self) -> String {
        let mut rows = "One row is one subject, best first; further right is better".to_string();
        if self.models.iter().any(|model| !model.intervals.is_empty()) {
            rows += ", and the bar is the interval around the score";
        }
        match self.chance.and_then(|chance| chance.threshold) {
            Some(_) => format!("{rows}, and scores in the shaded area are within chance."),
            None => format!("{rows}."),
        }
    }

    fn caution(&self) -> String {
        "Each score comes from a limited number of trials, so neighbours in this order may change places by chance.".into()
    }
}
