//! Events in channels of triggers, for files that tell no others.

use std::collections::HashSet;

use crate::error::Result;
use crate::limit::MOST;
use crate::recording_file::{Annotation, Samples, Segment, SignalHeader, SignalKind};

/// Samples of a channel that are looked at together.
const BLOCK: usize = 1 << 14;

/// Further than this from a whole number is no code. Codes that were scaled to a range of physical values are this close.
const SLACK: f32 = 0.05;

/// Where a channel of triggers begins an event. Amplifiers' channels rest at a value, go up for an event and back again, so only a rise
/// begins one. A channel in a MATLAB file was often written by a script that holds the code for as long as the event lasts, also directly
/// before another and also below zero, so every change to another code than zero begins one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerOnset {
    /// Where it rises to a positive value. What is there at the first sample began before.
    Rise,
    /// Where it changes to a finite value other than zero, the first sample included.
    Change,
}

/// Finds the onsets of one channel of triggers, sample by sample.
#[derive(Clone, Copy, Debug)]
pub struct TriggerDetector {
    onset: TriggerOnset,
    before: f64,
}

impl TriggerDetector {
    /// Before the first sample, or after a gap.
    pub fn new(onset: TriggerOnset) -> TriggerDetector {
        let before = match onset {
            TriggerOnset::Rise => f64::INFINITY,
            TriggerOnset::Change => 0.0,
        };
        TriggerDetector { onset, before }
    }

    /// Whether the next sample begins an event.
    pub fn begins(&mut self, value: f64) -> bool {
        let before = std::mem::replace(&mut self.before, value);
        match self.onset {
            TriggerOnset::Rise => value > before && value > 0.0,
            TriggerOnset::Change => value != before && value != 0.0 && value.is_finite(),
        }
    }
}

/// Which channels are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriggerEvidence {
    /// The file says that they hold triggers.
    Stated,
    /// Only their names do: channels of other than whole numbers, as of a photodiode, are left out.
    Named,
}

/// Rises of a channel: where, and the new value.
struct ChannelRises {
    channel: usize,
    at: Vec<(Segment, usize, i64)>,
}

/// Rises of the trigger channels that have the rate of `segments`, as annotations. This reads the channels to their end.
///
/// Of one channel each event is called like its value. Where a channel sums up the others (`STI101`, `STI 014`, or one of several
/// values that rises wherever another does) it alone is read. Of several others, as EGI's `DIN1` to `DIN7`, events are called like
/// their channel, with the value behind it where that differs: `DIN2`, `STI 001/5`.
pub(crate) fn read(
    signals: &[SignalHeader],
    samples: &dyn Samples,
    segments: &[Segment],
    trust: TriggerEvidence,
    notes: &mut Vec<String>,
) -> Result<Vec<Annotation>> {
    let length: usize = segments.iter().map(|segment| segment.samples).sum();
    let fits = |i: &usize| signals[*i].kind == SignalKind::Stimulus && signals[*i].samples == length;
    let channels: Vec<usize> = (0..signals.len()).filter(fits).collect();
    let named = |name: &str| channels.iter().copied().find(|&i| signals[i].name.replace(' ', "") == name);
    if let Some(sum) = named("STI101").or_else(|| named("STI014")) {
        let rises = rises(sum, signals, samples, segments, trust, notes)?;
        if !rises.at.is_empty() {
            return Ok(annotations(vec![rises], signals, notes));
        }
    }
    let (mut all, mut count) = (vec![], 0);
    for channel in channels {
        let rises = rises(channel, signals, samples, segments, trust, notes)?;
        count += rises.at.len();
        if count > MOST {
            notes.push("trigger channels change too often for triggers: no events".into());
            return Ok(vec![]);
        }
        if !rises.at.is_empty() {
            all.push(rises);
        }
    }
    if let Some(sum) = (0..all.len()).find(|&i| sums_up(i, &all)) {
        all = vec![all.swap_remove(sum)];
    }
    Ok(annotations(all, signals, notes))
}

/// Whether a channel has the events of all others: with values of its own, at the same samples and more.
fn sums_up(one: usize, all: &[ChannelRises]) -> bool {
    let own: HashSet<usize> = all[one].at.iter().map(|(_, sample, _)| *sample).collect();
    let others = || all.iter().enumerate().filter(|(i, _)| *i != one).map(|(_, rises)| rises);
    all.len() > 1
        && values(&all[one]) > 1
        && others().all(|rises| rises.at.iter().all(|(_, sample, _)| own.contains(sample)))
}

/// How many values a channel rises to.
fn values(rises: &ChannelRises) -> usize {
    rises.at.iter().map(|(.., value)| *value).collect::<HashSet<i64>>().len()
}

fn annotations(all: Vec<ChannelRises>, signals: &[SignalHeader], notes: &mut Vec<String>) -> Vec<Annotation> {
    let names: Vec<String> = all.iter().map(|rises| format!("`{}`", signals[rises.channel].name)).collect();
    match &names[..] {
        [] => {}
        [name] => notes.push(format!("events come from the trigger channel {name}")),
        names => notes.push(format!(
            "events come from the trigger channels {}; each is called like its channel",
            names.join(", ")
        )),
    }
    let several = all.len() > 1;
    let mut annotations = vec![];
    for rises in &all {
        let SignalHeader { name, rate_hz, .. } = &signals[rises.channel];
        let one_value = values(rises) == 1;
        annotations.extend(rises.at.iter().map(|(segment, sample, value)| Annotation {
            onset_s: segment.start_s + (sample - segment.first) as f64 / rate_hz,
            duration_s: 0.0,
            sample: Some(*sample),
            text: match (several, one_value) {
                (false, _) => value.to_string(),
                (true, true) => name.clone(),
                (true, false) => format!("{name}/{value}"),
            },
        }));
    }
    annotations
}

/// Where one channel rises. A value that is there when a segment begins began before.
fn rises(
    channel: usize,
    signals: &[SignalHeader],
    samples: &dyn Samples,
    segments: &[Segment],
    trust: TriggerEvidence,
    notes: &mut Vec<String>,
) -> Result<ChannelRises> {
    let name = &signals[channel].name;
    let mut found = ChannelRises { channel, at: vec![] };
    let mut values = vec![0.0; BLOCK];
    for segment in segments {
        let mut detector = TriggerDetector::new(TriggerOnset::Rise);
        for offset in (0..segment.samples).step_by(BLOCK) {
            let values = &mut values[..BLOCK.min(segment.samples - offset)];
            samples.read(&[channel], segment.first + offset, values)?;
            if trust == TriggerEvidence::Named
                && values.iter().any(|value| (value - value.round()).abs() > SLACK)
            {
                notes.push(format!(
                    "`{name}` is called like triggers but holds other than whole numbers: no events"
                ));
                return Ok(ChannelRises { channel, at: vec![] });
            }
            for (i, value) in values.iter().map(|value| value.round()).enumerate() {
                if detector.begins(f64::from(value)) {
                    if found.at.len() == MOST {
                        notes
                            .push(format!("`{name}` changes too often for a channel of triggers: no events"));
                        return Ok(ChannelRises { channel, at: vec![] });
                    }
                    found.at.push((*segment, segment.first + offset + i, value as i64));
                }
            }
        }
    }
    Ok(found)
}
