//! `ptsm evaluate`

use ptsm::eval::phrases::percent;
use ptsm::eval::{Column, METRICS, Metric, Summary, Table, tables};
use ptsm::pages::sections;
use ptsm::{EvaluateRequest, evaluate};
use serde_json::json;

use super::Session;
use crate::args::EvaluateArgs;
use crate::at_chance;
use crate::output;

pub(super) fn run(args: &EvaluateArgs, session: &Session) -> anyhow::Result<()> {
    let request = EvaluateRequest {
        run: args.run.clone(),
        data: args.data.request(),
        shots: args.shots.clone(),
        how: (&args.tuning).into(),
        page: args.out.is_some(),
    };
    let report = evaluate(&request, &session.env)?;
    if let (Some(path), Some(material)) = (&args.out, &report.material) {
        let page = sections::build(material, &sections::chosen(&[], false)?, false);
        output::write(path, page.html().as_bytes())?;
        session.output.note(format!("page: {}", path.display()));
    }
    let (summaries, few) = (&report.summaries, &report.few_shot);
    let mut text = format!(
        "{}\n{}",
        summaries.iter().map(by_subject).map(|t| t.to_string()).collect::<String>(),
        tables::summaries(summaries)
    );
    if !few.is_empty() {
        text += &format!("\n{}", tables::summaries(few));
    }
    session.output.result(
        text,
        &json!({
            "records": report.records, "summary": summaries,
            "few_shot": { "records": report.few_shot_records, "summary": few },
            "at_chance": at_chance::of_decoders(summaries),
        }),
    )?;
    at_chance::warn_of_decoders(summaries, session.output);
    Ok(())
}

/// A row per subject, the mean over seeds of every metric.
fn by_subject(summary: &Summary) -> Table {
    let mut columns = vec![Column::text("subject"), Column::number("trials")];
    columns.extend(METRICS.iter().map(|m| {
        Column::number(if m.more_is_better { format!("{} %", m.short) } else { m.short.to_string() })
    }));
    let rows = summary.subjects.iter().map(|subject| {
        let value = |m: &Metric| subject.scores.get(m.name).copied().unwrap_or(f64::NAN);
        let cell = |m: &Metric| match m.more_is_better {
            true => percent(value(m)),
            false => format!("{:.3}", value(m)),
        };
        [subject.subject.to_string(), subject.n.to_string()]
            .into_iter()
            .chain(METRICS.iter().map(cell))
            .collect()
    });
    let all: Vec<&Metric> = METRICS.iter().collect();
    let note = tables::positive_note(std::slice::from_ref(summary), &all).unwrap_or_default();
    Table { columns, rows: rows.collect(), note }
}
