//! What PTSM's masks let pass.

use ptsm_data::simulate::Truth;
use ptsm_explain::{Masks, favours};
use ptsm_report::colour::Ramp;
use ptsm_report::scale::Axis;
use ptsm_report::{Curve, Electrode, Figure, Part, Point, ScalpMap, Series, Window};
use ptsm_signal::Layout;

use super::{Built, Material, NO_RUN};

pub(super) fn build(m: &Material<'_>) -> Built {
    let Some(layout) = m.layout else { return Built::missing(NO_RUN) };
    if m.masks.is_empty() {
        return Built::missing(
            "This decoder has no masks; `ptsm`, `ptsm-paper` and their adversarial forms have.",
        );
    }
    let mut parts = vec![];
    let task = m.truth.map(Truth::task_channels);
    // One scale for all maps, or a flat mask would look like a strong one.
    let all = m.masks.iter().flat_map(Masks::space_mean);
    let range = all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
    for mask in m.masks {
        let mean = mask.space_mean();
        let electrodes = layout.channels.iter().enumerate().filter_map(|(i, channel)| {
            Some(Electrode {
                name: channel.name.clone(),
                position: channel.position?,
                value: mean.get(i).copied().unwrap_or(f64::NAN),
                ringed: task.as_ref().is_some_and(|t| t.get(i) == Some(&true)),
            })
        });
        let electrodes: Vec<Electrode> = electrodes.collect();
        if electrodes.is_empty() {
            continue;
        }
        parts.push(Part::Figure(Figure::new(ScalpMap {
            title: format!("Spatial mask, {}", mask.kind),
            electrodes,
            range: Some(range),
            unit: "mask, 0 to 1".into(),
            ramp: Ramp::Sequential,
            ring_meaning: "at least half of the largest true effect".into(),
        })));
    }
    let times: Vec<f64> = layout.times_s().collect();
    let series = m.masks.iter().map(|mask| {
        let mean = mask.time_mean();
        let points = times.iter().zip(&mean).enumerate().map(|(i, (&x, &y))| {
            let all: Vec<f64> = mask.time.iter().map(|row| row[i]).collect();
            let spread = ptsm_eval::deviation(&all);
            Point { x, y, band: spread.map(|s| [y - s, y + s]) }
        });
        Series { name: mask.kind.into(), points: points.collect() }
    });
    let truth_window = m.truth.map(|t| Window {
        from: t.window_s[0],
        to: t.window_s[1].min(times.last().copied().unwrap_or(f64::MAX)),
        label: "true effect".into(),
    });
    parts.push(Part::Figure(Figure::new(Curve {
        title: "Temporal mask".into(),
        x: Axis::new("time after the cue (s)"),
        y: Axis::new("mask, 0 to 1"),
        series: series.collect(),
        windows: truth_window.into_iter().collect(),
        ..Curve::default()
    })));
    if let (Some(truth), Some(task)) = (m.truth, &task) {
        parts.push(Part::Text(verdict(m.masks, layout, truth, task)));
    }
    Built::new(
        "The masks PTSM lays over each trial, the mean over trials and people who were not trained on. A mask shows what the network let \
         pass, not what was there.",
        parts,
    )
}

/// How well the masks agree with what is known, in words.
fn verdict(masks: &[Masks], layout: &Layout, truth: &Truth, task: &[bool]) -> String {
    let inside = truth.task_times(layout);
    let each: Vec<String> = masks
        .iter()
        .map(|mask| {
            let space = favours(&mask.space_mean(), task);
            let time = favours(&mask.time_mean(), &inside);
            format!("{}: channels {space:.2}, times {time:.2}", mask.kind)
        })
        .collect();
    format!(
        "Against the truth of the simulation: how likely a channel (a time) that carries the task has a higher mask than one that does \
         not, 0.5 being no better than chance. {}.",
        each.join("; ")
    )
}

/// The mean over decoders of the same masks.
pub(crate) fn mean_over_seeds(all: Vec<Vec<Masks>>) -> Vec<Masks> {
    let n = all.len() as f64;
    let mut all = all.into_iter();
    let Some(mut sum) = all.next() else { return vec![] };
    for other in all {
        for (sum, other) in sum.iter_mut().zip(other) {
            for (sum, other) in [(&mut sum.space, other.space), (&mut sum.time, other.time)] {
                for (sum, other) in sum.iter_mut().flatten().zip(other.iter().flatten()) {
                    *sum += other;
                }
            }
        }
    }
    for mask in &mut sum {
        mask.space.iter_mut().chain(&mut mask.time).flatten().for_each(|v| *v /= n);
    }
    sum
}
