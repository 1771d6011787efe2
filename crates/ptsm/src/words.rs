//! Numbers as people read them.

use std::time::Duration;

use ptsm_decode::augment::mirror::Mirror;
use ptsm_eval::{Metric, Paired, Summary, above_chance, chance_threshold};
use ptsm_report::{Column, Table};
use ptsm_signal::{Layout, SubjectId, Symmetry, TargetAccess};
use serde_json::{Value, json};

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

/// A number with its sign and two digits; a dash where there is none.
pub(crate) fn signed(value: f64) -> String {
    if value.is_finite() { format!("{value:+.2}") } else { "-".into() }
}

/// A metric's value: shares in percent, others as they are; a dash where there is none.
pub(crate) fn value(metric: &str, value: f64) -> String {
    match metric {
        _ if !value.is_finite() => "-".into(),
        "kappa" | "log_loss" => format!("{value:.3}"),
        _ => percent(value),
    }
}

/// The head of a metric's column.
fn head(metric: &Metric) -> String {
    match metric.name {
        "accuracy" => "accuracy %".into(),
        "balanced_accuracy" => "balanced %".into(),
        "kappa" | "log_loss" => metric.short.into(),
        _ => format!("{} %", metric.short),
    }
}

/// `1 subject`, `2 subjects`
pub(crate) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `1 person`, `2 people`
pub(crate) fn people(n: usize) -> String {
    if n == 1 { "1 person".into() } else { format!("{n} people") }
}

/// Subjects with the reasons why they are left out: `S88 (slow), S92 (odd)`
pub(crate) fn reasons(excluded: &[(SubjectId, String)]) -> String {
    excluded.iter().map(|(subject, why)| format!("{subject} ({why})")).collect::<Vec<_>>().join(", ")
}

/// Whether a decoder of these settings learns from mirrored epochs, and which classes swap; none for a decoder that cannot.
pub(crate) fn mirroring(settings: &Value, layout: &Layout) -> Option<String> {
    let share = mirrored_share(settings)?;
    let symmetry = &layout.task.symmetry;
    Some(match symmetry {
        _ if share > 0.0 => {
            let what = match symmetry {
                Symmetry::Swaps(_) => format!("{symmetry} swap"),
                Symmetry::Invariant | Symmetry::Undeclared => "classes stay".into(),
            };
            format!("{} % of the training epochs, {what}; predictions average both views", percent(share))
        }
        Symmetry::Undeclared => "off; nothing declares which classes swap (`--symmetry`)".into(),
        Symmetry::Swaps(_) | Symmetry::Invariant => match Mirror::new(layout) {
            Ok(_) => "off".into(),
            Err(why) => format!("off; {why}"),
        },
    })
}

/// The share of training epochs that are mirrored; none for a decoder that has no such setting.
pub(crate) fn mirrored_share(settings: &Value) -> Option<f64> {
    settings.pointer("/augment/mirror").and_then(Value::as_f64)
}

/// The same as data.
pub(crate) fn mirroring_json(settings: &Value, layout: &Layout) -> Value {
    match mirrored_share(settings) {
        None => Value::Null,
        Some(share) => json!({ "share": share, "symmetry": layout.task.symmetry }),
    }
}

/// A model's name among others; with what it has seen where it is there twice, as for people it learnt from and for others.
pub(crate) fn called(summary: &Summary, among: &[Summary]) -> String {
    told_apart(summary, among, summary.called())
}

fn told_apart(summary: &Summary, among: &[Summary], name: String) -> String {
    let twice =
        among.iter().any(|s| s.called() == summary.called() && s.target_access != summary.target_access);
    match (twice, summary.target_access) {
        (false, _) => name,
        (true, TargetAccess::Nothing) => format!("{name}, unseen"),
        (true, _) => format!("{name}, seen"),
    }
}

/// A model with its variant, as it is called in tables.
pub(crate) fn with_variant(model: &str, variant: Option<&str>) -> String {
    variant.map_or_else(|| model.to_string(), |variant| format!("{model}, {variant}"))
}

/// A row's name: the model with its variant and what it was tuned with, and, where rows differ in them, the parts of recordings.
pub(crate) fn name(summary: &Summary, among: &[Summary]) -> String {
    let parts = |s: &Summary| (s.learnt.clone(), s.tested.clone());
    let name = if among.iter().all(|s| parts(s) == parts(summary)) {
        Summary { learnt: None, tested: None, ..summary.clone() }.called()
    } else {
        summary.called()
    };
    match summary.adapt {
        Some(few) => format!("{name}, {}", count(few.shots, "shot")),
        None => told_apart(summary, among, name),
    }
}

/// The metrics of a table, where nobody asks for others.
pub(crate) const USUAL: [&str; 3] = ["accuracy", "balanced_accuracy", "auc"];

/// Models in rows, with the usual metrics.
pub(crate) fn summaries(summaries: &[Summary]) -> Table {
    let metrics: Vec<_> = USUAL.iter().filter_map(|name| ptsm_eval::metric(name)).collect();
    summaries_by(summaries, &metrics)
}

/// Models in rows: mean, spreads and interval of the first metric, means of the others, chance, and what was seen of the people.
pub(crate) fn summaries_by(summaries: &[Summary], metrics: &[&'static Metric]) -> Table {
    let name = |s: &Summary| name(s, summaries);
    let first = metrics.first().map_or(USUAL[0], |metric| metric.name);
    let rows = summaries.iter().map(|s| {
        let spread = s.metric(first);
        let show = |x: Option<f64>| x.map_or_else(|| "-".into(), |x| value(first, x));
        let interval = spread
            .and_then(|m| m.interval)
            .map_or_else(|| "-".into(), |i| format!("{} to {}", value(first, i.low), value(first, i.high)));
        let mut row = vec![
            name(s),
            show(spread.map(|m| m.mean)),
            show(spread.and_then(|m| m.sd_subjects)),
            show(spread.and_then(|m| m.sd_seeds)),
            s.seeds.to_string(),
            interval,
        ];
        let mean = |metric: &&Metric| {
            value(metric.name, s.metric(metric.name).map_or(f64::NAN, |spread| spread.mean))
        };
        row.extend(metrics.iter().skip(1).map(mean));
        row.extend([format!("{} of {}", s.chance.above, s.subjects.len()), s.target_access.to_string()]);
        row
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
        let unbalanced = level > 1.0 / s.classes as f64;
        let guessing = if unbalanced { "Always answering the most frequent class" } else { "Guessing" };
        format!(
            "{}, {} scored. {guessing}: {} % accuracy; {} % on all {n} trials together at p < 0.001, {verdict}. Above chance: people, by their accuracy at p < 0.05 each.",
            s.protocol,
            people(s.subjects.len()),
            percent(level),
            percent(chance_threshold(n, level, STRICT)),
        )
    });
    let mut columns = vec![
        Column::text("model"),
        Column::number(metrics.first().map_or_else(String::new, |metric| head(metric))),
        Column::number("SD people"),
        Column::number("SD seeds"),
        Column::number("seeds"),
        Column::text("95 % interval"),
    ];
    columns.extend(metrics.iter().skip(1).map(|metric| Column::number(head(metric))));
    columns.extend([Column::text("above chance"), Column::text("seen of the person")]);
    Table { columns, rows: rows.collect(), note }
}

/// A chance with four digits.
fn chance(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".into() } else { format!("{p:.4}") }
}

/// Models against the first one.
pub(crate) fn comparisons(pairs: &[Paired]) -> Table {
    let against = |first: &Paired| format!("{}, which has seen {}", first.against, first.target_access[1]);
    differences(pairs, against)
}

/// Variants against the plain form of the same model.
pub(crate) fn variants(pairs: &[Paired]) -> Table {
    differences(pairs, |_| "the same model's first row".into())
}

fn differences(pairs: &[Paired], from: impl Fn(&Paired) -> String) -> Table {
    let rows = pairs.iter().map(|pair| {
        let signed = |x: f64| match pair.metric {
            "kappa" | "log_loss" => format!("{x:+.3}"),
            _ => format!("{:+.1}", 100.0 * x),
        };
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
            "Differences of {} from {}, {}person by person. p: Wilcoxon's signed ranks, or signs flipped with fewer than 20 people; both sides. Holm: for all rows at once.",
            first.metric.replace('_', " "),
            from(first),
            if matches!(first.metric, "kappa" | "log_loss") { "" } else { "in points, " },
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
