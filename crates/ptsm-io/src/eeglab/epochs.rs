//! Trials: what each is of.

use super::events::{Event, is_gap};
use super::sizes::Sizes;
use crate::mat::Value;
use crate::recording_file::Epochs;

/// Trials by the event nearest to time 0 of each, as `epoch` says or, where it is empty, by the events' own latencies.
pub(super) fn read(record: &Value, sizes: &Sizes, events: &[Event], notes: &mut Vec<String>) -> Epochs {
    let list = record.field("epoch").filter(|list| list.count() == sizes.trials);
    let listed =
        list.map(|list| (0..sizes.trials).map(|k| nearest_listed(list, k)).collect::<Option<Vec<_>>>());
    let codes: Vec<String> = match listed.flatten() {
        Some(codes) => codes,
        None => nearest(sizes, events),
    };
    match codes.iter().filter(|code| code.is_empty()).count() {
        0 => {}
        without => notes.push(format!("{without} of {} trials have no event", codes.len())),
    }
    Epochs { samples: sizes.points, start_s: sizes.start_s, codes }
}

/// The event of one trial in the list of trials: latencies in milliseconds and types, in cells where there are several. None where the
/// list does not say.
fn nearest_listed(list: &Value, trial: usize) -> Option<String> {
    let (latency, kind) = (list.element(trial, "eventlatency")?, list.element(trial, "eventtype")?);
    let latencies: Vec<f64> = match latency.cells() {
        Some(cells) => cells.iter().map(|cell| cell.number().unwrap_or(f64::NAN)).collect(),
        None => latency.vector()?,
    };
    let kinds: Vec<String> = match (kind.cells(), kind.vector()) {
        (Some(cells), _) => cells.iter().map(|cell| cell.label().unwrap_or_default()).collect(),
        (None, Some(numbers)) => numbers.into_iter().map(|n| n.to_string()).collect(),
        (None, None) => vec![kind.label()?],
    };
    if latencies.len() != kinds.len() {
        return None;
    }
    let events = latencies.into_iter().zip(kinds).filter(|(at, kind)| at.is_finite() && !is_gap(kind));
    let nearest = events.min_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    Some(nearest.map(|(_, kind)| kind).unwrap_or_default())
}

/// The event of each trial by latencies.
fn nearest(sizes: &Sizes, events: &[Event]) -> Vec<String> {
    let mut nearest: Vec<Option<(f64, &str)>> = vec![None; sizes.trials];
    for event in events.iter().filter(|event| !event.is_gap()) {
        let sample = event.latency.round() - 1.0;
        if !(0.0..sizes.samples() as f64).contains(&sample) {
            continue;
        }
        let trial = sample as usize / sizes.points;
        let from_cue = sizes.start_s + (event.at() - (trial * sizes.points) as f64) / sizes.rate_hz;
        let best = &mut nearest[trial];
        if best.is_none_or(|(distance, _)| from_cue.abs() < distance) {
            *best = Some((from_cue.abs(), &event.text));
        }
    }
    nearest.into_iter().map(|best| best.map_or_else(String::new, |(_, text)| text.to_string())).collect()
}
