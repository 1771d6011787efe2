//! Events: annotations and gaps.

use super::sizes::Sizes;
use crate::error::{Place, Result};
use crate::limit::few_enough;
use crate::mat::Value;
use crate::recording_file::{Annotation, Segment};

/// An event, as the file has it.
pub(super) struct Event {
    pub(super) text: String,
    /// In samples, counted from 1; between two samples where it has a fraction.
    pub(super) latency: f64,
    duration_samples: f64,
}

impl Event {
    /// Whether it says that samples are missing in front of it.
    pub(super) fn is_gap(&self) -> bool {
        is_gap(&self.text)
    }

    /// In samples, counted from 0.
    pub(super) fn at(&self) -> f64 {
        self.latency - 1.0
    }
}

pub(super) fn is_gap(text: &str) -> bool {
    text.eq_ignore_ascii_case("boundary") || text == "-99"
}

/// All events that have a type and a time.
pub(super) fn read(
    record: &Value,
    sizes: &Sizes,
    place: &Place,
    notes: &mut Vec<String>,
) -> Result<Vec<Event>> {
    let Some(list) = record.field("event") else { return Ok(vec![]) };
    few_enough(list.count(), "events", place)?;
    let mut events = vec![];
    let mut timeless = 0;
    for i in 0..list.count() {
        let field = |name: &str| list.element(i, name);
        let text = field("type").and_then(Value::label).filter(|text| !text.is_empty());
        let latency = field("latency").and_then(Value::number).filter(|latency| latency.is_finite());
        let (Some(text), Some(latency)) = (text, latency) else {
            timeless += 1;
            continue;
        };
        let duration = field("duration").and_then(Value::number);
        let duration_samples = duration.filter(|d| (0.0..1e15).contains(d)).unwrap_or(0.0);
        events.push(Event { text, latency, duration_samples });
    }
    if timeless > 0 {
        notes.push(format!(
            "{timeless} of {} events have no type or no latency and are left out",
            list.count()
        ));
    }
    let outside =
        |event: &&Event| !event.is_gap() && !(-0.5..sizes.samples() as f64 - 0.5).contains(&event.at());
    match events.iter().filter(outside).count() {
        0 => {}
        outside => notes.push(format!("{outside} of {} events lie outside of the samples", list.count())),
    }
    Ok(events)
}

/// Segments between gaps, and all events that are none as annotations. A trial is a segment of its own.
pub(super) fn place(events: &[Event], sizes: &Sizes) -> (Vec<Segment>, Vec<Annotation>) {
    let segments = if sizes.is_epoched() { trials(sizes) } else { between_gaps(events, sizes) };
    let length = sizes.samples() as f64;
    let annotations = events.iter().filter(|event| !event.is_gap()).map(|event| {
        let at = event.latency.round() - 1.0;
        let sample = (0.0..length).contains(&at).then_some(at as usize);
        // Time goes on in a gap, samples do not.
        let segment = segments.partition_point(|segment| segment.first as f64 <= at.max(0.0));
        let segment = &segments[segment.max(1) - 1];
        Annotation {
            onset_s: segment.start_s + (event.at() - segment.first as f64) / sizes.rate_hz,
            duration_s: event.duration_samples / sizes.rate_hz,
            sample,
            text: event.text.clone(),
        }
    });
    let annotations = annotations.collect();
    (segments, annotations)
}

fn trials(sizes: &Sizes) -> Vec<Segment> {
    let trial = |k: usize| {
        let first = k * sizes.points;
        Segment { start_s: first as f64 / sizes.rate_hz, first, samples: sizes.points }
    };
    (0..sizes.trials).map(trial).collect()
}

/// A gap's duration is the number of samples that were taken out there.
fn between_gaps(events: &[Event], sizes: &Sizes) -> Vec<Segment> {
    let length = sizes.samples();
    // Between samples 2 and 3 stands 2.5; imported segments stand at their first sample. Both count from 1.
    let first = |event: &Event| (event.latency - 1.0).ceil();
    let mut gaps: Vec<(usize, f64)> = events
        .iter()
        .filter(|event| event.is_gap() && (1.0..length as f64).contains(&first(event)))
        .map(|event| (first(event) as usize, event.duration_samples))
        .collect();
    gaps.sort_by_key(|gap| gap.0);
    let mut segments = vec![Segment { start_s: 0.0, first: 0, samples: length }];
    let mut missing = 0.0;
    for (first, taken_out) in gaps {
        missing += taken_out;
        let start_s = (first as f64 + missing) / sizes.rate_hz;
        let next = Segment { start_s, first, samples: length - first };
        match segments.last_mut() {
            Some(last) if last.first == first => *last = next,
            last => {
                last.into_iter().for_each(|last| last.samples = first - last.first);
                segments.push(next);
            }
        }
    }
    segments
}
