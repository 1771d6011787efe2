//! `ptsm status`

use ptsm::eval::results::check_is_benchmark;
use ptsm::eval::{Column, FitScores, FitStatus, Table, WorkList};
use serde_json::json;

use super::Session;
use crate::args::StatusArgs;

pub(super) fn run(args: &StatusArgs, session: &Session) -> anyhow::Result<()> {
    check_is_benchmark(&args.folder)?;
    let list = WorkList::read(&args.folder)?;
    let standing = list.fit_statuses(&args.folder);
    let kinds = [FitStatus::Done, FitStatus::Running, FitStatus::Failed, FitStatus::Missing];
    let mut standing = standing.into_iter();
    let (mut rows, mut entries, mut failures) = (vec![], vec![], vec![]);
    let mut all = [0; 4];
    for (stage, items) in &list.stages {
        let own: Vec<FitStatus> = standing.by_ref().take(items.len()).collect();
        for (i, entry) in stage.entries.iter().enumerate() {
            let of = |kind: FitStatus| {
                items.iter().zip(&own).filter(|(item, s)| item.entry == i && **s == kind).count()
            };
            let counts = kinds.map(of);
            (0..4).for_each(|k| all[k] += counts[k]);
            let [done, running, failed, missing] = counts;
            let cells = [entry.display_name(), stage.data.clone(), stage.division.name()];
            rows.push(cells.into_iter().chain(counts.map(|n| n.to_string())).collect());
            entries.push(json!({
                "model": entry.model, "variant": entry.variant, "data": stage.data,
                "protocol": stage.division.name(), "done": done, "running": running, "failed": failed, "missing": missing,
            }));
        }
        for (item, _) in items.iter().zip(&own).filter(|(_, s)| **s == FitStatus::Failed) {
            if let Some(FitScores::Failed { error, hint }) = item.outcome(&args.folder).map(|o| o.scores) {
                let called = stage.entries[item.entry].display_name();
                failures.push(json!({
                    "model": called, "data": stage.data, "fold": item.fold, "seed": item.seed, "error": error, "hint": hint,
                }));
            }
        }
    }
    let [done, running, failed, missing] = all;
    let mut note = format!(
        "{done} of {} fits done, {running} running, {failed} failed, {missing} missing.",
        all.iter().sum::<usize>()
    );
    for failure in &failures {
        let text = |key: &str| failure[key].as_str().unwrap_or_default();
        note += &format!(
            "\nfailed: {}, {}, fold {}, seed {}: {}",
            text("model"),
            text("data"),
            failure["fold"],
            failure["seed"],
            text("error")
        );
    }
    let table = Table {
        columns: vec![
            Column::text("model"),
            Column::text("data"),
            Column::text("protocol"),
            Column::number("done"),
            Column::number("running"),
            Column::number("failed"),
            Column::number("missing"),
        ],
        rows,
        note,
    };
    let document = json!({
        "folder": args.folder, "done": done, "running": running, "failed": failed, "missing": missing,
        "entries": entries, "failures": failures,
    });
    session.output.result(table, &document)
}
