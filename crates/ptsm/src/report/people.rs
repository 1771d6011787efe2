//! Each person's score.

use ptsm_report::scale::Axis;
use ptsm_report::{Chance, Dots, Estimate, Figure, Part, Scores};

use super::{Built, Material, NO_RUN};
use crate::words;

pub(super) fn build(m: &Material<'_>) -> Built {
    let Some(first) = m.summaries.first() else { return Built::missing(NO_RUN) };
    let models = m.summaries.iter().map(|s| {
        let subjects = s
            .subjects
            .iter()
            .map(|p| (p.subject.to_string(), p.scores.get("accuracy").copied().unwrap_or(f64::NAN)));
        let mean = s
            .metric("accuracy")
            .map(|a| Estimate { value: a.mean, interval: a.interval.map(|i| [i.low, i.high]) });
        Scores {
            name: words::called(s, m.summaries),
            subjects: subjects.collect(),
            mean,
            ..Scores::default()
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
