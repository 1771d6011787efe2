//! Whether an explanation is true: tests that it can fail.

use crate::scale::Axis;
use crate::{Column, Figure, LineChart, Point, SectionPart, Series, Table};
use ptsm_explain::{CurveAreas, DeletionResult, SanityCheck, SanityChecks, ScoreCurve, Stability};

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(believed) = &m.believed else { return SectionContent::missing(NO_RUN) };
    let mut parts = vec![];
    for tested in &believed.tested {
        for (i, tried) in tested.removed.iter().flatten().enumerate() {
            parts.push(SectionPart::Figure(Figure::new(curve(&tested.name, i == 0, tried))));
        }
    }
    if believed.tested.iter().any(|tested| tested.removed.is_some()) {
        parts.push(SectionPart::Table("Taken away and brought back".into(), removals(&believed.tested)));
    }
    let places = m
        .layout
        .as_ref()
        .is_some_and(|layout| layout.channels.iter().all(|channel| channel.position.is_some()));
    parts.push(SectionPart::Table(
        "Agreement with what is known".into(),
        agreements(&believed.tested, places),
    ));
    parts.push(SectionPart::Table(
        "Does it follow what was learnt, and is it the same again?".into(),
        repeated(believed),
    ));
    if let Some(found) = &believed.identified {
        parts.push(SectionPart::Text(format!(
            "People recognised by their personal masks from one of two {} to the other: {} % (guessing {} %, p = {:.3}); correlation with oneself {:.2}, with others {:.2}. A biomarker would have to.",
            believed.parts,
            phrases::percent(found.accuracy),
            phrases::percent(found.chance),
            found.p,
            found.own,
            found.others
        )));
    }
    SectionContent::new(
        format!(
            "Tests that a mask or an attribution can fail. Deletion: {} are scored again with channels or times replaced by zero, those ranked highest first, lowest first, and in random order (times: the same order moved along the trial). Trials without a part \
             of them are like nothing the decoder has learnt from, so that the random orders, not the whole trial, are what to compare with.",
            phrases::count(believed.trials, "trial")
        ),
        parts,
    )
}

fn curve(name: &str, deleted: bool, tried: &DeletionResult) -> LineChart {
    let series = |name: &str, course: &ScoreCurve| {
        Series::line(name, tried.shares.iter().copied().zip(course.balanced_accuracy.iter().copied()))
    };
    let point = |(i, &x): (usize, &f64)| {
        let all: Vec<f64> = tried.random.iter().map(|course| course.balanced_accuracy[i]).collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Point { x, y: ptsm_eval::mean(&all), band: Some([low, high]) }
    };
    LineChart {
        title: format!("{}: {name}", if deleted { "Deletion" } else { "Insertion" }),
        x: Axis::percent(if deleted { "share taken away" } else { "share brought back" }),
        y: Axis::percent("balanced accuracy"),
        series: vec![series("highest first", &tried.highest), series("lowest first", &tried.lowest)],
        null: Some(Series {
            name: "random orders".into(),
            points: tried.shares.iter().enumerate().map(point).collect(),
        }),
        ..LineChart::default()
    }
}

fn removals(tested: &[SanityCheck]) -> Table {
    let mut rows = vec![];
    for one in tested {
        for (i, tried) in one.removed.iter().flatten().enumerate() {
            let CurveAreas { highest, lowest, random, between, p } = &tried.log_loss;
            let accuracy = &tried.balanced_accuracy;
            rows.push(vec![
                one.name.clone(),
                if i == 0 { "taken away" } else { "brought back" }.into(),
                phrases::percent(accuracy.highest),
                phrases::percent(accuracy.lowest),
                phrases::percent(accuracy.random),
                format!("{highest:.3}"),
                format!("{lowest:.3}"),
                format!("{random:.3}"),
                format!("{between:+.3}"),
                format!("{p:.3}"),
            ]);
        }
    }
    let mut columns = vec![Column::text("explanation"), Column::text("way")];
    let heads = [
        "balanced accuracy %, highest first",
        "lowest first",
        "random",
        "log loss, highest first",
        "lowest first",
        "random",
        "between",
        "p",
    ];
    columns.extend(heads.map(Column::number));
    Table {
        columns,
        rows,
        note: "Means over all shares taken away or brought back. Between: how much more the highest ranked does than the lowest ranked, above 0 where the ranking is right. p: how often a random order does as much, by log loss; with 10 random orders it cannot be below 0.09.".into(),
    }
}

fn agreements(tested: &[SanityCheck], places: bool) -> Table {
    let mut rows = vec![];
    for one in tested {
        for (name, found) in &one.known {
            rows.push(vec![
                one.name.clone(),
                name.clone(),
                phrases::signed(found.rank_correlation),
                if found.p.is_finite() { format!("{:.3}", found.p) } else { "-".into() },
            ]);
        }
        rows.extend(one.truth.map(|favours| {
            vec![
                one.name.clone(),
                "truth of the simulation (0.5 by chance, 1 at best)".into(),
                format!("{favours:.2}"),
                "-".into(),
            ]
        }));
    }
    Table {
        columns: vec![
            Column::text("explanation"),
            Column::text("known"),
            Column::number("rank correlation"),
            Column::number("p"),
        ],
        rows,
        note: format!(
            "{}; that of times moves one course along the other. p is one-sided and for each row by itself.",
            match places {
                true =>
                    "The null of channels turns the head at random, so that neighbours stay neighbours: else any smooth map would seem surprising",
                false =>
                    "Not every channel has a known place, so that the null of channels shuffles them: neighbours resemble each other, and p is smaller than it should be",
            }
        ),
    }
}

fn repeated(believed: &SanityChecks) -> Table {
    let mean = |value: f64| if value.is_finite() { format!("{value:+.2}") } else { "-".into() };
    let stable = |found: &Option<Stability>| match found {
        Some(found) => {
            let one = found.absolute;
            format!("{:.2} ({:.2} to {:.2})", one.value, one.interval.low, one.interval.high)
        }
        None => "-".into(),
    };
    let row = |one: &SanityCheck| {
        let [trained, drawn] = match &one.randomised {
            Some(found) => [mean(found.trained_mean()), mean(found.drawn_mean())],
            None => ["-".into(), "-".into()],
        };
        vec![one.name.clone(), trained, drawn, stable(&one.seeds), stable(&one.parts)]
    };
    Table {
        columns: vec![
            Column::text("explanation"),
            Column::number("like that of another seed"),
            Column::number("like that of drawn parameters"),
            Column::text("ICC over seeds"),
            Column::text(format!("ICC over {}", believed.parts)),
        ],
        rows: believed.tested.iter().map(row).collect(),
        note: format!(
            "Rank correlations: an explanation that follows what was learnt is like that of another seed and unlike that of a network whose parameters were drawn anew (Adebayo et al. 2018). ICC(2,1) of the mean over people, channels or times being what is measured, with each seed or in two {}; 1 where it is always the same. Its 95 % interval takes channels and times as independent, which neighbours are not: it is too narrow.",
            believed.parts
        ),
    }
}
