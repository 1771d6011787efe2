//! The score of each subject.

use crate::scale::Axis;
use crate::{ChanceLevel, DotPlot, Figure, ModelScores, PointEstimate, SectionPart};
use ptsm_eval::{SubjectSummary, Summary};
use ptsm_explain::wilson;

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(first) = m.summaries.first() else { return SectionContent::missing(NO_RUN) };
    // The metric that the chance level is of.
    let metric = first.chance.metric();
    // Several models with an interval each would hide one another.
    let alone = m.summaries.len() == 1;
    let models = m.summaries.iter().map(|s| {
        let subjects = s
            .subjects
            .iter()
            .map(|p| (p.subject.to_string(), p.scores.get(metric.name).copied().unwrap_or(f64::NAN)));
        let mean = s
            .metric(metric.name)
            .map(|a| PointEstimate { value: a.mean, interval: a.interval.map(|i| [i.low, i.high]) });
        ModelScores {
            name: phrases::display_name(s, &m.summaries),
            subjects: subjects.collect(),
            mean,
            // Wilson's interval is of a share of trials.
            intervals: if alone && metric.name == "accuracy" { intervals(s) } else { vec![] },
        }
    });
    // One line for all subjects; those with fewer trials need a higher score.
    let thresholds = first.subjects.iter().filter_map(|p| p.chance_threshold);
    let threshold = thresholds.fold(f64::NAN, f64::max);
    let said = phrases::metric_label(metric);
    let mut title = said.clone();
    title[..1].make_ascii_uppercase();
    let dots = DotPlot {
        title: format!("{title} of each subject"),
        axis: Axis::percent(said),
        models: models.collect(),
        chance: first.chance.level.map(|level| ChanceLevel { level, threshold: Some(threshold) }),
    };
    SectionContent::new(
        "Subjects differ far more than decoders do, so look at the rows before the means.",
        vec![SectionPart::Figure(Figure::new(dots))],
    )
}

/// The interval of each subject's score, by the number of their trials.
fn intervals(summary: &Summary) -> Vec<[f64; 2]> {
    let interval = |subject: &SubjectSummary| {
        let accuracy = subject.scores.get("accuracy").copied().unwrap_or(f64::NAN);
        let interval = wilson(accuracy, subject.n as f64);
        [interval.low, interval.high]
    };
    summary.subjects.iter().map(interval).collect()
}
