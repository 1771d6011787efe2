//! Epochs as a decoder sees them, for NumPy, MNE or pandas.

mod csv;
mod fif;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ptsm_data::arrays::write_prepared_trials;
use ptsm_data::{Recordings, Source};
use ptsm_eval::{
    DataRequest, Env, Error, ErrorContext, PreparedData, Result, SettingsRequest, TrainedRun,
    load_training_data,
};
use ptsm_signal::{Alignment, Scaling, Unit};

/// What epochs are written as, by the ending of a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Arrays for `numpy.load`.
    Npz,
    /// For `mne.read_epochs`.
    Fif,
    /// A row per epoch and sample, for pandas.
    Csv,
}

impl ExportFormat {
    /// What the name of a file says.
    pub fn of(path: &Path) -> Result<ExportFormat> {
        match path.extension().and_then(OsStr::to_str).map(str::to_lowercase).as_deref() {
            Some("npz") => Ok(ExportFormat::Npz),
            Some("fif") => Ok(ExportFormat::Fif),
            Some("csv") => Ok(ExportFormat::Csv),
            _ => Err(Error::request(
                format!("{} does not say what it is to hold", path.display()),
                "end the name of `--out` in `.npz` (NumPy), `.fif` (MNE) or `.csv` (pandas)",
            )),
        }
    }

    /// Its name, which is also the ending.
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Npz => "npz",
            ExportFormat::Fif => "fif",
            ExportFormat::Csv => "csv",
        }
    }
}

/// Which epochs to write, and where.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// The data and the subjects.
    pub data: DataRequest,
    /// Prepare epochs as this trained run wants them.
    pub run: Option<PathBuf>,
    /// Otherwise, what is declared about the task, the pipeline and the alignment.
    pub settings: SettingsRequest,
    /// The file.
    pub out: PathBuf,
}

/// What was written.
pub struct ExportReport {
    /// The epochs.
    pub epochs: PreparedData,
    /// What they were written as.
    pub format: ExportFormat,
    /// Whether the numbers have no unit any more, because they were scaled or aligned, or never had a known one.
    pub scaled: bool,
}

/// Writes epochs after the whole pipeline: filters, resampling, window, baseline, scaling and alignment.
pub fn export(request: &ExportRequest, env: &Env) -> Result<ExportReport> {
    let format = ExportFormat::of(&request.out)?;
    is_apart(&request.data.or(&request.settings.changes)?, &request.out)?;
    let epochs = prepare(request, env)?;
    let scaled = is_scaled(&epochs);
    match format {
        ExportFormat::Npz => {
            write_prepared_trials(&request.out, &epochs.trials, &epochs.pipeline, &epochs.identities)?;
        }
        ExportFormat::Fif => fif::write(&request.out, &epochs.trials, scaled, env)?,
        ExportFormat::Csv => csv::write(&request.out, &epochs.trials, env)?,
    }
    Ok(ExportReport { epochs, format, scaled })
}

/// The epochs: as a trained decoder wants them, or as the settings say.
fn prepare(request: &ExportRequest, env: &Env) -> Result<PreparedData> {
    let Some(run) = &request.run else {
        let SettingsRequest { task, changes, align, .. } = &request.settings;
        return load_training_data(&request.data, *align, task, changes, env);
    };
    let run = TrainedRun::load(run, &env.device)?;
    run.prepare(&request.data, true, env)
}

/// Whether numbers are no microvolts any more, or never were.
fn is_scaled(input: &PreparedData) -> bool {
    let pipeline = &input.pipeline;
    let unknown = input.trials.layout().channels.iter().any(|channel| channel.unit != Unit::Microvolts);
    unknown || pipeline.scaling != Scaling::None || pipeline.alignment != Alignment::None
}

/// Whether a file is one that recordings are read from: samples, headers, tables of events and the manifest, of all subjects, whichever are asked
/// for.
fn is_read(recordings: &Recordings, to: &Path) -> Result<bool> {
    let to = to.canonicalize().while_doing(|| format!("{} cannot be looked at", to.display()))?;
    let real = |path: &Path| path.canonicalize().ok();
    // What a run chose about the data is not known here: without it everything in their folder may be read.
    let Ok(found) = recordings.find() else {
        return Ok(real(recordings.root()).is_none_or(|root| to.starts_with(root)));
    };
    let mut files = found.items.iter().flat_map(|item| &item.files);
    Ok(files.any(|file| real(file).as_ref() == Some(&to)))
}

/// Refuses a file that would replace the data it is made of, or become a part of them.
fn is_apart(data: &DataRequest, to: &Path) -> Result<()> {
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
        true => Err(Error::request(
            format!("{} would become a part of the data that it is made of", to.display()),
            "give a file in another folder to `--out`",
        )),
    }
}
