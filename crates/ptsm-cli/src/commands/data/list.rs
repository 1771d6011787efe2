//! `ptsm data list`

use ptsm::data::sources;
use ptsm::eval::{Column, Table};
use serde_json::json;

use crate::commands::Session;

pub(super) fn run(session: &Session) -> anyhow::Result<()> {
    let sources = sources();
    let table = Table {
        columns: ["--data", "description"].map(Column::text).to_vec(),
        rows: sources.iter().map(|s| vec![s.id.clone(), s.about.clone()]).collect(),
        note: String::new(),
    };
    let json: Vec<_> = sources.iter().map(|s| json!({ "id": s.id, "about": s.about })).collect();
    session.output.result(table, &json)
}
