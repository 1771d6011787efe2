//! Numbers as people read them.

use std::time::Duration;

use ptsm_eval::{Paired, Summary, above_chance, chance_threshold};
use ptsm_report::{Column, Table};
use ptsm_signal::TargetAccess;

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

/// A model's name among others; with what it has seen where it is there twice, as for people it learnt from and for others.
pub(crate) fn called(summary: &Summary, among: &[Summary]) -> String {
    let twice =
        among.iter().any(|s| s.called() == summary.called() && s.target_access != summary.target_access);
    match (twice, summary.target_access) {
        (false, _) => summary.called(),
        (true, TargetAccess::Nothing) => format!("{}, unseen", summary.called()),
        (true, _) => format!("{}, seen", summary.called()),
    }
}

/// Models in rows: mean, spreads, interval, chance, and what was seen of the people.
pub(crate) fn summaries(summaries: &[Summary]) -> Table {
    let name = |s: &Summary| match s.adapt {
        Some(few) => format!("{}, {}", s.called(), count(few.shots, "shot")),
        None => called(s, summaries),
    };
    let rows = summaries.iter().map(|s| {
        let mean = |name: &str| percent(s.metric(name).map_or(f64::NAN, |m| m.mean));
        let accuracy = s.metric("accuracy");
        let interval = accuracy
            .and_then(|a| a.interval)
            .map_or_else(|| "-".into(), |i| format!("{} to {}", percent(i.low), percent(i.high)));
        vec![
            name(s),
            mean("accuracy"),
            optional(accuracy.and_then(|a| a.sd_subjects)),
            optional(accuracy.and_then(|a| a.sd_seeds)),
            s.seeds.to_string(),
            interval,
            mean("balanced_accuracy"),
            mean("auc"),
            format!("{} of {}", s.chance.above, s.subjects.len()),
            s.target_access.to_string(),
        ]
    });
    let note = summaries.first().map_or_else(String::new, |s| {
        let (n, level) = (s.chance.pooled_n, s.chance.level);
        let (above, below): (Vec<&Summary>, Vec<&Summary>) = summaries
            .iter()
            .partition(|s| above_chance(s.chance.pooled_n, s.chance.pooled_accuracy, s.chance.level, STRICT));
        let list = |all: &[&Summary]| all.iter().map(|s| name(s)).collect::<Vec<_>>().join("; ");
        let verdict = match (above.len(), below.len()) {
            (_, 0) => "all are above".to_string(),
            (0, _) => "none is above".to_string(),
            _ => format!("above: {}; not above: {}", list(&above), list(&below)),
        };
        format!(
            "{}, {} scored. Guessing: {} %; {} % on all {n} trials together at p < 0.001, {verdict}. Above chance: people, at p < 0.05 each.",
            s.protocol,
            people(s.subjects.len()),
            percent(level),
            percent(chance_threshold(n, level, STRICT)),
        )
    });
    Table {
        columns: vec![
            Column::text("model"),
            Column::number("accuracy %"),
            Column::number("SD people"),
            Column::number("SD seeds"),
            Column::number("seeds"),
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

/// A chance with four digits.
fn chance(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".into() } else { format!("{p:.4}") }
}

/// Models against the first one.
pub(crate) fn comparisons(pairs: &[Paired]) -> Table {
    let rows = pairs.iter().map(|pair| {
        let signed = |x: f64| format!("{:+.1}", 100.0 * x);
        let interval =
            pair.interval.map_or("-".into(), |i| format!("{} to {}", signed(i.low), signed(i.high)));
        vec![
            pair.model.clone(),
            signed(pair.difference),
            interval,
            if pair.effect.is_finite() { format!("{:+.2}", pair.effect) } else { "-".into() },
            chance(pair.p),
            chance(pair.p_holm),
            pair.people.to_string(),
            pair.target_access[0].to_string(),
        ]
    });
    let note = pairs.first().map_or_else(String::new, |first| {
        format!(
            "Differences of balanced accuracy from {}, which has seen {}, in points, person by person. p: Wilcoxon's signed ranks, or signs flipped with fewer than 20 people; both sides. Holm: for all rows at once.",
            first.against, first.target_access[1],
        )
    });
    Table {
        columns: vec![
            Column::text("model"),
            Column::number("difference"),
            Column::text("95 % interval"),
            Column::number("effect"),
            Column::number("p"),
            Column::number("p, Holm"),
            Column::number("people"),
            Column::text("seen of the person"),
        ],
        rows: rows.collect(),
        note,
    }
}

/// How sure the claim that strangers are decoded must be.
const STRICT: f64 = 0.001;
