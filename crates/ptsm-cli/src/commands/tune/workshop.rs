//! Candidates, the trials each of them needs, and trying them.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_data::SubjectIdentity;
use ptsm_decode::registry::Method;
use ptsm_eval::Protocol;
use ptsm_eval::{
    Benchmark, Came, Dimension, Division, Entry, Ground, Metric, Record, Rung, Sets, Stage, Tested, Trial,
};
use ptsm_signal::{Pipeline, SubjectId};
use serde_json::Value;

use super::results::text;
use crate::args::{DataArgs, TaskArgs, TuneArgs};
use crate::commands::Session;
use crate::config::Changes;
use crate::exit::told;
use crate::input::{Input, declared, prepared, source};
use crate::progress::{Live, LiveBenchmark};
use crate::words::{self, count};

/// One way to set the decoder and to prepare trials.
pub(super) struct Candidate {
    /// A value for every key that is tried.
    pub(super) values: Vec<Value>,
    /// What tells it from the others.
    called: String,
    settings: Value,
    /// The number of its pipeline.
    kind: usize,
}

/// Everything that can be tried.
pub(super) struct Workshop<'a> {
    args: &'a TuneArgs,
    session: &'a Session,
    method: &'static Method,
    pub(super) seeds: &'a [u64],
    pub(super) space: Vec<Dimension>,
    pub(super) all: Vec<Candidate>,
    data: DataArgs,
    /// What is declared about the task.
    task: TaskArgs,
    /// Ways to prepare trials, of which there is one unless that is tried.
    pipelines: Vec<Pipeline>,
    /// The last trials that were read, with the number of their pipeline.
    kept: Option<(usize, Input)>,
    people: BTreeMap<SubjectId, SubjectIdentity>,
    /// How people are divided in nested searches, without those whom the data leave out on purpose.
    pub(super) nested: Option<Protocol>,
    name: String,
}

impl<'a> Workshop<'a> {
    /// Reads the data and resolves all settings of every candidate. What cannot work is refused here, before the first fit.
    #[expect(clippy::too_many_arguments, reason = "they are what a command line says, taken apart")]
    pub(super) fn new(
        args: &'a TuneArgs,
        session: &'a Session,
        method: &'static Method,
        changes: &Changes,
        data: DataArgs,
        space: Vec<Dimension>,
        chosen: Vec<Vec<Value>>,
        seeds: &'a [u64],
    ) -> anyhow::Result<Workshop<'a>> {
        let own = source(&data.source)?.pipeline()?;
        let mut pipelines: Vec<Pipeline> = vec![];
        let mut changed = vec![];
        for values in chosen {
            let put = |changes: Changes, (dimension, value): (&Dimension, &Value)| {
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
        let mut workshop = Workshop {
            args,
            session,
            method,
            seeds,
            space,
            all: vec![],
            data,
            task: declared(&args.settings.task, changes)?,
            pipelines,
            kept: None,
            people: BTreeMap::new(),
            nested: args.nested.clone(),
            name: String::new(),
        };
        let mut layouts = vec![];
        for kind in 0..workshop.pipelines.len() {
            let input = workshop.input(kind)?;
            if kind > 0 && !input.people.keys().eq(workshop.people.keys()) {
                return Err(told(
                    "some ways to prepare trials leave out people whom others have",
                    "try values under which everybody has trials, or name people with `--subjects`",
                ));
            }
            layouts.push(input.trials.layout().clone());
            workshop.nested =
                workshop.nested.map(|protocol| protocol.skipping(&input.excluded)).transpose()?;
            (workshop.people, workshop.name) = (input.people.clone(), input.name.clone());
            workshop.kept = Some((kind, input));
        }
        for (values, changes, kind) in changed {
            let settings = changes.settings(method, &layouts[kind])?;
            let said = workshop.space.iter().zip(&values).map(|(d, v)| format!("{}={}", d.key, text(v)));
            let called = said.collect::<Vec<_>>().join(", ");
            method.build(settings.clone()).map_err(|error| {
                let hint = error.hint().unwrap_or_else(|| "`ptsm models --json` shows all defaults".into());
                told(format!("{called}: {error}"), hint)
            })?;
            workshop.all.push(Candidate { values, called, settings, kind });
        }
        Ok(workshop)
    }

    /// Everybody who takes part.
    pub(super) fn people(&self) -> &BTreeMap<SubjectId, SubjectIdentity> {
        &self.people
    }

    pub(super) fn data_name(&self) -> &str {
        &self.name
    }

    pub(super) fn model(&self) -> &'static str {
        self.method.name
    }

    pub(super) fn candidates(&self) -> usize {
        self.all.len()
    }

    pub(super) fn settings(&self) -> impl Iterator<Item = &Value> {
        self.all.iter().map(|candidate| &candidate.settings)
    }

    /// What a trial may use, so many of what: epochs, or fits where there are none.
    pub(super) fn budget(&self, rung: &Rung, candidate: usize) -> (usize, &'static str) {
        match (rung.epochs(&self.all[candidate].settings), rung.fits()) {
            (Some(epochs), _) => (epochs, "epoch"),
            (None, fits) => (fits.unwrap_or(0), "fit"),
        }
    }

    /// Trials of each class of some people, as the pipeline of a candidate makes them.
    pub(super) fn trials_by_class(
        &mut self,
        candidate: usize,
        people: &BTreeSet<SubjectId>,
    ) -> anyhow::Result<Vec<Vec<usize>>> {
        let kind = self.all[candidate].kind;
        let input = self.input(kind)?;
        let of = |subject: &SubjectId| input.trials.of(&[*subject].into()).class_counts();
        let counts = people.iter().map(of).collect();
        self.kept = Some((kind, input));
        Ok(counts)
    }

    /// The trials of a pipeline.
    fn input(&mut self, kind: usize) -> anyhow::Result<Input> {
        match self.kept.take() {
            Some((known, input)) if known == kind => Ok(input),
            _ => prepared(&self.data, &self.pipelines[kind], &self.task, self.session),
        }
    }

    fn stage(&self, input: &Input, people: Division, entries: Vec<Entry>) -> Stage {
        Stage {
            data: input.name.clone(),
            fingerprint: input.fingerprint.clone(),
            layout: input.trials.layout().clone(),
            pipeline: input.pipeline.clone(),
            trials_access: input.access(),
            people,
            transfers: vec![],
            shots: vec![],
            entries,
            seeds: self.seeds.to_vec(),
            precision: self.session.device.precision().noted(),
            features: false,
        }
    }

    fn watch(&self) -> LiveBenchmark<'a> {
        let output = self.session.output;
        LiveBenchmark { live: Live::new(output, &self.session.stop, "tuning"), output }
    }

    /// Says what candidates train on and hold back. They are one method, so that the first one speaks for all.
    fn say_held_back(&self, input: &Input, people: &Division) -> anyhow::Result<()> {
        let Some(first) = self.all.first() else { return Ok(()) };
        let entry = Entry { model: self.method.name.into(), variant: None, settings: first.settings.clone() };
        let stage = self.stage(input, people.clone(), vec![entry]);
        let held_back = words::held_back(&stage.training_subjects(Sets::one(&input.trials))?);
        self.session.output.note(format!("note: {held_back}"));
        Ok(())
    }

    /// Goes through all rounds among some people.
    pub(super) fn search(
        &mut self,
        people: &Division,
        rungs: &[Rung],
        metric: &Metric,
    ) -> anyhow::Result<Vec<Trial>> {
        ptsm_eval::search(rungs, metric, |rung, standing| {
            let mut tested: BTreeMap<usize, Tested> = BTreeMap::new();
            if let Some(&first) = standing.first() {
                let (most, unit) = self.budget(rung, first);
                let (place, of) = rung.place;
                let (who, most) = (count(standing.len(), "candidate"), count(most, unit));
                self.session.output.note(format!("round {place} of {of}: {who}, {most} each"));
            }
            for kind in 0..self.pipelines.len() {
                let own: Vec<usize> =
                    standing.iter().copied().filter(|&candidate| self.all[candidate].kind == kind).collect();
                if own.is_empty() {
                    continue;
                }
                let input = self.input(kind)?;
                let stage = self.stage(&input, people.clone(), vec![]);
                stage.check_duplicates(Sets::one(&input.trials), &input.duplicates)?;
                if rung.place.0 == 1 && kind == 0 {
                    self.say_held_back(&input, people)?;
                }
                let ground = Ground {
                    stage: &stage,
                    sets: Sets::one(&input.trials),
                    device: &self.session.device,
                    folder: &self.args.out,
                    metric,
                };
                let named = |&c: &usize| (self.all[c].called.clone(), &self.all[c].settings);
                let named: Vec<(String, &Value)> = own.iter().map(named).collect();
                let came = ground.test(rung, self.method.name, &named, &mut self.watch())?;
                tested.extend(own.into_iter().zip(came));
                self.kept = Some((kind, input));
            }
            anyhow::Ok(standing.iter().filter_map(|candidate| tested.remove(candidate)).collect())
        })
    }

    /// Tests the people of one fold with what was chosen, which is done once.
    pub(super) fn tested(
        &mut self,
        candidate: usize,
        protocol: Protocol,
        fold: usize,
    ) -> anyhow::Result<Vec<Record>> {
        let Candidate { kind, ref settings, .. } = self.all[candidate];
        let entry = Entry { model: self.method.name.into(), variant: None, settings: settings.clone() };
        let input = self.input(kind)?;
        let stage = self.stage(&input, Division::Within(protocol), vec![entry]);
        let sets = Sets::one(&input.trials);
        stage.check_duplicates(sets, &input.duplicates)?;
        let (device, folder) = (&self.session.device, &self.args.out);
        let benchmark = Benchmark { stage: &stage, sets, device, folder, ask: None };
        benchmark.run(&|item| item.fold == fold, &mut self.watch())?;
        let mut records = vec![];
        for item in stage.items(sets)?.iter().filter(|item| item.fold == fold) {
            match item.outcome(&self.args.out).map(|outcome| outcome.came) {
                Some(Came::Scored { records: own }) => records.extend(own),
                Some(Came::Failed { error, hint }) => {
                    return Err(told(
                        format!("fold {fold} could not be tested: {error}"),
                        hint.unwrap_or_else(|| "given again, the same command tries it again".into()),
                    ));
                }
                None => {
                    return Err(told(
                        format!("the outcome of fold {fold} is gone"),
                        "give the same command again",
                    ));
                }
            }
        }
        self.kept = Some((kind, input));
        Ok(records)
    }
}
