//! `ptsm data list | show | get | simulate`

use std::path::Path;

use ptsm_data::simulate::{Cohort, Task};
use ptsm_data::{Source, read_cohort, save_cohort, sources};
use ptsm_report::{Column, Table};
use serde_json::json;

use super::Session;
use crate::args::{DataCommand, SimulateArgs};
use crate::exit::told;
use crate::words::count;

pub(super) fn run(command: &DataCommand, session: &Session) -> anyhow::Result<()> {
    match command {
        DataCommand::List => list(session),
        DataCommand::Show { id, root } => show(id, root.as_deref(), session),
        DataCommand::Get(args) => super::get::run(args, session),
        DataCommand::Simulate(args) => simulate(args, session),
    }
}

fn list(session: &Session) -> anyhow::Result<()> {
    let sources = sources();
    let table = Table {
        columns: ["--data", "what it is"].map(Column::text).to_vec(),
        rows: sources.iter().map(|s| vec![s.id.clone(), s.about.clone()]).collect(),
        note: String::new(),
    };
    let json: Vec<_> = sources.iter().map(|s| json!({ "id": s.id, "about": s.about })).collect();
    session.output.result(table, &json)
}

fn show(id: &str, root: Option<&Path>, session: &Session) -> anyhow::Result<()> {
    let loaded = Source::parse(id, root)?.load(None, None)?;
    for note in &loaded.notes {
        session.output.note(format!("note: {note}"));
    }
    let layout = loaded.trials.layout();
    let subjects = loaded.trials.subjects();
    let mut columns = vec![Column::text("subject"), Column::number("sessions"), Column::number("trials")];
    columns.extend(layout.classes.iter().map(Column::number));
    let mut people = vec![];
    let rows = subjects.iter().map(|&subject| {
        let own = loaded.trials.of(&[subject].into());
        let sessions: std::collections::BTreeSet<u32> = own.info().map(|t| t.session).collect();
        let counts = own.class_counts();
        people.push(
            json!({ "subject": subject, "sessions": sessions.len(), "trials": own.len(), "classes": counts }),
        );
        let mut row = vec![subject.to_string(), sessions.len().to_string(), own.len().to_string()];
        row.extend(counts.iter().map(ToString::to_string));
        row
    });
    let rows: Vec<_> = rows.collect();
    let names: Vec<&str> = layout.channels.iter().map(|c| c.name.as_str()).collect();
    let end_s = layout.start_s + layout.samples as f64 / layout.rate_hz;
    let note = format!(
        "{}: {}, {}, {} x {} samples, {} to {} s at {} Hz\nchannels: {}",
        loaded.name,
        count(subjects.len(), "subject"),
        count(loaded.trials.len(), "trial"),
        names.len(),
        layout.samples,
        layout.start_s,
        end_s,
        layout.rate_hz,
        names.join(" ")
    );
    let text = format!("{}{note}\n", Table { columns, rows, note: String::new() });
    session.output.result(
        text,
        &json!({
            "name": loaded.name,
            "subjects": people,
            "layout": layout,
            "pipeline": loaded.pipeline,
            "fingerprint": loaded.fingerprint,
            "notes": loaded.notes,
        }),
    )
}

fn simulate(args: &SimulateArgs, session: &Session) -> anyhow::Result<()> {
    let task = match args.task.as_deref() {
        None => None,
        Some("imagery") => Some(Task::Imagery),
        Some("erp") => Some(Task::Erp),
        Some("attention") => Some(Task::Attention),
        Some(other) => {
            return Err(told(format!("there is no task `{other}`"), "give `imagery`, `erp` or `attention`"));
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
    let files = save_cohort(&cohort, &args.to)?;
    session.output.result(
        format!(
            "{} in {}: {}\n",
            count(cohort.subjects as usize, "subject"),
            args.to.display(),
            count(files.len(), "file")
        ),
        &json!({ "folder": args.to, "cohort": cohort, "files": files }),
    )
}
