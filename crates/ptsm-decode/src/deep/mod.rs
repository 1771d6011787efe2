//! Networks as decoders: settings in, trained, applied.

mod convert;
mod few_shot;
mod head;
mod norms;
mod predictor;
mod sensitivity;

use std::collections::HashMap;
use std::path::Path;

use ptsm_engine::{Device, Feed, Graph, Id, Init, Mode, Parameters, Program, Tensor, tensor_names};
use ptsm_signal::{Layout, Subset};

use crate::calibration::LogitCalibration;
use crate::decoder::{
    Adaptation, AdaptationWay, AdaptedDecoder, Decoder, DecoderOutput, FitSink, FittedDecoder, Job, Run,
    Sensitivity, Watch,
};
use crate::error::{Error, Result};
use crate::head_adaptation::HeadPrior;
use crate::mirror::Mirror;
use crate::network::{Batches, Network, TrialBatch};
use crate::probabilities::softmax;
use crate::training::{INFERENCE_BATCH, Recipe, TeacherTargets, padded, shape, signals, train};
pub(crate) use norms::{FittedNorms, NormRecipe};
use predictor::Predictor;

impl Decoder for Recipe {
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        self.fit_taught(None, jobs, run, watch, done)
    }

    fn learns_from_target(&self) -> bool {
        self.network.batches() == Batches::WithTarget
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        let network = self.network.build(shape(layout, 0).batch(2))?;
        Ok(Some(trainable_numbers(network.graph.tensors())))
    }
}

impl Recipe {
    /// Fits the network once per job, from a teacher beside the labels where there is one.
    pub(crate) fn fit_taught(
        &self,
        teacher: Option<&TeacherTargets>,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        fit_networks((self, teacher), jobs, run, watch, done, |network, validation| {
            let calibrated = if self.training.calibrate { network.calibrated(validation)? } else { network };
            calibrated.with_head_prior(validation)
        })
    }
}

/// Trains networks by their recipe; `finish` makes decoders of them, by their validation subjects.
fn fit_networks<F: FittedDecoder + 'static>(
    (recipe, teacher): (&Recipe, Option<&TeacherTargets>),
    jobs: &[Job<'_>],
    run: &Run<'_>,
    watch: &mut dyn Watch,
    done: &mut FitSink<'_>,
    finish: impl Fn(FittedNetwork, &Subset<'_>) -> Result<F>,
) -> Result<()> {
    train((recipe, teacher), jobs, run, watch, &mut |job, trained| {
        let train = jobs[job].data.train();
        let layout = train.layout();
        let mirror = recipe.decoding_mirror(layout)?;
        let fit = trained.into_fit(|parameters| {
            let network = FittedNetwork {
                recipe: recipe.clone(),
                layout: layout.clone(),
                subjects: train.subjects().len(),
                parameters,
                mirror,
                stages: LogitStages::default(),
                device: run.device.clone(),
                predictors: Predictors::default(),
            };
            let mut fitted = if recipe.training.keep_subjects { network } else { network.released()? };
            fitted.fit_readout(train)?;
            finish(fitted, jobs[job].data.validation())
        })?;
        done(job, fit)
    })
}

/// Numbers that training moves.
fn trainable_numbers(tensors: &[Tensor]) -> usize {
    tensors.iter().filter(|t| t.trainable).map(|t| t.shape.iter().product::<usize>()).sum()
}

/// How many rows of a trained tensor become the released one: all subjects' where it has one for each of them, otherwise the tensor is
/// the same. Any other shape is refused.
fn entries_per_subject(released: &Tensor, trained: &[usize], subjects: usize) -> Result<usize> {
    if trained == released.shape {
        return Ok(1);
    }
    match (trained, &released.shape[..]) {
        ([rows, rest @ ..], [1, released @ ..]) if *rows == subjects && rest == released => Ok(subjects),
        _ => Err(Error::Configuration(format!(
            "`{}` is {trained:?} in training and {:?} afterwards; only a row for each of {subjects} subjects may become their mean",
            released.name, released.shape
        ))),
    }
}

/// A trained network.
#[derive(Clone)]
pub struct FittedNetwork {
    recipe: Recipe,
    pub(crate) layout: Layout,
    /// Training subjects it can still tell apart; 0 once released.
    subjects: usize,
    pub(crate) parameters: Parameters<f32>,
    /// What exchanges the sides of the head, where it sees every trial from both.
    mirror: Option<Mirror>,
    stages: LogitStages,
    pub(crate) device: Device,
    predictors: Predictors,
}

/// Compiled programs of a network, which decoders that differ in their numbers alone share.
#[derive(Clone, Default)]
struct Predictors {
    /// Its logits.
    logits: Predictor,
    /// Its logits and its features.
    features: Predictor,
    /// Logits of the copies whose heads are adapted.
    adapted: Predictor,
}

/// What stands behind a network in its prediction graph and in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogitStages {
    /// Its logits go through a temperature and offsets.
    calibrated: bool,
    /// It knows by how much subjects differ, for the adaptation of its head. Nothing that is computed depends on it.
    head_prior: bool,
    /// Its head is adapted to a subject.
    head_shift: bool,
    /// It knows how fast batch norms adapt. Nothing that is computed depends on it.
    norm_prior: bool,
}

/// The temperature and the offsets of a calibrated network, as they are named in its file.
const LOG_TEMPERATURE: &str = "calibration.log_temperature";
const OFFSETS: &str = "calibration.offsets";
/// By how much subjects differ, and what features are like in them.
const HEAD_PRIOR: &str = "head_prior.deviations";
const FEATURE_MEAN: &str = "head_prior.feature_mean";
const FEATURE_SCALE: &str = "head_prior.feature_scale";
/// How much one trial of a subject weighs against the source's batch-norm statistics, `1 / n0`; 0 where they stay as they are.
const NORM_PRIOR: &str = "norm_prior.trial_weight";
/// What was added for one subject.
const SHIFT_SCALE: &str = "head_shift.scale";
const SHIFT_BIAS: &str = "head_shift.bias";
const SHIFT_WEIGHT: &str = "head_shift.weight";

impl FittedNetwork {
    /// Reads it back from a file whose header has been understood.
    pub(crate) fn load(
        (path, bytes): (&Path, &[u8]),
        recipe: Recipe,
        layout: &Layout,
        subjects: usize,
        device: &Device,
    ) -> Result<FittedNetwork> {
        let names = tensor_names(path, bytes)?;
        let is_there = |name: &str| names.iter().any(|own| own == name);
        let stages = LogitStages {
            calibrated: is_there(LOG_TEMPERATURE),
            head_prior: is_there(HEAD_PRIOR),
            head_shift: is_there(SHIFT_SCALE),
            norm_prior: is_there(NORM_PRIOR),
        };
        let mirror = recipe.decoding_mirror(layout)?;
        let network = build(&recipe, layout, subjects, (mirror.as_ref(), stages), 2)?;
        Ok(FittedNetwork {
            parameters: Parameters::from_bytes(&network.graph, 0, path, bytes)?,
            recipe,
            layout: layout.clone(),
            subjects,
            mirror,
            stages,
            device: device.clone(),
            predictors: Predictors::default(),
        })
    }

    /// The same decoder without anything that has one entry per training subject: the subject branch is dropped, a
    /// table of personal biases becomes its mean, which is what unseen subjects get.
    fn released(&self) -> Result<FittedNetwork> {
        let network = FittedNetwork { subjects: 0, ..self.clone() }.build(2)?;
        let mut kept = Parameters::new(&network.graph, &[0])?;
        let released: Vec<_> = kept.tensors().to_vec();
        for tensor in released {
            let trained = self.parameters.tensors().iter().find(|t| t.name == tensor.name);
            let trained = trained.map_or(&[][..], |t| &t.shape);
            let rows = entries_per_subject(&tensor, trained, self.subjects)?;
            let length = tensor.shape.iter().product::<usize>();
            let mut mean = vec![0.0; length];
            for row in self.parameters.get(0, &tensor.name)?.chunks(length) {
                mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / rows as f32);
            }
            kept.set(0, &tensor.name, &mean)?;
        }
        Ok(FittedNetwork { subjects: 0, ..self.with(kept) })
    }

    /// Fits the last stage of a network that has one, on the trials it was trained on.
    fn fit_readout(&mut self, train: &Subset<'_>) -> Result<()> {
        let Some(readout) = self.recipe.network.readout() else { return Ok(()) };
        let values = self.intermediate_values(train, &[readout.value])?.and_then(|mut all| all.pop());
        let Some(values) = values else {
            let name = self.recipe.network.name();
            return Err(Error::Configuration(format!(
                "`{name}` reads out `{}`, which it does not have",
                readout.value
            )));
        };
        (readout.fit)(&mut self.parameters, &values, &train.labels(), self.layout.classes.len())
    }

    /// The same decoder as sure as it should be for subjects that it was not trained on; as it is where there are none.
    fn calibrated(self, validation: &Subset<'_>) -> Result<FittedNetwork> {
        if validation.is_empty() {
            return Ok(self);
        }
        let logits: Vec<f64> = self.logits(validation)?.into_iter().map(f64::from).collect();
        self.with_calibration(&self.calibration_for(&logits, &validation.labels()))
    }

    /// The calibration that fits logits of trials with known classes, of which there is at least one.
    fn calibration_for(&self, logits: &[f64], labels: &[u32]) -> LogitCalibration {
        let exchanged = self.mirror.as_ref().map(|mirror| &mirror.classes[..]);
        LogitCalibration::fit(logits, labels, self.layout.classes.len(), exchanged)
    }

    /// The same decoder with its logits calibrated.
    fn with_calibration(&self, fitted: &LogitCalibration) -> Result<FittedNetwork> {
        let offsets: Vec<f32> = fitted.offsets.iter().map(|&b| b as f32).collect();
        let stages = LogitStages { calibrated: true, ..self.stages };
        self.with_stages(stages, &[(LOG_TEMPERATURE, &[fitted.temperature.ln() as f32]), (OFFSETS, &offsets)])
    }

    /// The same decoder with more behind its network.
    fn with_stages(&self, stages: LogitStages, values: &[(&str, &[f32])]) -> Result<FittedNetwork> {
        let staged = FittedNetwork { stages, predictors: Predictors::default(), ..self.clone() };
        let mut parameters = Parameters::new(&staged.build(2)?.graph, &[0])?;
        for tensor in self.parameters.tensors() {
            parameters.set(0, &tensor.name, self.parameters.get(0, &tensor.name)?)?;
        }
        values.iter().try_for_each(|(name, values)| parameters.set(0, name, values))?;
        Ok(FittedNetwork { parameters, ..staged })
    }

    /// The same network with other numbers.
    pub(crate) fn with(&self, parameters: Parameters<f32>) -> FittedNetwork {
        FittedNetwork { parameters, ..self.clone() }
    }

    /// The network for so many trials at once: all that lies between a trial and its logits.
    pub(crate) fn build(&self, trials: usize) -> Result<Network> {
        build(&self.recipe, &self.layout, self.subjects, (self.mirror.as_ref(), self.stages), trials)
    }

    /// Logits `[n, K]`.
    fn logits(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        self.layout.expect(trials.layout())?;
        let logits = |size: usize| {
            let network = self.build(size)?;
            Ok((network.graph, [network.logits]))
        };
        let [logits] = self.predictors.logits.values(trials, &self.parameters, &self.device, logits)?;
        Ok(logits)
    }
}

/// The network of a recipe with what is done to its logits: the mean of both views where there is a mirror, and calibration.
fn build(
    recipe: &Recipe,
    layout: &Layout,
    subjects: usize,
    (mirror, stages): (Option<&Mirror>, LogitStages),
    trials: usize,
) -> Result<Network> {
    let mut network = recipe.network.build(TrialBatch { mirror, ..shape(layout, subjects).batch(trials) })?;
    if stages.calibrated {
        network.logits = calibration(&mut network.graph, network.logits)?;
    }
    let features = network.task_features();
    if stages.head_prior {
        head_prior(&mut network.graph, features)?;
    }
    if stages.head_shift {
        network.logits = head_shift(&mut network.graph, network.logits, features)?;
    }
    if stages.norm_prior {
        network.graph.statistic(NORM_PRIOR, &[1], Init::Constant(0.0))?;
    }
    Ok(network)
}

/// Numbers of a value for each trial.
fn width(g: &Graph, id: Id) -> usize {
    g.shape(id)[1..].iter().product()
}

/// What the adaptation of the head goes by: nothing that is computed depends on it.
fn head_prior(g: &mut Graph, features: Option<Id>) -> Result<()> {
    g.statistic(HEAD_PRIOR, &[3], Init::Constant(0.0))?;
    if let Some(features) = features {
        let width = width(g, features);
        g.statistic(FEATURE_MEAN, &[width], Init::Constant(0.0))?;
        g.statistic(FEATURE_SCALE, &[width], Init::Constant(1.0))?;
    }
    Ok(())
}

/// `s z + b + W phi`
fn head_shift(g: &mut Graph, logits: Id, features: Option<Id>) -> Result<Id> {
    let classes = g.shape(logits)[1];
    let scale = g.statistic(SHIFT_SCALE, &[1], Init::Constant(1.0))?;
    let bias = g.statistic(SHIFT_BIAS, &[classes], Init::Constant(0.0))?;
    let scaled = g.mul(logits, scale)?;
    let Some(features) = features else { return Ok(g.add(scaled, bias)?) };
    let flat = g.flatten(features)?;
    let weight = g.statistic(SHIFT_WEIGHT, &[classes, width(g, flat)], Init::Constant(0.0))?;
    let own = g.linear(flat, weight, Some(bias))?;
    Ok(g.add(scaled, own)?)
}

/// `(z - b) / T`
fn calibration(g: &mut Graph, logits: Id) -> Result<Id> {
    let classes = g.shape(logits)[1];
    let offsets = g.statistic(OFFSETS, &[classes], Init::Constant(0.0))?;
    let log_temperature = g.statistic(LOG_TEMPERATURE, &[1], Init::Constant(0.0))?;
    let inverse = g.negate(log_temperature)?;
    let inverse = g.exp(inverse)?;
    let centred = g.sub(logits, offsets)?;
    Ok(g.mul(centred, inverse)?)
}

impl FittedDecoder for FittedNetwork {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        let classes = self.layout.classes.len();
        Ok(self.logits(trials)?.chunks(classes).flat_map(softmax).collect())
    }

    fn calibration(&self) -> Option<LogitCalibration> {
        let of =
            |name: &str| Some(self.parameters.get(0, name).ok()?.iter().map(|&v| f64::from(v)).collect());
        let (log_temperature, offsets): (Vec<f64>, Vec<f64>) = (of(LOG_TEMPERATURE)?, of(OFFSETS)?);
        Some(LogitCalibration { temperature: log_temperature[0].exp(), offsets })
    }

    fn parameters(&self) -> usize {
        trainable_numbers(self.parameters.tensors())
    }

    fn known_subjects(&self) -> usize {
        self.subjects
    }

    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>> {
        Ok(self.parameters.to_bytes(0, header)?)
    }

    fn adapt(&self, calibration: &Subset<'_>, adaptation: &Adaptation) -> Result<AdaptedDecoder> {
        self.layout.expect(calibration.layout())?;
        adaptation.check()?;
        if self.stages.head_shift {
            return Err(Error::Configuration(
                "this decoder is adapted to a subject already; adapt the one it was made from".into(),
            ));
        }
        match adaptation.how {
            AdaptationWay::Head => head::adapt(self, calibration),
            AdaptationWay::Masks | AdaptationWay::All => few_shot::adapt(self, calibration, adaptation),
        }
    }

    fn head_prior(&self) -> Option<HeadPrior> {
        self.stages.head_prior.then(|| self.own_head_prior()).and_then(Result::ok)
    }

    fn convert(&self, trials: &Subset<'_>, subject: &Subset<'_>) -> Result<Vec<f32>> {
        convert::convert(self, trials, subject)
    }

    fn intermediate_values(&self, trials: &Subset<'_>, names: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        self.layout.expect(trials.layout())?;
        let network = self.build(INFERENCE_BATCH)?;
        let ids: Option<Vec<Id>> = names.iter().map(|name| network.value(name)).collect();
        let Some(ids) = ids else { return Ok(None) };
        let mut program: Program<f32> = Program::new(&network.graph, Mode::Infer, &ids, 1, &self.device)?;
        let mut read = vec![vec![]; ids.len()];
        for rows in trials.rows().chunks(INFERENCE_BATCH) {
            let slices = signals(trials.set(), &padded(rows));
            program.run(&self.parameters, &[("x", Feed::Slices(&slices))])?;
            for (i, read) in read.iter_mut().enumerate() {
                let values = program.output(&self.parameters, 0, i);
                read.extend_from_slice(&values[..values.len() / INFERENCE_BATCH * rows.len()]);
            }
        }
        Ok(Some(read))
    }

    fn sensitivity(&self, trials: &Subset<'_>, of: DecoderOutput) -> Result<Option<Sensitivity>> {
        sensitivity::of_network(self, trials, of).map(Some)
    }

    fn with_random_parameters(&self, seed: u64) -> Result<Option<Box<dyn FittedDecoder>>> {
        let mut randomised = Parameters::new(&self.build(2)?.graph, &[seed])?;
        // Statistics are measured, not learnt.
        for tensor in self.parameters.tensors().iter().filter(|t| !t.trainable) {
            randomised.set(0, &tensor.name, self.parameters.get(0, &tensor.name)?)?;
        }
        Ok(Some(Box::new(self.with(randomised))))
    }
}

#[cfg(test)]
mod tests {
    use ptsm_engine::{Graph, Init};

    use super::*;

    #[test]
    fn only_a_row_for_each_subject_becomes_a_mean() {
        let mut g = Graph::new();
        g.parameter("table", &[1, 3], Init::Constant(0.0)).unwrap();
        let released = &g.tensors()[0];
        let rows = |trained: &[usize]| entries_per_subject(released, trained, 7);
        assert_eq!((rows(&[1, 3]).unwrap(), rows(&[7, 3]).unwrap()), (1, 7));
        for other in [&[6, 3][..], &[7, 6], &[21], &[]] {
            assert!(rows(other).unwrap_err().to_string().contains("`table`"), "{other:?}");
        }
    }
}
