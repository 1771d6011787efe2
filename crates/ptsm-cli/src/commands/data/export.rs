//! `ptsm data export`

use ptsm::eval::SettingChanges;
use ptsm::eval::phrases::{count, subject_count};
use ptsm::{ExportRequest, SettingsRequest, export};
use serde_json::json;

use crate::args::ExportArgs;
use crate::commands::Session;
use crate::exit::fail;
use crate::output;

pub(super) fn run(args: &ExportArgs, session: &Session) -> anyhow::Result<()> {
    only_pipeline(&args.set)?;
    let request = ExportRequest {
        data: args.data.request(),
        run: args.run.clone(),
        settings: SettingsRequest {
            task: args.task.request(),
            changes: SettingChanges::read(args.config.as_deref(), &args.set)?,
            align: args.align.map(Into::into),
            ..SettingsRequest::default()
        },
        out: args.out.clone(),
    };
    let written = export(&request, &session.env).map_err(output::closed_pipe)?;
    let (trials, layout) = (&written.epochs.trials, written.epochs.trials.layout());
    let text = format!(
        "{} of {}, {} x {} samples at {} Hz: {}\n",
        count(trials.len(), "epoch"),
        subject_count(trials.subjects().len()),
        layout.channels.len(),
        layout.samples,
        layout.rate_hz,
        args.out.display()
    );
    let document = json!({
        "file": args.out,
        "format": written.format.name(),
        "bytes": std::fs::metadata(&args.out).map(|about| about.len()).ok(),
        "data": written.epochs.name,
        "run": args.run,
        "subjects": trials.subjects(),
        "epochs": trials.len(),
        "channels": layout.channels.iter().map(|channel| &channel.name).collect::<Vec<_>>(),
        "samples": layout.samples,
        "rate_hz": layout.rate_hz,
        "start_s": layout.start_s,
        "classes": layout.classes,
        "class_counts": trials.all().class_counts(),
        "unit": if written.scaled { "none" } else { "uV" },
        "task": layout.task,
        "pipeline": written.epochs.pipeline,
        "target_access": written.epochs.access(),
        "fingerprint": written.epochs.fingerprint,
    });
    session.output.result(text, &document)
}

/// Refuses settings of a decoder: there is none that they could be of.
fn only_pipeline(set: &[String]) -> anyhow::Result<()> {
    let foreign = |pair: &&String| !pair.trim_start().starts_with("pipeline.");
    match set.iter().find(foreign) {
        None => Ok(()),
        Some(pair) => Err(fail(
            format!("`--set {pair}` is no setting of the pipeline"),
            "write `--set pipeline.window_s=[0,2]`; settings of decoders change nothing about epochs",
        )),
    }
}
