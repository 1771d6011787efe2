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
    let (Some(layout), Some(rests)) = (&m.layout, &m.rests) else { return SectionContent::missing(NO_RUN) };
    let task = m.truth.as_ref().map(Truth::task_channels);
    let draw = FigureContext { layout, truth: m.truth.as_ref(), task: task.as_deref() };
    let unit = match rests.how.as_str() {
        "occlusion" => "probability lost",
        _ => "size of log-probability",
    };
    let mut parts = vec![];
    parts.extend(draw.maps(
        "Channel saliency",
        unit,
        vec![("all classes".into(), rests.people.space_mean())],
    ));
    let maps = draw.small_maps(&rests.signed);
    if maps.len() > 1 {
        parts.push(SectionPart::Figure(Figure::new(SmallMaps {
            title: "Channel saliency by class".into(),
            maps,
            range: None,
            unit: if rests.how == "occlusion" {
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
        std::slice::from_ref(&rests.people),
        None,
    ))));
    if rests.people.people.len() > 1 {
        parts.push(SectionPart::Figure(Figure::new(HeatMap {
            title: "Channel saliency of each subject".into(),
            row_label: "subject".into(),
            column_label: "channel".into(),
            rows: rests.people.people.iter().map(SubjectId::to_string).collect(),
            columns: layout.channels.iter().map(|channel| channel.name.clone()).collect(),
            values: rests.people.space.clone(),
            unit: unit.into(),
            ramp: ColourRamp::Sequential,
            ..HeatMap::default()
        })));
    }
    parts.push(SectionPart::Text(how(rests)));
    SectionContent::new(
        "Saliency (attribution) shows which channels and times the probability of the right class depends on, for any decoder. A large value says that the decoder's probability would have been different without \
         this channel or time, not that the brain does anything there.",
        parts,
    )
}

fn how(rests: &Saliency) -> String {
    let trials = phrases::count(rests.trials, "trial");
    if rests.how == "occlusion" {
        return format!(
            "Occlusion of {trials}: each channel, and each tenth of a second, is replaced by zero, one at a time, because this decoder has no gradients."
        );
    }
    format!(
        "Integrated gradients of {trials}, along the straight line from an empty trial in 32 steps (Sundararajan et al. 2017). They should add up to the log-probability of the trial minus that of \
         an empty trial; the median trial misses {:.2} % of that.",
        100.0 * rests.residual
    )
}
