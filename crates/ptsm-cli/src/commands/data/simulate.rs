//! `ptsm data simulate`

use ptsm::data::simulate::{Cohort, SimulatedTask};
use ptsm::data::{read_cohort, save_cohort, save_recordings};
use serde_json::json;

use crate::args::{Format, SimulateArgs};
use crate::commands::Session;
use crate::exit::fail;
use ptsm::eval::phrases::count;

pub(super) fn run(args: &SimulateArgs, session: &Session) -> anyhow::Result<()> {
    let task = match args.task.as_deref() {
        None => None,
        Some("imagery") => Some(SimulatedTask::Imagery),
        Some("erp") => Some(SimulatedTask::Erp),
        Some("attention") => Some(SimulatedTask::Attention),
        Some(other) => {
            return Err(fail(format!("there is no task `{other}`"), "give `imagery`, `erp` or `attention`"));
        }
    };
    let mut cohort = match &args.config {
        Some(path) => read_cohort(path)?,
        None => Cohort::of(task.unwrap_or_default()),
    };
    cohort.task = task.unwrap_or(cohort.task);
    cohort.subjects = args.subjects.unwrap_or(cohort.subjects);
    cohort.sessions = args.sessions.unwrap_or(cohort.sessions);
    cohort.runs = args.runs.unwrap_or(cohort.runs);
    cohort.trials = args.trials.unwrap_or(cohort.trials);
    cohort.channels = args.channels.clone().unwrap_or(cohort.channels);
    cohort.rate_hz = args.rate.unwrap_or(cohort.rate_hz);
    cohort.strength = args.strength.unwrap_or(cohort.strength);
    cohort.seed = args.seed.unwrap_or(cohort.seed);
    let (manifest, files) = match args.format {
        Format::Npz => (None, save_cohort(&cohort, &args.out)?),
        Format::Edf => {
            save_recordings(&cohort, &args.out).map(|(manifest, files)| (Some(manifest), files))?
        }
    };
    let data = match &manifest {
        Some(manifest) => format!("files:{}", manifest.display()),
        None => args.out.display().to_string(),
    };
    session.output.result(
        format!(
            "{} in {}: {}; read with `--data {data}`\n",
            count(cohort.subjects as usize, "subject"),
            args.out.display(),
            count(files.len(), "file")
        ),
        &json!({ "folder": args.out, "cohort": cohort, "files": files, "data": data }),
    )
}
