//! Which segments of a recording are trials.

use std::collections::BTreeMap;
use std::ops::Range;

use ptsm_signal::{Pipeline, Recording};

use crate::catalogue::UNKNOWN;

/// Windows that hold more events than this are told: the window is too long for such events.
const MOST_EVENTS_A_WINDOW: f64 = 4.0;
/// But not where they are as short as an evoked response: those overlap by design.
const RESPONSE_S: f64 = 1.0;

/// The trials of a recording.
pub(super) struct Windows {
    /// Of each class.
    pub(super) trials: Vec<usize>,
    /// Events of a class whose window reaches past an end or over a gap.
    pub(super) short: usize,
    /// Trials whose class is not known.
    pub(super) unknown: usize,
    /// Events of no class.
    pub(super) others: BTreeMap<String, usize>,
    /// How close events are, where windows hold many.
    pub(super) overlap: Option<String>,
    /// All samples of trials, without doubles, in time order; the whole recording where there is no trial.
    pub(super) time: Vec<Range<usize>>,
}

impl Windows {
    /// `each` is the length of trials that are cut already: they fit.
    pub(super) fn new(
        recording: &Recording,
        classes: &[String],
        pipeline: &Pipeline,
        each: Option<usize>,
    ) -> Windows {
        let mut windows = Windows {
            trials: vec![0; classes.len()],
            short: 0,
            unknown: 0,
            others: BTreeMap::new(),
            overlap: None,
            time: vec![],
        };
        let rate = recording.rate_hz;
        let [from, to] = match each {
            Some(each) => [0.0, each as f64 / rate],
            None => pipeline.window_s,
        };
        let baseline = pipeline.baseline_s.filter(|_| each.is_none());
        let first = baseline.map_or(from, |b| b[0].min(from));
        let last = baseline.map_or(to, |b| b[1].max(to));
        let segments = recording.segments();
        let mut cues = vec![];
        for event in &recording.events {
            let Some(class) = classes.iter().position(|class| *class == event.code) else {
                match &*event.code {
                    UNKNOWN => windows.unknown += 1,
                    code => *windows.others.entry(code.to_string()).or_default() += 1,
                }
                continue;
            };
            cues.push(event.sample);
            let at = |seconds: f64| event.sample as f64 + seconds * rate;
            let segment = &segments[segments.partition_point(|segment| segment.end <= event.sample)];
            let inside = at(first) >= segment.start as f64 - 0.5 && at(last) <= segment.end as f64 + 0.5;
            if !inside {
                windows.short += 1;
                continue;
            }
            windows.trials[class] += 1;
            let range = at(from).round().max(0.0) as usize..(at(to).round() as usize).min(recording.length());
            match windows.time.last_mut().filter(|before| range.start <= before.end) {
                Some(before) => before.end = before.end.max(range.end),
                None => windows.time.push(range),
            }
        }
        if windows.time.is_empty() {
            windows.time.push(0..recording.length());
        }
        windows.overlap = overlap(&cues, to - from, rate).filter(|_| each.is_none());
        windows
    }
}

/// Whether windows hold many events.
fn overlap(cues: &[usize], window_s: f64, rate_hz: f64) -> Option<String> {
    let mut gaps: Vec<usize> = cues.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    gaps.sort_unstable();
    let gap_s = *gaps.get(gaps.len() / 2)? as f64 / rate_hz;
    let many = window_s > RESPONSE_S && window_s > MOST_EVENTS_A_WINDOW * gap_s;
    many.then(|| format!("events {gap_s:.2} s apart, windows of {window_s} s"))
}
