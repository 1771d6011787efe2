//! Numbers as people read them.

use std::collections::BTreeSet;
use std::time::Duration;

use ptsm_decode::augment::mirror::Mirror;
use ptsm_eval::{Metric, Paired, STRICT_ALPHA, Summary, TrainingSubjects};
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

/// `S03, S07`
pub(crate) fn ids(subjects: &BTreeSet<SubjectId>) -> String {
    subjects.iter().map(SubjectId::to_string).collect::<Vec<_>>().join(", ")
}

/// How many subjects decoders train on in each fold, and how many are held back for validation; decoders alike stand together.
pub(crate) fn held_back(decoders: &[TrainingSubjects]) -> String {
    let range = |[least, most]: [usize; 2], what: &str| match least == most {
        true => count(most, what),
        false => format!("{least} to {}", count(most, what)),
    };
    let mut told: Vec<(String, Vec<&str>)> = vec![];
    for decoder in decoders {
        let mut said = format!("trained on {} in each fold", range(decoder.train, "subject"));
        if decoder.validation[1] > 0 {
            said += &format!(", {} held back", range(decoder.validation, "validation subject"));
        }
        match told.iter_mut().find(|(other, _)| *other == said) {
            Some((_, names)) => names.push(&decoder.entry),
            None => told.push((said, vec![&decoder.entry])),
        }
    }
    told.iter().map(|(said, names)| format!("{} {said}", names.join("; "))).collect::<Vec<_>>().join(". ")
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

/// The same, the one first that chance is tested by.
pub(crate) fn usual(summaries: &[Summary]) -> Vec<&'static Metric> {
    let mut metrics: Vec<_> = USUAL.iter().filter_map(|name| ptsm_eval::metric(name)).collect();
    if let [first, others @ ..] = summaries {
        let leading = first.chance.metric();
        if others.iter().all(|s| s.chance.metric().name == leading.name) {
            metrics.retain(|metric| metric.name != leading.name);
            metrics.insert(0, leading);
        }
    }
    metrics
}

/// Models in rows, with the usual metrics.
pub(crate) fn summaries(summaries: &[Summary]) -> Table {
    summaries_by(summaries, &usual(summaries))
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
        let above = s.chance.above.map_or("-".into(), |above| {
            // Somebody without trials of a class cannot be tested.
            let tested = s.subjects.iter().filter(|subject| subject.above_chance.is_some()).count();
            format!("{above} of {tested}")
        });
        row.extend([above, s.target_access.to_string()]);
        row
    });
    let mut note = summaries.first().map_or_else(String::new, |s| {
        format!("{}, {} scored. {}", s.protocol, people(s.subjects.len()), chance_note(s, summaries))
    });
    if let Some(positive) = positive_note(summaries, metrics) {
        note += &format!(" {positive}");
    }
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

/// What chance reaches in the metric that is tested, what is needed to be above it, and who is.
fn chance_note(first: &Summary, summaries: &[Summary]) -> String {
    let chance = &first.chance;
    let metric = chance.metric();
    let called = spoken(metric);
    let (Some(level), Some(needed)) = (chance.level, chance.strict()) else {
        if chance.level.is_some() {
            return format!(
                "Nobody has trials of all classes, which a test of {called} against chance needs."
            );
        }
        return format!(
            "There is no test of {called} against chance; there are tests of accuracy, of balanced accuracy and, with two classes, of AUC."
        );
    };
    let is_above = |s: &&Summary| s.chance.strict().is_some_and(|strict| strict.above);
    let (above, below): (Vec<&Summary>, Vec<&Summary>) = summaries.iter().partition(is_above);
    let list = |all: &[&Summary]| all.iter().map(|s| name(s, summaries)).collect::<Vec<_>>().join("; ");
    let verdict = match (above.len(), below.len()) {
        (_, 0) => "all are above".to_string(),
        (0, _) => "none is above".to_string(),
        _ => format!("above: {}; not above: {}", list(&above), list(&below)),
    };
    let (level, needed) = (value(metric.name, level), value(metric.name, needed.threshold));
    let together = match metric.name {
        "accuracy" => format!("on all {} trials together", chance.pooled_n),
        _ => format!("for the mean over {}", people(first.subjects.len())),
    };
    let reached = match metric.name {
        "accuracy" if chance.level > Some(1.0 / first.classes as f64) => {
            format!("Always answering the most frequent class: {level} % accuracy")
        }
        "accuracy" => format!("Guessing: {level} % accuracy"),
        _ => format!("Chance level of {called}: {level} %"),
    };
    let majority = match chance.majority.filter(|_| metric.name != "accuracy") {
        None => String::new(),
        Some(share) => format!(" Always answering the most frequent class: {} % accuracy.", percent(share)),
    };
    format!(
        "{reached}; {needed} % {together} at p < {STRICT_ALPHA}, {verdict}. Above chance: people, by their {called} at p < 0.05 each.{majority}"
    )
}

/// A metric's name in a sentence.
pub(crate) fn spoken(metric: &Metric) -> String {
    match metric.name {
        "auc" => "AUC".into(),
        name => name.replace('_', " "),
    }
}

/// Which class is positive, where one of the metrics depends on that.
pub(crate) fn positive_note(summaries: &[Summary], metrics: &[&Metric]) -> Option<String> {
    let sided: Vec<&str> = metrics
        .iter()
        .filter(|metric| matches!(metric.name, "f1" | "sensitivity" | "specificity"))
        .map(|metric| metric.short)
        .collect();
    let positive = summaries.first()?.positive_class.as_ref()?;
    (!sided.is_empty()).then(|| format!("Positive class of {}: {positive}.", sided.join(", ")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_that_hold_the_same_back_stand_together() {
        let of = |entry: &str, train, validation| TrainingSubjects { entry: entry.into(), train, validation };
        let all = [
            of("ptsm", [13, 14], [2, 2]),
            of("csp-lda", [15, 16], [0, 0]),
            of("eegnet, small", [13, 14], [2, 2]),
            of("mdm", [1, 1], [0, 0]),
        ];
        assert_eq!(
            held_back(&all),
            "ptsm; eegnet, small trained on 13 to 14 subjects in each fold, 2 validation subjects held back. \
             csp-lda trained on 15 to 16 subjects in each fold. mdm trained on 1 subject in each fold"
        );
    }
}
