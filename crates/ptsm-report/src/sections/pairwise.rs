//! A benchmark: its tables, every subject's score under every decoder, and the pairwise comparison.

use crate::colour::ColourRamp;
use crate::{Figure, HeatMap, SectionPart};
use ptsm_eval::{ALPHA, ComparisonMatrix, Summary};

use super::BenchmarkMaterial;
use super::{Material, SectionContent};
use ptsm_eval::phrases::{self, percent};

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(BenchmarkMaterial { about, groups, matrices, metric, .. }) = &m.benchmark else {
        return SectionContent::missing(
            "No benchmark was given: `--benchmark DIR` takes a folder made by `ptsm benchmark`.",
        );
    };
    let mut parts = vec![];
    for group in groups {
        let several = groups.len() > 1;
        let named = |what: &str| if several { format!("{what}, {}", group.title) } else { what.to_string() };
        parts.extend(scores_by_subject(&group.summaries, metric, &named("Scores by subject and decoder")));
        parts.extend(group.tables.iter().map(|(name, table)| SectionPart::Table(named(name), table.clone())));
    }
    for (of, matrix) in matrices {
        let several = if matrices.len() > 1 { format!(", {of}") } else { String::new() };
        parts.push(SectionPart::Figure(Figure::new(pairwise(
            matrix,
            &format!("Pairwise comparison{several}"),
        ))));
    }
    parts.extend(about.iter().cloned().map(SectionPart::Text));
    SectionContent::new(
        format!(
            "The scores of decoders on test subjects, none of whom they were trained on, by {}. Intervals are 95 % bootstrap intervals over subjects; differences between decoders are paired by subject.",
            metric.replace('_', " ")
        ),
        parts,
    )
}

/// Subjects by decoders, the best decoded subject on top.
fn scores_by_subject(summaries: &[Summary], metric: &str, title: &str) -> Option<SectionPart> {
    let value = |s: &Summary, subject| {
        let own = s.subjects.iter().find(|one| one.subject == subject);
        own.and_then(|subject| subject.scores.get(metric).copied()).unwrap_or(f64::NAN)
    };
    let mut subjects: Vec<_> = summaries.iter().flat_map(|s| s.subjects.iter().map(|p| p.subject)).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let mean = |subject| {
        let all: Vec<f64> = summaries.iter().map(|s| value(s, subject)).filter(|v| v.is_finite()).collect();
        ptsm_eval::mean(&all)
    };
    subjects.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    if subjects.len() < 2 || summaries.len() < 2 {
        return None;
    }
    let map = HeatMap {
        title: title.into(),
        row_label: "subject, best decoded first".into(),
        column_label: "decoder".into(),
        rows: subjects.iter().map(|subject| format!("{subject}: {} %", percent(mean(*subject)))).collect(),
        columns: summaries.iter().map(|s| phrases::name(s, summaries)).collect(),
        values: subjects.iter().map(|subject| summaries.iter().map(|s| value(s, *subject)).collect()).collect(),
        unit: metric.replace('_', " "),
        ramp: ColourRamp::Sequential,
        reading: "A row is a subject, with the mean over decoders beside the number; a column is a decoder. A row of one colour is a subject whom every decoder decodes equally well; a column that stands out is a decoder that differs from the others.".into(),
        ..HeatMap::default()
    };
    Some(SectionPart::Figure(Figure::new(map)))
}

/// Every decoder against every other.
fn pairwise(matrix: &ComparisonMatrix, title: &str) -> HeatMap {
    let n = matrix.models.len();
    let mut differences = vec![vec![f64::NAN; n]; n];
    for c in &matrix.comparisons {
        let all: Vec<f64> = c.data.iter().map(|own| own.difference).filter(|d| d.is_finite()).collect();
        differences[c.row][c.column] = 100.0 * ptsm_eval::mean(&all);
    }
    let beats = |a, b| matrix.beats(a, b, ALPHA) == Some(true);
    HeatMap::pairwise(
        title,
        matrix.models.iter().map(|model| model.model.clone()).collect(),
        &differences,
        |row, column| beats(row, column) || beats(column, row),
        "row minus column, points",
    )
}
