//! `ptsm train`

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::Context;
use ptsm_data::Split;
use ptsm_decode::file::{self, Card, Provenance};
use ptsm_decode::registry::{Method, find};
use ptsm_decode::{EpochRecord, Fit, Job, Lesson, Run};
use serde_json::json;

use super::Session;
use crate::args::{SettingsArgs, TrainArgs};
use crate::config::{Changes, without_null};
use crate::exit::told;
use crate::folder::{DataFile, Folder, LOG, MODELS, ModelFile, RunFile, model_name};
use crate::input::{Input, to_learn};
use crate::output;
use crate::progress::Live;
use crate::words::{count, people, percent};

/// Every seed is a network of its own in memory.
const MOST_SEEDS: usize = 1000;

pub(super) fn run(args: &TrainArgs, session: &Session) -> anyhow::Result<()> {
    let changes = Changes::read(args.settings.config.as_deref(), &args.settings.set)?;
    let name = match &args.model {
        Some(name) => name.clone(),
        None => changes.outside("model")?.unwrap_or_else(|| "ptsm".to_string()),
    };
    let method = find(&name)?;
    let seeds = seeds(&args.settings, &changes)?;
    let input = to_learn(&args.data, args.settings.align.map(Into::into), &changes, session)?;
    let settings = changes.settings(method, input.trials.layout())?;
    let decoder = method.build(settings.clone())?;
    let sources = Split::for_training(&input.trials.subjects(), seeds[0])?;
    let lesson = Lesson::new(sources.train(&input.trials), sources.validation(&input.trials))?;

    let file = RunFile {
        version: env!("CARGO_PKG_VERSION").into(),
        command: "train".into(),
        seeds: seeds.clone(),
        protocol: "train".into(),
        precision: session.device.precision().noted(),
        data: DataFile {
            name: input.name.clone(),
            with: input.with.clone(),
            fingerprint: input.fingerprint.clone(),
            align: input.pipeline.alignment,
            subjects: sources.train_subjects().clone(),
            validation: sources.validation_subjects().clone(),
            who: input.people.values().flat_map(|person| person.hashes.clone()).collect(),
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
        return report(args, session, method.name, &lesson, &fits);
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
        let job = |&seed| Job { lesson: &lesson, seed, checkpoint: Some(checkpoint(seed)) };
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
    report(args, session, method.name, &lesson, &fits)
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

/// One seed after the other, from the first.
pub(super) fn seeds(args: &SettingsArgs, changes: &Changes) -> anyhow::Result<Vec<u64>> {
    let first = args.seed.or(changes.outside("seed")?).unwrap_or(1);
    let n: usize = args.seeds.or(changes.outside("seeds")?).unwrap_or(1);
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
    lesson: &Lesson<'_>,
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
    model: &str,
    lesson: &Lesson<'_>,
    fits: &[Fit],
) -> anyhow::Result<()> {
    let mut text = format!(
        "{model}, {} parameters, learnt from {} of {}",
        fits[0].fitted.parameters(),
        count(lesson.train().len(), "trial"),
        people(lesson.train().subjects().len()),
    );
    // A decoder without epochs has not looked at them.
    if fits[0].best_epoch.is_some() {
        text += &format!("; {} to stop by", people(lesson.validation().subjects().len()));
    }
    text += "\n";
    let mut documents = vec![];
    for fit in fits {
        let best = fit.best_epoch.and_then(|e| fit.history.get(e.checked_sub(1)?));
        let accuracy = best.and_then(|e| e.validation_accuracy);
        if let (Some(best), Some(accuracy)) = (best, accuracy) {
            text += &format!(
                "seed {}: epoch {} of {} kept, validation {} % (chosen on it: not a result)\n",
                fit.seed,
                best.epoch,
                fit.history.len(),
                percent(accuracy)
            );
        }
        documents.push(json!({
            "seed": fit.seed,
            "model": args.out.join(model_name(fit.seed)),
            "best_epoch": fit.best_epoch,
            "epochs": fit.history.len(),
            "validation_accuracy": accuracy,
        }));
    }
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
            "fits": documents,
        }),
    )
}
