//! Training a decoder into a run's folder; stopped or killed, the same request goes on where it was.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use crate::splits::Sources;
use crate::splits::Split;
use ptsm_data::SubjectList;
use ptsm_data::check::Problem;
use ptsm_decode::distillation::Distillation;
use ptsm_decode::file::{self, ModelCard, Provenance};
use ptsm_decode::registry::{Method, find};
use ptsm_decode::{
    Decoder, EnsembleMember, EpochRecord, Fit, FittedDecoder, Job, Run, TrainingData, distillation, ensemble,
};
use ptsm_io::atomic::replace;
use ptsm_signal::{Layout, SubjectId, Subset, TargetAccess};
use serde::Serialize;
use serde_json::Value;

use super::file::{DataFile, DecoderSpec, RunFile, model_name};
use crate::chance::ALPHA;
use crate::env::Env;
use crate::error::{Error, ErrorContext, Result};
use crate::folder::{Folder, LOG, MODELS};
use crate::input::{DataRequest, PreparedData, SettingsRequest, load_with_source_only};
use crate::null::balanced_accuracy_threshold;
use crate::phrases::{self, count, ids, subject_count};
use crate::scores::Scores;
use crate::settings::{TUNED_ON, without_null};
use crate::source_only::SourceOnlyData;

/// What is trained on whom.
#[derive(Clone, Debug, Default)]
pub struct TrainRequest {
    /// The data, and the subjects to learn from.
    pub data: DataRequest,
    /// Settings of the decoder and of the pipeline, alignment, seeds.
    pub settings: SettingsRequest,
    /// The decoder; `ptsm` without it.
    pub model: Option<String>,
    /// The subjects whose unlabelled trials are trained on, for decoders with such a target.
    pub target: Option<SubjectList>,
    /// The run's folder.
    pub out: PathBuf,
}

/// What training came to.
pub struct TrainingReport {
    /// The decoder's name.
    pub model: String,
    /// Whether it converts trials rather than decoding them alone.
    pub converts: bool,
    /// How many members the decoder of each seed has: more than 1 of an ensemble.
    pub ensemble: usize,
    /// From how many members the decoder of each seed is distilled; none where it learnt from labels alone.
    pub distilled_from: Option<usize>,
    /// Parameters of the decoder of each seed; of an ensemble, of all members together.
    pub parameters: usize,
    /// All settings.
    pub settings: Value,
    /// What trials are like.
    pub layout: Layout,
    /// Training trials.
    pub trials: usize,
    /// How many of them are source-only.
    pub source_only_trials: usize,
    /// What those are.
    pub source_only: Vec<SourceOnlyData>,
    /// Whose they are.
    pub train_subjects: BTreeSet<SubjectId>,
    /// Subjects held back to choose the epoch by.
    pub validation_subjects: BTreeSet<SubjectId>,
    /// Unlabelled trials of the subjects to be decoded; none where none were looked at.
    pub target_trials: Option<usize>,
    /// What is wrong or odd in the data.
    pub findings: Vec<Problem>,
    /// Whether the last epoch was kept, so that the validation subjects chose nothing.
    pub keeps_last: bool,
    /// The balanced accuracy that chance exceeds once in twenty times on the validation subjects; NaN where there is no test.
    pub chance_threshold: f64,
    /// One for each seed.
    pub fits: Vec<FitReport>,
}

/// What came of one seed.
#[derive(Clone, Debug, Serialize)]
pub struct FitReport {
    /// The seed.
    pub seed: u64,
    /// The model's file.
    pub model: PathBuf,
    /// The epoch that was kept, counted from 1; none of an ensemble.
    pub best_epoch: Option<usize>,
    /// All epochs; of an ensemble, those of all members together.
    pub epochs: usize,
    /// The members of an ensemble.
    pub members: Vec<MemberReport>,
    /// Balanced accuracy on the validation subjects; none where there are none.
    pub validation_accuracy: Option<f64>,
    /// Whether that is no better than chance; none where there is no test.
    pub at_chance: Option<bool>,
}

/// What came of one member of an ensemble.
#[derive(Clone, Debug, Serialize)]
pub struct MemberReport {
    /// The seed it was trained with.
    pub seed: u64,
    /// The epoch that was kept, counted from 1.
    pub best_epoch: Option<usize>,
    /// All its epochs.
    pub epochs: usize,
    /// Balanced accuracy on the validation subjects; none where there are none.
    pub validation_accuracy: Option<f64>,
}

impl FitReport {
    /// Which epochs were kept: `epoch 7 of 12 kept`, or of an ensemble `epochs 7, 4, 9 of its 3 members kept`. None without epochs.
    pub fn kept_epochs(&self) -> Option<String> {
        if let Some(best) = self.best_epoch {
            return Some(format!("epoch {best} of {} kept", self.epochs));
        }
        let best = self.members.iter().map(|member| member.best_epoch.map(|epoch| epoch.to_string()));
        let best = best.collect::<Option<Vec<_>>>().filter(|best| !best.is_empty())?;
        Some(format!("epochs {} of its {} members kept", best.join(", "), best.len()))
    }
}

/// Trains a decoder, or goes on with it.
pub fn train(args: &TrainRequest, env: &Env) -> Result<TrainingReport> {
    let changes = &args.settings.changes;
    let (model, seeds) =
        changes.model_and_seeds(args.model.as_deref(), args.settings.seed, args.settings.seeds)?;
    let method = find(&model)?;
    let subjects = args.data.subjects.clone().or(changes.outside("subjects")?);
    let data = DataRequest { subjects: together(&subjects, &args.target), ..args.data.clone() };
    let input = load_with_source_only(&data, &args.settings, env)?;
    let settings = changes.settings(method, input.trials.layout())?;
    let decoder = method.build(settings.clone())?;
    let target = target(args, method, &*decoder, &input)?;
    let learners = learners(&subjects, &target, &input)?;
    // A decoder that needs no validation subjects is trained on all subjects.
    let sources = match decoder.uses_validation() {
        true => Split::for_training(&learners, seeds[0])?,
        false => Sources::all(learners.clone())?,
    };
    sources.check_duplicates(&input.all_duplicates(), &target)?;
    let (train, validation) = (sources.train(&input.trials), sources.validation(&input.trials));
    let mut data = match &input.source_only {
        None => TrainingData::new(train, validation)?,
        Some(further) => {
            let (train, validation) = further.trials.join(&sources, &train, &validation);
            TrainingData::new(train, validation)?
        }
    };
    if !target.is_empty() {
        data = data.with_target(input.trials.of(&target).unlabelled());
    }
    let hashes = |subjects: &BTreeSet<SubjectId>| -> BTreeSet<String> {
        let identities = input.identities.iter().filter(|(subject, _)| subjects.contains(subject));
        identities.flat_map(|(_, identity)| identity.hashes.clone()).collect()
    };
    let mut known = hashes(&learners);
    known.extend(input.source_only.iter().flat_map(|further| further.subjects.hashes(&learners)).cloned());

    let file = RunFile {
        version: env!("CARGO_PKG_VERSION").into(),
        command: "train".into(),
        seeds: seeds.clone(),
        protocol: "train".into(),
        precision: env.device.precision().noted(),
        data: DataFile {
            name: input.name.clone(),
            with: input.with.clone(),
            task: input.trials.layout().task.clone(),
            fingerprint: input.fingerprint.clone(),
            align: input.pipeline.alignment,
            subjects: sources.train_subjects().clone(),
            validation: sources.validation_subjects().clone(),
            hashes: known,
            tuned_on: changes.outside(TUNED_ON)?.unwrap_or_default(),
            target_hashes: hashes(&target),
            target: target.clone(),
            source_only: input.source_only.as_ref().map_or(vec![], |further| further.data.clone()),
        },
        adapted: None,
        models: vec![DecoderSpec { name: method.name.into(), settings: without_null(&settings) }],
        pipeline: without_null(
            &serde_json::to_value(&input.pipeline)
                .while_doing(|| "the pipeline cannot be written down".into())?,
        ),
    };
    let folder = file.open(&args.out)?;
    folder.lock_note().into_iter().for_each(|note| env.note_once(note));
    folder.inner(MODELS)?;
    let checkpoint = |seed: u64| folder.join(&format!("checkpoint-{seed}.safetensors"));
    let checkpoints: Vec<PathBuf> =
        seeds.iter().flat_map(|&seed| distillation::checkpoints(&checkpoint(seed), &settings)).collect();
    if !checkpoints.iter().any(|checkpoint| checkpoint.exists())
        && let Some(fits) = finished(&folder, &seeds, env)
    {
        env.note("this run is finished; nothing is left to do");
        return TrainingReport::of(args, method, &settings, &input, &data, &fits);
    }
    let log = folder.join(LOG);
    let fits = {
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .while_doing(|| format!("{} cannot be written", log.display()))?;
        let mut fitting = env.watch_fits(method.name).logging(move |ended| {
            for epoch in ended {
                if let Ok(line) = serde_json::to_string(epoch) {
                    // What is lost here is written again when training ends.
                    let _ = writeln!(log, "{line}");
                }
            }
        });
        let run = Run { device: &env.device, identity: &input.fingerprint };
        let job = |&seed| Job { data: &data, seed, checkpoint: Some(checkpoint(seed)) };
        decoder.fit_all(&seeds.iter().map(job).collect::<Vec<_>>(), &run, &mut fitting)?
    };
    let mut lines = String::new();
    for epoch in fits.iter().flat_map(|f| &f.history) {
        lines += &serde_json::to_string(epoch).while_doing(|| "an epoch cannot be written down".into())?;
        lines.push('\n');
    }
    replace(&log, lines.as_bytes())?;
    for fit in &fits {
        let card = card(method, &settings, &input, &data, fit)?;
        file::save(&folder.join(&model_name(fit.seed)), &*fit.fitted, &card)?;
    }
    // The models are there: what they were made from is not needed any more.
    for checkpoint in &checkpoints {
        if let Err(e) = std::fs::remove_file(checkpoint)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            env.note(format!("note: {} could not be removed: {e}", checkpoint.display()));
        }
    }
    TrainingReport::of(args, method, &settings, &input, &data, &fits)
}

impl TrainingReport {
    fn of(
        args: &TrainRequest,
        method: &Method,
        settings: &Value,
        input: &PreparedData,
        data: &TrainingData<'_>,
        fits: &[Fit],
    ) -> Result<TrainingReport> {
        // What chance exceeds once in twenty times on the validation subjects.
        let needed = balanced_accuracy_threshold(&data.validation().class_counts(), ALPHA);
        let mut reports = vec![];
        for fit in fits {
            let members: Vec<MemberReport> =
                fit.members.iter().map(|member| of_member(fit, member)).collect();
            let of_epoch = match members.first() {
                Some(first) => first.validation_accuracy,
                None => accuracy_at(fit.history.iter(), fit.best_epoch),
            };
            let accuracy = match of_epoch {
                // What converts has a readout of its own, fitted when training has ended, and members decode together only then; the
                // scores of epochs are not of that.
                Some(_) if method.converts || !members.is_empty() => Some(balanced_accuracy(
                    &*fit.fitted,
                    data.validation(),
                    method.target_access_with(settings)?,
                )?),
                of_epoch => of_epoch,
            };
            reports.push(FitReport {
                seed: fit.seed,
                model: args.out.join(model_name(fit.seed)),
                best_epoch: fit.best_epoch,
                epochs: fit.history.len(),
                members,
                validation_accuracy: accuracy,
                at_chance: accuracy.filter(|_| needed.is_finite()).map(|accuracy| accuracy <= needed + 1e-12),
            });
        }
        Ok(TrainingReport {
            model: method.name.into(),
            converts: method.converts,
            ensemble: ensemble::size(settings)?,
            distilled_from: Distillation::of(settings)?.map(|own| own.members),
            parameters: fits[0].fitted.parameters(),
            settings: settings.clone(),
            layout: data.train().layout().clone(),
            trials: data.train().len(),
            source_only_trials: input.source_only_trials(data.train()),
            source_only: input.source_only.as_ref().map_or(vec![], |further| further.data.clone()),
            train_subjects: input.train_subjects(data.train()),
            validation_subjects: data.validation().subjects(),
            target_trials: data.target().map(|target| target.len()),
            findings: input.findings.clone(),
            keeps_last: settings.pointer("/training/select").and_then(Value::as_str) == Some("last"),
            chance_threshold: needed,
            fits: reports,
        })
    }

    /// `eegnet`, `eegnet, ensemble of 3`
    pub fn display_name(&self) -> String {
        phrases::with_variant(&self.model, phrases::variant(&self.settings).as_deref())
    }

    /// What was trained on whom, in words.
    pub fn trained_on(&self) -> String {
        let mut text = format!(
            "trained on {} of {}",
            count(self.trials, "trial"),
            subject_count(self.train_subjects.len())
        );
        if !self.source_only.is_empty() {
            let of: Vec<String> = self.source_only.iter().map(ToString::to_string).collect();
            text += &format!("; {} of them source-only, of {}", self.source_only_trials, of.join(" and "));
        }
        text += &match self.validation_subjects.len() {
            0 => "; no validation subjects held back".to_string(),
            n => {
                format!("; {} held back ({})", count(n, "validation subject"), ids(&self.validation_subjects))
            }
        };
        if let Some(target) = self.target_trials {
            text += &format!("; {} of the test subjects, unlabelled", count(target, "trial"));
        }
        text
    }

    /// Whether no seed is above chance on the validation subjects; none where there is no test.
    pub fn at_chance(&self) -> Option<bool> {
        let all: Option<Vec<bool>> = self.fits.iter().map(|fit| fit.at_chance).collect();
        all.map(|all| all.iter().all(|at_chance| *at_chance))
    }
}

/// The training subjects and the target, where both are named; without names these are all subjects.
fn together(subjects: &Option<SubjectList>, target: &Option<SubjectList>) -> Option<SubjectList> {
    match (subjects, target) {
        (Some(subjects), Some(target)) => Some(subjects.union(target)),
        (subjects, _) => subjects.clone(),
    }
}

/// The subjects whose unlabelled trials are trained on: none for a decoder that does not look at them, which is said rather than ignored.
fn target(
    args: &TrainRequest,
    method: &Method,
    decoder: &dyn Decoder,
    input: &PreparedData,
) -> Result<BTreeSet<SubjectId>> {
    let name = method.name;
    match (&args.target, decoder.learns_from_target()) {
        (Some(target), true) => input.choose(target),
        (None, false) => Ok(BTreeSet::new()),
        (None, true) => Err(Error::request(
            format!(
                "`{name}` is transductive: it trains on unlabelled trials of the target subjects, and none are named"
            ),
            "give `--target LIST`; `ptsm benchmark` takes the test subjects of each fold",
        )),
        (Some(_), false) => Err(Error::request(
            format!("`{name}` does not use target subjects in training"),
            "leave `--target` out",
        )),
    }
}

/// The subjects that are trained on with labels: those named, or all but the target.
fn learners(
    subjects: &Option<SubjectList>,
    target: &BTreeSet<SubjectId>,
    input: &PreparedData,
) -> Result<BTreeSet<SubjectId>> {
    let present = input.trials.subjects();
    let Some(subjects) = subjects else { return Ok(present.difference(target).copied().collect()) };
    let learners = input.choose(subjects)?;
    if let Some(both) = learners.intersection(target).next() {
        return Err(Error::request(
            format!("{both} is both in `--subjects` and in `--target`"),
            "target subjects are those whose labels are not trained on; name each subject in one of the two",
        ));
    }
    Ok(learners)
}

/// What a run made that ended before; none where anything is missing or damaged, which is made again.
fn finished(folder: &Folder, seeds: &[u64], env: &Env) -> Option<Vec<Fit>> {
    let log = std::fs::read_to_string(folder.join(LOG)).ok()?;
    let history: Vec<EpochRecord> = log.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
    let fit = |&seed: &u64| {
        let (fitted, card) = file::load(&folder.join(&model_name(seed)), &env.device).ok()?;
        let Provenance { best_epoch, members, .. } = card.provenance;
        let of = |seed: u64| history.iter().filter(move |e| e.seed == seed).cloned();
        let history = match members.is_empty() {
            true => of(seed).collect(),
            false => members.iter().flat_map(|member| of(member.seed)).collect(),
        };
        Some(Fit { seed, fitted: fitted.into(), history, best_epoch, members })
    };
    seeds.iter().map(fit).collect()
}

fn card(
    method: &Method,
    settings: &serde_json::Value,
    input: &PreparedData,
    data: &TrainingData<'_>,
    fit: &Fit,
) -> Result<ModelCard> {
    Ok(ModelCard {
        decoder: method.name.into(),
        settings: settings.clone(),
        layout: input.trials.layout().clone(),
        pipeline: input.pipeline.clone(),
        target_access: method.target_access_with(settings)?.and(input.access()),
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            data: input.name.clone(),
            fingerprint: input.fingerprint.clone(),
            subjects: input.train_subjects(data.train()).len(),
            validation_subjects: data.validation().subjects().len(),
            trials: data.train().len(),
            source_only_trials: input.source_only_trials(data.train()),
            seed: fit.seed,
            best_epoch: fit.best_epoch,
            members: fit.members.clone(),
        },
    })
}

/// The balanced accuracy on the validation subjects after an epoch, counted from 1.
fn accuracy_at<'a>(mut history: impl Iterator<Item = &'a EpochRecord>, epoch: Option<usize>) -> Option<f64> {
    history.nth(epoch?.checked_sub(1)?)?.validation_accuracy
}

fn of_member(fit: &Fit, member: &EnsembleMember) -> MemberReport {
    let history = fit.history.iter().filter(|e| e.seed == member.seed);
    MemberReport {
        seed: member.seed,
        best_epoch: member.best_epoch,
        epochs: history.clone().count(),
        validation_accuracy: accuracy_at(history, member.best_epoch),
    }
}

/// The balanced accuracy of a decoder on some subjects' trials, of whom it sees what its method may see; NaN where a class has none.
fn balanced_accuracy(fitted: &dyn FittedDecoder, trials: &Subset<'_>, shown: TargetAccess) -> Result<f64> {
    let adapted = fitted.with_target_access(trials, shown)?;
    let fitted = adapted.as_deref().unwrap_or(fitted);
    let classes = trials.layout().classes.len();
    Ok(Scores::of(&trials.labels(), &fitted.probabilities(trials)?, classes, 0)?.balanced_accuracy)
}
