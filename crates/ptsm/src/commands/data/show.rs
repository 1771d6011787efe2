//! `ptsm data show`

use std::path::Path;

use ptsm_data::Source;
use ptsm_report::{Column, Table};
use serde_json::json;

use crate::commands::Session;
use crate::input::pairs;
use crate::words::count;

pub(super) fn run(id: &str, root: Option<&Path>, with: &[String], session: &Session) -> anyhow::Result<()> {
    let loaded = Source::parse_with(id, root, &pairs(with)?)?.load(None, None)?;
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
