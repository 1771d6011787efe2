//! Numbers as people read them.

use std::time::Duration;

use ptsm_eval::{Spread, Summary, chance_threshold};
use ptsm_report::{Column, Table};

/// `1 h 02 min`, `3 min 20 s`, `7 s`
pub(crate) fn duration(d: Duration) -> String {
    let s = d.as_secs();
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

/// A fraction in percent with one digit; a dash where there is none.
pub(crate) fn percent(value: f64) -> String {
    if value.is_finite() { format!("{:.1}", 100.0 * value) } else { "-".into() }
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), percent)
}

/// `1 subject`, `2 subjects`
pub(crate) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `1 person`, `2 people`
pub(crate) fn people(n: usize) -> String {
    if n == 1 { "1 person".into() } else { format!("{n} people") }
}

/// Models in rows: mean, spreads, interval, chance, and what was seen of the people.
pub(crate) fn summaries(summaries: &[Summary]) -> Table {
    let rows = summaries.iter().map(|s| {
        let of = |name: &str| s.metric(name);
        let mean = |spread: Option<&Spread>| percent(spread.map_or(f64::NAN, |s| s.mean));
        let accuracy = of("accuracy");
        let interval = accuracy
            .and_then(|a| a.interval)
            .map_or_else(|| "-".into(), |i| format!("{} to {}", percent(i.low), percent(i.high)));
        let model = match s.adapt {
            Some(few) => format!("{}, {} shots", s.model, few.shots),
            None => s.model.clone(),
        };
        vec![
            model,
            mean(accuracy),
            optional(accuracy.and_then(|a| a.sd_subjects)),
            optional(accuracy.and_then(|a| a.sd_seeds)),
            interval,
            mean(of("balanced_accuracy")),
            mean(of("auc")),
            format!("{} of {}", s.chance.above, s.subjects.len()),
            s.target_access.to_string(),
        ]
    });
    let first = summaries.first();
    let note = first.map_or_else(String::new, |s| {
        let strict = chance_threshold(s.chance.pooled_n, s.classes, 0.001);
        let marks: Vec<String> = summaries
            .iter()
            .map(|s| {
                let strict = chance_threshold(s.chance.pooled_n, s.classes, 0.001);
                let verdict = if s.chance.pooled_accuracy > strict { "above" } else { "not above" };
                format!("{} {verdict}", s.model)
            })
            .collect();
        format!(
            "{}, {} scored, {}; chance {} %, and {} % for all {} trials together at p < 0.001: {}",
            s.protocol,
            people(s.subjects.len()),
            count(s.seeds, "seed"),
            percent(s.chance.level),
            percent(strict),
            s.chance.pooled_n,
            marks.join(", ")
        )
    });
    Table {
        columns: vec![
            Column::text("model"),
            Column::number("accuracy %"),
            Column::number("SD people"),
            Column::number("SD seeds"),
            Column::text("95 % interval"),
            Column::number("balanced %"),
            Column::number("AUC %"),
            Column::text("above chance"),
            Column::text("seen of the person"),
        ],
        rows: rows.collect(),
        note,
    }
}
