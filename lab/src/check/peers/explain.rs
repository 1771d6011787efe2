//! Probes, distances, pictures, calibration and stability, against what scikit-learn and SciPy make of the same features and probabilities.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use ptsm_explain::{
    Binning, EmbeddingKind, Features, Intraclass, LabelledProbabilities, NEIGHBOURS, PermutationSettings,
    Probe, ProbeInput, TrialSplit, distance, embedding, identify_subjects, linear_probabilities, probe,
    shared_spectra, stability, trustworthiness,
};
use serde_json::Value;

use super::PeerTally;
use super::classic::{Expected, NamedArrays};
use super::telling::PeerScript;
use crate::python::Python;

/// How far a number may be off, in parts of the largest of its array.
const PRECISION: f64 = 1e-9;
/// The same for what a regression says, which both sides stop short of the minimum.
const REGRESSION: f64 = 1e-5;
/// The same for a temperature: its loss is flat where it is least.
const FLAT: f64 = 1e-6;
/// A picture may be so much less true than scikit-learn's, whose steps are the same only at first.
const PICTURE: f64 = 0.02;
/// Labels are not exchanged.
const NONE: PermutationSettings = PermutationSettings { draws: 0, seed: 0 };

pub(super) fn check(python: &Python, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("peers.py");
    // Small matrices are slower on several threads.
    script.env("OPENBLAS_NUM_THREADS", "1");
    let mut telling = PeerScript::start(script)?;
    let before = held.right;
    let mut largest = BTreeMap::new();
    while let Some((expected, values)) = telling.next::<Expected>()? {
        let peer = NamedArrays::new(&expected, values);
        let found = peer.and_then(|peer| compare(&expected, &peer, &mut largest));
        held.add(&expected.title, "explain".as_ref(), found);
    }
    println!(
        "{} cases of explanations are what scikit-learn and SciPy make of them; farthest apart:",
        held.right - before
    );
    for (name, difference) in largest {
        println!("  {name} {difference:.1e}");
    }
    Ok(())
}

/// The largest differences so far, by what was compared.
type Largest = BTreeMap<String, f64>;

/// Holds found values against those told, in parts of the largest of them.
fn held(
    peer: &NamedArrays,
    name: &str,
    found: impl IntoIterator<Item = f64>,
    precision: f64,
    largest: &mut Largest,
) -> Result<()> {
    let expected = peer.values(name)?;
    let found: Vec<f64> = found.into_iter().collect();
    ensure!(found.len() == expected.len(), "`{name}` has {} values, not {}", found.len(), expected.len());
    let scale = expected.iter().fold(0.0, |scale: f64, value| scale.max(value.abs()));
    let difference = found.iter().zip(expected).fold(0.0, |most: f64, (found, expected)| {
        // What is no number is as far off as can be.
        let off = (found - expected).abs();
        if off.is_nan() { f64::INFINITY } else { most.max(off) }
    });
    let difference = if difference == 0.0 { 0.0 } else { difference / scale };
    let most = largest.entry(name.to_string()).or_default();
    *most = most.max(difference);
    ensure!(difference <= precision, "`{name}` differs by {difference:e} of its largest value");
    Ok(())
}

fn compare(expected: &Expected, peer: &NamedArrays, largest: &mut Largest) -> Result<()> {
    match &*expected.what {
        "linear" => {
            read_out(peer, &expected.settings, Probe::Linear, largest)?;
            let (labels, split, features) = question(peer, &expected.settings)?;
            let ask = ProbeInput { features: &features, labels: &labels, groups: &labels, blocks: &labels };
            held(peer, "probabilities", linear_probabilities(&ask, &split)?, REGRESSION, largest)
        }
        "nonlinear" => read_out(peer, &expected.settings, Probe::Nonlinear, largest),
        "distance" => apart(peer, &expected.settings, largest),
        "shared" => in_common(peer, largest),
        "embedding" => on_paper(peer, largest),
        "calibration" => calibrated(peer, largest),
        "stability" => agreed(peer, largest),
        "identified" => {
            let found = identify_subjects(&features(peer, "one")?, &features(peer, "other")?, NONE)?;
            held(peer, "found", [found.accuracy, found.own], PRECISION, largest)
        }
        other => bail!("`{other}` is not known here"),
    }
}

fn features(peer: &NamedArrays, name: &str) -> Result<Features> {
    let (shape, values) = peer.array(name)?;
    Ok(Features::new(values, *shape.get(1).context("features are a table")?)?)
}

fn numbers(peer: &NamedArrays, name: &str) -> Result<Vec<u32>> {
    Ok(peer.values(name)?.iter().map(|&value| value as u32).collect())
}

/// Labels, the first trials to learn from, and features.
fn question(peer: &NamedArrays, settings: &Value) -> Result<(Vec<u32>, TrialSplit, Features)> {
    let labels = numbers(peer, "labels")?;
    let first = usize::try_from(settings["first"].as_u64().context("`first`")?)?;
    let split = TrialSplit { train: (0..first).collect(), test: (first..labels.len()).collect() };
    Ok((labels, split, features(peer, "x")?))
}

fn read_out(peer: &NamedArrays, settings: &Value, kind: Probe, largest: &mut Largest) -> Result<()> {
    let (labels, split, features) = question(peer, settings)?;
    let ask = ProbeInput { features: &features, labels: &labels, groups: &labels, blocks: &labels };
    let found = probe(&ask, &split, kind, NONE)?;
    held(peer, "scores", [found.accuracy, found.balanced_accuracy], PRECISION, largest)
}

fn apart(peer: &NamedArrays, settings: &Value, largest: &mut Largest) -> Result<()> {
    let divisions = usize::try_from(settings["divisions"].as_u64().context("`divisions`")?)?;
    let (source, target) = (features(peer, "source")?, features(peer, "target")?);
    let (of_source, of_target) = (numbers(peer, "of_source")?, numbers(peer, "of_target")?);
    let mut found = distance((&source, &of_source), (&target, &of_target), divisions, 0, 0)?.by_division;
    found.sort_by(f64::total_cmp);
    held(peer, "distances", found, PRECISION, largest)
}

fn in_common(peer: &NamedArrays, largest: &mut Largest) -> Result<()> {
    let one = features(peer, "one")?;
    let found = shared_spectra(&one, &features(peer, "other")?, &vec![0; one.len()], NONE)?;
    held(peer, "correlations", found.correlations.values, PRECISION, largest)?;
    held(peer, "canonical", found.canonical.values, PRECISION, largest)
}

fn on_paper(peer: &NamedArrays, largest: &mut Largest) -> Result<()> {
    let x = features(peer, "x")?;
    let found = embedding(&x, EmbeddingKind::Principal, x.len())?;
    held(peer, "points", found.points.as_flattened().iter().copied(), PRECISION, largest)?;
    held(peer, "explained", found.explained.context("shares of the variance")?, PRECISION, largest)?;
    let &[of_principal, of_neighbours] = peer.values("trustworthiness")? else { bail!("`trustworthiness`") };
    let off = (trustworthiness(&x, &found.points, NEIGHBOURS) - of_principal).abs();
    let most = largest.entry("trustworthiness".into()).or_default();
    *most = most.max(off);
    ensure!(off <= PRECISION, "trustworthiness differs by {off:e}");
    let near = embedding(&x, EmbeddingKind::Neighbours, x.len())?.trustworthiness;
    let most = largest.entry("trustworthiness of t-SNE, less than scikit-learn's".into()).or_insert(f64::MIN);
    *most = most.max(of_neighbours - near);
    ensure!(
        near >= of_neighbours - PICTURE,
        "neighbours are kept to {near}, by scikit-learn to {of_neighbours}"
    );
    Ok(())
}

fn calibrated(peer: &NamedArrays, largest: &mut Largest) -> Result<()> {
    let (shape, probabilities) = peer.array("probabilities")?;
    let predicted = LabelledProbabilities::new(probabilities, &numbers(peer, "labels")?, shape[1])?;
    let uniform = predicted.calibration(Binning::EqualWidth(10));
    let quantile = predicted.calibration(Binning::EqualMass(10));
    held(peer, "uniform", [uniform.expected_error, uniform.maximum_error], PRECISION, largest)?;
    held(peer, "quantile", [quantile.expected_error, quantile.maximum_error], PRECISION, largest)?;
    held(peer, "brier", [uniform.brier], PRECISION, largest)?;
    held(peer, "log_loss", [uniform.log_loss], PRECISION, largest)?;
    let temperature = predicted.temperature();
    held(peer, "temperature", [temperature], FLAT, largest)?;
    held(peer, "scaled", predicted.at(temperature).probabilities().iter().copied(), FLAT, largest)
}

fn agreed(peer: &NamedArrays, largest: &mut Largest) -> Result<()> {
    let (shape, table) = peer.array("table")?;
    let rows: Vec<Vec<f64>> = table.chunks(shape[1]).map(<[f64]>::to_vec).collect();
    let found = stability(&rows)?;
    let values = |of: Intraclass| [of.value, of.interval.low, of.interval.high];
    held(peer, "absolute", values(found.absolute), PRECISION, largest)?;
    held(peer, "consistent", values(found.consistent), PRECISION, largest)
}
