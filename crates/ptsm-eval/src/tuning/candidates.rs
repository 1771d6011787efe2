//! Candidates, the trials each of them needs, and trying them.

use std::collections::{BTreeMap, BTreeSet};

use crate::splits::Protocol;
use ptsm_data::SubjectIdentity;
use ptsm_decode::registry::Method;
use ptsm_signal::{Pipeline, SubjectId};
use serde_json::Value;

use super::TuneRequest;
use super::results::text;
use crate::benchmark::{Benchmark, DecoderEntry, Division, FitScores, Stage, StageTrials};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::input::{DataRequest, PreparedData, SourceOnlyRequest, SourceOnlySubjects, TaskOverride, prepare};
use crate::metrics::Metric;
use crate::phrases::{count, held_back_note};
use crate::record::Record;
use crate::settings::SettingChanges;
use crate::tune::{self, Dimension, Rung, SearchSetup, TrialScores, TuningTrial};

/// One way to set the decoder and to prepare trials.
pub struct Candidate {
    /// A value for every key that is tried.
    pub values: Vec<Value>,
    /// What tells it from the others.
    called: String,
    settings: Value,
    /// The number of its pipeline.
    kind: usize,
}

/// Everything that can be tried.
pub struct CandidateSet<'a> {
    args: &'a TuneRequest,
    env: &'a Env,
    method: &'static Method,
    /// The seeds of every candidate.
    pub seeds: &'a [u64],
    /// The keys that are tried.
    pub space: Vec<Dimension>,
    /// The candidates.
    pub all: Vec<Candidate>,
    data: DataRequest,
    /// What is declared about the task.
    task: TaskOverride,
    /// Trials that are only trained on.
    source_only: Vec<SourceOnlyRequest>,
    /// Ways to prepare trials, of which there is one unless that is tried.
    pipelines: Vec<Pipeline>,
    /// The last trials that were read, with the number of their pipeline.
    kept: Option<(usize, PreparedData)>,
    identities: BTreeMap<SubjectId, SubjectIdentity>,
    /// Whose trials are trained on besides.
    pub(super) source_only_subjects: SourceOnlySubjects,
    /// How subjects are divided in nested searches, without those whom the data leave out on purpose.
    pub nested: Option<Protocol>,
    name: String,
}

impl<'a> CandidateSet<'a> {
    /// Reads the data and resolves all settings of every candidate. What cannot work is refused here, before the first fit.
    #[expect(clippy::too_many_arguments, reason = "they are what a request says, taken apart")]
    pub fn new(
        args: &'a TuneRequest,
        env: &'a Env,
        method: &'static Method,
        changes: &SettingChanges,
        data: DataRequest,
        space: Vec<Dimension>,
        chosen: Vec<Vec<Value>>,
        seeds: &'a [u64],
    ) -> Result<CandidateSet<'a>> {
        let own = data.source()?.pipeline()?;
        let mut pipelines: Vec<Pipeline> = vec![];
        let mut changed = vec![];
        for values in chosen {
            let put = |changes: SettingChanges, (dimension, value): (&Dimension, &Value)| {
                changes.put(&dimension.key, value.clone())
            };
            let changes = space.iter().zip(&values).fold(changes.clone(), put);
            let pipeline = changes.pipeline(&own, changes.outside("align")?)?;
            let kind = pipelines.iter().position(|known| *known == pipeline).unwrap_or_else(|| {
                pipelines.push(pipeline);
                pipelines.len() - 1
            });
            changed.push((values, changes, kind));
        }
        let mut set = CandidateSet {
            args,
            env,
            method,
            seeds,
            space,
            all: vec![],
            data,
            task: args.settings.task.or(changes)?,
            source_only: args.settings.source_only()?,
            pipelines,
            kept: None,
            identities: BTreeMap::new(),
            source_only_subjects: SourceOnlySubjects::default(),
            nested: args.nested.clone(),
            name: String::new(),
        };
        let mut layouts = vec![];
        for kind in 0..set.pipelines.len() {
            let input = set.input(kind)?;
            if kind > 0 && !input.identities.keys().eq(set.identities.keys()) {
                return Err(Error::request(
                    "some of the pipelines leave out subjects that others keep",
                    "try values under which every subject has trials, or name subjects with `--subjects`",
                ));
            }
            layouts.push(input.trials.layout().clone());
            set.nested = set.nested.map(|protocol| protocol.skipping(&input.excluded)).transpose()?;
            (set.identities, set.name) = (input.identities.clone(), input.name.clone());
            set.source_only_subjects =
                input.source_only.as_ref().map(|further| further.subjects.clone()).unwrap_or_default();
            set.kept = Some((kind, input));
        }
        for (values, changes, kind) in changed {
            let settings = changes.settings(method, &layouts[kind])?;
            let said = set.space.iter().zip(&values).map(|(d, v)| format!("{}={}", d.key, text(v)));
            let called = said.collect::<Vec<_>>().join(", ");
            method.build(settings.clone()).map_err(|error| {
                let hint = error.hint().unwrap_or_else(|| "`ptsm models --json` shows all defaults".into());
                Error::request(format!("{called}: {error}"), hint)
            })?;
            set.all.push(Candidate { values, called, settings, kind });
        }
        Ok(set)
    }

    /// Everybody who takes part.
    pub fn identities(&self) -> &BTreeMap<SubjectId, SubjectIdentity> {
        &self.identities
    }

    /// What the data are called.
    pub fn data_name(&self) -> &str {
        &self.name
    }

    /// The decoder's name.
    pub fn model(&self) -> &'static str {
        self.method.name
    }

    /// How many candidates there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// All settings of each candidate.
    pub fn settings(&self) -> impl Iterator<Item = &Value> {
        self.all.iter().map(|candidate| &candidate.settings)
    }

    /// What a trial may use, so many of what: epochs, or fits where there are none.
    pub(super) fn budget(&self, rung: &Rung, candidate: usize) -> (usize, &'static str) {
        match (rung.epochs(&self.all[candidate].settings), rung.fits()) {
            (Some(epochs), _) => (epochs, "epoch"),
            (None, fits) => (fits.unwrap_or(0), "fit"),
        }
    }

    /// Trials of each class of some subjects, as the pipeline of a candidate makes them.
    pub(super) fn trials_by_class(
        &mut self,
        candidate: usize,
        subjects: &BTreeSet<SubjectId>,
    ) -> Result<Vec<Vec<usize>>> {
        let kind = self.all[candidate].kind;
        let input = self.input(kind)?;
        let of = |subject: &SubjectId| input.trials.of(&[*subject].into()).class_counts();
        let counts = subjects.iter().map(of).collect();
        self.kept = Some((kind, input));
        Ok(counts)
    }

    /// The trials of a pipeline.
    fn input(&mut self, kind: usize) -> Result<PreparedData> {
        match self.kept.take() {
            Some((known, input)) if known == kind => Ok(input),
            _ => prepare(&self.data, &self.pipelines[kind], &self.task, &self.source_only, self.env),
        }
    }

    fn stage(&self, input: &PreparedData, division: Division, entries: Vec<DecoderEntry>) -> Stage {
        Stage {
            data: input.name.clone(),
            fingerprint: input.fingerprint.clone(),
            layout: input.trials.layout().clone(),
            pipeline: input.pipeline.clone(),
            trials_access: input.access(),
            division,
            transfers: vec![],
            shots: vec![],
            how: Default::default(),
            entries,
            seeds: self.seeds.to_vec(),
            precision: self.env.device.precision().noted(),
            features: false,
            source_only: input.source_only.as_ref().map_or(vec![], |further| further.data.clone()),
        }
    }

    /// Says what candidates train on and hold back. They are one method, so that the first one speaks for all.
    fn say_held_back(&self, input: &PreparedData, division: &Division) -> Result<()> {
        let Some(first) = self.all.first() else { return Ok(()) };
        let entry =
            DecoderEntry { model: self.method.name.into(), variant: None, settings: first.settings.clone() };
        let stage = self.stage(input, division.clone(), vec![entry]);
        let held_back = held_back_note(&stage.training_subjects(sets(input))?);
        self.env.note(format!("note: {held_back}"));
        Ok(())
    }

    /// Goes through all rounds among some subjects.
    pub(super) fn search(
        &mut self,
        division: &Division,
        rungs: &[Rung],
        metric: &Metric,
    ) -> Result<Vec<TuningTrial>> {
        tune::search(rungs, metric, |rung, standing| {
            let mut tested: BTreeMap<usize, TrialScores> = BTreeMap::new();
            if let Some(&first) = standing.first() {
                let (most, unit) = self.budget(rung, first);
                let (place, of) = rung.place;
                let (candidates, most) = (count(standing.len(), "candidate"), count(most, unit));
                self.env.note(format!("round {place} of {of}: {candidates}, {most} each"));
            }
            for kind in 0..self.pipelines.len() {
                let own: Vec<usize> =
                    standing.iter().copied().filter(|&candidate| self.all[candidate].kind == kind).collect();
                if own.is_empty() {
                    continue;
                }
                let input = self.input(kind)?;
                let stage = self.stage(&input, division.clone(), vec![]);
                stage.check_duplicates(sets(&input), &input.all_duplicates())?;
                if rung.place.0 == 1 && kind == 0 {
                    self.say_held_back(&input, division)?;
                }
                let ground = SearchSetup {
                    stage: &stage,
                    sets: sets(&input),
                    device: &self.env.device,
                    folder: &self.args.out,
                    metric,
                };
                let named = |&c: &usize| (self.all[c].called.clone(), &self.all[c].settings);
                let named: Vec<(String, &Value)> = own.iter().map(named).collect();
                let scores =
                    ground.test(rung, self.method.name, &named, &mut self.env.watch_fits("tuning"))?;
                tested.extend(own.into_iter().zip(scores));
                self.kept = Some((kind, input));
            }
            Result::Ok(standing.iter().filter_map(|candidate| tested.remove(candidate)).collect())
        })
    }

    /// Tests the subjects of one fold with what was chosen, which is done once.
    pub(super) fn tested(
        &mut self,
        candidate: usize,
        protocol: Protocol,
        fold: usize,
    ) -> Result<Vec<Record>> {
        let Candidate { kind, ref settings, .. } = self.all[candidate];
        let entry =
            DecoderEntry { model: self.method.name.into(), variant: None, settings: settings.clone() };
        let input = self.input(kind)?;
        let stage = self.stage(&input, Division::Within(protocol), vec![entry]);
        let sets = sets(&input);
        stage.check_duplicates(sets, &input.all_duplicates())?;
        let (device, folder) = (&self.env.device, &self.args.out);
        let benchmark = Benchmark { stage: &stage, sets, device, folder, ask: None };
        benchmark.run(&|item| item.fold == fold, &mut self.env.watch_fits("tuning"))?;
        let mut records = vec![];
        for item in stage.items(sets)?.iter().filter(|item| item.fold == fold) {
            match item.outcome(&self.args.out).map(|outcome| outcome.scores) {
                Some(FitScores::Scored { records: own }) => records.extend(own),
                Some(FitScores::Failed { error, hint }) => {
                    return Err(Error::request(
                        format!("fold {fold} could not be tested: {error}"),
                        hint.unwrap_or_else(|| "run the same command again to repeat the fold".into()),
                    ));
                }
                None => {
                    return Err(Error::request(
                        format!("the outcome of fold {fold} is gone"),
                        "run the same command again",
                    ));
                }
            }
        }
        self.kept = Some((kind, input));
        Ok(records)
    }
}

/// The trials, as a benchmark takes them.
fn sets(input: &PreparedData) -> StageTrials<'_> {
    let source_only = input.source_only.as_ref().map(|further| &further.trials);
    StageTrials { source_only, ..StageTrials::one(&input.trials) }
}
