//! Trials, as `--data`, `--root`, `--subjects` and the pipeline say.

use std::collections::BTreeMap;

use ptsm_data::arrays::Wanted;
use ptsm_data::{Loaded, Source};
use ptsm_decode::file::Card;
use ptsm_signal::{Alignment, Pipeline, SubjectId, TargetAccess, Trials};

use crate::args::{DataArgs, SourceArgs};
use crate::commands::Session;
use crate::config::Changes;
use crate::exit::told;
use crate::load::load;

/// Trials ready to be learnt from or decoded.
pub(crate) struct Input {
    pub(crate) trials: Trials,
    pub(crate) pipeline: Pipeline,
    pub(crate) name: String,
    pub(crate) fingerprint: String,
    /// A hash of each person's trials.
    pub(crate) people: BTreeMap<SubjectId, String>,
    pub(crate) truth: Option<ptsm_data::simulate::Truth>,
}

impl Input {
    /// What preparing the trials saw of each person.
    pub(crate) fn access(&self) -> TargetAccess {
        self.pipeline.target_access()
    }

    fn new(loaded: Loaded) -> anyhow::Result<Input> {
        let Loaded { mut trials, pipeline, name, fingerprint, people, truth, .. } = loaded;
        pipeline.align(&mut trials)?;
        Ok(Input { trials, pipeline, name, fingerprint, people, truth })
    }
}

/// Trials to learn from: flags over the configuration, the source's own pipeline changed by it.
pub(crate) fn to_learn(
    data: &DataArgs,
    align: Option<Alignment>,
    changes: &Changes,
    session: &Session,
) -> anyhow::Result<Input> {
    let data = &DataArgs {
        source: SourceArgs {
            data: data.source.data.clone().or(changes.outside("data")?),
            root: data.source.root.clone().or(changes.outside("root")?),
            with: if data.source.with.is_empty() {
                changes.outside("with")?.unwrap_or_default()
            } else {
                data.source.with.clone()
            },
        },
        subjects: data.subjects.clone().or(changes.outside("subjects")?),
    };
    let source = source(&data.source)?;
    let align = align.or(changes.outside("align")?);
    let pipeline = changes.pipeline(&source.pipeline()?, align)?;
    Input::new(load(&source, Some(&pipeline), data.subjects.as_ref(), Wanted::Own, session)?)
}

/// Trials for a decoder, prepared as those it learnt from. Labels are for scoring.
pub(crate) fn for_model(
    data: &DataArgs,
    card: &Card,
    labelled: bool,
    session: &Session,
) -> anyhow::Result<Input> {
    let classes = &card.layout.classes;
    let wanted = if labelled { Wanted::Classes(classes) } else { Wanted::Unlabelled(classes) };
    let source = source(&data.source)?;
    Input::new(load(&source, Some(&card.pipeline), data.subjects.as_ref(), wanted, session)?)
}

fn source(data: &SourceArgs) -> anyhow::Result<Source> {
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
