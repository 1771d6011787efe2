//! `ptsm benchmark`: a plan, a list of work, those who do it, and what comes of it.

mod collect;
mod estimate;
mod exports;
mod groups;
mod local;
mod matrix;
mod results;
mod slurm;
mod tasks;
mod worker;

use std::path::Path;

use ptsm_eval::{Benchmark, Item, WorkList};

use super::Session;
use crate::args::{BenchmarkArgs, Launcher};
use crate::config::without_null;
use crate::exit::told;
use crate::folder::{Folder, WRITTEN};
use crate::plan::{Plan, Ready, StagePlan};
use crate::progress::{Live, LiveBenchmark};
use crate::words;

pub(super) use collect::run as collect;
pub(crate) use results::Compared;
pub(super) use worker::run as work;

/// A plan whose data were looked at: what is to be done, stage by stage.
struct Work<'a> {
    list: WorkList,
    stages: Vec<StagePlan<'a>>,
    /// The trials of the only stage. Where there are several, they are read one after the other and never held together.
    kept: Option<Ready>,
    /// What each stage's decoders train on and hold back, in words.
    held_back: Vec<String>,
}

pub(super) fn run(args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    if args.jobs == Some(0) {
        return Err(told("`--jobs 0` leaves nobody to work", "give at least 1"));
    }
    if !args.dry_run {
        slurm::check(args)?;
    }
    let plan = Plan::of(args)?;
    let mut work = Work::of(&plan, session)?;
    if args.dry_run {
        work.say_held_back(session);
        return estimate::show(&mut work, args, session);
    }
    let text = format!("{WRITTEN}{}", toml::to_string(&without_null(&serde_json::to_value(&plan)?))?);
    let folder = Folder::open_benchmark(&args.out, &text)?;
    work.list.write(&args.out)?;
    work.say_held_back(session);
    let done = match (args.launcher, args.jobs.unwrap_or(1)) {
        (Launcher::Slurm, _) if !work.is_done(&args.out) => return slurm::run(&mut work, args, session),
        (Launcher::Slurm, _) => Ok(()),
        (Launcher::Local, 1) => work.here(&args.out, session),
        (Launcher::Local, jobs) => local::run(&mut work, jobs, args, session),
    };
    // What there is, is collected also when it was stopped.
    let collected = work.list.collect(&args.out);
    let written = results::write(&collected, &work.list, &plan, &args.out);
    done?;
    written?;
    work.list.tidy(&args.out);
    tasks::clear(&args.out);
    folder.clear();
    drop(folder);
    results::show(&collected, &work.list, &plan, &args.out, session)
}

impl<'a> Work<'a> {
    /// Reads the data and resolves everything.
    fn of(plan: &'a Plan, session: &Session) -> anyhow::Result<Work<'a>> {
        let stages = plan.stages()?;
        let only = stages.len() == 1;
        let mut work = Work { list: WorkList::default(), stages: vec![], kept: None, held_back: vec![] };
        for stage in stages {
            let ready = stage.ready(session)?;
            if ready.stage.entries.is_empty() {
                continue;
            }
            work.list.stages.push((ready.stage.clone(), ready.items()?));
            let held_back = words::held_back(&ready.stage.training_subjects(ready.sets())?);
            work.held_back.push(format!("{}: {held_back}", ready.stage.data));
            work.stages.push(stage);
            work.kept = only.then_some(ready);
        }
        work.check_names()?;
        if work.stages.is_empty() {
            return Err(told("no decoder is left to take part", "the notes above say why"));
        }
        Ok(work)
    }

    /// Says what decoders train on and hold back, once where stages are alike.
    fn say_held_back(&self, session: &Session) {
        let mut said: Vec<&String> = self.held_back.iter().collect();
        said.dedup();
        said.iter().for_each(|line| session.output.note(format!("note: {line}")));
    }

    /// Refuses results that could not be told apart in the end.
    fn check_names(&self) -> anyhow::Result<()> {
        let mut seen: Vec<(String, String, String, &StagePlan<'_>)> = vec![];
        for (plan, (stage, _)) in self.stages.iter().zip(&self.list.stages) {
            for entry in &stage.entries {
                let own = (stage.data.clone(), stage.people.name(), entry.called(), plan);
                let same = |other: &&(String, String, String, &StagePlan<'_>)| {
                    (&other.0, &other.1, &other.2) == (&own.0, &own.1, &own.2)
                };
                match seen.iter().find(same) {
                    Some((data, _, _, other)) if !other.is_of_same_data(plan) => {
                        return Err(told(
                            format!("two data sets are called `{data}`"),
                            "give each `[[data]]` a `name` of its own",
                        ));
                    }
                    Some((_, _, called, _)) => {
                        return Err(told(
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
    fn ready(&mut self, stage: usize, session: &Session) -> anyhow::Result<Ready> {
        let ready = match self.kept.take() {
            Some(ready) => ready,
            None => self.stages[stage].ready(session)?,
        };
        if ready.stage != self.list.stages[stage].0 {
            return Err(told("the data changed while they were worked at", "give the same command again"));
        }
        Ok(ready)
    }

    fn is_done(&self, folder: &Path) -> bool {
        self.list.items().all(|(_, item)| item.is_scored(folder))
    }

    /// Fits of a stage that have no scores.
    fn left(&self, stage: usize, folder: &Path) -> Vec<&Item> {
        self.list.stages[stage].1.iter().filter(|item| !item.is_scored(folder)).collect()
    }

    /// Does everything in this process.
    fn here(&mut self, folder: &Path, session: &Session) -> anyhow::Result<()> {
        for stage in 0..self.stages.len() {
            if self.left(stage, folder).is_empty() {
                continue;
            }
            let ready = self.ready(stage, session)?;
            let benchmark = Benchmark {
                stage: &ready.stage,
                sets: ready.sets(),
                device: &session.device,
                folder,
                ask: Some(&ptsm_explain::reading),
            };
            let live = Live::new(session.output, &session.stop, "benchmark");
            benchmark.run(&|_| true, &mut LiveBenchmark { live, output: session.output })?;
        }
        Ok(())
    }
}
