//! `ptsm data export`: epochs as a decoder sees them.

mod csv;
mod fif;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ptsm::data::arrays::write_prepared_trials;
use ptsm::data::{Recordings, Source};
use ptsm::signal::{Alignment, Scaling, Unit};
use serde_json::json;

use crate::args::ExportArgs;
use crate::commands::Session;
use crate::exit::told;
use ptsm::eval::phrases::{count, subject_count};
use ptsm::eval::{DataRequest, PreparedData, SettingChanges, TrainedRun, load_training_data};

/// What epochs are written as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Npz,
    Fif,
    Csv,
}

impl Format {
    /// What the name of a file says.
    fn of(path: &Path) -> anyhow::Result<Format> {
        match path.extension().and_then(OsStr::to_str).map(str::to_lowercase).as_deref() {
            Some("npz") => Ok(Format::Npz),
            Some("fif") => Ok(Format::Fif),
            Some("csv") => Ok(Format::Csv),
            _ => Err(told(
                format!("{} does not say what it is to hold", path.display()),
                "end the name of `--out` in `.npz` (NumPy), `.fif` (MNE) or `.csv` (pandas)",
            )),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Npz => "npz",
            Format::Fif => "fif",
            Format::Csv => "csv",
        }
    }
}

pub(super) fn run(args: &ExportArgs, session: &Session) -> anyhow::Result<()> {
    let format = Format::of(&args.out)?;
    let changes = SettingChanges::read(args.config.as_deref(), &args.set)?;
    only_pipeline(&args.set)?;
    is_apart(&args.data.request().or(&changes)?, &args.out)?;
    let input = epochs(args, &changes, session)?;
    let (trials, layout) = (&input.trials, input.trials.layout());
    match format {
        Format::Npz => write_prepared_trials(&args.out, trials, &input.pipeline, &input.people)?,
        Format::Fif => fif::write(&args.out, trials, is_scaled(&input), session)?,
        Format::Csv => csv::write(&args.out, trials, session)?,
    }
    let bytes = std::fs::metadata(&args.out).map(|about| about.len()).ok();
    let unit = if is_scaled(&input) { "none" } else { "uV" };
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
        "format": format.name(),
        "bytes": bytes,
        "data": input.name,
        "run": args.run,
        "subjects": trials.subjects(),
        "epochs": trials.len(),
        "channels": layout.channels.iter().map(|channel| &channel.name).collect::<Vec<_>>(),
        "samples": layout.samples,
        "rate_hz": layout.rate_hz,
        "start_s": layout.start_s,
        "classes": layout.classes,
        "class_counts": trials.all().class_counts(),
        "unit": unit,
        "task": layout.task,
        "pipeline": input.pipeline,
        "target_access": input.access(),
        "fingerprint": input.fingerprint,
    });
    session.output.result(text, &document)
}

/// The epochs: as a trained decoder wants them, or as the flags and the configuration say.
fn epochs(args: &ExportArgs, changes: &SettingChanges, session: &Session) -> anyhow::Result<PreparedData> {
    let Some(run) = &args.run else {
        let (data, task) = (args.data.request(), args.task.request());
        return Ok(load_training_data(&data, args.align.map(Into::into), &task, changes, &session.env)?);
    };
    let run = TrainedRun::load(run, &session.env.device)?;
    Ok(run.prepare(&args.data.request(), true, &session.env)?)
}

/// Whether numbers are no microvolts any more, or never were.
fn is_scaled(input: &PreparedData) -> bool {
    let pipeline = &input.pipeline;
    let unknown = input.trials.layout().channels.iter().any(|channel| channel.unit != Unit::Microvolts);
    unknown || pipeline.scaling != Scaling::None || pipeline.alignment != Alignment::None
}

/// Refuses settings of a decoder: there is none that they could be of.
fn only_pipeline(set: &[String]) -> anyhow::Result<()> {
    let foreign = |pair: &&String| !pair.trim_start().starts_with("pipeline.");
    match set.iter().find(foreign) {
        None => Ok(()),
        Some(pair) => Err(told(
            format!("`--set {pair}` is no setting of the pipeline"),
            "write `--set pipeline.window_s=[0,2]`; settings of decoders change nothing about epochs",
        )),
    }
}

/// Whether a file is one that recordings are read from: samples, headers, tables of events and the manifest, of all subjects, whichever are asked
/// for.
fn is_read(recordings: &Recordings, to: &Path) -> anyhow::Result<bool> {
    let to = to.canonicalize()?;
    let real = |path: &Path| path.canonicalize().ok();
    // What a run chose about the data is not known here: without it everything in their folder may be read.
    let Ok(found) = recordings.find() else {
        return Ok(real(recordings.root()).is_none_or(|root| to.starts_with(root)));
    };
    let mut files = found.items.iter().flat_map(|item| &item.files);
    Ok(files.any(|file| real(file).as_ref() == Some(&to)))
}

/// Refuses a file that would replace the data it is made of, or become a part of them.
fn is_apart(data: &DataRequest, to: &Path) -> anyhow::Result<()> {
    let real = |path: &Path| path.canonicalize().ok();
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let same = |one: Option<PathBuf>, other: &Path| one.is_some() && one == real(other);
    let inside = match data.source()? {
        Source::File(path) => same(real(to), &path),
        Source::Folder(path) => same(real(folder), &path),
        // Only what is there can be replaced: the headers of all recordings need not be opened for a new file.
        Source::Recordings(recordings) if to.exists() => is_read(&recordings, to)?,
        Source::Recordings(_) | Source::Simulated { .. } => false,
    };
    match inside {
        false => Ok(()),
        true => Err(told(
            format!("{} would become a part of the data that it is made of", to.display()),
            "give a file in another folder to `--out`",
        )),
    }
}
