//! Ensembles: decoders of one kind that were trained on the same trials with different seeds and decode together (deep ensembles,
//! Lakshminarayanan et al. 2017, <https://doi.org/10.48550/arXiv.1612.01474>).
//!
//! Probabilities are the softmax of the mean over members of their log-probabilities: the normalised geometric mean. Each member weighs the
//! same, and their order does not matter.
//!
//! Members disagree where they err, so that their mean is less certain than each of them although it is more often right: where members
//! are [calibrated](crate::LogitCalibration), the mean is divided by a temperature of the ensemble's own, fitted on the same validation
//! subjects. It is one number without offsets, so that decisions stay those of the mean, and mirrored trials get what the members give them.
//!
//! Any decoder in which something is random ([`Method::random`](crate::Method::random)) has the setting `ensemble`, the number of members,
//! beside its own settings; 1, or no such setting, is the single decoder. Member `i`, counted from 0, of the ensemble with seed `s` is trained
//! with the seed `s + i * 2^32` ([`member_seed`]): the first member is the single decoder of the same seed, and ensembles of different seeds
//! below 2^32 share no member.
//!
//! A model file holds all members: tensor `NAME` of member `i` is `members.i.NAME`, and `calibration.log_temperature` is of the ensemble.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptsm_signal::{Layout, Subset, Unlabelled};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use crate::calibration::LogitCalibration;
use crate::decoder::{
    Adaptation, AdaptationGuard, AdaptedDecoder, Decoder, DecoderOutput, EnsembleMember, Fit, FitSink,
    FittedDecoder, Job, OutputClass, Run, Sensitivity, TrainingData, Watch,
};
use crate::error::{Error, Result};
use crate::probabilities::{log_sum_exp, softmax};

/// The setting that says how many members there are.
pub const KEY: &str = "ensemble";
/// Every member is a decoder of its own in memory.
const MOST_MEMBERS: usize = 1000;
/// What the names of a member's tensors begin with, before its number.
const PREFIX: &str = "members.";
/// The tensor that is of no member.
const LOG_TEMPERATURE: &str = "calibration.log_temperature";

/// How many members a decoder with these settings has; 1 is a single decoder.
pub fn size(settings: &Value) -> Result<usize> {
    let Some(value) = settings.get(KEY) else { return Ok(1) };
    match value.as_u64().map(usize::try_from) {
        Some(Ok(members @ 1..=MOST_MEMBERS)) => Ok(members),
        _ => Err(Error::Configuration(format!(
            "`{KEY}` is {value}; give the number of members, from 1 (a single decoder) to {MOST_MEMBERS}"
        ))),
    }
}

/// The same, and the settings of each member.
pub(crate) fn take_size(mut settings: Value) -> Result<(usize, Value)> {
    let members = size(&settings)?;
    settings.as_object_mut().map(|settings| settings.remove(KEY));
    Ok((members, settings))
}

/// Settings of a member as those of an ensemble. A single decoder's stay as they are.
pub(crate) fn with_size(mut settings: Value, members: usize) -> Value {
    if let (Value::Object(settings), true) = (&mut settings, members > 1) {
        settings.insert(KEY.into(), members.into());
    }
    settings
}

/// The seed of a member, counted from 0, of the ensemble with a seed: `seed + member * 2^32`.
pub fn member_seed(seed: u64, member: usize) -> u64 {
    seed.wrapping_add((member as u64) << 32)
}

/// The files that a job with these settings and this [checkpoint](Job::checkpoint) continues from: that one, or of an ensemble one for each
/// member beside it.
pub fn checkpoints(checkpoint: &Path, settings: &Value) -> Vec<PathBuf> {
    match size(settings) {
        Ok(members) if members > 1 => (0..members).map(|i| member_checkpoint(checkpoint, i)).collect(),
        _ => vec![checkpoint.to_path_buf()],
    }
}

/// `seed-1.safetensors` is `seed-1.member-0.safetensors` of the first member.
pub(crate) fn member_checkpoint(checkpoint: &Path, member: usize) -> PathBuf {
    let mut name = checkpoint.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(".member-{member}"));
    if let Some(extension) = checkpoint.extension() {
        name.push(".");
        name.push(extension);
    }
    checkpoint.with_file_name(name)
}

/// A decoder that is fitted several times for each seed.
pub struct Ensemble {
    member: Box<dyn Decoder>,
    members: usize,
}

impl Ensemble {
    /// So many fits of a decoder. Whether they differ is for the decoder: something in it should be random.
    pub fn new(member: Box<dyn Decoder>, members: usize) -> Result<Ensemble> {
        match members {
            0 => Err(Error::Configuration("an ensemble needs at least 1 member, got 0".into())),
            _ => Ok(Ensemble { member, members }),
        }
    }
}

impl Decoder for Ensemble {
    /// The members of all jobs are jobs of the decoder, given to it at once.
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        let members = jobs.iter().flat_map(|job| {
            (0..self.members).map(|i| Job {
                data: job.data,
                seed: member_seed(job.seed, i),
                checkpoint: job.checkpoint.as_deref().map(|path| member_checkpoint(path, i)),
            })
        });
        let members: Vec<Job<'_>> = members.collect();
        let mut fits: Vec<Option<Fit>> = members.iter().map(|_| None).collect();
        self.member.fit(&members, run, watch, &mut |i, fit| {
            fits[i] = Some(fit);
            let job = i / self.members;
            let own = &mut fits[job * self.members..][..self.members];
            if own.iter().any(Option::is_none) {
                return Ok(());
            }
            let own = own.iter_mut().filter_map(Option::take).collect();
            done(job, together(jobs[job].data, jobs[job].seed, own)?)
        })
    }

    fn learns_from_target(&self) -> bool {
        self.member.learns_from_target()
    }

    fn uses_validation(&self) -> bool {
        self.member.uses_validation()
    }

    fn check_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<()> {
        self.member.check_unlabelled(subjects)
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        Ok(self.member.parameters(layout)?.map(|each| each * self.members))
    }
}

/// The fits of all members as one: their epochs one member after the other. Calibrated members make a calibrated ensemble.
pub(crate) fn together(data: &TrainingData<'_>, seed: u64, fits: Vec<Fit>) -> Result<Fit> {
    let members = fits.iter().map(|fit| EnsembleMember { seed: fit.seed, best_epoch: fit.best_epoch });
    let members = members.collect();
    let history = fits.iter().flat_map(|fit| fit.history.clone()).collect();
    let mut fitted = FittedEnsemble::new(fits.into_iter().map(|fit| fit.fitted).collect())?;
    if fitted.members().all(|member| member.calibration().is_some()) {
        fitted = fitted.calibrated(data.validation())?;
    }
    Ok(Fit { fitted: Arc::new(fitted), seed, history, best_epoch: None, members })
}

/// Fitted decoders that decode together.
#[derive(Clone)]
pub struct FittedEnsemble {
    /// At least one; all for the same trials.
    members: Vec<Arc<dyn FittedDecoder>>,
    /// The logarithm of the temperature that their mean is divided by, as it stands in a file; none where it is not calibrated.
    log_temperature: Option<f32>,
}

impl FittedEnsemble {
    /// Of decoders for the same trials, not calibrated.
    pub fn new(members: Vec<Arc<dyn FittedDecoder>>) -> Result<FittedEnsemble> {
        let Some(first) = members.first() else {
            return Err(Error::Configuration("an ensemble needs at least 1 member, got 0".into()));
        };
        members.iter().try_for_each(|member| first.layout().expect(member.layout()))?;
        Ok(FittedEnsemble { members, log_temperature: None })
    }

    /// The same as sure as it should be for subjects that no member was trained on: with a temperature of its own, fitted to what it says once
    /// it has been adapted to them without labels, where its members do that. As it is where there are none.
    pub fn calibrated(self, validation: &Subset<'_>) -> Result<FittedEnsemble> {
        if validation.is_empty() {
            return Ok(self);
        }
        let subjects = validation.unlabelled();
        let adapted = self.each(|_, member| member.adapt_unlabelled(&subjects))?;
        let mean = adapted.as_ref().unwrap_or(&self).mean_log_probabilities(validation)?;
        let classes = self.layout().classes.len();
        let found = LogitCalibration::fit_temperature(&mean, &validation.labels(), classes);
        Ok(FittedEnsemble { log_temperature: Some(found.temperature.ln() as f32), ..self })
    }

    /// Other members at the same temperature. Members that were adapted to a subject, each by itself, are still averaged, and still less
    /// certain together than each of them.
    fn with_members(&self, members: Vec<Box<dyn FittedDecoder>>) -> Result<FittedEnsemble> {
        let members = members.into_iter().map(Arc::from).collect();
        Ok(FittedEnsemble { log_temperature: self.log_temperature, ..FittedEnsemble::new(members)? })
    }

    /// Reads it back from a file whose header has been understood; `member` makes one of a file of its own.
    pub(crate) fn load(
        path: &Path,
        bytes: &[u8],
        members: usize,
        member: impl Fn(&[u8]) -> Result<Box<dyn FittedDecoder>>,
    ) -> Result<FittedEnsemble> {
        let (parts, log_temperature) = file_parts(path, bytes, members)?;
        let load =
            |(i, part): (usize, &Vec<u8>)| member(part).map(Arc::from).map_err(|e| of_member(e, i, members));
        let members = FittedEnsemble::new(parts.iter().enumerate().map(load).collect::<Result<_>>()?)?;
        Ok(FittedEnsemble { log_temperature, ..members })
    }

    /// The members, in the order of their seeds.
    pub fn members(&self) -> impl Iterator<Item = &dyn FittedDecoder> {
        self.members.iter().map(|member| &**member)
    }

    /// The mean over members of their log-probabilities, `[n, K]`.
    fn mean_log_probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f64>> {
        let mut mean = vec![0.0; trials.len() * self.layout().classes.len()];
        for member in &self.members {
            for (mean, p) in mean.iter_mut().zip(member.probabilities(trials)?) {
                // One that is 0 but for rounding must not silence all others.
                *mean += f64::from(p.max(f32::MIN_POSITIVE)).ln() / self.members.len() as f64;
            }
        }
        Ok(mean)
    }

    /// What the mean is divided by.
    fn temperature(&self) -> f64 {
        self.log_temperature.map_or(1.0, |log| f64::from(log).exp())
    }

    /// The same of every member, or none where one of them has no such thing.
    fn each(
        &self,
        of: impl Fn(usize, &dyn FittedDecoder) -> Result<Option<Box<dyn FittedDecoder>>>,
    ) -> Result<Option<FittedEnsemble>> {
        let members = self.members.iter().enumerate().map(|(i, member)| of(i, &**member));
        let members = members.collect::<Result<Option<Vec<_>>>>()?;
        members.map(|members| self.with_members(members)).transpose()
    }

    /// What the members say of one class for each trial, and its gradient: the means over members of the log-probability, divided by the
    /// temperature.
    fn mean_sensitivity(&self, trials: &Subset<'_>, class: OutputClass) -> Result<Option<Sensitivity>> {
        let share = (1.0 / (self.members.len() as f64 * self.temperature())) as f32;
        let mut mean: Option<Sensitivity> = None;
        for member in &self.members {
            let own = member.sensitivity(trials, DecoderOutput::LogProbability(class))?;
            let Some(own) = own else { return Ok(None) };
            let mean = mean.get_or_insert_with(|| Sensitivity {
                answers: vec![0.0; own.answers.len()],
                gradient: vec![0.0; own.gradient.len()],
            });
            mean.answers.iter_mut().zip(&own.answers).for_each(|(m, a)| *m += share * a);
            mean.gradient.iter_mut().zip(&own.gradient).for_each(|(m, g)| *m += share * g);
        }
        Ok(mean)
    }
}

impl FittedDecoder for FittedEnsemble {
    fn layout(&self) -> &Layout {
        self.members[0].layout()
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        let temperature = self.temperature();
        let logits: Vec<f64> =
            self.mean_log_probabilities(trials)?.into_iter().map(|mean| mean / temperature).collect();
        Ok(logits.chunks(self.layout().classes.len()).flat_map(softmax).map(|p| p as f32).collect())
    }

    /// Of the mean, beside what each member's own probabilities have gone through.
    fn calibration(&self) -> Option<LogitCalibration> {
        let offsets = vec![0.0; self.layout().classes.len()];
        self.log_temperature.map(|_| LogitCalibration { temperature: self.temperature(), offsets })
    }

    fn adapt_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<Option<Box<dyn FittedDecoder>>> {
        Ok(self.each(|_, member| member.adapt_unlabelled(subjects))?.map(|all| Box::new(all) as _))
    }

    /// Of all members together.
    fn parameters(&self) -> usize {
        self.members.iter().map(|member| member.parameters()).sum()
    }

    fn known_subjects(&self) -> usize {
        self.members[0].known_subjects()
    }

    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>> {
        let wrong = |e: safetensors::SafeTensorError| {
            Error::Configuration(format!("the members of the ensemble cannot be put into one file: {e}"))
        };
        let files: Vec<Vec<u8>> =
            self.members.iter().map(|member| member.to_bytes(HashMap::new())).collect::<Result<_>>()?;
        let mut tensors = vec![];
        for (i, bytes) in files.iter().enumerate() {
            let file = SafeTensors::deserialize(bytes).map_err(wrong)?;
            tensors
                .extend(file.tensors().into_iter().map(|(name, view)| (format!("{PREFIX}{i}.{name}"), view)));
        }
        let log_temperature = self.log_temperature.map(f32::to_le_bytes);
        if let Some(bytes) = &log_temperature {
            tensors
                .push((LOG_TEMPERATURE.into(), TensorView::new(Dtype::F32, vec![1], bytes).map_err(wrong)?));
        }
        safetensors::serialize(tensors, Some(header)).map_err(wrong)
    }

    /// Each member is adapted by itself. All stay as they were where leave-one-out finds no gain on average over members: what is told
    /// of it are means over members.
    fn adapt(&self, calibration: &Subset<'_>, adaptation: &Adaptation) -> Result<AdaptedDecoder> {
        let adapted = self.members.iter().map(|member| member.adapt(calibration, adaptation));
        let mut adapted: Vec<AdaptedDecoder> = adapted.collect::<Result<_>>()?;
        let trials = adapted[0].trials;
        let guard = adapted.iter().map(|one| one.guard).collect::<Option<Vec<_>>>();
        let guard = guard.map(|guards| mean_guard(&guards, trials));
        if guard.is_some_and(|guard| !guard.kept) {
            return Ok(AdaptedDecoder { fitted: Box::new(self.clone()), trials, guard });
        }
        for (adapted, member) in adapted.iter_mut().zip(&self.members) {
            // Its own guard left it as it was.
            if adapted.guard.is_some_and(|guard| !guard.kept) {
                *adapted = member.adapt(calibration, &Adaptation { guard: false, ..adaptation.clone() })?;
            }
        }
        let fitted = self.with_members(adapted.into_iter().map(|one| one.fitted).collect())?;
        Ok(AdaptedDecoder { fitted: Box::new(fitted), trials, guard })
    }

    fn convert(&self, _: &Subset<'_>, _: &Subset<'_>) -> Result<Vec<f32>> {
        Err(Error::Configuration(
            "an ensemble does not convert trials, of which each member would make others; train the converter without `--ensemble`"
                .into(),
        ))
    }

    // Values inside differ from member to member: there are none of the ensemble.

    /// Its logits are the mean log-probabilities at its temperature, which its probabilities follow from.
    fn sensitivity(&self, trials: &Subset<'_>, of: DecoderOutput) -> Result<Option<Sensitivity>> {
        let classes = self.layout().classes.len();
        let chosen: Vec<usize> = match of {
            DecoderOutput::LogProbability(OutputClass::Own) => {
                trials.labels().iter().map(|&label| label as usize).collect()
            }
            DecoderOutput::LogProbability(OutputClass::Number(class)) if class < classes => {
                vec![class; trials.len()]
            }
            // The logit; and of a class that is not there the members say so.
            other => return self.mean_sensitivity(trials, other.class()),
        };
        // log p = z - log sum exp z: from the gradient of the chosen z go those of all, weighed by how probable they are.
        let p = self.probabilities(trials)?;
        let one = self.layout().channels.len() * self.layout().samples;
        let mut gradient = vec![0.0; trials.len() * one];
        let mut logits = vec![0.0; trials.len() * classes];
        for class in 0..classes {
            let Some(of_class) = self.mean_sensitivity(trials, OutputClass::Number(class))? else {
                return Ok(None);
            };
            for (i, answer) in of_class.answers.iter().enumerate() {
                logits[i * classes + class] = f64::from(*answer);
                let weight = f32::from(chosen[i] == class) - p[i * classes + class];
                let (to, from) = (&mut gradient[i * one..][..one], &of_class.gradient[i * one..]);
                to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
            }
        }
        let answer = |(logits, &class): (&[f64], &usize)| (logits[class] - log_sum_exp(logits)) as f32;
        let answers = logits.chunks(classes).zip(&chosen).map(answer).collect();
        Ok(Some(Sensitivity { answers, gradient }))
    }

    fn with_random_parameters(&self, seed: u64) -> Result<Option<Box<dyn FittedDecoder>>> {
        let of = |i, member: &dyn FittedDecoder| member.with_random_parameters(member_seed(seed, i));
        Ok(self.each(of)?.map(|all| Box::new(all) as _))
    }
}

/// What the guards of all members found, each by the same trials.
fn mean_guard(guards: &[AdaptationGuard], trials: usize) -> AdaptationGuard {
    let mean = |of: fn(&AdaptationGuard) -> f64| guards.iter().map(of).sum::<f64>() / guards.len() as f64;
    // Trials decoded right are counted: a tie of means must stay one in spite of rounding.
    let accuracy = |of: fn(&AdaptationGuard) -> f64| {
        let right: f64 = guards.iter().map(|guard| (of(guard) * trials as f64).round()).sum();
        right / (guards.len() * trials) as f64
    };
    AdaptationGuard::weigh(
        (accuracy(|guard| guard.before_accuracy), mean(|guard| guard.before_loss)),
        (accuracy(|guard| guard.tuned_accuracy), mean(|guard| guard.tuned_loss)),
    )
}

/// The file of each member, taken from the ensemble's, and the logarithm of its temperature; none in files of programs that did not
/// calibrate ensembles.
fn file_parts(path: &Path, bytes: &[u8], members: usize) -> Result<(Vec<Vec<u8>>, Option<f32>)> {
    let wrong = |message: String| Error::file(path, message);
    let damaged = |e: safetensors::SafeTensorError| wrong(format!("is not a whole safetensors file ({e})"));
    let mut tensors: Vec<Vec<_>> = (0..members).map(|_| vec![]).collect();
    let mut log_temperature = None;
    for (name, view) in SafeTensors::deserialize(bytes).map_err(damaged)?.tensors() {
        if name == LOG_TEMPERATURE {
            let value = match (view.dtype(), <[u8; 4]>::try_from(view.data())) {
                (Dtype::F32, Ok(bytes)) => f32::from_le_bytes(bytes),
                (dtype, _) => {
                    let shape = view.shape();
                    return Err(wrong(format!("`{name}` is {dtype:?} {shape:?}, not one number of F32")));
                }
            };
            if !f64::from(value).exp().is_normal() {
                return Err(wrong(format!("`{name}` is {value}, which is no temperature's logarithm")));
            }
            log_temperature = Some(value);
            continue;
        }
        let place = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'));
        let own = place.and_then(|(i, own)| Some((tensors.get_mut(i.parse::<usize>().ok()?)?, own)));
        let Some((tensors, own)) = own else {
            return Err(wrong(format!(
                "has a tensor `{name}`, which belongs to none of its {members} members"
            )));
        };
        tensors.push((own.to_string(), view));
    }
    let files = tensors.into_iter().map(|own| safetensors::serialize(own, None).map_err(damaged));
    Ok((files.collect::<Result<_>>()?, log_temperature))
}

/// Says of which member a file is wrong.
fn of_member(error: Error, member: usize, members: usize) -> Error {
    let of = |message: String| format!("member {} of {members}: {message}", member + 1);
    match error {
        Error::File { path, message, hint } => Error::File { path, message: of(message), hint },
        Error::Engine(ptsm_engine::Error::File { path, message }) => Error::file(path, of(message)),
        other => other,
    }
}
