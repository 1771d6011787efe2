//! Statistics over subjects and data sets, against what MOABB and SciPy make of the same scores.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use ptsm_eval::{
    Chance, ComparisonMatrix, RESAMPLES, SubjectSummary, Summary, bootstrap_interval, chance_threshold,
    combined_effect, combined_p, corrected_fold_p, holm, metric,
};
use ptsm_signal::{SubjectId, TargetAccess};
use serde_json::Value;

use super::PeerTally;
use super::classic::{Expected, NamedArrays};
use super::telling::PeerScript;
use crate::python::Python;

/// How far a number may be off, in parts of itself.
const PRECISION: f64 = 1e-12;
/// Any metric of which more is better.
const METRIC: &str = "accuracy";

pub(super) fn check(python: &Python, held: &mut PeerTally) -> Result<()> {
    let mut telling = PeerScript::start(python.script("peers.py"))?;
    let before = held.right;
    while let Some((expected, values)) = telling.next::<Expected>()? {
        let peer = NamedArrays::new(&expected, values);
        held.add(&expected.title, "statistics".as_ref(), peer.and_then(|peer| compare(&expected, &peer)));
    }
    println!("{} cases of statistics are what MOABB and SciPy make of them", held.right - before);
    Ok(())
}

fn compare(expected: &Expected, peer: &NamedArrays) -> Result<()> {
    match &*expected.what {
        "table" => table(peer, &expected.settings),
        "combined" => combined(peer),
        "holm" => peer.within(PRECISION, "adjusted", holm(peer.values("p")?)),
        "folds" => folds(peer, &expected.settings),
        "chance" => chance(peer),
        "interval" => interval(peer),
        other => bail!("`{other}` is not known here"),
    }
}

/// A number that may be anything between two others. Those that were not drawn are the same.
fn between(what: &str, found: f64, least: f64, most: f64) -> Result<()> {
    let slack = if least == 0.0 { PRECISION } else { PRECISION * least.abs() };
    let near = found == least || (found >= least - slack && found <= most + slack);
    ensure!(near, "{what} is {found}, not {least} to {most}");
    Ok(())
}

/// Every pair of models on one data set or several.
fn table(peer: &NamedArrays, settings: &Value) -> Result<()> {
    let sizes = settings["sizes"].as_array().context("`sizes`")?.len();
    let mut summaries = vec![];
    for k in 0..sizes {
        let (shape, scores) = peer.array(&format!("scores{k}"))?;
        let models = shape[1];
        for model in 0..models {
            let own = scores.iter().skip(model).step_by(models);
            summaries.push(summary(format!("data{k}"), format!("model{model}"), own.copied()));
        }
    }
    let matrix = ComparisonMatrix::of(&summaries, metric(METRIC).context("the metric")?)?;
    let models = matrix.models.len();
    let [least, most, effects, subject_counts, least_all, most_all, effect_all] =
        ["least", "most", "effects", "people", "least_all", "most_all", "effect_all"]
            .map(|name| peer.values(name));
    let (least, most, effects, subject_counts) = (least?, most?, effects?, subject_counts?);
    let (least_all, most_all, effect_all) = (least_all?, most_all?, effect_all?);
    ensure!(matrix.comparisons.len() == models * (models - 1), "{} comparisons", matrix.comparisons.len());
    for c in &matrix.comparisons {
        let pair = format!("{} against {}", c.model, c.against);
        ensure!(c.data.len() == sizes, "{pair}: {} data sets", c.data.len());
        for (k, own) in c.data.iter().enumerate() {
            let at = (k * models + c.row) * models + c.column;
            let on = format!("{pair} on {}:", own.data);
            ensure!(
                own.subject_count as f64 == subject_counts[at],
                "{on} {} subjects, not {}",
                own.subject_count,
                subject_counts[at]
            );
            between(&format!("{on} p"), own.p, least[at], most[at])?;
            between(&format!("{on} effect"), own.effect, effects[at], effects[at])?;
        }
        let at = c.row * models + c.column;
        between(&format!("{pair}: p"), c.p, least_all[at], most_all[at])?;
        between(&format!("{pair}: effect"), c.effect, effect_all[at], effect_all[at])?;
    }
    Ok(())
}

/// What a matrix reads of a summary. A value that is no number is a subject that is missing.
fn summary(data: String, model: String, values: impl Iterator<Item = f64>) -> Summary {
    let subject = |(id, value): (u32, f64)| SubjectSummary {
        subject: SubjectId(id),
        n: 0,
        scores: BTreeMap::from([(METRIC.into(), value)]),
        chance_threshold: None,
        above_chance: None,
    };
    let subjects: Vec<_> = (1..).zip(values).filter(|(_, v)| v.is_finite()).map(subject).collect();
    Summary {
        data,
        model,
        variant: None,
        trained_on: None,
        tested: None,
        protocol: "loso".into(),
        target_access: TargetAccess::Nothing,
        adapt: None,
        classes: 2,
        positive_class: None,
        seeds: 1,
        records: subjects.len(),
        subjects,
        metrics: vec![],
        chance: Chance::default(),
    }
}

fn combined(peer: &NamedArrays) -> Result<()> {
    let subject_counts = peer.values("people")?;
    let with = |name: &str| -> Result<Vec<(f64, usize)>> {
        Ok(peer.values(name)?.iter().zip(subject_counts).map(|(value, n)| (*value, *n as usize)).collect())
    };
    let expected = peer.values("combined")?;
    between("p", combined_p(&with("p")?), expected[0], expected[0])?;
    // Effects may cancel out.
    let effect = combined_effect(&with("effects")?);
    ensure!((effect - expected[1]).abs() <= PRECISION, "effect is {effect}, not {}", expected[1]);
    Ok(())
}

fn folds(peer: &NamedArrays, settings: &Value) -> Result<()> {
    let trials = |name: &str| -> Result<usize> {
        Ok(usize::try_from(settings[name].as_u64().with_context(|| format!("`{name}`"))?)?)
    };
    let found = corrected_fold_p(peer.values("differences")?, trials("train")?, trials("test")?);
    peer.within(PRECISION, "p", found)
}

fn chance(peer: &NamedArrays) -> Result<()> {
    for case in peer.values("cases")?.as_chunks().0 {
        let &[n, classes, alpha, expected] = case;
        let found = chance_threshold(n as usize, 1.0 / classes, alpha);
        ensure!(
            (found - expected).abs() <= PRECISION,
            "{n} trials of {classes} classes at {alpha}: {found}, not {expected}"
        );
    }
    Ok(())
}

fn interval(peer: &NamedArrays) -> Result<()> {
    let values = peer.values("values")?;
    let found = bootstrap_interval(values, 0.95, RESAMPLES, 1).context("there is no interval")?;
    let error = peer.values("error")?[0];
    for (found, expected) in [found.low, found.high].iter().zip(peer.values("interval")?) {
        ensure!((found - expected).abs() <= error, "an end is at {found}, not {expected} within {error}");
    }
    Ok(())
}
