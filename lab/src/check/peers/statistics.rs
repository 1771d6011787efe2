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
        let told = NamedArrays::new(&expected, values);
        held.add(&expected.title, "statistics".as_ref(), told.and_then(|told| compare(&expected, &told)));
    }
    println!("{} cases of statistics are what MOABB and SciPy make of them", held.right - before);
    Ok(())
}

fn compare(expected: &Expected, told: &NamedArrays) -> Result<()> {
    match &*expected.what {
        "table" => table(told, &expected.settings),
        "combined" => combined(told),
        "holm" => told.within(PRECISION, "adjusted", holm(told.values("p")?)),
        "folds" => folds(told, &expected.settings),
        "chance" => chance(told),
        "interval" => interval(told),
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
fn table(told: &NamedArrays, settings: &Value) -> Result<()> {
    let sizes = settings["sizes"].as_array().context("`sizes`")?.len();
    let mut summaries = vec![];
    for k in 0..sizes {
        let (shape, scores) = told.array(&format!("scores{k}"))?;
        let models = shape[1];
        for model in 0..models {
            let own = scores.iter().skip(model).step_by(models);
            summaries.push(summary(format!("data{k}"), format!("model{model}"), own.copied()));
        }
    }
    let matrix = ComparisonMatrix::of(&summaries, metric(METRIC).context("the metric")?)?;
    let models = matrix.models.len();
    let [least, most, effects, people, least_all, most_all, effect_all] =
        ["least", "most", "effects", "people", "least_all", "most_all", "effect_all"]
            .map(|name| told.values(name));
    let (least, most, effects, people) = (least?, most?, effects?, people?);
    let (least_all, most_all, effect_all) = (least_all?, most_all?, effect_all?);
    ensure!(matrix.comparisons.len() == models * (models - 1), "{} comparisons", matrix.comparisons.len());
    for c in &matrix.comparisons {
        let who = format!("{} against {}", c.model, c.against);
        ensure!(c.data.len() == sizes, "{who}: {} data sets", c.data.len());
        for (k, own) in c.data.iter().enumerate() {
            let at = (k * models + c.row) * models + c.column;
            let on = format!("{who} on {}:", own.data);
            ensure!(own.people as f64 == people[at], "{on} {} subjects, not {}", own.people, people[at]);
            between(&format!("{on} p"), own.p, least[at], most[at])?;
            between(&format!("{on} effect"), own.effect, effects[at], effects[at])?;
        }
        let at = c.row * models + c.column;
        between(&format!("{who}: p"), c.p, least_all[at], most_all[at])?;
        between(&format!("{who}: effect"), c.effect, effect_all[at], effect_all[at])?;
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
        learnt: None,
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

fn combined(told: &NamedArrays) -> Result<()> {
    let people = told.values("people")?;
    let with = |name: &str| -> Result<Vec<(f64, usize)>> {
        Ok(told.values(name)?.iter().zip(people).map(|(value, n)| (*value, *n as usize)).collect())
    };
    let wanted = told.values("combined")?;
    between("p", combined_p(&with("p")?), wanted[0], wanted[0])?;
    // Effects may cancel out.
    let effect = combined_effect(&with("effects")?);
    ensure!((effect - wanted[1]).abs() <= PRECISION, "effect is {effect}, not {}", wanted[1]);
    Ok(())
}

fn folds(told: &NamedArrays, settings: &Value) -> Result<()> {
    let trials = |name: &str| -> Result<usize> {
        Ok(usize::try_from(settings[name].as_u64().with_context(|| format!("`{name}`"))?)?)
    };
    let found = corrected_fold_p(told.values("differences")?, trials("train")?, trials("test")?);
    told.within(PRECISION, "p", found)
}

fn chance(told: &NamedArrays) -> Result<()> {
    for case in told.values("cases")?.as_chunks().0 {
        let &[n, classes, alpha, wanted] = case;
        let found = chance_threshold(n as usize, 1.0 / classes, alpha);
        ensure!(
            (found - wanted).abs() <= PRECISION,
            "{n} trials of {classes} classes at {alpha}: {found}, not {wanted}"
        );
    }
    Ok(())
}

fn interval(told: &NamedArrays) -> Result<()> {
    let values = told.values("values")?;
    let found = bootstrap_interval(values, 0.95, RESAMPLES, 1).context("there is no interval")?;
    let error = told.values("error")?[0];
    for (found, wanted) in [found.low, found.high].iter().zip(told.values("interval")?) {
        ensure!((found - wanted).abs() <= error, "an end is at {found}, not {wanted} within {error}");
    }
    Ok(())
}
