//! Training curves: accuracy on validation subjects, and every loss by its name.

use std::collections::BTreeSet;

use crate::scale::Axis;
use crate::{Figure, LineChart, Point, ReferenceLine, SectionPart, Series};
use ptsm_decode::EpochRecord;

use super::{Material, NO_RUN, SectionContent};

pub(super) fn build(m: &Material) -> SectionContent {
    if m.histories.iter().all(|(_, history)| history.is_empty()) {
        return match m.summaries.is_empty() {
            true => SectionContent::missing(NO_RUN),
            false => SectionContent::missing(
                "There is no log of training: the decoder was fitted at once, or adapted.",
            ),
        };
    }
    let mut parts: Vec<SectionPart> =
        accuracy(m).into_iter().map(|curve| SectionPart::Figure(Figure::new(curve))).collect();
    parts.extend(
        m.histories
            .iter()
            .flat_map(|(name, history)| losses(name, history))
            .map(|curve| SectionPart::Figure(Figure::new(curve))),
    );
    SectionContent::new(
        "The first curve is the accuracy on validation subjects, who are neither trained on nor scored; it decides which training epoch is kept (early stopping). The band spans the \
         seeds; towards the end there are fewer of them, because some have stopped. Losses are means over the steps of an epoch, each under its own name and before it is weighted.",
        parts,
    )
}

/// The mean over seeds of what an epoch has, with a band from the lowest to the highest.
fn course(history: &[EpochRecord], of: impl Fn(&EpochRecord) -> Option<f64>) -> Vec<Point> {
    let last = history.iter().map(|e| e.epoch).max().unwrap_or(0);
    let point = |epoch: usize| {
        let all: Vec<f64> = history.iter().filter(|e| e.epoch == epoch).filter_map(&of).collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (!all.is_empty()).then_some(Point {
            x: epoch as f64,
            y: ptsm_eval::mean(&all),
            band: (all.len() > 1).then_some([low, high]),
        })
    };
    (1..=last).filter_map(point).collect()
}

fn accuracy(m: &Material) -> Option<LineChart> {
    let series = m.histories.iter().map(|(name, history)| Series {
        name: name.clone(),
        points: course(history, |epoch| epoch.validation_accuracy),
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let level = 1.0 / m.layout.as_ref()?.classes.len() as f64;
    (!series.is_empty()).then(|| LineChart {
        title: "Validation accuracy by epoch".into(),
        x: Axis::new("epoch"),
        y: Axis::percent("balanced accuracy"),
        series,
        levels: vec![ReferenceLine { at: level, label: "chance level".into() }],
        ..LineChart::default()
    })
}

/// Losses that fit on one chart; more lines cannot be told apart.
const TOGETHER: usize = 4;

/// Every loss of a model by name, a few on each chart.
fn losses(model: &str, history: &[EpochRecord]) -> Vec<LineChart> {
    let mut names: Vec<&str> = vec![];
    let mut known = BTreeSet::new();
    for (name, _) in history.iter().flat_map(|epoch| &epoch.losses) {
        if known.insert(name.as_str()) {
            names.push(name);
        }
    }
    let charts = names.len().div_ceil(TOGETHER);
    let chart = |(i, names): (usize, &[&str])| LineChart {
        title: match charts {
            1 => format!("Losses of {model}"),
            _ => format!("Losses of {model}, {} of {charts}", i + 1),
        },
        x: Axis::new("epoch"),
        y: Axis::new("loss"),
        series: names
            .iter()
            .map(|name| Series {
                name: name.to_string(),
                points: course(history, |epoch| {
                    epoch.losses.iter().find(|(other, _)| other == name).map(|(_, loss)| *loss)
                }),
            })
            .collect(),
        ..LineChart::default()
    };
    names.chunks(TOGETHER).enumerate().map(chart).collect()
}
