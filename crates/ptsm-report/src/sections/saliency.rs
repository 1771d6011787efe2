//! Saliency: which channels and times the decisions of any decoder depend on.

use crate::colour::ColourRamp;
use crate::{Figure, HeatMap, SectionPart, SmallMaps};
use ptsm_data::simulate::Truth;
use ptsm_explain::Saliency;
use ptsm_signal::SubjectId;

use super::draw::FigureContext;
use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

pub(super) fn build(m: &Material) -> SectionContent {
    let (Some(layout), Some(saliency)) = (&m.layout, &m.saliency) else {
        return SectionContent::missing(NO_RUN);
    };
    let task = m.truth.as_ref().map(Truth::task_channels);
    let draw = FigureContext { layout, truth: m.truth.as_ref(), task: task.as_deref() };
    let unit = match saliency.method.as_str() {
        "occlusion" => "probability lost",
        _ => "size of log-probability",
    };
    let mut parts = vec![];
    parts.extend(draw.maps(
        "Channel saliency",
        unit,
        vec![("all classes".into(), saliency.by_subject.space_mean())],
    ));
    let maps = draw.small_maps(&saliency.signed);
    if maps.len() > 1 {
        parts.push(SectionPart::Figure(Figure::new(SmallMaps {
            title: "Channel saliency by class".into(),
            maps,
            range: None,
            unit: if saliency.method == "occlusion" {
                "probability of the class"
            } else {
                "log-probability of the class"
            }
            .into(),
            ramp: ColourRamp::Diverging,
            ring_meaning: draw.ring_meaning().into(),
        })));
    }
    parts.push(SectionPart::Figure(Figure::new(draw.courses(
        "Temporal saliency",
        unit,
        std::slice::from_ref(&saliency.by_subject),
        None,
    ))));
    if saliency.by_subject.subjects.len() > 1 {
        parts.push(SectionPart::Figure(Figure::new(HeatMap {
            title: "Channel saliency of each subject".into(),
            row_label: "subject".into(),
            column_label: "channel".into(),
            rows: saliency.by_subject.subjects.iter().map(SubjectId::to_string).collect(),
            columns: layout.channels.iter().map(|channel| channel.name.clone()).collect(),
            values: saliency.by_subject.space.clone(),
            unit: unit.into(),
            ramp: ColourRamp::Sequential,
            ..HeatMap::default()
        })));
    }
    parts.push(SectionPart::Text(explanation(saliency)));
    SectionContent::new(
        "Saliency (attribution) shows which channels and times the probability of the right class depends on, for any decoder. A large value says that the decoder's probability would have been different without \
         this channel or time, not that the brain does anything there.",
        parts,
    )
}

fn explanation(saliency: &Saliency) -> String {
    let trials = phrases::count(saliency.trials, "trial");
    if saliency.method == "occlusion" {
        return format!(
            "Occlusion of {trials}: each channel, and each tenth of a second, is replaced by zero, one at a time, because this decoder has no gradients."
        );
    }
    format!(
        "Integrated gradients of {trials}, along the straight line from an empty trial in 32 steps (Sundararajan et al. 2017). They should add up to the log-probability of the trial minus that of \
         an empty trial; the median trial misses {:.2} % of that.",
        100.0 * saliency.residual
    )
}
