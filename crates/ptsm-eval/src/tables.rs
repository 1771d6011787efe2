//! Summaries and comparisons as tables.

use crate::chance::STRICT_ALPHA;
use crate::metrics::{METRICS, Metric};
use crate::paired::PairedDifference;
use crate::phrases::{USUAL, default_metrics, metric_label, name, percent, subject_count, value};
use crate::summary::Summary;
use crate::table::{Column, Table};

/// The head of a metric's column.
fn head(metric: &Metric) -> String {
    match metric.name {
        "accuracy" => "accuracy %".into(),
        "balanced_accuracy" => "balanced %".into(),
        "kappa" | "log_loss" => metric.short.into(),
        _ => format!("{} %", metric.short),
    }
}

/// Models in rows, with the usual metrics.
pub fn summaries(summaries: &[Summary]) -> Table {
    summaries_by(summaries, &default_metrics(summaries))
}

/// Models in rows: mean, spreads and interval of the first metric, means of the others, chance, and the target access.
pub fn summaries_by(summaries: &[Summary], metrics: &[&'static Metric]) -> Table {
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
            // A subject without trials of a class cannot be tested against chance.
            let tested = s.subjects.iter().filter(|subject| subject.above_chance.is_some()).count();
            format!("{above} of {tested}")
        });
        row.extend([above, s.target_access.to_string()]);
        row
    });
    let mut note = summaries.first().map_or_else(String::new, |s| {
        format!("{}, {} scored. {}", s.protocol, subject_count(s.subjects.len()), chance_note(s, summaries))
    });
    if let Some(positive) = positive_note(summaries, metrics) {
        note += &format!(" {positive}");
    }
    let mut columns = vec![
        Column::text("model"),
        Column::number(metrics.first().map_or_else(String::new, |metric| head(metric))),
        Column::number("SD over subjects"),
        Column::number("SD over seeds"),
        Column::number("seeds"),
        Column::text("95 % interval"),
    ];
    columns.extend(metrics.iter().skip(1).map(|metric| Column::number(head(metric))));
    columns.extend([Column::text("above chance"), Column::text("target access")]);
    Table { columns, rows: rows.collect(), note }
}

/// What chance reaches in the metric that is tested, what is needed to be above it, and who is.
fn chance_note(first: &Summary, summaries: &[Summary]) -> String {
    let chance = &first.chance;
    let metric = chance.metric();
    let called = metric_label(metric);
    let (Some(level), Some(needed)) = (chance.level, chance.strict()) else {
        if chance.level.is_some() {
            return format!(
                "No subject has trials of all classes, which a test of {called} against chance needs."
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
        _ => format!("for the mean over {}", subject_count(first.subjects.len())),
    };
    let reached = match metric.name {
        "accuracy" if chance.level > Some(1.0 / first.classes as f64) => {
            format!("Always answering the most frequent class: {level} % accuracy")
        }
        "accuracy" => format!("Chance level: {level} % accuracy"),
        _ => format!("Chance level of {called}: {level} %"),
    };
    let majority = match chance.majority.filter(|_| metric.name != "accuracy") {
        None => String::new(),
        Some(share) => format!(" Always answering the most frequent class: {} % accuracy.", percent(share)),
    };
    format!(
        "{reached}; {needed} % {together} at p < {STRICT_ALPHA}, {verdict}. Above chance: number of subjects, each tested by {called} at p < 0.05.{majority}"
    )
}

/// Which class is positive, where one of the metrics depends on that.
pub fn positive_note(summaries: &[Summary], metrics: &[&Metric]) -> Option<String> {
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
pub fn comparisons(pairs: &[PairedDifference]) -> Table {
    let against =
        |first: &PairedDifference| format!("{} (target access: {})", first.against, first.target_access[1]);
    differences(pairs, against)
}

/// Variants against the plain form of the same model.
pub fn variants(pairs: &[PairedDifference]) -> Table {
    differences(pairs, |_| "the same model's first row".into())
}

fn differences(pairs: &[PairedDifference], from: impl Fn(&PairedDifference) -> String) -> Table {
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
            pair.subject_count.to_string(),
            pair.target_access[0].to_string(),
        ]
    });
    let note = pairs.first().map_or_else(String::new, |first| {
        format!(
            "Differences of {} from {}, {}subject by subject. p: two-sided Wilcoxon signed-rank test, or sign-flip permutation test with fewer than 20 subjects. p, Holm: corrected for all rows.",
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
            Column::number("subjects"),
            Column::text("target access"),
        ],
        rows: rows.collect(),
        note,
    }
}
/// A row per subject, the mean over seeds of every metric.
pub fn by_subject(summary: &Summary) -> Table {
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
    let note = positive_note(std::slice::from_ref(summary), &all).unwrap_or_default();
    Table { columns, rows: rows.collect(), note }
}
