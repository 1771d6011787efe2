//! Sanity checks: tests that an explanation can fail.

use crate::scale::Axis;
use crate::{Column, Figure, LineChart, Point, SectionPart, Series, Table};
use ptsm_explain::{CurveAreas, DeletionResult, SanityCheck, SanityChecks, ScoreCurve, Stability};

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(checks) = &m.sanity_checks else { return SectionContent::missing(NO_RUN) };
    let mut parts = vec![];
    for tested in &checks.tested {
        for (i, test) in tested.removed.iter().flatten().enumerate() {
            parts.push(SectionPart::Figure(Figure::new(curve(&tested.name, i == 0, test))));
        }
    }
    if checks.tested.iter().any(|tested| tested.removed.is_some()) {
        parts.push(SectionPart::Table("Deletion and insertion tests".into(), removals(&checks.tested)));
    }
    let places = m
        .layout
        .as_ref()
        .is_some_and(|layout| layout.channels.iter().all(|channel| channel.position.is_some()));
    parts
        .push(SectionPart::Table("Agreement with known patterns".into(), agreements(&checks.tested, places)));
    parts.push(SectionPart::Table("Parameter randomisation and stability".into(), repeated(checks)));
    if let Some(found) = &checks.identified {
        parts.push(SectionPart::Text(format!(
            "{} % of the subjects are recognised by their personal masks from one of two {} to the other (chance level {} %, p = {:.3}). The masks of one subject correlate by {:.2}, those of different subjects by {:.2}. A biomarker would have to recognise its subject.",
            phrases::percent(found.accuracy),
            checks.parts,
            phrases::percent(found.chance),
            found.p,
            found.own,
            found.others
        )));
    }
    SectionContent::new(
        format!(
            "Sanity checks are tests that a mask or a saliency map can fail. In the deletion test, {} are scored again with channels or times replaced by zero: those ranked highest first, those ranked lowest first, and in random order (for times, the same order moved along the trial). The insertion test begins \
             with empty trials and puts channels or times back. Trials without some of their parts are unlike anything in the training data, so the curves should be compared with the random orders, not with the score on whole trials.",
            phrases::count(checks.trials, "trial")
        ),
        parts,
    )
}

fn curve(name: &str, deleted: bool, test: &DeletionResult) -> LineChart {
    let series = |name: &str, course: &ScoreCurve| {
        Series::line(name, test.shares.iter().copied().zip(course.balanced_accuracy.iter().copied()))
    };
    let point = |(i, &x): (usize, &f64)| {
        let all: Vec<f64> = test.random.iter().map(|course| course.balanced_accuracy[i]).collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Point { x, y: ptsm_eval::mean(&all), band: Some([low, high]) }
    };
    LineChart {
        title: format!("{}: {name}", if deleted { "Deletion" } else { "Insertion" }),
        x: Axis::percent(if deleted { "share deleted" } else { "share inserted" }),
        y: Axis::percent("balanced accuracy"),
        series: vec![series("highest first", &test.highest), series("lowest first", &test.lowest)],
        null: Some(Series {
            name: "random orders".into(),
            points: test.shares.iter().enumerate().map(point).collect(),
        }),
        ..LineChart::default()
    }
}

fn removals(tested: &[SanityCheck]) -> Table {
    let mut rows = vec![];
    for one in tested {
        for (i, test) in one.removed.iter().flatten().enumerate() {
            let CurveAreas { highest, lowest, random, between, p } = &test.log_loss;
            let accuracy = &test.balanced_accuracy;
            rows.push(vec![
                one.name.clone(),
                if i == 0 { "deletion" } else { "insertion" }.into(),
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
    let mut columns = vec![Column::text("explanation"), Column::text("test")];
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
        note: "The numbers are means over all shares that were deleted or inserted. `between` is how much more the highest ranked parts matter than the lowest ranked ones, by log loss; it is above 0 where the ranking is right. p is how often a random order reaches as much; with 10 random orders it cannot be below 0.09.".into(),
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
                "truth of the simulation (0.5 is the chance level, 1 the best)".into(),
                format!("{favours:.2}"),
                "-".into(),
            ]
        }));
    }
    Table {
        columns: vec![
            Column::text("explanation"),
            Column::text("known pattern"),
            Column::number("rank correlation"),
            Column::number("p"),
        ],
        rows,
        note: format!(
            "{} For times, the null shifts one time course along the other. p is one-sided and holds for each row by itself.",
            match places {
                true =>
                    "For channels, the null rotates the map on the head at random, so that neighbouring channels stay neighbours; otherwise any smooth map would seem surprising.",
                false =>
                    "Not every channel has a known position, so the null for channels shuffles them. Neighbouring channels resemble each other, which makes p smaller than it should be.",
            }
        ),
    }
}

fn repeated(checks: &SanityChecks) -> Table {
    let mean = |value: f64| if value.is_finite() { format!("{value:+.2}") } else { "-".into() };
    let stable = |found: &Option<Stability>| match found {
        Some(found) => {
            let one = found.absolute;
            format!("{:.2} ({:.2} to {:.2})", one.value, one.interval.low, one.interval.high)
        }
        None => "-".into(),
    };
    let row = |one: &SanityCheck| {
        let [trained, randomised] = match &one.randomised {
            Some(found) => [mean(found.trained_mean()), mean(found.randomised_mean())],
            None => ["-".into(), "-".into()],
        };
        vec![one.name.clone(), trained, randomised, stable(&one.seeds), stable(&one.parts)]
    };
    Table {
        columns: vec![
            Column::text("explanation"),
            Column::number("correlation with another seed"),
            Column::number("correlation after parameter randomisation"),
            Column::text("ICC over seeds"),
            Column::text(format!("ICC over {}", checks.parts)),
        ],
        rows: checks.tested.iter().map(row).collect(),
        note: format!(
            "The first two numbers are rank correlations. An explanation that depends on what the decoder learnt resembles that of another seed, and does not resemble that of a network with randomised parameters (parameter randomisation, Adebayo et al. 2018). The intraclass correlation, ICC(2,1), is that of the mean over subjects: each channel or time is measured once with each seed, or once in each of two {}, and 1 means that the explanation is always the same. Its 95 % interval treats channels and times as independent; neighbours are not, so it is too narrow.",
            checks.parts
        ),
    }
}
