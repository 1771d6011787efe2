//! Few-shot adaptation: how much a few labelled trials of a subject help.

use crate::scale::Axis;
use crate::{Figure, LineChart, Point, ReferenceLine, SectionPart, Series};
use ptsm_decode::AdaptationWay;
use ptsm_eval::Summary;

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

pub(super) fn build(m: &Material) -> SectionContent {
    let mut points: Vec<(usize, &Summary)> = m.few.iter().filter_map(|s| Some((s.adapt?.shots, s))).collect();
    if points.is_empty() {
        return match m.summaries.is_empty() {
            true => SectionContent::missing(NO_RUN),
            false if m.origin.as_ref().is_some_and(|origin| origin.adapted.is_some()) => {
                SectionContent::missing(
                    "This decoder is adapted already; give the run it was made from, with `--shots`.",
                )
            }
            false => SectionContent::missing(
                "The decoder was adapted to no subject. Give `--shots 1,2,5,10`, with a decoder that can be adapted (`ptsm models`).",
            ),
        };
    }
    points.sort_by_key(|(shots, _)| *shots);
    let aside = points[0].1.adapt.map_or(0, |a| a.set_aside);
    // The metric that the chance level is of.
    let chance = &points[0].1.chance;
    let metric = chance.metric();
    let said = phrases::metric_label(metric);
    let series = Series {
        name: points[0].1.model.clone(),
        points: points
            .iter()
            .filter_map(|(shots, s)| {
                let a = s.metric(metric.name)?;
                Some(Point { x: *shots as f64, y: a.mean, band: a.interval.map(|i| [i.low, i.high]) })
            })
            .collect(),
    };
    let curve = LineChart {
        title: format!("Few-shot adaptation: {said}"),
        x: Axis::new("labelled trials of each class"),
        y: Axis::percent(said),
        series: vec![series],
        levels: chance
            .level
            .into_iter()
            .map(|at| ReferenceLine { at, label: "chance level".into() })
            .collect(),
        ..LineChart::default()
    };
    let mut parts = vec![SectionPart::Figure(Figure::new(curve))];
    parts.extend(m.adapted.clone().map(SectionPart::Text));
    let refused = " Every adapted decoder is shown, also those that the guard would have refused.";
    let unguarded = if m.few_guarded { "" } else { refused };
    let (what, unguarded) = match m.few_how {
        // Its prior guards it.
        Some(AdaptationWay::Head) => {
            ("The head is adapted, by a prior that was chosen on validation subjects,", "")
        }
        Some(AdaptationWay::All) => ("Every parameter is adapted", unguarded),
        Some(AdaptationWay::Masks) | None => ("The personal masks are adapted", unguarded),
    };
    SectionContent::new(
        format!(
            "{what} by the first trials of each class; the first {aside} of each class are never scored, so that \
             every point is about the same later trials. The band is the 95 % interval over subjects.{unguarded}"
        ),
        parts,
    )
}
