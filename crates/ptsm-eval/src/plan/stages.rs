//! From a plan to stages: trials of one kind, and everything that is fitted to them.

use std::collections::{BTreeMap, BTreeSet};

use crate::splits::Protocol;
use ptsm_data::arrays::LabelHandling;
use ptsm_data::{Duplicate, LoadedData, Source, SubjectIdentity, SubjectList};
use ptsm_decode::distillation::Distillation;
use ptsm_decode::registry::{Method, find};
use ptsm_decode::{distillation, ensemble, norms, recentring};
use ptsm_signal::{Layout, Pick, Pipeline, SubjectId, Trials};
use serde_json::json;

use super::{DataPlan, EntryPlan, Plan};
use crate::benchmark::{DecoderEntry, Division, FitItem, Stage, StageTrials};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::input::{DataRequest, Study, load, separate};
use crate::phrases;
use crate::settings::{SettingChanges, seeds};
use crate::source_only::SourceOnlyTrials;

/// Trials of one kind and who learns from them, before anything is read.
pub struct StagePlan<'a> {
    plan: &'a Plan,
    data: &'a DataPlan,
    /// The data set with the test subjects, where it is another one.
    tested: Option<&'a DataPlan>,
    pipeline: Pipeline,
    /// Whether source-only trials are trained on.
    source_only: bool,
    entries: Vec<EntryPlan>,
}

/// A stage with its trials.
pub struct PreparedStage {
    /// What is fitted to the trials.
    pub stage: Stage,
    /// The trials to learn from, and to test where nothing else is said.
    pub training: Trials,
    /// The trials to test, where they are of another data set.
    pub tested: Option<Trials>,
    /// The trials to learn from with those that are only trained on, where there are some.
    pub source_only: Option<SourceOnlyTrials>,
}

impl PreparedStage {
    /// The trials, as a benchmark takes them.
    pub fn sets(&self) -> StageTrials<'_> {
        let PreparedStage { training, tested, source_only, .. } = self;
        StageTrials { training, tested: tested.as_ref(), source_only: source_only.as_ref() }
    }

    /// Every fit.
    pub fn items(&self) -> Result<Vec<FitItem>> {
        self.stage.items(self.sets())
    }
}

impl Plan {
    /// The stages, one for each data set (or pair of them) and way of preparing trials.
    pub fn stages(&self) -> Result<Vec<StagePlan<'_>>> {
        for entry in self.entries() {
            find(&entry.model)?;
        }
        let mut stages: Vec<StagePlan<'_>> = vec![];
        for data in &self.data {
            let others: Vec<Option<&DataPlan>> = if self.across {
                self.data.iter().filter(|other| *other != data).map(Some).collect()
            } else {
                vec![None]
            };
            let own = source_of(data)?.pipeline()?;
            for tested in others {
                for entry in self.entries() {
                    let pipeline = self.changes(data, &entry)?.pipeline(&own, entry.align)?;
                    let source_only = entry.source_only.unwrap_or(true);
                    let alike = |s: &&mut StagePlan<'_>| {
                        (s.data, s.tested, s.source_only) == (data, tested, source_only)
                            && s.pipeline == pipeline
                    };
                    let known = stages.iter_mut().find(alike);
                    match known {
                        Some(stage) => stage.entries.push(entry),
                        None => {
                            stages.push(StagePlan {
                                plan: self,
                                data,
                                tested,
                                pipeline,
                                source_only,
                                entries: vec![entry],
                            });
                        }
                    }
                }
            }
        }
        Ok(stages)
    }

    /// All that is said about settings for an entry on some data, the last word first.
    fn changes(&self, data: &DataPlan, entry: &EntryPlan) -> Result<SettingChanges> {
        SettingChanges::layered(&[&self.set, &data.set, &entry.set])
    }

    fn seeds(&self) -> Result<Vec<u64>> {
        seeds(self.seed, self.seeds)
    }
}

impl StagePlan<'_> {
    /// Reads the trials and resolves every setting. What cannot work is refused here, before the first fit.
    pub fn prepare(&self, env: &Env) -> Result<PreparedStage> {
        let (training, tested, source_only) = match self.tested {
            None => {
                let (loaded, data) =
                    (self.read(self.data, &self.pipeline, LabelHandling::Own, env)?, &request(self.data));
                let requests = &self.data.source_only;
                let (training, source_only) =
                    separate(Study { loaded, data }, requests, self.source_only, env)?;
                (aligned(training)?, None, source_only)
            }
            Some(other) => {
                let (training, tested) = self.common(other, env)?;
                (aligned(training)?, Some(aligned(tested)?), None)
            }
        };
        let entries = self.resolve(training.trials.layout(), env)?;
        let named = tested.as_ref().unwrap_or(&training);
        let stage = Stage {
            data: display_name(self.tested.unwrap_or(self.data), named),
            fingerprint: match &tested {
                None => training.fingerprint.clone(),
                Some(tested) => format!("{}, {}", training.fingerprint, tested.fingerprint),
            },
            layout: training.trials.layout().clone(),
            pipeline: training.pipeline.clone(),
            trials_access: training.pipeline.target_access(),
            division: match self.tested {
                Some(_) => Division::Across { from: display_name(self.data, &training) },
                None => Division::Within(self.protocol().skipping(&training.excluded)?),
            },
            transfers: self.plan.transfers.clone(),
            shots: self.plan.shots.clone(),
            how: self.plan.how.unwrap_or_default(),
            entries,
            seeds: self.plan.seeds()?,
            precision: env.precision.noted(),
            features: self.plan.features,
            source_only: source_only.as_ref().map_or(vec![], |further| further.data.clone()),
        };
        let identities = named.identities.clone();
        let further = source_only.iter().flat_map(|further| &further.duplicates);
        let duplicates: Vec<Duplicate> = training.duplicates.iter().chain(further).cloned().collect();
        let ready = PreparedStage {
            stage,
            training: training.trials,
            tested: tested.map(|t| t.trials),
            source_only: source_only.map(|further| further.trials),
        };
        self.untuned(&ready, &identities)?;
        ready.stage.check_duplicates(ready.sets(), &duplicates)?;
        Ok(ready)
    }

    /// Refuses to test subjects on whom settings were tuned.
    fn untuned(
        &self,
        ready: &PreparedStage,
        identities: &BTreeMap<SubjectId, SubjectIdentity>,
    ) -> Result<()> {
        let known = identities.iter().filter(|(_, identity)| identity.is_among(&self.plan.tuned_on));
        let known: BTreeSet<SubjectId> = known.map(|(subject, _)| *subject).collect();
        if known.is_empty() {
            return Ok(());
        }
        let tested: BTreeSet<SubjectId> = ready.items()?.into_iter().flat_map(|item| item.test).collect();
        let Some(first) = tested.intersection(&known).next() else { return Ok(()) };
        let others: SubjectList =
            identities.keys().filter(|subject| !known.contains(subject)).copied().collect();
        Err(Error::request(
            format!(
                "the settings were tuned on {} of the test subjects in {}, {first} among them",
                tested.intersection(&known).count(),
                ready.stage.data
            ),
            match known.len() == identities.len() {
                true => "test other subjects: scores of these would be too good".to_string(),
                false => format!("leave them out: `--subjects {others}`"),
            },
        ))
    }

    /// Whether both are of the same entries of the plan's data.
    pub fn is_of_same_data(&self, other: &StagePlan<'_>) -> bool {
        (self.data, self.tested) == (other.data, other.tested)
    }

    fn protocol(&self) -> Protocol {
        let own = self.data.protocol.clone().or_else(|| self.plan.protocol.clone());
        own.unwrap_or(Protocol::LeaveOneOut)
    }

    fn read(
        &self,
        data: &DataPlan,
        pipeline: &Pipeline,
        label_handling: LabelHandling<'_>,
        env: &Env,
    ) -> Result<LoadedData> {
        let loaded = load(&source_of(data)?, Some(pipeline), data.subjects.as_ref(), label_handling, env)?;
        match label_handling {
            LabelHandling::Own => Ok(loaded.declare(data.paradigm, data.symmetry.clone())?),
            // Test epochs are mirrored as training epochs are.
            LabelHandling::Classes(_) | LabelHandling::Unlabelled(_) => Ok(loaded),
        }
    }

    /// Two data sets with the channels and classes they have in common, prepared alike, without a subject in both.
    fn common(&self, other: &DataPlan, env: &Env) -> Result<(LoadedData, LoadedData)> {
        let first = self.read(self.data, &self.pipeline, LabelHandling::Own, env)?;
        let classes = first.trials.layout().classes.clone();
        let names = |loaded: &LoadedData| -> Vec<String> {
            loaded.trials.layout().channels.iter().map(|c| c.name.clone()).collect()
        };
        let open = Pipeline { pick: Pick::All, ..self.pipeline.clone() };
        let there = names(&self.read(other, &open, LabelHandling::Classes(&classes), env)?);
        let shared: Vec<String> = names(&first).into_iter().filter(|name| there.contains(name)).collect();
        if shared.is_empty() {
            return Err(Error::request(
                format!("{} and {} have no channel in common", self.data.id, other.id),
                "names must be alike; `ptsm data show` lists them",
            ));
        }
        env.note(format!(
            "note: {} and {} have {} channels in common: {}",
            self.data.id,
            other.id,
            shared.len(),
            shared.join(" ")
        ));
        let pipeline = Pipeline { pick: Pick::Names(shared.clone()), ..self.pipeline.clone() };
        let first = if names(&first) == shared {
            first
        } else {
            self.read(self.data, &pipeline, LabelHandling::Own, env)?
        };
        let second = self.read(other, &pipeline, LabelHandling::Classes(&classes), env)?;
        let known: BTreeSet<String> = first.identities.values().flat_map(|p| p.hashes.clone()).collect();
        if let Some((subject, _)) = second.identities.iter().find(|(_, identity)| identity.is_among(&known)) {
            return Err(Error::request(
                format!("{subject} of {} is also among the training subjects", other.id),
                "leave that subject out with `subjects`",
            ));
        }
        if let Some(duplicate) = first.duplicates_in(&second).first() {
            let (training, tested) = (duplicate.first, duplicate.second);
            return Err(Error::request(
                format!(
                    "{tested} of {} is {training} of {}: they have {} epochs in common",
                    other.id, self.data.id, duplicate.epochs
                ),
                "leave one of them out with `subjects`",
            ));
        }
        Ok((first, second))
    }

    /// Whether the settings of all decoders make them ensembles.
    fn asks_for_ensembles(&self) -> Result<bool> {
        let all = SettingChanges::layered(&[&self.plan.set, &self.data.set])?;
        Ok(ensemble::size(&all.value())? > 1)
    }

    /// Why a decoder is not distilled, where the settings of all decoders ask for that and it cannot be.
    fn not_distilled(&self, method: &Method, layout: &Layout) -> Result<Option<ptsm_decode::Error>> {
        let all = SettingChanges::layered(&[&self.plan.set, &self.data.set])?.value();
        if Distillation::of(&all)?.is_none() {
            return Ok(None);
        }
        let asked = json!({ (distillation::KEY): all[distillation::KEY] });
        Ok(method
            .settings(layout, &asked)
            .err()
            .filter(|e| matches!(e, ptsm_decode::Error::NoDistillation { .. })))
    }

    /// Whether the settings of all decoders have their batch norms adapted.
    fn asks_for_norms(&self) -> Result<bool> {
        let all = SettingChanges::layered(&[&self.plan.set, &self.data.set])?;
        Ok(norms::NormTrials::of(&all.value())?.is_some())
    }

    /// Every entry with all its settings. A variant that a decoder has no setting for is left out, and told.
    fn resolve(&self, layout: &Layout, env: &Env) -> Result<Vec<DecoderEntry>> {
        // A setting for all must fit somebody, if not among those who get these trials.
        let all = self.plan.entries().iter().map(|e| find(&e.model)).collect::<Result<Vec<_>, _>>()?;
        let shared = SettingChanges::layered(&[&self.plan.set, &self.data.set])?.for_each(&all, layout)?;
        let mut entries = vec![];
        for entry in &self.entries {
            let method = find(&entry.model)?;
            let fitting = all.iter().zip(&shared).find(|(other, _)| other.name == method.name);
            let Some((_, shared)) = fitting else { continue };
            let own = shared.with(&entry.set)?;
            let settings = match own.settings(method, layout) {
                Ok(settings) => settings,
                Err(error)
                    if self.plan.models.contains(&entry.model) && SettingChanges::is_unknown_key(&error) =>
                {
                    let variant = entry.name.as_deref().unwrap_or("these settings");
                    env.note(format!("note: `{}` is left out of `{variant}`: {error}", entry.model));
                    continue;
                }
                Err(error) => return Err(error),
            };
            method.build(settings.clone())?;
            let ensemble = phrases::ensemble(&settings);
            if ensemble.is_none() && !method.random && self.asks_for_ensembles()? {
                env.note(format!(
                    "note: nothing in the fit of `{}` is random: it takes part as a single decoder, not as an ensemble",
                    entry.model
                ));
            }
            if let Some(reason) = self.not_distilled(method, layout)? {
                env.note(format!("note: {reason}: it takes part as it is without a teacher"));
            }
            let adapting = phrases::norms(&settings);
            if adapting.is_none() && self.asks_for_norms()? {
                env.note(format!(
                    "note: `{}` has no batch norms to adapt: it takes part as it is",
                    entry.model
                ));
            }
            // A variant that says so itself has a name for it.
            let is_named = |key: &str| entry.name.is_some() && entry.set.contains_key(key);
            let ensemble = ensemble.filter(|_| !is_named(ensemble::KEY));
            let distilled = phrases::distillation(&settings).filter(|_| !is_named(distillation::KEY));
            let adapting = adapting.filter(|_| !is_named(norms::KEY));
            let recentring = phrases::recentring(&settings).filter(|_| !is_named(recentring::KEY));
            let parts =
                entry.name.iter().cloned().chain(ensemble).chain(distilled).chain(adapting).chain(recentring);
            let parts: Vec<String> = parts.collect();
            let variant = (!parts.is_empty()).then(|| parts.join(", "));
            entries.push(DecoderEntry { model: method.name.into(), variant, settings });
        }
        Ok(entries)
    }
}

/// What data are called in the results.
fn display_name(data: &DataPlan, loaded: &LoadedData) -> String {
    data.name.clone().unwrap_or_else(|| loaded.name.clone())
}

/// Applies the alignment, which is all that is left of the pipeline.
fn aligned(mut loaded: LoadedData) -> Result<LoadedData> {
    loaded.align()?;
    Ok(loaded)
}

fn source_of(data: &DataPlan) -> Result<Source> {
    request(data).source()
}

fn request(data: &DataPlan) -> DataRequest {
    let subjects = data.subjects.clone();
    DataRequest { data: Some(data.id.clone()), root: data.root.clone(), with: data.with.clone(), subjects }
}
