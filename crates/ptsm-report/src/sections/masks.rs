//! PTSM's masks: how much of each channel and time passes.

use crate::colour::ColourRamp;
use crate::{Figure, HeatMap, Point, SectionPart, Series};
use ptsm_data::simulate::Truth;
use ptsm_explain::{MaskFindings, Masks, rank_correlation, truth_auc};
use ptsm_signal::{Layout, SubjectId};

use super::draw::FigureContext;
use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

const UNIT: &str = "mask, 0 to 1";
/// Maps of more classes would fill the page.
const MOST_CLASSES: usize = 6;
const ENSEMBLE: &str = "The members of an ensemble have masks of their own, which differ; a run trained without `--ensemble` shows those of one decoder.";

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(layout) = &m.layout else { return SectionContent::missing(NO_RUN) };
    let Some(findings) = m.masks.as_ref().filter(|findings| !findings.all.is_empty()) else {
        return SectionContent::missing(match m.is_ensemble() {
            true => ENSEMBLE,
            false => "This decoder has no masks; `ptsm`, `ptsm-paper` and their adversarial forms have them.",
        });
    };
    let task = m.truth.as_ref().map(Truth::task_channels);
    let draw = FigureContext { layout, truth: m.truth.as_ref(), task: task.as_deref() };
    let mut parts = vec![];
    let kinds = findings.all.iter().map(|mask| (mask.kind.clone(), mask.space_mean())).collect();
    parts.extend(draw.maps("Spatial masks", UNIT, kinds));
    parts.extend(draw.maps("Spatial masks of each class", UNIT, by_class(findings)));
    match findings.nulls.is_empty() {
        true => parts.push(SectionPart::Figure(Figure::new(draw.courses(
            "Temporal masks",
            UNIT,
            &findings.all,
            None,
        )))),
        // Each against its own null: where the common mask is high, the personal one is often low.
        false => {
            for mask in &findings.all {
                let title = format!("Temporal mask, {}", mask.kind);
                let null = null(findings, &mask.kind, layout);
                parts.push(SectionPart::Figure(Figure::new(draw.courses(
                    &title,
                    UNIT,
                    std::slice::from_ref(mask),
                    null,
                ))));
            }
        }
    }
    for mask in &findings.all {
        parts.extend(mask_by_subject(mask, layout));
    }
    // Only who asks for explanations can ask for decoders of shuffled labels.
    if m.sanity_checks.is_some() || !findings.nulls.is_empty() {
        parts.push(SectionPart::Text(against_null(findings)));
    }
    if let (Some(truth), Some(task)) = (&m.truth, &task) {
        parts.push(SectionPart::Text(verdict(&findings.all, layout, truth, task)));
    }
    SectionContent::new(
        "PTSM multiplies each trial by masks; the figures show their means over the trials of test subjects. A mask shows how much of a channel or time passes on to the \
         network. It shows neither what was in the signal nor whether it matters to the decision.",
        parts,
    )
}

fn by_class(findings: &MaskFindings) -> Vec<(String, Vec<f64>)> {
    let classes = findings.by_class.iter().take(MOST_CLASSES);
    let maps = classes.flat_map(|(class, masks)| {
        // The fused mask lies between the two, which are shown apart here.
        let own = masks.iter().filter(|mask| mask.kind != "fused");
        own.map(move |mask| (format!("{}, {class}", mask.kind), mask.space_mean()))
    });
    maps.collect()
}

/// Every subject's mask.
fn mask_by_subject(mask: &Masks, layout: &Layout) -> Option<SectionPart> {
    (mask.subjects.len() > 1).then(|| {
        SectionPart::Figure(Figure::new(HeatMap {
            title: format!("Spatial mask of each subject, {}", mask.kind),
            row_label: "subject".into(),
            column_label: "channel".into(),
            rows: mask.subjects.iter().map(SubjectId::to_string).collect(),
            columns: layout.channels.iter().map(|channel| channel.name.clone()).collect(),
            values: mask.space.clone(),
            unit: UNIT.into(),
            ramp: ColourRamp::Sequential,
            reading: "A row is a subject, a column is a channel. Stripes from top to bottom are channels that the mask prefers in all subjects; a row that stands out is a subject whose mask differs.".into(),
            ..HeatMap::default()
        }))
    })
}

/// What shuffled labels give, from the lowest to the highest.
fn null(findings: &MaskFindings, kind: &str, layout: &Layout) -> Option<Series> {
    let own = findings.nulls.iter().flatten().filter(|mask| mask.kind == kind);
    let null: Vec<Vec<f64>> = own.map(Masks::time_mean).collect();
    let point = |(i, x): (usize, f64)| {
        let all: Vec<f64> = null.iter().map(|mask| mask[i]).collect();
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Point { x, y: ptsm_eval::mean(&all), band: Some([low, high]) }
    };
    (!null.is_empty()).then(|| Series {
        name: "trained on shuffled labels".into(),
        points: layout.times_s().enumerate().map(point).collect(),
    })
}

/// Whether the masks depend on the labels, in words.
fn against_null(findings: &MaskFindings) -> String {
    if findings.nulls.is_empty() {
        return "Whether the masks depend on the labels at all was not tested: `--nulls 3` trains three decoders on shuffled labels and shows their masks.".into();
    }
    let each = findings.all.iter().map(|mask| {
        let own = |values: fn(&Masks) -> Vec<f64>| {
            let nulls = findings.nulls.iter().flatten().filter(|null| null.kind == mask.kind);
            let all: Vec<f64> = nulls.map(|null| rank_correlation(&values(mask), &values(null))).collect();
            ptsm_eval::mean(&all)
        };
        format!("{}: channels {:+.2}, times {:+.2}", mask.kind, own(Masks::space_mean), own(Masks::time_mean))
    });
    format!(
        "The masks were compared with those of {} trained on shuffled labels. The rank correlation is near 1 where a mask is the same although there was nothing to learn. {}.",
        phrases::count(findings.nulls.len(), "decoder"),
        each.collect::<Vec<_>>().join("; ")
    )
}

/// How well the masks agree with what is known, in words.
fn verdict(masks: &[Masks], layout: &Layout, truth: &Truth, task: &[bool]) -> String {
    let inside = truth.task_times(layout);
    let each: Vec<String> = masks
        .iter()
        .map(|mask| {
            let space = truth_auc(&mask.space_mean(), task);
            let time = truth_auc(&mask.time_mean(), &inside);
            format!("{}: channels {space:.2}, times {time:.2}", mask.kind)
        })
        .collect();
    format!(
        "The masks were compared with the truth of the simulation: the number is how likely a channel (a time) that carries the task has a higher mask than one that does \
         not, and 0.5 is the chance level. {}.",
        each.join("; ")
    )
}
