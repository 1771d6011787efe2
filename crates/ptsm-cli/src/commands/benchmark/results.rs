//! What a benchmark leaves behind, and what it says.

use std::path::Path;

use ptsm_eval::{Collected, Entry, FoldReading, Matrix, Stage, Summary, WorkList, write_records};
use ptsm_report::{Column, Table};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::groups::{self, Group};
use super::matrix::{self, Beats};
use super::{collect, exports};
use crate::at_chance;
use crate::commands::Session;
use crate::exit::told;
use crate::output;
use crate::plan::Plan;
use crate::readings;
use crate::words;

/// Decoders in a matrix that fits on a terminal.
const MOST_COLUMNS: usize = 16;

/// Writes what there is: records and tables.
pub(super) fn write(
    collected: &Collected,
    list: &WorkList,
    plan: &Plan,
    folder: &Path,
) -> anyhow::Result<()> {
    write_records(&folder.join("results.jsonl"), &collected.records)?;
    let groups = Group::of(&summaries(collected, list, plan)?, &plan.compared());
    output::write(&folder.join("summary.csv"), table(&groups, plan).to_csv().as_bytes())?;
    let beats = matrix::of(&groups, plan)?;
    output::write(&folder.join("matrix.json"), &serde_json::to_vec_pretty(&beats)?)?;
    output::write(
        &folder.join("tables.md"),
        markdown(&groups, &beats, &collected.readings, plan, list).as_bytes(),
    )?;
    output::write(&folder.join("tables.tex"), latex(&groups, &beats, &collected.readings, plan).as_bytes())?;
    if !collected.readings.is_empty() {
        let table = readings::by_fit(&collected.readings);
        output::write(&folder.join("features.csv"), table.to_csv().as_bytes())?;
    }
    if !plan.paper.is_empty() {
        let published = groups::cells_table(&groups::cells(plan, &groups));
        output::write(&folder.join("published.csv"), published.to_csv().as_bytes())?;
    }
    exports::write(collected, list, plan, folder)
}

fn title(plan: &Plan) -> &str {
    plan.title.as_deref().unwrap_or("Decoders across people")
}

fn markdown(
    groups: &[Group],
    beats: &[Beats],
    features: &[FoldReading],
    plan: &Plan,
    list: &WorkList,
) -> String {
    let mut text = format!("# {}\n", title(plan));
    for group in groups {
        text += &format!("\n## {}\n", group.title());
        for (_, table) in group.tables(plan) {
            text += &format!("\n{}", table.to_markdown());
        }
    }
    for one in beats {
        text += &format!("\n{}", one.table().to_markdown());
    }
    if let Some(table) = readings::by_decoder(features) {
        text += &format!("\n{}", table.to_markdown());
    }
    about(plan, list).iter().for_each(|line| text += &format!("\n- {line}"));
    text + "\n"
}

fn latex(groups: &[Group], beats: &[Beats], features: &[FoldReading], plan: &Plan) -> String {
    let mut text = String::new();
    for group in groups {
        let caption = format!("{}: {}", title(plan), group.title());
        for (_, table) in group.tables(plan) {
            text += &format!("{}\n", table.to_latex(&caption));
        }
    }
    for one in beats {
        text += &format!("{}\n", one.table().to_latex(&format!("{}: who beats whom", title(plan))));
    }
    if let Some(table) = readings::by_decoder(features) {
        text += &format!("{}\n", table.to_latex(&format!("{}: features of every fold", title(plan))));
    }
    text
}

/// All groups in one table. Where there are several, each row says which it is of.
fn table(groups: &[Group], plan: &Plan) -> Table {
    // One order of metrics for all of them.
    let all: Vec<Summary> = groups.iter().flat_map(|group| group.summaries.clone()).collect();
    let metrics = plan.shown(&all);
    let [first, others @ ..] = groups else { return words::summaries_by(&[], &metrics) };
    let mut table = words::summaries_by(&first.summaries, &metrics);
    if others.is_empty() {
        return table;
    }
    table.columns.insert(0, Column::text("of"));
    table.rows.clear();
    for group in groups {
        for mut row in words::summaries_by(&group.summaries, &metrics).rows {
            row.insert(0, group.title());
            table.rows.push(row);
        }
    }
    table
}

/// Says it. Fits that failed, or are missing after all, are an error, but not before everything else is said.
pub(super) fn show(
    collected: &Collected,
    list: &WorkList,
    plan: &Plan,
    folder: &Path,
    session: &Session,
) -> anyhow::Result<()> {
    show_so_far(collected, list, plan, folder, session)?;
    if collected.missing > 0 {
        return Err(told(
            format!("{} of {} fits are missing", collected.missing, list.items().count()),
            "give the same command again; it continues",
        ));
    }
    Ok(())
}

/// The same while others are at work: what is missing is no error.
pub(super) fn show_so_far(
    collected: &Collected,
    list: &WorkList,
    plan: &Plan,
    folder: &Path,
    session: &Session,
) -> anyhow::Result<()> {
    let summaries = summaries(collected, list, plan)?;
    let mut text = String::new();
    if let Some(title) = &plan.title {
        text += &format!("{title}\n\n");
    }
    let groups = Group::of(&summaries, &plan.compared());
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        if groups.len() > 1 {
            text += &format!("{}\n\n", group.title());
        }
        text += &group.text(plan);
    }
    let beats = matrix::of(&groups, plan)?;
    // Two are compared above; many are too wide for a terminal and stand in the files.
    for one in beats.iter().filter(|one| (3..=MOST_COLUMNS).contains(&one.matrix.models.len())) {
        text += &format!("\n{}", one.table());
    }
    if let Some(table) = readings::by_decoder(&collected.readings) {
        text += &format!("\n{table}");
    }
    if let Some(table) = groups::left_over(plan, &groups) {
        text += &format!("\n{table}");
    }
    let about = about(plan, list);
    for line in &about {
        text += &format!("\n{line}");
    }
    if !about.is_empty() {
        text.push('\n');
    }
    let comparisons: Vec<_> = groups.iter().flat_map(|group| &group.comparisons).collect();
    let document = json!({
        "folder": folder, "records": collected.records, "summary": summaries, "comparisons": comparisons,
        "groups": groups, "published": groups::cells(plan, &groups), "about": about,
        "mirroring": mirroring(list),
        "matrices": beats, "features": collected.readings,
        "failures": collected.failures, "missing": collected.missing,
        "at_chance": at_chance::of_decoders(&summaries),
    });
    session.output.result(text, &document)?;
    for group in &groups {
        at_chance::warn_of_decoders(&group.summaries, session.output);
    }
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
    Ok(())
}

/// A benchmark as a page shows it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compared {
    pub(crate) title: String,
    /// What a reader should know.
    pub(crate) about: Vec<String>,
    /// The metric of the comparisons.
    pub(crate) metric: String,
    pub(crate) groups: Vec<ComparedGroup>,
    /// What each is about, and who beats whom.
    pub(crate) matrices: Vec<(String, Matrix)>,
    /// What features of every fold say of people; empty where that was not asked.
    pub(crate) readings: Vec<FoldReading>,
}

/// Results that may stand in one table.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComparedGroup {
    pub(crate) title: String,
    pub(crate) summaries: Vec<Summary>,
    /// Tables by name.
    pub(crate) tables: Vec<(String, Table)>,
}

impl Compared {
    /// What is done so far in a benchmark's folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Compared> {
        let (plan, list) = collect::read(folder)?;
        let collected = list.collect(folder);
        if collected.records.is_empty() {
            return Err(collect::nothing_done(folder));
        }
        let mut about = about(&plan, &list);
        let open = collected.missing + collected.failures.len();
        if open > 0 {
            about.push(format!("{open} of {} fits failed or are missing.", list.items().count()));
        }
        let groups = Group::of(&summaries(&collected, &list, &plan)?, &plan.compared());
        let matrices = matrix::of(&groups, &plan)?.into_iter().map(|one| (one.of, one.matrix)).collect();
        Ok(Compared {
            title: title(&plan).to_string(),
            about,
            metric: plan.compared().first().map_or("accuracy", |metric| metric.name).into(),
            groups: groups
                .into_iter()
                .map(|group| ComparedGroup {
                    title: group.title(),
                    tables: group
                        .tables(&plan)
                        .into_iter()
                        .map(|(name, table)| (name.into(), table))
                        .collect(),
                    summaries: group.summaries,
                })
                .collect(),
            matrices,
            readings: collected.readings,
        })
    }
}

/// What a reader should know: what the plan says, and which decoders learnt from mirrored epochs.
fn about(plan: &Plan, list: &WorkList) -> Vec<String> {
    let mut lines = plan.about.clone();
    for (stage, _) in &list.stages {
        let told = stage
            .entries
            .iter()
            .filter_map(|entry| Some((entry.called(), words::mirroring(&entry.settings, &stage.layout)?)));
        let mut by_text: Vec<(String, Vec<String>)> = vec![];
        for (called, text) in told {
            match by_text.iter_mut().find(|(known, _)| *known == text) {
                Some((_, all)) => all.push(called),
                None => by_text.push((text, vec![called])),
            }
        }
        let each: Vec<String> =
            by_text.iter().map(|(text, all)| format!("{} ({text})", all.join(", "))).collect();
        let line = format!("Left-right mirroring, {}: {}.", stage.data, each.join("; "));
        if !each.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Which decoders learnt from mirrored epochs, as data.
fn mirroring(list: &WorkList) -> Vec<Value> {
    let of = |stage: &Stage, entry: &Entry| {
        json!({
            "data": stage.data, "model": entry.model, "variant": entry.variant, "paradigm": stage.layout.task.paradigm,
            "mirroring": words::mirroring_json(&entry.settings, &stage.layout),
        })
    };
    list.stages
        .iter()
        .flat_map(|(stage, _)| stage.entries.iter().map(move |entry| of(stage, entry)))
        .collect()
}

/// Summaries in the order in which decoders were asked for.
fn summaries(collected: &Collected, list: &WorkList, plan: &Plan) -> anyhow::Result<Vec<Summary>> {
    let mut summaries = Summary::led_by(&collected.records, plan.leading())?;
    let order: Vec<(&str, Option<&str>)> = list
        .stages
        .iter()
        .flat_map(|(stage, _)| stage.entries.iter().map(|e| (e.model.as_str(), e.variant.as_deref())))
        .collect();
    summaries
        .sort_by_key(|s| order.iter().position(|name| *name == (s.model.as_str(), s.variant.as_deref())));
    Ok(summaries)
}
