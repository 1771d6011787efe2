//! Classic methods, against what pyRiemann, scikit-learn and SciPy make of the same trials.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use nalgebra::DMatrix;
use ptsm_decode::classic::{
    Csp, Lda, Logistic, Regularisation, SparseEvidence, TrialMoments, Xdawn, mutual_information,
};
use ptsm_decode::registry::find;
use ptsm_decode::{NoWatch, Run, TrainingData};
use ptsm_engine::Cpu;
use ptsm_signal::covariance::{Estimator, estimate};
use ptsm_signal::spd::{TangentSpace, distance, karcher_mean, mean_log_euclid, upper};
use ptsm_signal::{Channel, Layout, SubjectId, Trial, Trials};
use serde::Deserialize;
use serde_json::Value;

use super::PeerTally;
use super::telling::PeerScript;
use crate::python::Python;

/// How far a number may be off, in parts of the largest of its array.
const PRECISION: f64 = 1e-8;
/// The same for a logistic regression that scikit-learn ends by its own tolerance, at some distance from the minimum.
const DEFAULT_SOLVER: f64 = 5e-3;
/// The same for probabilities, which have single precision.
const SINGLE: f64 = 1e-6;

#[derive(Deserialize)]
pub(super) struct Expected {
    pub(super) what: String,
    pub(super) title: String,
    pub(super) settings: Value,
    /// Names and shapes.
    arrays: Vec<(String, Vec<usize>)>,
}

pub(super) fn check(python: &Python, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("peers.py");
    // Small matrices are slower on several threads.
    script.env("OPENBLAS_NUM_THREADS", "1");
    let mut telling = PeerScript::start(script)?;
    let before = held.right;
    while let Some((expected, values)) = telling.next::<Expected>()? {
        let peer = NamedArrays::new(&expected, values);
        held.add(&expected.title, "classic".as_ref(), peer.and_then(|peer| compare(&expected, &peer)));
    }
    println!(
        "{} cases of classic methods are what pyRiemann, scikit-learn and SciPy make of them",
        held.right - before
    );
    Ok(())
}

fn compare(expected: &Expected, peer: &NamedArrays) -> Result<()> {
    let settings = expected.settings.clone();
    match &*expected.what {
        "covariances" => covariances(peer),
        "geometry" => geometry(peer),
        "csp" => csp(peer),
        "lda" => lda(peer, &settings),
        "logistic" => logistic(peer, &settings),
        "xdawn" => xdawn(peer, &settings),
        "information" => information(peer),
        "sparse" => sparse(peer),
        "decoder" => decoder(peer, &settings),
        other => bail!("`{other}` is not known here"),
    }
}

/// Arrays by name.
pub(super) struct NamedArrays(HashMap<String, (Vec<usize>, Vec<f64>)>);

impl NamedArrays {
    pub(super) fn new(expected: &Expected, values: Vec<f64>) -> Result<NamedArrays> {
        let mut rest = &values[..];
        let mut arrays = HashMap::new();
        for (name, shape) in &expected.arrays {
            let own = rest.split_off(..shape.iter().product()).context("too few values were told")?;
            arrays.insert(name.clone(), (shape.clone(), own.to_vec()));
        }
        ensure!(rest.is_empty(), "{} values more were told", rest.len());
        Ok(NamedArrays(arrays))
    }

    pub(super) fn array(&self, name: &str) -> Result<(&[usize], &[f64])> {
        let (shape, values) = self.0.get(name).with_context(|| format!("`{name}` was not told"))?;
        Ok((shape, values))
    }

    pub(super) fn values(&self, name: &str) -> Result<&[f64]> {
        Ok(self.array(name)?.1)
    }

    fn labels(&self) -> Result<Vec<u32>> {
        Ok(self.values("labels")?.iter().map(|&label| label as u32).collect())
    }

    fn classes(&self) -> Result<usize> {
        Ok(self.labels()?.into_iter().max().map_or(0, |most| most as usize + 1))
    }

    /// `[n, a, b]` as matrices.
    fn matrices(&self, name: &str) -> Result<Vec<DMatrix<f64>>> {
        let (shape, values) = self.array(name)?;
        let &[_, rows, columns] = shape else { bail!("`{name}` is {shape:?}") };
        Ok(values
            .chunks_exact(rows * columns)
            .map(|one| DMatrix::from_row_slice(rows, columns, one))
            .collect())
    }

    /// `[a, b]` as a matrix.
    fn matrix(&self, name: &str) -> Result<DMatrix<f64>> {
        let (shape, values) = self.array(name)?;
        let &[rows, columns] = shape else { bail!("`{name}` is {shape:?}") };
        Ok(DMatrix::from_row_slice(rows, columns, values))
    }

    fn is(&self, name: &str, found: impl IntoIterator<Item = f64>) -> Result<()> {
        self.within(PRECISION, name, found)
    }

    pub(super) fn within(
        &self,
        precision: f64,
        name: &str,
        found: impl IntoIterator<Item = f64>,
    ) -> Result<()> {
        let expected = self.values(name)?;
        let found: Vec<f64> = found.into_iter().collect();
        ensure!(found.len() == expected.len(), "`{name}` has {} values, not {}", found.len(), expected.len());
        let largest = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            let near = (found - expected).abs() <= precision * largest;
            ensure!(near, "value {at} of `{name}` is {found}, not {expected}");
        }
        Ok(())
    }
}

/// Values row by row.
fn by_rows(matrix: &DMatrix<f64>) -> Vec<f64> {
    matrix.transpose().as_slice().to_vec()
}

fn covariances(peer: &NamedArrays) -> Result<()> {
    let (shape, x) = peer.array("x")?;
    let (channels, one) = (shape[1], shape[1] * shape[2]);
    for (name, estimator) in
        [("scm", Estimator::Scm), ("oas", Estimator::Oas), ("lwf", Estimator::LedoitWolf)]
    {
        let found = x.chunks_exact(one).flat_map(|x| by_rows(&estimate(x, channels, estimator)));
        peer.is(name, found)?;
    }
    Ok(())
}

fn geometry(peer: &NamedArrays) -> Result<()> {
    let all = peer.matrices("covariances")?;
    let mean = karcher_mean(&all)?;
    peer.is("mean", by_rows(&mean))?;
    peer.is("log_mean", by_rows(&mean_log_euclid(&all)?))?;
    peer.is("distance", [distance(&all[0], &all[1])?])?;
    let space = TangentSpace::at(mean)?;
    let vectors = all.iter().map(|c| space.vector(c)).collect::<Result<Vec<_>, _>>()?;
    peer.is("vectors", vectors.into_iter().flatten())?;
    let labels = peer.labels()?;
    let mut means = vec![];
    for class in 0..2 {
        let own: Vec<_> =
            all.iter().zip(&labels).filter(|(_, l)| **l == class).map(|(c, _)| c.clone()).collect();
        means.push(TangentSpace::at(karcher_mean(&own)?)?);
    }
    let mut far = vec![];
    for covariance in &all {
        far.push([means[0].distance(covariance)?, means[1].distance(covariance)?]);
    }
    peer.is("distances", far.as_flattened().iter().copied())?;
    let first = far.iter().map(|[a, b]| 1.0 / (1.0 + (a * a - b * b).exp()));
    peer.is("probabilities", first.flat_map(|p| [p, 1.0 - p]))
}

fn csp(peer: &NamedArrays) -> Result<()> {
    let all = peer.matrices("covariances")?;
    let filters = peer.array("features")?.0[1];
    let csp = Csp::fit(&all, &peer.labels()?, 2, filters)?;
    let features = all.iter().map(|c| csp.features(c)).collect::<Result<Vec<_>, _>>()?;
    peer.is("features", features.iter().flat_map(|f| f.iter().copied()))
}

fn rows_of(matrix: &DMatrix<f64>) -> Vec<Vec<f64>> {
    matrix.row_iter().map(|row| row.iter().copied().collect()).collect()
}

fn lda(peer: &NamedArrays, settings: &Value) -> Result<()> {
    let features = peer.matrix("features")?;
    let shrinkage = serde_json::from_value(settings["shrinkage"].clone())?;
    let lda = Lda::fit(&features, &peer.labels()?, peer.classes()?, shrinkage)?;
    let found = rows_of(&features).iter().map(|x| lda.probabilities(x)).collect::<Result<Vec<_>, _>>()?;
    peer.is("probabilities", found.iter().flat_map(|p| p.iter().copied()))
}

fn logistic(peer: &NamedArrays, settings: &Value) -> Result<()> {
    let number = |name: &str| settings[name].as_f64().with_context(|| format!("`{name}`"));
    let regularisation = Regularisation {
        inverse_penalty: number("inverse_penalty")?,
        balanced: settings["balanced"] == true,
        tolerance: number("tolerance")?,
    };
    let features = peer.matrix("features")?;
    let found = Logistic::fit(&features, &peer.labels()?, peer.classes()?, regularisation)?;
    peer.is("weights", by_rows(&found.weights))?;
    peer.is("biases", found.biases.iter().copied())?;
    let all = rows_of(&features).iter().map(|x| found.probabilities(x)).collect::<Result<Vec<_>, _>>()?;
    peer.within(DEFAULT_SOLVER, "default_probabilities", all.iter().flat_map(|p| p.iter().copied()))
}

fn xdawn(peer: &NamedArrays, settings: &Value) -> Result<()> {
    let (shape, x) = peer.array("x")?;
    let mut moments = TrialMoments::new(peer.classes()?, shape[1], shape[2]);
    let trials = x.chunks_exact(shape[1] * shape[2]);
    for (trial, label) in trials.clone().zip(peer.labels()?) {
        moments.add(trial, label)?;
    }
    let filters = settings["filters"].as_u64().context("`filters`")?;
    let xdawn = Xdawn::fit(&moments, usize::try_from(filters)?)?;
    peer.is("filters", by_rows(&xdawn.filters))?;
    peer.is("templates", by_rows(&xdawn.templates))?;
    for (name, filtered) in [("covariances", true), ("unfiltered", false)] {
        let found = trials.clone().flat_map(|x| by_rows(&xdawn.covariance(x, filtered, Estimator::Oas)));
        peer.is(name, found)?;
    }
    Ok(())
}

fn information(peer: &NamedArrays) -> Result<()> {
    let features = peer.matrix("features")?;
    let (labels, classes) = (peer.labels()?, peer.classes()?);
    let columns = features.column_iter();
    let found =
        columns.map(|f| mutual_information(f.as_slice(), &labels, classes)).collect::<Result<Vec<_>, _>>()?;
    peer.is("told", found)
}

fn sparse(peer: &NamedArrays) -> Result<()> {
    let all = peer.matrices("matrices")?;
    let size = all[0].nrows();
    let vectors: Vec<f64> = all.iter().flat_map(upper).collect();
    let evidence =
        SparseEvidence::new(DMatrix::from_row_slice(all.len(), size * (size + 1) / 2, &vectors), size)?;
    let target = evidence.target(peer.values("y")?.to_vec())?;
    let (mut step, mut losses, mut noises) = (evidence.start(), vec![], vec![]);
    for _ in 0..peer.values("losses")?.len() {
        step = evidence.step(&step, &target)?;
        losses.push(step.loss);
        noises.push(step.noise);
    }
    peer.is("losses", losses)?;
    peer.is("noises", noises)?;
    peer.is("weights", by_rows(&step.weights))
}

fn decoder(peer: &NamedArrays, settings: &Value) -> Result<()> {
    let (shape, x) = peer.array("x")?;
    let &[_, channels, samples] = shape else { bail!("`x` is {shape:?}") };
    let layout = Layout {
        channels: (0..channels).map(|c| Channel::named(&format!("X{c}"))).collect(),
        samples,
        rate_hz: 100.0,
        start_s: 0.0,
        classes: (0..peer.classes()?).map(|k| k.to_string()).collect(),
        task: Default::default(),
    };
    let trained = peer.values("trained")?[0] as usize;
    let trial = |(i, label): (usize, u32)| {
        let subject = SubjectId(1 + u32::from(i >= trained));
        Trial { label, subject, session: 1, run: 1, cue_s: i as f64 }
    };
    let info = peer.labels()?.into_iter().enumerate().map(trial).collect();
    let trials = Trials::new(layout, x.iter().map(|v| *v as f32).collect(), info)?;
    let method = find(settings["decoder"].as_str().context("`decoder`")?)?;
    let decoder = method.build(method.settings(trials.layout(), &settings["changes"])?)?;
    let cpu = Cpu::new()?;
    let run = Run { device: &(&cpu).into(), identity: "peers" };
    let subjects = |id: u32| trials.all().only(|t| t.subject == SubjectId(id));
    let data = TrainingData::new(subjects(1), subjects(3))?;
    let fits = decoder.fit_seeds(&data, &[1], &run, &mut NoWatch)?;
    let found = fits[0].fitted.probabilities(&subjects(2))?;
    peer.within(SINGLE, "probabilities", found.into_iter().map(f64::from))
}
