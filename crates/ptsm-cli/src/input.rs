//! Trials, as `--data`, `--root`, `--subjects` and the pipeline say.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_data::arrays::LabelHandling;
use ptsm_data::check::Problem;
use ptsm_data::{Duplicate, LoadedData, Source, SubjectIdentity, SubjectList};
use ptsm_decode::file::Card;
use ptsm_signal::{Alignment, Pipeline, SubjectId, TargetAccess, Trials};

use crate::args::{DataArgs, SourceArgs, TaskArgs};
use crate::commands::Session;
use crate::config::Changes;
use crate::exit::told;
use crate::folder::DataFile;
use crate::load::load;

/// Trials ready to be learnt from or decoded.
pub(crate) struct Input {
    pub(crate) trials: Trials,
    pub(crate) pipeline: Pipeline,
    pub(crate) name: String,
    pub(crate) fingerprint: String,
    /// What everybody is recognised by.
    pub(crate) people: BTreeMap<SubjectId, SubjectIdentity>,
    /// What is wrong or odd in the data.
    pub(crate) findings: Vec<Problem>,
    /// Subjects with a recording in common.
    pub(crate) duplicates: Vec<Duplicate>,
    /// Subjects that the data leave out on purpose, with the reason.
    pub(crate) excluded: Vec<(SubjectId, String)>,
    pub(crate) truth: Option<ptsm_data::simulate::Truth>,
    /// What was chosen about the data set, every choice with its value.
    pub(crate) with: BTreeMap<String, String>,
}

impl Input {
    /// What preparing the trials saw of each person.
    pub(crate) fn access(&self) -> TargetAccess {
        self.pipeline.target_access()
    }

    /// What `loaded` becomes when everything is done to it.
    fn new(source: &Source, mut loaded: LoadedData) -> anyhow::Result<Input> {
        loaded.align()?;
        let LoadedData {
            trials,
            pipeline,
            name,
            fingerprint,
            people,
            excluded,
            findings,
            duplicates,
            truth,
            ..
        } = loaded;
        let with = choices(source);
        Ok(Input { trials, pipeline, name, fingerprint, people, findings, duplicates, excluded, truth, with })
    }

    /// The listed subjects among those whose trials are here. Ranges skip subjects that the data leave out on purpose.
    pub(crate) fn choose(&self, list: &SubjectList) -> anyhow::Result<BTreeSet<SubjectId>> {
        Ok(list.skipping(&self.excluded)?.choose(&self.trials.subjects())?)
    }
}

/// Trials to learn from: flags over the configuration, the source's own pipeline changed by it.
pub(crate) fn to_learn(
    data: &DataArgs,
    align: Option<Alignment>,
    task: &TaskArgs,
    changes: &Changes,
    session: &Session,
) -> anyhow::Result<Input> {
    let data = &given(data, changes)?;
    let source = source(&data.source)?;
    let align = align.or(changes.outside("align")?);
    let pipeline = changes.pipeline(&source.pipeline()?, align)?;
    prepared(data, &pipeline, &declared(task, changes)?, session)
}

/// What is declared about the task: flags over the configuration.
pub(crate) fn declared(task: &TaskArgs, changes: &Changes) -> anyhow::Result<TaskArgs> {
    Ok(TaskArgs {
        paradigm: task.paradigm.or(changes.outside("paradigm")?),
        symmetry: task.symmetry.clone().or(changes.outside("symmetry")?),
    })
}

/// What to read: flags over the configuration.
pub(crate) fn given(data: &DataArgs, changes: &Changes) -> anyhow::Result<DataArgs> {
    Ok(DataArgs {
        source: SourceArgs {
            data: data.source.data.clone().or(changes.outside("data")?),
            root: data.source.root.clone().or(changes.outside("root")?),
            // The last one of a name counts.
            with: [changes.outside("with")?.unwrap_or_default(), data.source.with.clone()].concat(),
        },
        subjects: data.subjects.clone().or(changes.outside("subjects")?),
    })
}

/// Trials to learn from, by a pipeline.
pub(crate) fn prepared(
    data: &DataArgs,
    pipeline: &Pipeline,
    task: &TaskArgs,
    session: &Session,
) -> anyhow::Result<Input> {
    let source = source(&data.source)?;
    let loaded = load(&source, Some(pipeline), data.subjects.as_ref(), LabelHandling::Own, session)?;
    Input::new(&source, loaded.declare(task.paradigm, task.symmetry.clone())?)
}

/// Trials for a decoder, prepared as those it learnt from. Labels are for scoring.
pub(crate) fn for_model(
    data: &DataArgs,
    run: &DataFile,
    card: &Card,
    labelled: bool,
    session: &Session,
) -> anyhow::Result<Input> {
    let classes = &card.layout.classes;
    let wanted = if labelled { LabelHandling::Classes(classes) } else { LabelHandling::Unlabelled(classes) };
    let source = as_trained(&data.source, run, session)?;
    let input =
        Input::new(&source, load(&source, Some(&card.pipeline), data.subjects.as_ref(), wanted, session)?)?;
    let counts = input.trials.all().class_counts();
    for (class, _) in classes.iter().zip(&counts).filter(|(_, n)| labelled && **n == 0) {
        session.output.note(format!("note: these data have no trial of `{class}`, which the decoder knows"));
    }
    Ok(input)
}

/// The source, with the choices the decoder was trained with where it is the same data set and nothing else is chosen.
fn as_trained(data: &SourceArgs, run: &DataFile, session: &Session) -> anyhow::Result<Source> {
    let own = source(data)?;
    let now = choices(&own);
    if own.name() != run.name || now.is_empty() {
        return Ok(own);
    }
    let given = pairs(&data.with)?;
    let is_given = |name: &String| given.iter().any(|(given, _)| given == name);
    let other: Vec<String> = run
        .with
        .iter()
        .filter(|(name, value)| now.get(*name) != Some(*value))
        .map(|(n, v)| format!("{n}={v}"))
        .collect();
    let kept: Vec<(String, String)> =
        run.with.iter().filter(|(name, _)| !is_given(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    let kept = SourceArgs {
        with: kept.iter().chain(&given).map(|(name, value)| format!("{name}={value}")).collect(),
        ..data.clone()
    };
    if !other.is_empty() {
        let given: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let instead =
            if given.is_empty() { String::new() } else { format!("; given here: {}", given.join(", ")) };
        session.output.note(format!("note: the decoder was trained with {}{instead}", other.join(", ")));
    }
    source(&kept)
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

pub(crate) fn source(data: &SourceArgs) -> anyhow::Result<Source> {
    let Some(id) = &data.data else {
        return Err(told(
            "no data is named",
            "give `--data simulated`, `--data physionet-mi --root DIR` or `--data FILE.npz`; `ptsm data list` has them all",
        ));
    };
    Ok(Source::parse_with(id, data.root.as_deref(), &pairs(&data.with)?)?)
}

/// `--with NAME=VALUE`, taken apart.
pub(crate) fn pairs(with: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    with.iter()
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().into(), value.trim().into())),
            _ => Err(told(format!("`--with {pair}` has no name and value"), "write `--with classes=4`")),
        })
        .collect()
}
