//! Failure analysis: which subjects are decoded badly, and what their signals are like.

use crate::colour::ColourRamp;
use crate::{Column, Figure, HeatMap, SectionPart, Table};
use ptsm_explain::{BANDS, EXTREME, Signals, rank_correlation};

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases::{self, percent};

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(summary) = m.summaries.first() else { return SectionContent::missing(NO_RUN) };
    // The metric that the chance level is of.
    let metric = summary.chance.metric();
    let said = phrases::metric_label(metric);
    // Every subject with a score, the worst first.
    let mut subjects: Vec<(&Signals, f64, bool)> = m
        .signals
        .iter()
        .filter_map(|signals| {
            // Subjects it has seen and subjects it has not are summed up apart.
            let all = m.summaries.iter().filter(|s| s.model == summary.model);
            let own = all.flat_map(|s| &s.subjects).find(|subject| subject.subject == signals.subject)?;
            Some((signals, own.scores.get(metric.name).copied()?, own.above_chance == Some(true)))
        })
        .collect();
    subjects.sort_by(|a, b| a.1.total_cmp(&b.1));
    if subjects.is_empty() {
        return SectionContent::missing("No signals were analysed.");
    }
    let names: Vec<String> =
        BANDS.iter().map(|(name, [low, high])| format!("{name} {low:.0}-{high:.0} Hz")).collect();
    let failing = subjects.iter().filter(|(_, _, above)| !above).count();
    let map = HeatMap {
        title: "Band power of each subject".into(),
        row_label: "subject, worst decoded first".into(),
        column_label: "band".into(),
        rows: subjects
            .iter()
            .map(|(s, accuracy, _)| format!("{}: {} %", s.subject, percent(*accuracy)))
            .collect(),
        // With their frequencies they would be cut short.
        columns: BANDS.iter().map(|(name, _)| name.to_string()).collect(),
        values: subjects.iter().map(|(s, _, _)| s.shares.clone()).collect(),
        unit: "share of power".into(),
        ramp: ColourRamp::Sequential,
        reading: format!(
            "A row is a subject with their {said} under {}, the worst decoded on top; a column is a frequency band ({}), and a cell is its share of the subject's power between 1 and 45 Hz in the trials as the decoder gets them.",
            summary.display_name(),
            names.join(", ")
        ),
        ..HeatMap::default()
    };
    SectionContent::new(
        format!(
            "{failing} of {} are not above chance. The tables describe the signals as the decoder gets them, after filtering and alignment: the share of power in each band, and extreme trials, in which a sample lies more than {EXTREME:.0} robust standard deviations away from the median of its channel in that subject.",
            phrases::subject_count(subjects.len()),
        ),
        vec![
            SectionPart::Figure(Figure::new(map)),
            SectionPart::Table("Signals of each subject".into(), table(&subjects, &names, &said)),
            SectionPart::Table(
                format!("Rank correlation with {said}"),
                correlations(&subjects, &names, &said),
            ),
        ],
    )
}

fn table(subjects: &[(&Signals, f64, bool)], names: &[String], metric: &str) -> Table {
    let mut columns = vec![
        Column::text("subject"),
        Column::number(format!("{metric} %")),
        Column::text("above chance"),
        Column::number("trials"),
    ];
    columns.extend(names.iter().map(|name| Column::number(format!("{name}, %"))));
    columns.push(Column::number("extreme trials, %"));
    let row = |(s, accuracy, above): &(&Signals, f64, bool)| {
        let mut row = vec![
            s.subject.to_string(),
            percent(*accuracy),
            if *above { "yes" } else { "no" }.into(),
            s.trials.to_string(),
        ];
        row.extend(s.shares.iter().map(|share| percent(*share)));
        row.push(percent(s.extreme));
        row
    };
    Table { columns, rows: subjects.iter().map(row).collect(), note: String::new() }
}

fn correlations(subjects: &[(&Signals, f64, bool)], names: &[String], metric: &str) -> Table {
    let accuracy: Vec<f64> = subjects.iter().map(|(_, accuracy, _)| *accuracy).collect();
    let with = |values: Vec<f64>| {
        let r = rank_correlation(&values, &accuracy);
        if r.is_finite() { format!("{r:+.2}") } else { "-".into() }
    };
    let band = |i: usize| with(subjects.iter().map(|(s, _, _)| s.shares[i]).collect());
    let mut rows: Vec<Vec<String>> =
        names.iter().enumerate().map(|(i, name)| vec![name.clone(), band(i)]).collect();
    rows.push(vec!["extreme trials".into(), with(subjects.iter().map(|(s, _, _)| s.extreme).collect())]);
    let n = subjects.len() as f64;
    // Where a correlation of unrelated ranks lies in 19 of 20 cohorts.
    let luck = if n > 3.0 { format!("{:.2}", 1.96 / (n - 1.0).sqrt()) } else { "1.00".into() };
    Table {
        columns: vec![
            Column::text("property of the signals"),
            Column::number(format!("rank correlation with {metric}")),
        ],
        rows,
        note: format!(
            "Spearman's rank correlation over {}. Without any relation it lies within {luck} of 0 in 19 of 20 cohorts, and one of six rows may well lie outside by chance.",
            phrases::subject_count(subjects.len())
        ),
    }
}
