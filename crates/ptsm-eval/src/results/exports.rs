//! Results for other programs and other people: every score as CSV, a frame as MOABB's, and where all of it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptsm_signal::TargetAccess;
use serde_json::{Value, json};

use super::write_file;
use crate::benchmark::{CollectedResults, DecoderEntry, Division, Stage, WorkList};
use crate::error::{ErrorContext, Result};
use crate::metrics::{METRICS, metric};
use crate::plan::Plan;
use crate::record::Record;
use crate::table::{Column, Table};

pub(super) fn write(collected: &CollectedResults, list: &WorkList, plan: &Plan, folder: &Path) -> Result<()> {
    write_file(&folder.join("results.csv"), scores(&collected.records).to_csv().as_bytes())?;
    write_file(&folder.join("moabb.csv"), moabb(list, plan, collected).to_csv().as_bytes())?;
    let text = serde_json::to_vec_pretty(&provenance(list, collected))
        .while_doing(|| "the provenance cannot be written down".into())?;
    write_file(&folder.join("provenance.json"), &text)
}

/// What MOABB calls a level of access, or our words where it has none.
fn access(seen: TargetAccess) -> String {
    seen.moabb().map_or_else(|| seen.to_string(), str::to_string)
}

/// A number as it is, nothing where there is none.
fn exact(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// Every record with every metric.
fn scores(records: &[Record]) -> Table {
    let names = [
        "data",
        "model",
        "variant",
        "protocol",
        "learnt",
        "tested",
        "target_access",
        "subject",
        "session",
        "fold",
        "seed",
        "shots",
        "n",
        "positive_class",
    ];
    let text = |value: Option<String>| value.unwrap_or_default();
    let row = |r: &Record| {
        let units =
            |units: &Option<crate::splits::Units>| units.as_ref().map_or("all".into(), |u| u.to_string());
        let cells = vec![
            r.data.clone(),
            r.model.clone(),
            text(r.variant.clone()),
            r.protocol.clone(),
            units(&r.trained_on),
            units(&r.tested),
            access(r.target_access),
            r.subject.0.to_string(),
            text(r.session.map(|s| s.to_string())),
            r.fold.to_string(),
            r.seed.to_string(),
            text(r.adapt.map(|few| few.shots.to_string())),
            r.scores.n.to_string(),
            text(r.positive_class.clone()),
        ];
        cells.into_iter().chain(METRICS.iter().map(|metric| exact((metric.get)(&r.scores)))).collect()
    };
    let names = names.into_iter().chain(METRICS.iter().map(|metric| metric.name));
    Table {
        columns: names.map(Column::text).collect(),
        rows: records.iter().map(row).collect(),
        note: String::new(),
    }
}

/// The columns of MOABB's results: a row for each pipeline, subject and session, the mean over seeds. Its analysis takes it as it is.
/// The score is the plan's first metric, else what MOABB takes: AUC for two classes, accuracy for more.
fn moabb(list: &WorkList, plan: &Plan, collected: &CollectedResults) -> Table {
    /// Sums over seeds.
    #[derive(Default)]
    struct Cell {
        score: f64,
        time: f64,
        samples: usize,
        seeds: usize,
    }
    let mut rows = vec![];
    for (stage, items) in &list.stages {
        let usual = if stage.layout.classes.len() == 2 { "auc" } else { "accuracy" };
        let metric = metric(plan.metrics.first().map_or(usual, String::as_str));
        for (i, entry) in stage.entries.iter().enumerate() {
            let mut cells: BTreeMap<_, Cell> = BTreeMap::new();
            for item in items.iter().filter(|item| item.entry == i) {
                let Some(fit) = collected.fits.get(&item.key) else { continue };
                for r in collected.records[fit.records.clone()].iter().filter(|r| r.adapt.is_none()) {
                    let score = metric.map_or(f64::NAN, |metric| (metric.get)(&r.scores));
                    if !score.is_finite() {
                        continue;
                    }
                    let session = r.tested.as_ref().map_or("all".to_string(), |units| units.to_string());
                    let cell = cells.entry((r.trained_on.clone(), r.subject, session)).or_default();
                    cell.score += score;
                    cell.time += fit.elapsed_s * fit.made_of as f64 / fit.together as f64;
                    cell.samples = fit.trials;
                    cell.seeds += 1;
                }
            }
            let sessions: BTreeSet<_> = cells.keys().map(|(_, _, session)| session.clone()).collect();
            for ((trained_on, subject, session), cell) in &cells {
                let from = match &stage.division {
                    Division::Across { from } => format!(", decoders of {from}"),
                    _ => String::new(),
                };
                let part = trained_on.as_ref().map_or(String::new(), |units| format!(", trained on {units}"));
                rows.push(vec![
                    exact(cell.score / cell.seeds as f64),
                    exact(cell.time / cell.seeds as f64),
                    cell.samples.to_string(),
                    subject.0.to_string(),
                    session.clone(),
                    stage.layout.channels.len().to_string(),
                    sessions.len().to_string(),
                    stage.data.clone(),
                    format!("{}{from}{part}", entry.display_name()),
                    access(target_access(stage, entry)),
                ]);
            }
        }
    }
    let names = [
        "score",
        "time",
        "samples",
        "subject",
        "session",
        "channels",
        "n_sessions",
        "dataset",
        "pipeline",
        "cross_subject_mode",
    ];
    Table { columns: names.into_iter().map(Column::text).collect(), rows, note: String::new() }
}

fn target_access(stage: &Stage, entry: &DecoderEntry) -> TargetAccess {
    let own = ptsm_decode::registry::find(&entry.model);
    let own = own.and_then(|method| method.target_access_with(&entry.settings)).unwrap_or_default();
    own.and(stage.trials_access)
}

/// What is needed to do it again and to know that it was the same: versions, machines, hashes of data, subjects and settings of every fold.
fn provenance(list: &WorkList, collected: &CollectedResults) -> Value {
    let mut made_by = BTreeMap::<String, usize>::new();
    let mut stages = vec![];
    for (stage, items) in &list.stages {
        for item in items {
            if let Some(fit) = collected.fits.get(&item.key) {
                *made_by.entry(fit.made_by.clone()).or_default() += 1;
            }
        }
        let mut folds = BTreeMap::new();
        for item in items {
            folds.insert(item.fold, &item.test);
        }
        let mut entry = json!({
            "data": stage.data, "fingerprint": stage.fingerprint, "protocol": stage.division.name(),
            "layout": stage.layout, "pipeline": stage.pipeline, "seeds": stage.seeds, "precision": stage.precision,
            "transfers": stage.transfers, "shots": stage.shots, "entries": stage.entries, "tested_by_fold": folds,
        });
        if !stage.source_only.is_empty() {
            entry["source_only"] = json!(stage.source_only);
        }
        stages.push(entry);
    }
    json!({
        "program": concat!("ptsm ", env!("CARGO_PKG_VERSION")),
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "processor": processor(),
        "fits_made_by": made_by,
        "again": "ptsm benchmark benchmark.toml --out FOLDER, with the same --precision",
        "stages": stages,
    })
}

/// The processor's own name, where the system tells it.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}
