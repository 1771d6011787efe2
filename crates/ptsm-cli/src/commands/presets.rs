//! `ptsm presets`

use ptsm::eval::{Column, Table};
use serde_json::json;

use super::Session;
use crate::exit::fail;
use ptsm::eval::plan::presets::{PRESETS, find, names};

pub(super) fn run(name: Option<&str>, session: &Session) -> anyhow::Result<()> {
    let Some(name) = name else {
        let title = |text: &str| -> String {
            let table: Option<toml::Table> = toml::from_str(text).ok();
            table.and_then(|t| Some(t.get("title")?.as_str()?.to_string())).unwrap_or_default()
        };
        let table = Table {
            columns: vec![Column::text("preset"), Column::text("description")],
            rows: PRESETS.iter().map(|p| vec![p.name.into(), title(p.text)]).collect(),
            note: "`ptsm presets NAME` shows one; `ptsm benchmark NAME --root DIR --out FOLDER` runs it."
                .into(),
        };
        let all: Vec<_> = PRESETS.iter().map(|p| json!({ "name": p.name, "title": title(p.text) })).collect();
        return session.output.result(table, &all);
    };
    match find(name) {
        Some(preset) => {
            let document: toml::Table = toml::from_str(preset.text)?;
            session.output.result(preset.text, &document)
        }
        None => Err(fail(format!("there is no preset `{name}`"), format!("presets are {}", names()))),
    }
}
