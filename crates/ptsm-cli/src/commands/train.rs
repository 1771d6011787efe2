//! `ptsm train`

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;

use anyhow::Context;
use ptsm_data::{Sources, Split, SubjectList};
use ptsm_decode::file::{self, Card, Provenance};
use ptsm_decode::registry::{Method, find};
use ptsm_decode::{Decoder, EpochRecord, Fit, FittedDecoder, Job, Run, TrainingData};
use ptsm_eval::{ALPHA, Scores, balanced_accuracy_threshold};
use ptsm_signal::{SubjectId, Subset};
use serde_json::{Value, json};

use super::Session;
use crate::args::{DataArgs, SettingsArgs, TrainArgs};
use crate::at_chance;
use crate::config::{Changes, TUNED_ON, without_null};
use crate::exit::told;
use crate::folder::{DataFile, Folder, LOG, MODELS, ModelFile, RunFile, model_name};
use crate::input::{Input, to_learn};
use crate::output;
use crate::progress::Live;
use crate::words::{self, count, mirroring, mirroring_json, people, percent};

/// Every seed is a network of its own in memory.
const MOST_SEEDS: usize = 1000;

pub(super) fn run(args: &TrainArgs, session: &Session) -> anyhow::Result<()> {
    let changes = Changes::read(args.settings.config.as_deref(), &args.settings.set)?;
    let (method, seeds) = wanted(args.model.as_deref(), &args.settings, &changes)?;
    let subjects = args.data.subjects.clone().or(changes.outside("subjects")?);
    let data = DataArgs { subjects: together(&subjects, &args.target), ..args.data.clone() };
    let input = to_learn(&data, args.settings.align.map(Into::into), &args.settings.task, &changes, session)?;
    let settings = changes.settings(method, input.trials.layout())?;
    let decoder = method.build(settings.clone())?;
    let target = target(args, method, &*decoder, &input)?;
    let learners = learners(&subjects, &target, &input)?;
    // A decoder that does not look at validation subjects learns from everybody.
    let sources = match decoder.uses_validation() {
        true => Split::for_training(&learners, seeds[0])?,
        false => Sources::all(learners.clone())?,
    };
    sources.check_duplicates(&input.duplicates, &target)?;
    let mut lesson = TrainingData::new(sources.train(&input.trials), sources.validation(&input.trials))?;
    if !target.is_empty() {
        lesson = lesson.with_target(input.trials.of(&target).unlabelled());
    }
    let hashes = |who: &BTreeSet<SubjectId>| {
        let people = input.people.iter().filter(|(subject, _)| who.contains(subject));
        people.flat_map(|(_, person)| person.hashes.clone()).collect()
    };

    let file = RunFile {
        version: env!("CARGO_PKG_VERSION").into(),
        command: "train".into(),
        seeds: seeds.clone(),
        protocol: "train".into(),
        precision: session.device.precision().noted(),
        data: DataFile {
            name: input.name.clone(),
            with: input.with.clone(),
            task: input.trials.layout().task.clone(),
            fingerprint: input.fingerprint.clone(),
            align: input.pipeline.alignment,
            subjects: sources.train_subjects().clone(),
            validation: sources.validation_subjects().clone(),
            who: hashes(&learners),
            tuned_on: changes.outside(TUNED_ON)?.unwrap_or_default(),
            target_who: hashes(&target),
            target: target.clone(),
        },
        adapted: None,
        models: vec![ModelFile { name: method.name.into(), settings: without_null(&settings) }],
        pipeline: without_null(&serde_json::to_value(&input.pipeline)?),
    };
    let folder = Folder::open(&args.out, &file)?;
    folder.inner(MODELS)?;
    let checkpoint = |seed: u64| folder.join(&format!("checkpoint-{seed}.safetensors"));
    if !seeds.iter().any(|&seed| checkpoint(seed).exists())
        && let Some(fits) = finished(&folder, &seeds, session)
    {
        session.output.note("this run is finished; nothing is left to do");
        return report(args, session, method, &settings, &input, &lesson, &fits);
    }
    let log = folder.join(LOG);
    let fits = {
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("{} cannot be written", log.display()))?;
        let mut live = Live::new(session.output, &session.stop, method.name).logging(move |ended| {
            for epoch in ended {
                if let Ok(line) = serde_json::to_string(epoch) {
                    // What is lost here is written again when training ends.
                    let _ = writeln!(log, "{line}");
                }
            }
        });
        let run = Run { device: &session.device, identity: &input.fingerprint };
        let job = |&seed| Job { data: &lesson, seed, checkpoint: Some(checkpoint(seed)) };
        decoder.fit_all(&seeds.iter().map(job).collect::<Vec<_>>(), &run, &mut live)?
    };
    let mut lines = String::new();
    for epoch in fits.iter().flat_map(|f| &f.history) {
        lines += &serde_json::to_string(epoch)?;
        lines.push('\n');
    }
    output::write(&log, lines.as_bytes())?;
    for fit in &fits {
        let card = card(method, &settings, &input, &lesson, fit);
        file::save(&folder.join(&model_name(fit.seed)), &*fit.fitted, &card)?;
    }
    // The models are there: what they were made from is not needed any more.
    for checkpoint in seeds.iter().map(|&seed| checkpoint(seed)) {
        if let Err(e) = std::fs::remove_file(&checkpoint)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            session.output.note(format!("note: {} could not be removed: {e}", checkpoint.display()));
        }
    }
    report(args, session, method, &settings, &input, &lesson, &fits)
}

/// Those learnt from and the target, where both are named; without names it is everybody.
fn together(subjects: &Option<SubjectList>, target: &Option<SubjectList>) -> Option<SubjectList> {
    match (subjects, target) {
        (Some(subjects), Some(target)) => Some(subjects.union(target)),
        (subjects, _) => subjects.clone(),
    }
}

/// The people whose unlabelled trials are learnt from: none for a decoder that does not look at them, which is said rather than ignored.
fn target(
    args: &TrainArgs,
    method: &Method,
    decoder: &dyn Decoder,
    input: &Input,
) -> anyhow::Result<BTreeSet<SubjectId>> {
    let name = method.name;
    match (&args.target, decoder.learns_from_target()) {
        (Some(target), true) => input.choose(target),
        (None, false) => Ok(BTreeSet::new()),
        (None, true) => Err(told(
            format!(
                "`{name}` learns from unlabelled trials of the people it will decode, and none are named"
            ),
            "give `--target LIST`; `ptsm benchmark` takes the people of each fold",
        )),
        (Some(_), false) => {
            Err(told(format!("`{name}` does not look at a target while it learns"), "leave `--target` out"))
        }
    }
}

/// Who is learnt from with labels: those named, or all but the target.
fn learners(
    subjects: &Option<SubjectList>,
    target: &BTreeSet<SubjectId>,
    input: &Input,
) -> anyhow::Result<BTreeSet<SubjectId>> {
    let present = input.trials.subjects();
    let Some(subjects) = subjects else { return Ok(present.difference(target).copied().collect()) };
    let learners = input.choose(subjects)?;
    if let Some(both) = learners.intersection(target).next() {
        return Err(told(
            format!("{both} is both in `--subjects` and in `--target`"),
            "the target is people whose labels it does not learn from",
        ));
    }
    Ok(learners)
}

/// What a run made that ended before; none where anything is missing or damaged, which is made again.
fn finished(folder: &Folder, seeds: &[u64], session: &Session) -> Option<Vec<Fit>> {
    let log = std::fs::read_to_string(folder.join(LOG)).ok()?;
    let history: Vec<EpochRecord> = log.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
    let fit = |&seed: &u64| {
        let (fitted, card) = file::load(&folder.join(&model_name(seed)), &session.device).ok()?;
        let history = history.iter().filter(|e| e.seed == seed).cloned().collect();
        Some(Fit { seed, fitted, history, best_epoch: card.provenance.best_epoch })
    };
    seeds.iter().map(fit).collect()
}

/// The decoder and the seeds, as flags say, or the configuration, or nobody.
pub(super) fn wanted(
    model: Option<&str>,
    args: &SettingsArgs,
    changes: &Changes,
) -> anyhow::Result<(&'static Method, Vec<u64>)> {
    let name = match model {
        Some(name) => name.to_string(),
        None => changes.outside("model")?.unwrap_or_else(|| "ptsm".to_string()),
    };
    let (first, n) = (args.seed.or(changes.outside("seed")?), args.seeds.or(changes.outside("seeds")?));
    Ok((find(&name)?, seeds(first, n)?))
}

/// One seed after the other, from the first.
pub(crate) fn seeds(first: Option<u64>, n: Option<usize>) -> anyhow::Result<Vec<u64>> {
    let (first, n) = (first.unwrap_or(1), n.unwrap_or(1));
    if n == 0 {
        return Err(told("no seed means no decoder", "give `--seeds 1` or more"));
    }
    if n > MOST_SEEDS {
        return Err(told(
            format!("{n} seeds are more than can be trained at once"),
            format!("give `--seeds {MOST_SEEDS}` or fewer"),
        ));
    }
    Ok((0..n as u64).map(|i| first.wrapping_add(i)).collect())
}

pub(super) fn card(
    method: &Method,
    settings: &serde_json::Value,
    input: &Input,
    lesson: &TrainingData<'_>,
    fit: &Fit,
) -> Card {
    Card {
        decoder: method.name.into(),
        settings: settings.clone(),
        layout: input.trials.layout().clone(),
        pipeline: input.pipeline.clone(),
        target_access: method.target_access.and(input.access()),
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            data: input.name.clone(),
            fingerprint: input.fingerprint.clone(),
            subjects: lesson.train().subjects().len(),
            validation_subjects: lesson.validation().subjects().len(),
            trials: lesson.train().len(),
            seed: fit.seed,
            best_epoch: fit.best_epoch,
        },
    }
}

fn report(
    args: &TrainArgs,
    session: &Session,
    method: &Method,
    settings: &serde_json::Value,
    input: &Input,
    lesson: &TrainingData<'_>,
    fits: &[Fit],
) -> anyhow::Result<()> {
    let model = method.name;
    let mut text = format!(
        "{model}, {} parameters, learnt from {} of {}",
        fits[0].fitted.parameters(),
        count(lesson.train().len(), "trial"),
        people(lesson.train().subjects().len()),
    );
    text += &match &lesson.validation().subjects() {
        none if none.is_empty() => "; no validation subjects held back".to_string(),
        held => format!("; {} held back ({})", count(held.len(), "validation subject"), words::ids(held)),
    };
    if let Some(target) = lesson.target() {
        text += &format!("; {} of those to be decoded, unlabelled", count(target.len(), "trial"));
    }
    text += "\n";
    let layout = lesson.train().layout();
    if let Some(mirroring) = mirroring(settings, layout) {
        text += &format!("left-right mirroring: {mirroring}\n");
    }
    let mut documents = vec![];
    // What chance exceeds once in twenty times on the validation subjects.
    let needed = balanced_accuracy_threshold(&lesson.validation().class_counts(), ALPHA);
    let by_itself = settings.pointer("/training/select").and_then(Value::as_str) == Some("last");
    let mut lost = vec![];
    for fit in fits {
        let best = fit.best_epoch.and_then(|e| fit.history.get(e.checked_sub(1)?));
        let accuracy = match best.and_then(|e| e.validation_accuracy) {
            // What converts has a readout of its own, fitted when training has ended; the scores of epochs are not of that.
            Some(_) if method.converts => Some(balanced_accuracy(&*fit.fitted, lesson.validation())?),
            of_epoch => of_epoch,
        };
        let at_chance = accuracy.filter(|_| needed.is_finite()).map(|accuracy| accuracy <= needed + 1e-12);
        if let (Some(best), Some(accuracy)) = (best, accuracy) {
            text += &format!(
                "seed {}: epoch {} of {} kept, validation {} % ({})\n",
                fit.seed,
                best.epoch,
                fit.history.len(),
                percent(accuracy),
                if by_itself { "the last epoch is kept" } else { "chosen on it: not a result" }
            );
            if at_chance == Some(true) {
                lost.push(format!("seed {}: {} %", fit.seed, percent(accuracy)));
            }
        }
        documents.push(json!({
            "seed": fit.seed,
            "model": args.out.join(model_name(fit.seed)),
            "best_epoch": fit.best_epoch,
            "epochs": fit.history.len(),
            "validation_accuracy": accuracy,
            "at_chance": at_chance,
        }));
    }
    let at_chance = documents.iter().map(|fit| fit["at_chance"].as_bool()).collect::<Option<Vec<bool>>>();
    let at_chance = at_chance.map(|all| all.iter().all(|at_chance| *at_chance));
    text += &format!("next: ptsm evaluate {} --data ...\n", args.out.display());
    session.output.result(
        text,
        &json!({
            "run": args.out,
            "model": model,
            "parameters": fits[0].fitted.parameters(),
            "trials": lesson.train().len(),
            "train_subjects": lesson.train().subjects(),
            "validation_subjects": lesson.validation().subjects(),
            "paradigm": layout.task.paradigm,
            "mirroring": mirroring_json(settings, layout),
            "findings": input.findings,
            "target_trials": lesson.target().map_or(0, |target| target.len()),
            "at_chance": at_chance,
            "fits": documents,
        }),
    )?;
    if !lost.is_empty() {
        let what = if method.converts { "the converter" } else { "the decoder" };
        at_chance::warn(
            &format!(
                "{what} is not above chance on the validation subjects ({}; more than {} % balanced accuracy would be needed at p < {ALPHA}){}",
                lost.join(", "),
                percent(needed),
                if by_itself { "" } else { ", although the epoch was chosen by it" }
            ),
            session.output,
        );
    }
    Ok(())
}

/// The balanced accuracy of a decoder on some people's trials; NaN where a class has none.
fn balanced_accuracy(fitted: &dyn FittedDecoder, trials: &Subset<'_>) -> anyhow::Result<f64> {
    let classes = trials.layout().classes.len();
    Ok(Scores::of(&trials.labels(), &fitted.probabilities(trials)?, classes, 0)?.balanced_accuracy)
}
