//! Each person's score.

use ptsm_eval::{SubjectSummary, Summary};
use ptsm_explain::wilson;
use ptsm_report::scale::Axis;
use ptsm_report::{Chance, Dots, Estimate, Figure, Part, Scores};

use super::{Built, Material, NO_RUN};
use crate::words;

pub(super) fn build(m: &Material) -> Built {
    let Some(first) = m.summaries.first() else { return Built::missing(NO_RUN) };
    // Several models with an interval each would hide one another.
    let alone = m.summaries.len() == 1;
    let models = m.summaries.iter().map(|s| {
        let subjects = s
            .subjects
            .iter()
            .map(|p| (p.subject.to_string(), p.scores.get("accuracy").copied().unwrap_or(f64::NAN)));
        let mean = s
            .metric("accuracy")
            .map(|a| Estimate { value: a.mean, interval: a.interval.map(|i| [i.low, i.high]) });
        Scores {
            name: words::called(s, &m.summaries),
            subjects: subjects.collect(),
            mean,
            intervals: if alone { intervals(s) } else { vec![] },
        }
    });
    // One line for everybody; people with fewer trials need more.
    let threshold = first.subjects.iter().map(|p| p.chance_threshold).fold(f64::NAN, f64::max);
    let dots = Dots {
        title: "Accuracy of each person".into(),
        axis: Axis::percent("accuracy"),
        models: models.collect(),
        chance: Some(Chance { level: first.chance.level, threshold: Some(threshold) }),
    };
    Built::new(
        "People differ far more than decoders do: look at the rows before the means.",
        vec![Part::Figure(Figure::new(dots))],
    )
}

/// What each person's score may be in truth, by the number of their trials.
fn intervals(summary: &Summary) -> Vec<[f64; 2]> {
    let interval = |person: &SubjectSummary| {
        let accuracy = person.scores.get("accuracy").copied().unwrap_or(f64::NAN);
        let interval = wilson(accuracy, person.n as f64);
        [interval.low, interval.high]
    };
    summary.subjects.iter().map(interval).collect()
}
