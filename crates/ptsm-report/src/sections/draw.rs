//! Maps over the head and courses over time, which several sections draw.

use crate::colour::ColourRamp;
use crate::scale::Axis;
use crate::{
    Electrode, Figure, LineChart, Point, ReferenceLine, SectionPart, Series, ShadedSpan, SmallMap, SmallMaps,
};
use ptsm_data::simulate::Truth;
use ptsm_explain::Masks;
use ptsm_signal::Layout;

/// Drawn for bands, where no decision depends on their last digit.
const RESAMPLES: usize = 1000;

/// What all of them share.
pub(super) struct FigureContext<'a> {
    pub(super) layout: &'a Layout,
    pub(super) truth: Option<&'a Truth>,
    /// Channels that carry the task, where that is known.
    pub(super) task: Option<&'a [bool]>,
}

impl FigureContext<'_> {
    fn electrodes(&self, values: &[f64]) -> Vec<Electrode> {
        let electrode = |(i, channel): (usize, &ptsm_signal::Channel)| {
            Some(Electrode {
                name: channel.name.clone(),
                position: channel.position?,
                value: values.get(i).copied().unwrap_or(f64::NAN),
                ringed: self.task.is_some_and(|task| task.get(i) == Some(&true)),
            })
        };
        self.layout.channels.iter().enumerate().filter_map(electrode).collect()
    }

    pub(super) fn ring_meaning(&self) -> &'static str {
        if self.task.is_some() { "at least half of the largest true effect" } else { "" }
    }

    /// Maps by name; none where the positions of the channels are not known.
    pub(super) fn small_maps(&self, maps: &[(String, Vec<f64>)]) -> Vec<SmallMap> {
        maps.iter()
            .map(|(name, values)| SmallMap { name: name.clone(), electrodes: self.electrodes(values) })
            .filter(|map| !map.electrodes.is_empty())
            .collect()
    }

    /// Maps side by side with one scale, or a flat one would look like a strong one.
    pub(super) fn maps(&self, title: &str, unit: &str, maps: Vec<(String, Vec<f64>)>) -> Option<SectionPart> {
        let maps = self.small_maps(&maps);
        (!maps.is_empty()).then(|| {
            SectionPart::Figure(Figure::new(SmallMaps {
                title: title.into(),
                maps,
                range: None,
                unit: unit.into(),
                ramp: ColourRamp::Sequential,
                ring_meaning: self.ring_meaning().into(),
            }))
        })
    }

    /// Time courses with the interval over subjects; the cue, and when the true effect is, where that is known.
    pub(super) fn courses(&self, title: &str, unit: &str, all: &[Masks], null: Option<Series>) -> LineChart {
        let times: Vec<f64> = self.layout.times_s().collect();
        let series = all.iter().map(|mask| {
            let point = |(i, (&x, &y)): (usize, (&f64, &f64))| {
                let all: Vec<f64> = mask.time.iter().map(|row| row[i]).collect();
                let interval = ptsm_eval::bootstrap_interval(&all, 0.95, RESAMPLES, i as u64);
                Point { x, y, band: interval.map(|i| [i.low, i.high]) }
            };
            Series {
                name: mask.kind.clone(),
                points: times.iter().zip(&mask.time_mean()).enumerate().map(point).collect(),
            }
        });
        let last = times.last().copied().unwrap_or(f64::MAX);
        let window = self.truth.map(|t| ShadedSpan {
            from: t.window_s[0],
            to: t.window_s[1].min(last),
            label: "true effect".into(),
        });
        let cue = (self.layout.start_s <= 0.0 && last >= 0.0)
            .then(|| ReferenceLine { at: 0.0, label: "cue".into() });
        LineChart {
            title: title.into(),
            x: Axis::new("time after the cue (s)"),
            y: Axis::new(unit),
            series: series.collect(),
            windows: window.into_iter().collect(),
            marks: cue.into_iter().collect(),
            null,
            ..LineChart::default()
        }
    }
}
