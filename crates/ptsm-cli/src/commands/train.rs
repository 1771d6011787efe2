//! `ptsm train`

use ptsm::eval::ALPHA;
use ptsm::eval::phrases::{mirroring, mirroring_json, percent};
use ptsm::eval::runs::{TrainRequest, TrainingReport, train};
use serde_json::json;

use super::Session;
use crate::args::TrainArgs;
use crate::at_chance;

pub(super) fn run(args: &TrainArgs, session: &Session) -> anyhow::Result<()> {
    let request = TrainRequest {
        data: args.data.request(),
        settings: args.settings.request()?,
        model: args.model.clone(),
        target: args.target.clone(),
        out: args.out.clone(),
    };
    let report = train(&request, &session.env)?;
    show(args, &report, session)
}

fn show(args: &TrainArgs, report: &TrainingReport, session: &Session) -> anyhow::Result<()> {
    let mut text =
        format!("{}, {} parameters, {}\n", report.display_name(), report.parameters, report.trained_on());
    if let Some(mirroring) = mirroring(&report.settings, &report.layout) {
        text += &format!("left-right mirroring: {mirroring}\n");
    }
    let mut lost = vec![];
    for fit in &report.fits {
        if let (Some(kept), Some(accuracy)) = (fit.kept_epochs(), fit.validation_accuracy) {
            text += &format!(
                "seed {}: {kept}, validation {} % ({})\n",
                fit.seed,
                percent(accuracy),
                if report.keeps_last { "the last epoch is kept" } else { "chosen on it: not a result" }
            );
            if fit.at_chance == Some(true) {
                lost.push(format!("seed {}: {} %", fit.seed, percent(accuracy)));
            }
        }
    }
    text += &format!("next: ptsm evaluate {} --data ...\n", args.out.display());
    session.output.result(
        text,
        &json!({
            "run": args.out,
            "model": report.model,
            "ensemble": report.ensemble,
            "distilled_from": report.distilled_from,
            "parameters": report.parameters,
            "trials": report.trials,
            "source_only_trials": report.source_only_trials,
            "source_only": report.source_only,
            "train_subjects": report.train_subjects,
            "validation_subjects": report.validation_subjects,
            "paradigm": report.layout.task.paradigm,
            "mirroring": mirroring_json(&report.settings, &report.layout),
            "findings": report.findings,
            "target_trials": report.target_trials.unwrap_or(0),
            "at_chance": report.at_chance(),
            "fits": report.fits,
        }),
    )?;
    if !lost.is_empty() {
        let what = if report.converts { "the converter" } else { "the decoder" };
        at_chance::warn(
            &format!(
                "{what} is not above chance on the validation subjects ({}; more than {} % balanced accuracy would be needed at p < {ALPHA}){}",
                lost.join(", "),
                percent(report.chance_threshold),
                if report.keeps_last { "" } else { ", although the epoch was chosen by it" }
            ),
            session.output,
        );
    }
    Ok(())
}
