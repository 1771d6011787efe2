//! What a benchmark leaves behind, and what it says.

use std::path::Path;

use ptsm_eval::{Collected, Paired, Summary, WorkList, write_records};
use serde_json::json;

use super::exports;
use crate::commands::Session;
use crate::exit::told;
use crate::output;
use crate::plan::Plan;
use crate::words;

/// Writes what there is: records and tables.
pub(super) fn write(
    collected: &Collected,
    list: &WorkList,
    plan: &Plan,
    folder: &Path,
) -> anyhow::Result<()> {
    write_records(&folder.join("results.jsonl"), &collected.records)?;
    let summaries = summaries(collected, list)?;
    let table = words::summaries(&summaries);
    output::write(&folder.join("summary.csv"), table.to_csv().as_bytes())?;
    let title = plan.title.as_deref().unwrap_or("Decoders across people");
    let compared = words::comparisons(&Paired::against_first(&summaries, "balanced_accuracy"));
    let markdown = format!("# {title}\n\n{}\n{}", table.to_markdown(), compared.to_markdown());
    output::write(&folder.join("tables.md"), markdown.as_bytes())?;
    let latex = format!("{}\n{}", table.to_latex(title), compared.to_latex("Differences, person by person"));
    output::write(&folder.join("tables.tex"), latex.as_bytes())?;
    exports::write(collected, list, plan, folder)
}

/// Says it. Fits that failed, or are missing after all, are an error, but not before everything else is said.
pub(super) fn show(
    collected: &Collected,
    list: &WorkList,
    plan: &Plan,
    folder: &Path,
    session: &Session,
) -> anyhow::Result<()> {
    let summaries = summaries(collected, list)?;
    let mut text = String::new();
    if let Some(title) = &plan.title {
        text += &format!("{title}\n\n");
    }
    text += &words::summaries(&summaries).to_string();
    let [balanced, accuracy, auc] =
        ["balanced_accuracy", "accuracy", "auc"].map(|metric| Paired::against_first(&summaries, metric));
    if !balanced.is_empty() {
        text += &format!("\n{}", words::comparisons(&balanced));
    }
    for line in &plan.about {
        text += &format!("\n{line}");
    }
    if !plan.about.is_empty() {
        text.push('\n');
    }
    let comparisons = [balanced, accuracy, auc].concat();
    let document = json!({
        "folder": folder, "records": collected.records, "summary": summaries, "comparisons": comparisons,
        "failures": collected.failures, "missing": collected.missing,
    });
    session.output.result(text, &document)?;
    let all = list.items().count();
    if let Some(first) = collected.failures.first() {
        return Err(told(
            format!(
                "{} of {all} fits failed; the first: {}, {}, fold {}, seed {}: {}",
                collected.failures.len(),
                first.model,
                first.data,
                first.fold,
                first.seed,
                first.error
            ),
            first.hint.clone().unwrap_or_else(|| {
                format!(
                    "`ptsm status {}` lists them; given again, the same command tries them again",
                    folder.display()
                )
            }),
        ));
    }
    if collected.missing > 0 {
        return Err(told(
            format!("{} of {all} fits are missing", collected.missing),
            "give the same command again; it continues",
        ));
    }
    Ok(())
}

/// Summaries in the order in which decoders were asked for.
fn summaries(collected: &Collected, list: &WorkList) -> anyhow::Result<Vec<Summary>> {
    let mut summaries = Summary::of(&collected.records)?;
    let order: Vec<(&str, Option<&str>)> = list
        .stages
        .iter()
        .flat_map(|(stage, _)| stage.entries.iter().map(|e| (e.model.as_str(), e.variant.as_deref())))
        .collect();
    summaries
        .sort_by_key(|s| order.iter().position(|name| *name == (s.model.as_str(), s.variant.as_deref())));
    Ok(summaries)
}
