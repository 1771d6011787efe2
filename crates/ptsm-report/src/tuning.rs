//! Figures of a search for settings: the score against each key that was tried.

use ptsm_eval::tuning::{TuningResults, text};
use ptsm_eval::{Dimension, SettingValues, TuningTrial, mean};

use crate::scale::Axis;
use crate::{DotPlot, Drawing, LineChart, ModelScores, Point, Series, svg};

/// A list whose largest value is so many times its smallest is drawn by its logarithms.
const WIDE: f64 = 50.0;

/// Trials that may be compared: one round of one search.
struct TrialGroup<'a> {
    name: String,
    trials: Vec<&'a TuningTrial>,
}

/// A figure for each key, with its file's name.
pub fn tuning_figures(results: &TuningResults<'_>) -> Vec<(String, String)> {
    let groups = groups(results);
    let figure = |(i, dimension): (usize, &Dimension)| {
        let svg = match logarithmic(results, i, dimension) {
            Some(logarithmic) => standalone(&curve(results, &groups, i, dimension, logarithmic)),
            None => standalone(&dots(results, &groups, i, dimension)),
        };
        (format!("trials-{}.svg", dimension.key), svg)
    };
    results.candidates.space.iter().enumerate().map(figure).collect()
}

fn standalone(drawing: &impl Drawing) -> String {
    svg::standalone(&drawing.svg("trials"))
}

/// Rounds of the only search; of several searches, the round of all candidates.
fn groups<'a>(results: &'a TuningResults<'_>) -> Vec<TrialGroup<'a>> {
    let mut groups = vec![];
    for found in &results.found {
        for rung in &found.rungs {
            let (place, of) = rung.place;
            let name = match &found.tested {
                Some(_) if place > 1 => continue,
                Some(tested) => format!("fold {}", tested.fold),
                None => format!("round {place} of {of}"),
            };
            let trials = found.trials.iter().filter(|t| t.rung == place && t.mean().is_some()).collect();
            groups.push(TrialGroup { name, trials });
        }
    }
    groups
}

/// Whether a key's numbers are drawn by their logarithms; none where they are no numbers.
fn logarithmic(results: &TuningResults<'_>, i: usize, dimension: &Dimension) -> Option<bool> {
    let numbers: Option<Vec<f64>> = results.candidates.all.iter().map(|c| c.values[i].as_f64()).collect();
    let numbers = numbers?;
    let (low, high) = numbers.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &x| (a.min(x), b.max(x)));
    let wide = low > 0.0 && high > WIDE * low;
    Some(matches!(dimension.values, SettingValues::Logarithmic(..)) || wide)
}

fn curve(
    results: &TuningResults<'_>,
    groups: &[TrialGroup<'_>],
    i: usize,
    dimension: &Dimension,
    logarithmic: bool,
) -> LineChart {
    let place = |trial: &TuningTrial| {
        let value = results.values(trial)[i].as_f64().unwrap_or(f64::NAN);
        if logarithmic { value.log10() } else { value }
    };
    let series = |group: &TrialGroup<'_>| {
        let mut points: Vec<(f64, f64)> =
            group.trials.iter().filter_map(|trial| Some((place(trial), trial.mean()?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Candidates with the same value: their mean, and from the worst to the best.
        let point = |same: &[(f64, f64)]| {
            let scores: Vec<f64> = same.iter().map(|(_, score)| *score).collect();
            let ends =
                scores.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], &s| [a.min(s), b.max(s)]);
            Point { x: same[0].0, y: mean(&scores), band: Some(ends) }
        };
        Series { name: group.name.clone(), points: points.chunk_by(|a, b| a.0 == b.0).map(point).collect() }
    };
    let key = &dimension.key;
    LineChart {
        title: format!("{} by {key}", results.metric.name),
        x: Axis::new(if logarithmic { format!("log10 of {key}") } else { key.clone() }),
        y: axis(results),
        series: groups.iter().map(series).collect(),
        ..LineChart::default()
    }
}

fn dots(results: &TuningResults<'_>, groups: &[TrialGroup<'_>], i: usize, dimension: &Dimension) -> DotPlot {
    let mut values: Vec<String> = results.candidates.all.iter().map(|c| text(&c.values[i])).collect();
    values.sort_unstable();
    values.dedup();
    let scores = |group: &TrialGroup<'_>| {
        let of = |value: &String| {
            let own = group.trials.iter().filter(|trial| text(&results.values(trial)[i]) == *value);
            (value.clone(), mean(&own.filter_map(|trial| trial.mean()).collect::<Vec<_>>()))
        };
        ModelScores {
            name: group.name.clone(),
            subjects: values.iter().map(of).collect(),
            ..ModelScores::default()
        }
    };
    DotPlot {
        title: format!("{} by {}", results.metric.name, dimension.key),
        axis: axis(results),
        models: groups.iter().map(scores).collect(),
        chance: None,
    }
}

fn axis(results: &TuningResults<'_>) -> Axis {
    let name = results.metric.name.replace('_', " ");
    if results.metric.more_is_better { Axis::percent(format!("{name} (%)")) } else { Axis::new(name) }
}
