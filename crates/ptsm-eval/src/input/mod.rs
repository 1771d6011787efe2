//! Trials of a data set: which data, which subjects, prepared by which pipeline.

mod load;
mod source_only;

pub use load::load;
pub use source_only::{SourceOnlyInput, SourceOnlyRequest, SourceOnlySubjects};
pub(crate) use source_only::{Study, separate};

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ptsm_data::arrays::LabelHandling;
use ptsm_data::check::Problem;
use ptsm_data::{Duplicate, LoadedData, Source, SubjectIdentity, SubjectList};
use ptsm_decode::file::ModelCard;
use ptsm_signal::{Alignment, Paradigm, Pipeline, SubjectId, Subset, Symmetry, TargetAccess, Trials};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::settings::SettingChanges;
use crate::source_only::SourceOnlyData;

/// Which data, and which of their subjects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataRequest {
    /// A name of the catalogue, `bids:DIR`, `files:MANIFEST`, a `.npz` file or a folder of them.
    pub data: Option<String>,
    /// The folder of the recordings, for data sets that are known by name.
    pub root: Option<PathBuf>,
    /// Choices about the data set, `NAME=VALUE`.
    pub with: Vec<String>,
    /// Only these subjects.
    pub subjects: Option<SubjectList>,
}

impl DataRequest {
    /// All subjects of some data.
    pub fn named(data: impl Into<String>) -> DataRequest {
        DataRequest { data: Some(data.into()), ..DataRequest::default() }
    }

    /// The same from a folder of recordings.
    pub fn at(self, root: impl Into<PathBuf>) -> DataRequest {
        DataRequest { root: Some(root.into()), ..self }
    }

    /// Only some subjects: numbers and ranges, `1-30,35`.
    pub fn subjects(self, list: &str) -> Result<DataRequest> {
        Ok(DataRequest { subjects: Some(list.parse()?), ..self })
    }

    /// The source that is named.
    pub fn source(&self) -> Result<Source> {
        let Some(id) = &self.data else {
            return Err(Error::request(
                "no data is named",
                "give `--data simulated`, `--data physionet-mi --root DIR` or `--data FILE.npz`; `ptsm data list` has them all",
            ));
        };
        Ok(Source::parse_with(id, self.root.as_deref(), &parse_pairs(&self.with)?)?)
    }

    /// What is not said here, as settings say it.
    pub fn or(&self, changes: &SettingChanges) -> Result<DataRequest> {
        Ok(DataRequest {
            data: self.data.clone().or(changes.outside("data")?),
            root: self.root.clone().or(changes.outside("root")?),
            // The last one of a name counts.
            with: [changes.outside("with")?.unwrap_or_default(), self.with.clone()].concat(),
            subjects: self.subjects.clone().or(changes.outside("subjects")?),
        })
    }
}

/// What a user decides about how epochs are prepared and decoders trained, the same for `train`, `tune` and `benchmark`.
#[derive(Clone, Debug, Default)]
pub struct SettingsRequest {
    /// What is declared about the task.
    pub task: TaskOverride,
    /// Settings of decoders and of the pipeline.
    pub changes: SettingChanges,
    /// How the epochs of each subject are aligned.
    pub align: Option<Alignment>,
    /// The first seed.
    pub seed: Option<u64>,
    /// How many seeds.
    pub seeds: Option<usize>,
    /// Trials that are only trained on.
    pub source_only: Vec<SourceOnlyRequest>,
}

impl SettingsRequest {
    /// The source-only trials that were asked for, else those of the settings.
    pub fn source_only(&self) -> Result<Vec<SourceOnlyRequest>> {
        match self.source_only.is_empty() {
            true => Ok(self.changes.outside("source_only")?.unwrap_or_default()),
            false => Ok(self.source_only.clone()),
        }
    }
}

impl From<SettingChanges> for SettingsRequest {
    fn from(changes: SettingChanges) -> SettingsRequest {
        SettingsRequest { changes, ..SettingsRequest::default() }
    }
}

/// What is declared about the task, over what the data say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskOverride {
    /// What subjects do.
    pub paradigm: Option<Paradigm>,
    /// Which classes swap when left and right are exchanged.
    pub symmetry: Option<Symmetry>,
}

impl TaskOverride {
    /// What is not said here, as settings say it.
    pub fn or(&self, changes: &SettingChanges) -> Result<TaskOverride> {
        Ok(TaskOverride {
            paradigm: self.paradigm.or(changes.outside("paradigm")?),
            symmetry: self.symmetry.clone().or(changes.outside("symmetry")?),
        })
    }
}

/// The data a decoder was trained on, as far as reading others for it depends on them.
#[derive(Clone, Copy, Debug)]
pub struct TrainingSource<'a> {
    /// The data set's name.
    pub name: &'a str,
    /// What was chosen about it.
    pub with: &'a BTreeMap<String, String>,
    /// What was trained on besides.
    pub source_only: &'a [SourceOnlyData],
}

/// Trials ready to be trained on or decoded: filtered, epoched, scaled and aligned.
pub struct PreparedData {
    /// The epochs of all subjects.
    pub trials: Trials,
    /// How recordings became epochs.
    pub pipeline: Pipeline,
    /// What the data are called.
    pub name: String,
    /// A hash of the contents and the pipeline.
    pub fingerprint: String,
    /// What each subject is recognised by.
    pub identities: BTreeMap<SubjectId, SubjectIdentity>,
    /// What is wrong or odd in the data.
    pub findings: Vec<Problem>,
    /// Subjects with a recording in common.
    pub duplicates: Vec<Duplicate>,
    /// Subjects that the data leave out on purpose, with the reason.
    pub excluded: Vec<(SubjectId, String)>,
    /// What is known of simulated data.
    pub truth: Option<ptsm_data::simulate::Truth>,
    /// What was chosen about the data set, every choice with its value.
    pub with: BTreeMap<String, String>,
    /// Trials that are only trained on; they are not among `trials`.
    pub source_only: Option<SourceOnlyInput>,
}

impl PreparedData {
    /// The target access of the pipeline: what preparing the trials saw of each subject.
    pub fn access(&self) -> TargetAccess {
        self.pipeline.target_access()
    }

    /// What `loaded` becomes when everything is done to it.
    fn new(source: &Source, mut loaded: LoadedData) -> Result<PreparedData> {
        loaded.align()?;
        let LoadedData {
            trials,
            pipeline,
            name,
            fingerprint,
            identities,
            excluded,
            findings,
            duplicates,
            truth,
            ..
        } = loaded;
        let with = choices(source);
        Ok(PreparedData {
            trials,
            pipeline,
            name,
            fingerprint,
            identities,
            findings,
            duplicates,
            excluded,
            truth,
            with,
            source_only: None,
        })
    }

    /// Subjects with a recording in common, in source-only trials too.
    pub fn all_duplicates(&self) -> Vec<Duplicate> {
        let further = self.source_only.iter().flat_map(|further| &further.duplicates);
        self.duplicates.iter().chain(further).cloned().collect()
    }

    /// How many trials of a training set are source-only.
    pub fn source_only_trials(&self, train: &Subset<'_>) -> usize {
        self.source_only.as_ref().map_or(0, |further| further.trials.count(train))
    }

    /// The subjects of a training set who are the study's.
    pub fn train_subjects(&self, train: &Subset<'_>) -> BTreeSet<SubjectId> {
        let own = self.source_only.as_ref().map(|further| further.trials.of_study(train).subjects());
        own.unwrap_or_else(|| train.subjects())
    }

    /// The listed subjects among those whose trials are here. Ranges skip subjects that the data leave out on purpose.
    pub fn choose(&self, list: &SubjectList) -> Result<BTreeSet<SubjectId>> {
        Ok(list.skipping(&self.excluded)?.choose(&self.trials.subjects())?)
    }
}

/// Trials to learn from: flags over the configuration, the source's own pipeline changed by it.
pub fn load_training_data(
    data: &DataRequest,
    align: Option<Alignment>,
    task: &TaskOverride,
    changes: &SettingChanges,
    env: &Env,
) -> Result<PreparedData> {
    let data = &data.or(changes)?;
    let align = align.or(changes.outside("align")?);
    let pipeline = changes.pipeline(&data.source()?.pipeline()?, align)?;
    load_with_pipeline(data, &pipeline, &task.or(changes)?, env)
}

/// The same with source-only trials, which are trained on beside them.
pub fn load_with_source_only(
    data: &DataRequest,
    settings: &SettingsRequest,
    env: &Env,
) -> Result<PreparedData> {
    let changes = &settings.changes;
    let data = &data.or(changes)?;
    let align = settings.align.or(changes.outside("align")?);
    let pipeline = changes.pipeline(&data.source()?.pipeline()?, align)?;
    prepare(data, &pipeline, &settings.task.or(changes)?, &settings.source_only()?, env)
}

/// Trials to learn from, by a pipeline, with source-only trials.
pub(crate) fn prepare(
    data: &DataRequest,
    pipeline: &Pipeline,
    task: &TaskOverride,
    source_only: &[SourceOnlyRequest],
    env: &Env,
) -> Result<PreparedData> {
    let source = data.source()?;
    let loaded = load(&source, Some(pipeline), data.subjects.as_ref(), LabelHandling::Own, env)?;
    let loaded = loaded.declare(task.paradigm, task.symmetry.clone())?;
    let (study, source_only) = separate(Study { loaded, data }, source_only, true, env)?;
    Ok(PreparedData { source_only, ..PreparedData::new(&source, study)? })
}

/// Trials to learn from, by a pipeline.
pub fn load_with_pipeline(
    data: &DataRequest,
    pipeline: &Pipeline,
    task: &TaskOverride,
    env: &Env,
) -> Result<PreparedData> {
    prepare(data, pipeline, task, &[], env)
}

/// Trials for a decoder, prepared as those it was trained on. Labels are for scoring. What is declared about the task is what the
/// model card declares, so that a decoder trained on these trials, such as one with shuffled labels, is mirrored as the first was.
pub fn load_for_decoder(
    data: &DataRequest,
    trained_on: TrainingSource<'_>,
    card: &ModelCard,
    labelled: bool,
    env: &Env,
) -> Result<PreparedData> {
    let classes = &card.layout.classes;
    let label_handling =
        if labelled { LabelHandling::Classes(classes) } else { LabelHandling::Unlabelled(classes) };
    let source = as_trained(data, trained_on, env)?;
    let loaded = load(&source, Some(&card.pipeline), data.subjects.as_ref(), label_handling, env)?;
    let input = PreparedData::new(&source, without_source_only(loaded, trained_on, env)?)?;
    let trials = input.trials.with_task(card.layout.task.clone())?;
    let input = PreparedData { trials, ..input };
    let counts = input.trials.all().class_counts();
    for (class, _) in classes.iter().zip(&counts).filter(|(_, n)| labelled && **n == 0) {
        env.note(format!("note: these data have no trial of `{class}`, which the decoder knows"));
    }
    Ok(input)
}

/// Data without the sessions and runs that the decoder's study had for training only: they are scored in nobody.
fn without_source_only(loaded: LoadedData, run: TrainingSource<'_>, env: &Env) -> Result<LoadedData> {
    let taken: Vec<&SourceOnlyData> = run.source_only.iter().filter(|data| data.taken_out).collect();
    if taken.is_empty() || loaded.name != run.name {
        return Ok(loaded);
    }
    let kept = loaded.only(|trial| !taken.iter().any(|data| data.units.contains(trial)))?;
    if kept.trials.is_empty() {
        return Err(Error::request(
            "all of these trials are of sessions and runs that the decoder had for training only",
            "give data with other sessions and runs",
        ));
    }
    let units: Vec<String> = taken.iter().map(|data| data.units.to_string()).collect();
    env.note(format!("note: {} is source-only for this decoder and left out", units.join(", ")));
    Ok(kept)
}

/// The source, with the choices the decoder was trained with where it is the same data set and nothing else is chosen.
fn as_trained(data: &DataRequest, run: TrainingSource<'_>, env: &Env) -> Result<Source> {
    let own = data.source()?;
    let now = choices(&own);
    if own.name() != run.name || now.is_empty() {
        return Ok(own);
    }
    let given = parse_pairs(&data.with)?;
    let is_given = |name: &String| given.iter().any(|(given, _)| given == name);
    let other: Vec<String> = run
        .with
        .iter()
        .filter(|(name, value)| now.get(*name) != Some(*value))
        .map(|(n, v)| format!("{n}={v}"))
        .collect();
    let kept: Vec<(String, String)> =
        run.with.iter().filter(|(name, _)| !is_given(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    let kept = DataRequest {
        with: kept.iter().chain(&given).map(|(name, value)| format!("{name}={value}")).collect(),
        ..data.clone()
    };
    if !other.is_empty() {
        let given: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let instead =
            if given.is_empty() { String::new() } else { format!("; given here: {}", given.join(", ")) };
        env.note(format!("note: the decoder was trained with {}{instead}", other.join(", ")));
    }
    kept.source()
}

/// What was chosen about a data set; nothing where there is nothing to choose.
fn choices(source: &Source) -> BTreeMap<String, String> {
    match source {
        Source::Recordings(recordings) => {
            recordings.options().iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// `--with NAME=VALUE`, taken apart.
pub fn parse_pairs(with: &[String]) -> Result<Vec<(String, String)>> {
    with.iter()
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().into(), value.trim().into())),
            _ => Err(Error::request(
                format!("`--with {pair}` has no name and value"),
                "write `--with classes=4`",
            )),
        })
        .collect()
}
