//! A plan whose data were looked at: what is to be done, stage by stage.

use std::path::Path;

use crate::benchmark::{Benchmark, FeatureReader, FitItem, WorkList};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::phrases;
use crate::plan::{Plan, PreparedStage, StagePlan};

/// A plan whose data were looked at: what is to be done, stage by stage.
pub(super) struct Work<'a> {
    pub(super) list: WorkList,
    pub(super) stages: Vec<StagePlan<'a>>,
    /// The trials of the only stage. Where there are several, they are read one after the other and never held together.
    kept: Option<PreparedStage>,
    /// What each stage's decoders train on and hold back, in words.
    held_back: Vec<String>,
}

impl<'a> Work<'a> {
    /// Reads the data and resolves everything.
    pub(super) fn of(plan: &'a Plan, env: &Env) -> Result<Work<'a>> {
        let stages = plan.stages()?;
        let only = stages.len() == 1;
        let mut work = Work { list: WorkList::default(), stages: vec![], kept: None, held_back: vec![] };
        for stage in stages {
            let ready = stage.prepare(env)?;
            if ready.stage.entries.is_empty() {
                continue;
            }
            work.list.stages.push((ready.stage.clone(), ready.items()?));
            let held_back = phrases::held_back_note(&ready.stage.training_subjects(ready.sets())?);
            work.held_back.push(format!("{}: {held_back}", ready.stage.data));
            work.stages.push(stage);
            work.kept = only.then_some(ready);
        }
        work.check_names()?;
        if work.stages.is_empty() {
            return Err(Error::request("no decoder is left to take part", "the notes above say why"));
        }
        Ok(work)
    }

    /// Says what decoders train on and hold back, once where stages are alike.
    pub(super) fn note_held_back(&self, env: &Env) {
        let mut said: Vec<&String> = self.held_back.iter().collect();
        said.dedup();
        said.iter().for_each(|line| env.note(format!("note: {line}")));
    }

    /// Refuses results that could not be told apart in the end.
    fn check_names(&self) -> Result<()> {
        let mut seen: Vec<(String, String, String, &StagePlan<'_>)> = vec![];
        for (plan, (stage, _)) in self.stages.iter().zip(&self.list.stages) {
            for entry in &stage.entries {
                let own = (stage.data.clone(), stage.division.name(), entry.display_name(), plan);
                let same = |other: &&(String, String, String, &StagePlan<'_>)| {
                    (&other.0, &other.1, &other.2) == (&own.0, &own.1, &own.2)
                };
                match seen.iter().find(same) {
                    Some((data, _, _, other)) if !other.is_of_same_data(plan) => {
                        return Err(Error::request(
                            format!("two data sets are called `{data}`"),
                            "give each `[[data]]` a `name` of its own",
                        ));
                    }
                    Some((_, _, called, _)) => {
                        return Err(Error::request(
                            format!("`{called}` takes part twice"),
                            "give one of them a `name` of its own",
                        ));
                    }
                    None => seen.push(own),
                }
            }
        }
        Ok(())
    }

    /// The trials of a stage.
    pub(super) fn prepare(&mut self, stage: usize, env: &Env) -> Result<PreparedStage> {
        let ready = match self.kept.take() {
            Some(ready) => ready,
            None => self.stages[stage].prepare(env)?,
        };
        if ready.stage != self.list.stages[stage].0 {
            return Err(Error::request(
                "the data changed during the benchmark",
                "run the same command again",
            ));
        }
        Ok(ready)
    }

    pub(super) fn is_done(&self, folder: &Path) -> bool {
        self.list.items().all(|(_, item)| item.is_scored(folder))
    }

    /// Fits of a stage that have no scores.
    pub(super) fn left(&self, stage: usize, folder: &Path) -> Vec<&FitItem> {
        self.list.stages[stage].1.iter().filter(|item| !item.is_scored(folder)).collect()
    }

    /// Does everything in this process.
    pub(super) fn here(&mut self, folder: &Path, reader: &FeatureReader, env: &Env) -> Result<()> {
        for stage in 0..self.stages.len() {
            if self.left(stage, folder).is_empty() {
                continue;
            }
            let ready = self.prepare(stage, env)?;
            let benchmark = Benchmark {
                stage: &ready.stage,
                sets: ready.sets(),
                device: &env.device,
                folder,
                ask: Some(reader),
            };
            benchmark.run(&|_| true, &mut env.watch_fits("benchmark"))?;
        }
        Ok(())
    }
}
