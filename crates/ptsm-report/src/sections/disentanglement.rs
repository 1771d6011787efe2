//! Whether what a decoder knows of the task is apart from what it knows of the person.

use crate::scale::Axis;
use crate::{Column, Figure, LineChart, PointGroup, ScatterPlot, SectionPart, Series, Table};
use ptsm_eval::FoldFeatureFindings;
use ptsm_explain::{Embedding, ProbeAnswer};

use super::{Material, SectionContent, features};
use ptsm_eval::feature_tables;
use ptsm_eval::phrases::{self, percent};

pub(super) fn build(m: &Material) -> SectionContent {
    let folds = m.compared.as_ref().map_or(&[][..], |compared| &compared.readings);
    let Some(apart) = &m.apart else {
        if folds.is_empty() {
            return SectionContent::missing(match m.made.is_none() && m.layout.is_none() {
                true => "No run was given, and the benchmark was made without `--features`.",
                false => {
                    "This decoder has no features that can be looked at; networks of PTSM, EEGNet, DANN and CSLP-AE have."
                }
            });
        }
        return SectionContent::new(
            "How far the features of people tested are from those of people learnt from, in every fold of the benchmark, and whether they tell who somebody is.",
            every_fold(folds),
        );
    };
    let mut parts = match apart.asked.is_empty() {
        true => vec![SectionPart::Text(
            "With one person there is nobody to be told from, and nobody to ask what was learnt from others."
                .into(),
        )],
        false => vec![SectionPart::Table("What can be read out".into(), probes(&apart.asked))],
    };
    let trust = match apart.picture.trustworthiness {
        trust if trust.is_finite() => format!("trustworthiness {trust:.2}"),
        _ => "too few trials to say how true".into(),
    };
    parts.push(SectionPart::Figure(Figure::new(scatter(
        "Embedding by class",
        &apart.picture,
        &apart.classes,
        &trust,
    ))));
    parts.push(SectionPart::Figure(Figure::new(scatter(
        "Embedding by subject",
        &apart.picture,
        &apart.people,
        &trust,
    ))));
    if let Some(shared) = &apart.shared {
        let values =
            |values: &[f64]| values.iter().enumerate().map(|(i, v)| ((i + 1) as f64, *v)).collect::<Vec<_>>();
        parts.push(SectionPart::Figure(Figure::new(LineChart {
            title: "Shared spectrum of task and subject features".into(),
            x: Axis::new("direction, strongest first"),
            y: Axis::new("singular value of their correlations"),
            series: vec![
                Series::line("found", values(&shared.correlations.values)),
                Series::line("exceeded by chance once in twenty", values(&shared.correlations.by_chance)),
            ],
            ..LineChart::default()
        })));
        parts.push(SectionPart::Text(format!(
            "The losses push this spectrum to 0. Trials paired at random inside of each person reach as much with p = {:.3}. The largest canonical correlation is {:.2}, which random pairs exceed once in twenty times from {:.2} on (p = {:.3} for all directions together). Uncorrelated is not independent.",
            shared.correlations.p,
            shared.canonical.values.first().copied().unwrap_or(f64::NAN),
            shared.canonical.by_chance.first().copied().unwrap_or(f64::NAN),
            shared.canonical.p
        )));
    }
    if let Some((distance, [learnt, scored])) = &apart.distance {
        parts.push(SectionPart::Text(format!(
            "Proxy A-distance of the task features between {} learnt from and {} scored: {:+.2} (0: cannot be told apart, 2: always can). Between any two such groups of these people it is {:+.2} on average; p = {:.3} for more than that.",
            phrases::subject_count(*learnt),
            phrases::subject_count(*scored),
            distance.value,
            ptsm_eval::mean(&distance.draws),
            distance.p
        )));
    }
    if apart.left_out {
        parts.push(SectionPart::Text(
            "The subject features are not asked: a decoder is kept without them, so that nobody it learnt from can be told by it. `ptsm train --set training.keep_subjects=true` keeps them.".into(),
        ));
    }
    parts.extend(every_fold(folds));
    SectionContent::new(
        "Probes try to read the class and the person out of the features of people who were not trained on. Classes are learnt from some people and asked of \
         others; persons are learnt from the first half of everybody's trials and asked of the second. What is not found may still be there for a better probe.",
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

fn probes(asked: &[ProbeAnswer]) -> Table {
    let mut rows = vec![];
    for one in asked {
        for (probe, found) in ["linear", "nonlinear"].iter().zip(&one.found) {
            rows.push(vec![
                format!("{} from the {}", one.what, one.of),
                if one.wanted { "wanted" } else { "not wanted" }.into(),
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
        Column::text("read out"),
        Column::text("should it be?"),
        Column::text("probe"),
        Column::number("balanced accuracy %"),
        Column::text("95 % interval"),
    ];
    columns.extend(["guessing %", "above chance from %", "p", "trials"].map(Column::number));
    Table {
        columns,
        rows,
        note: "Intervals are over people. p: how often exchanged labels do as well, for the linear probe by a discriminant analysis of the same features. Not wanted and above chance: the claim that the features are free of it does not hold.".into(),
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
