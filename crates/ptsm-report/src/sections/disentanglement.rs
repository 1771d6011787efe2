//! Disentanglement: whether task features are free of the subject, and subject features free of the task.

use crate::scale::Axis;
use crate::{Column, Figure, LineChart, PointGroup, ScatterPlot, SectionPart, Series, Table};
use ptsm_eval::FoldFeatureFindings;
use ptsm_explain::{Embedding, ProbeAnswer};

use super::{Material, SectionContent, features};
use ptsm_eval::feature_tables;
use ptsm_eval::phrases::{self, percent};

pub(super) fn build(m: &Material) -> SectionContent {
    let folds = m.benchmark.as_ref().map_or(&[][..], |compared| &compared.readings);
    let Some(found) = &m.disentanglement else {
        if folds.is_empty() {
            return SectionContent::missing(match m.origin.is_none() && m.layout.is_none() {
                true => "No run was given, and the benchmark was made without `--features`.",
                false if m.is_ensemble() => {
                    "The members of an ensemble have features of their own, which differ; a run trained without `--ensemble` shows those of one decoder."
                }
                false => {
                    "This decoder has no features that can be looked at; PTSM, EEGNet, DANN and CSLP-AE have them."
                }
            });
        }
        return SectionContent::new(
            "This section shows, for every fold of the benchmark, how far the features of the test subjects are from those of the training subjects, and whether a probe can tell subjects apart by them.",
            every_fold(folds),
        );
    };
    let mut parts = match found.probes.is_empty() {
        true => vec![SectionPart::Text(
            "Probes need several subjects: with one there is no other subject to be told from, and none to test a probe of the class on."
                .into(),
        )],
        false => vec![SectionPart::Table("Probes".into(), probes(&found.probes))],
    };
    let trust = match found.picture.trustworthiness {
        trust if trust.is_finite() => format!("trustworthiness {trust:.2}"),
        _ => "too few trials for its trustworthiness".into(),
    };
    parts.push(SectionPart::Figure(Figure::new(scatter(
        "Embedding by class",
        &found.picture,
        &found.classes,
        &trust,
    ))));
    parts.push(SectionPart::Figure(Figure::new(scatter(
        "Embedding by subject",
        &found.picture,
        &found.subjects,
        &trust,
    ))));
    if let Some(shared) = &found.shared {
        let values =
            |values: &[f64]| values.iter().enumerate().map(|(i, v)| ((i + 1) as f64, *v)).collect::<Vec<_>>();
        parts.push(SectionPart::Figure(Figure::new(LineChart {
            title: "Shared spectrum of task and subject features".into(),
            x: Axis::new("direction, strongest first"),
            y: Axis::new("singular value of their correlations"),
            series: vec![
                Series::line("found", values(&shared.correlations.values)),
                Series::line("95 % quantile of random pairs", values(&shared.correlations.by_chance)),
            ],
            ..LineChart::default()
        })));
        parts.push(SectionPart::Text(format!(
            "PTSM's losses push this spectrum to 0. When trials are paired at random within each subject, as much is reached with p = {:.3}. The largest canonical correlation is {:.2}; random pairs exceed {:.2} in 5 % of draws (p = {:.3} for all directions together). Uncorrelated features need not be independent.",
            shared.correlations.p,
            shared.canonical.values.first().copied().unwrap_or(f64::NAN),
            shared.canonical.by_chance.first().copied().unwrap_or(f64::NAN),
            shared.canonical.p
        )));
    }
    if let Some((distance, [training, scored])) = &found.distance {
        parts.push(SectionPart::Text(format!(
            "The proxy A-distance of the task features between the training group of {} and the test group of {} is {:+.2} (0: the groups cannot be told apart, 2: they always can). Between two random groups of these sizes it is {:+.2} on average; p = {:.3} for a larger distance than that.",
            phrases::subject_count(*training),
            phrases::subject_count(*scored),
            distance.value,
            ptsm_eval::mean(&distance.draws),
            distance.p
        )));
    }
    if found.left_out {
        parts.push(SectionPart::Text(
            "The subject features are not probed: the model file does not hold them, so that no training subject can be recognised by it. `ptsm train --set training.keep_subjects=true` keeps them.".into(),
        ));
    }
    parts.extend(every_fold(folds));
    SectionContent::new(
        "Probes are classifiers that try to decode the class and the subject from the features of test subjects. A probe of the class is fitted to some of these subjects and \
         tested on the others; a probe of the subject is fitted to the first half of each subject's trials and tested on the second half. What a probe does not find, a better one may.",
        parts,
    )
}

/// The same for every fold of a benchmark.
fn every_fold(folds: &[FoldFeatureFindings]) -> Vec<SectionPart> {
    let figure = features::figure(folds).map(|map| SectionPart::Figure(Figure::new(map)));
    let table = feature_tables::by_decoder(folds);
    let table = table.map(|table| SectionPart::Table("Every fold of the benchmark".into(), table));
    figure.into_iter().chain(table).collect()
}

/// What was decoded: files of earlier versions call the subject a person.
fn what(probe: &ProbeAnswer) -> &str {
    match probe.what.as_str() {
        "the person" => "the subject",
        other => other,
    }
}

fn probes(probes: &[ProbeAnswer]) -> Table {
    let mut rows = vec![];
    for one in probes {
        for (probe, found) in ["linear", "nonlinear"].iter().zip(&one.found) {
            rows.push(vec![
                format!("{} from the {}", what(one), one.of),
                if one.expected { "yes" } else { "no" }.into(),
                probe.to_string(),
                percent(found.balanced_accuracy),
                format!("{} to {}", percent(found.interval.low), percent(found.interval.high)),
                percent(found.chance),
                percent(found.threshold),
                if found.shuffled.p.is_finite() { format!("{:.3}", found.shuffled.p) } else { "-".into() },
                found.tested.to_string(),
            ]);
        }
    }
    let mut columns = vec![
        Column::text("decoded"),
        Column::text("expected"),
        Column::text("probe"),
        Column::number("balanced accuracy %"),
        Column::text("95 % interval"),
    ];
    columns.extend(["chance level %", "above chance from %", "p", "trials"].map(Column::number));
    Table {
        columns,
        rows,
        note: "Intervals are over subjects. p is how often exchanged labels do as well; for the linear probe it comes from a discriminant analysis of the same features. Where decoding is not expected but above chance, the claim that the features are free of it does not hold.".into(),
    }
}

/// Points by group, the largest groups of a picture first in the order of their names.
fn scatter(title: &str, picture: &Embedding, of: &[String], trust: &str) -> ScatterPlot {
    let mut groups: Vec<PointGroup> = vec![];
    let mut names: Vec<&String> = of.iter().collect();
    names.sort();
    names.dedup();
    for name in names {
        let points = picture.points.iter().zip(of).filter(|(_, own)| *own == name);
        groups.push(PointGroup { name: name.clone(), points: points.map(|([x, y], _)| (*x, *y)).collect() });
    }
    ScatterPlot {
        title: title.into(),
        x: Axis::new(format!("t-SNE of the task features, {trust}")),
        y: Axis::new("no unit"),
        groups,
    }
}
