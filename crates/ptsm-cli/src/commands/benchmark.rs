//! `ptsm benchmark`, `ptsm collect` and the workers.

use std::io::Read;

use anyhow::Context;
use ptsm::eval::launch::{self, Collection, LaunchResult, Launcher, SlurmOptions, Submission, WorkerTask};
use ptsm::eval::{BenchmarkResults, Cancellation, Plan, PlanOverrides};
use ptsm::explanation::read_features;
use serde_json::json;

use super::Session;
use crate::args::{self, BenchmarkArgs, CollectArgs, WorkArgs};
use crate::at_chance;
use crate::exit::fail;

pub(super) fn run(args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    if args.jobs == Some(0) {
        return Err(fail("`--jobs 0` leaves no process to work", "give at least 1"));
    }
    let plan = Plan::of(args.plan.as_deref(), &overrides(args)?)?;
    if args.dry_run {
        return dry_run(&plan, args, session);
    }
    match launch::run(&plan, &args.out, &launcher(args, session)?, &read_features, &session.env)? {
        LaunchResult::Finished(results) => show(&results, session),
        LaunchResult::Submitted(submission) => submitted(&submission, args, session),
    }
}

fn overrides(args: &BenchmarkArgs) -> anyhow::Result<PlanOverrides> {
    Ok(PlanOverrides {
        data: args.data.request(),
        settings: args.settings.request()?,
        models: args.models.clone(),
        protocol: args.protocol.clone(),
        across: args.across,
        transfers: args.transfers.clone(),
        shots: args.shots.clone(),
        how: args.how.map(Into::into),
        features: args.features,
    })
}

fn launcher(args: &BenchmarkArgs, session: &Session) -> anyhow::Result<Launcher> {
    let program = || std::env::current_exe().context("this program cannot be found");
    Ok(match (args.launcher, args.jobs.unwrap_or(1)) {
        (args::Launcher::Local, 1) => Launcher::InProcess,
        (args::Launcher::Local, jobs) => Launcher::Processes { program: program()?, jobs },
        (args::Launcher::Slurm, _) => Launcher::Slurm(SlurmOptions {
            program: program()?,
            sbatch: args.sbatch.clone(),
            jobs: args.jobs,
            device: session.device_choice.clone(),
            node_cache: args.node_cache.clone(),
        }),
    })
}

/// What would be done, and about how long it would take.
fn dry_run(plan: &Plan, args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    let jobs = args.jobs.unwrap_or(1);
    let estimate = launch::estimate(plan, &args.out, jobs, &read_features, &session.env)?;
    let documents = estimate.entries.iter().map(|one| {
        json!({
            "model": one.entry.model, "variant": one.entry.variant, "data": one.data, "protocol": one.protocol,
            "fits": one.fits, "left": one.left, "seconds": one.time.map(|t| t.as_secs_f64()),
        })
    });
    let documents: Vec<_> = documents.collect();
    let seconds = estimate.total.map(|t| t.as_secs_f64());
    session.output.result(estimate.table(jobs), &json!({ "entries": documents, "seconds": seconds }))
}

fn submitted(submission: &Submission, args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    let Submission { array, collects, tasks } = submission;
    let text = format!(
        "submitted: job {array} with {tasks} tasks, job {collects} collects\nhow far it has come: ptsm status {}\n",
        args.out.display()
    );
    session
        .output
        .result(text, &json!({ "folder": args.out, "array": array, "collects": collects, "tasks": tasks }))
}

/// `ptsm collect`: tables of what there is.
pub(super) fn collect(args: &CollectArgs, session: &Session) -> anyhow::Result<()> {
    match launch::collect(&args.folder, args.resubmit)? {
        Collection::Written(results) => show(&results, session),
        Collection::Submitted => Ok(()),
        Collection::SoFar(results, occupant) => {
            let (missing, all) = (results.collected.missing, results.fits());
            session.output.note(format!(
                "note: {occupant} is at work: {missing} of {all} fits are missing; this is of the others, and no file is written"
            ));
            show_so_far(&results, session)
        }
    }
}

/// `ptsm work`: one task of a benchmark, in a process of its own.
pub(super) fn work(args: &WorkArgs, session: &Session) -> anyhow::Result<()> {
    if args.leashed {
        leash(session.env.cancellation.clone());
    }
    let task = WorkerTask { task: args.task, node_cache: args.node_cache.clone() };
    Ok(launch::work(&args.folder, &task, &read_features, &session.env)?)
}

/// Ends this process when whoever started it is gone: the pipe to it is closed then, also by a kill. What comes through it is the wish to stop.
fn leash(cancellation: Cancellation) {
    std::thread::spawn(move || {
        let mut words = [0; 64];
        while std::io::stdin().read(&mut words).is_ok_and(|n| n > 0) {
            cancellation.cancel();
        }
        std::process::exit(130);
    });
}

/// Says it. Fits that failed, or are missing after all, are an error, but not before everything else is said.
fn show(results: &BenchmarkResults, session: &Session) -> anyhow::Result<()> {
    show_so_far(results, session)?;
    if results.collected.missing > 0 {
        return Err(fail(
            format!("{} of {} fits are missing", results.collected.missing, results.fits()),
            "give the same command again; it continues",
        ));
    }
    Ok(())
}

/// The same while others are at work: what is missing is no error.
fn show_so_far(results: &BenchmarkResults, session: &Session) -> anyhow::Result<()> {
    let collected = &results.collected;
    let (summaries, groups) = (results.summaries()?, results.groups()?);
    let pairwise = results.pairwise(&groups)?;
    let text = results.text(&groups, &pairwise);
    let comparisons: Vec<_> = groups.iter().flat_map(|group| &group.comparisons).collect();
    let document = json!({
        "folder": results.folder, "records": collected.records, "summary": summaries, "comparisons": comparisons,
        "groups": groups, "published": results.published(&groups), "about": results.about(),
        "mirroring": results.mirroring(), "source_only": results.source_only(),
        "matrices": pairwise, "features": collected.readings,
        "failures": collected.failures, "missing": collected.missing,
        "at_chance": at_chance::of_decoders(&summaries),
    });
    session.output.result(text, &document)?;
    for group in &groups {
        at_chance::warn_of_decoders(&group.summaries, session.output);
    }
    if let Some(first) = collected.failures.first() {
        return Err(fail(
            format!(
                "{} of {} fits failed; the first: {}, {}, fold {}, seed {}: {}",
                collected.failures.len(),
                results.fits(),
                first.model,
                first.data,
                first.fold,
                first.seed,
                first.error
            ),
            first.hint.clone().unwrap_or_else(|| {
                format!(
                    "`ptsm status {}` lists them; given again, the same command tries them again",
                    results.folder.display()
                )
            }),
        ));
    }
    Ok(())
}
