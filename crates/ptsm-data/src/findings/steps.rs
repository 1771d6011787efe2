//! Channels that hold triggers, whatever they are called: they stand still but for steps, and their values tell the classes.
//!
//! An amplifier's electrode moves with every sample. A channel of triggers does not, and what it shows where an epoch begins is a
//! function of the class: a decoder that is given it reads the label, and is right on pure noise.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ptsm_signal::Recording;
use serde::{Deserialize, Serialize};

/// A channel that changes at more of its samples than this has no steps.
const MOST_CHANGES: f64 = 0.05;
/// A channel with more different values than these is no channel of triggers.
const MOST_VALUES: usize = 256;
/// Epochs that a class needs before its values say something: five of each class fall apart by chance once in a hundred times.
const LEAST_EPOCHS: usize = 5;
/// Around the cue, in seconds, a trigger is looked for.
const AROUND_S: [f64; 2] = [-0.05, 0.2];
/// A state that is held shows its value so long after the cue, in seconds.
const HELD_S: f64 = 0.1;

/// A channel that stands still but for steps, and what it shows in epochs of each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepChannel {
    pub(crate) name: String,
    /// Epochs of each class.
    epochs: Vec<usize>,
    /// The values, as bits, in epochs of each class: three ways to look at an epoch.
    values: [Vec<BTreeSet<u32>>; 3],
}

impl StepChannel {
    /// Whether its values tell the class of every epoch.
    fn tells_classes(&self) -> bool {
        let enough = self.epochs.iter().filter(|epochs| **epochs >= LEAST_EPOCHS).count() >= 2;
        enough && self.values.iter().any(|values| self.apart(values))
    }

    /// Whether no value is of two classes, and values come again: a counter, which never repeats one, tells nothing.
    fn apart(&self, values: &[BTreeSet<u32>]) -> bool {
        let all: BTreeSet<u32> = values.iter().flatten().copied().collect();
        let apart = all.len() == values.iter().map(BTreeSet::len).sum::<usize>();
        apart && all.len() <= self.epochs.iter().sum::<usize>() / 2
    }

    fn join(&mut self, other: &StepChannel) {
        self.epochs.iter_mut().zip(&other.epochs).for_each(|(own, other)| *own += other);
        for (own, other) in self.values.iter_mut().zip(&other.values) {
            own.iter_mut().zip(other).for_each(|(own, other)| own.extend(other));
        }
    }
}

/// Names of channels whose values tell the classes, in one recording or in all of them together.
pub(super) fn triggers<'a>(parts: impl Iterator<Item = &'a [StepChannel]>) -> BTreeSet<&'a str> {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut together: BTreeMap<&str, StepChannel> = BTreeMap::new();
    for channel in parts.flatten() {
        if channel.tells_classes() {
            told.insert(&channel.name);
        }
        together
            .entry(&channel.name)
            .and_modify(|known| known.join(channel))
            .or_insert_with(|| channel.clone());
    }
    told.extend(together.iter().filter(|(_, channel)| channel.tells_classes()).map(|(name, _)| *name));
    told
}

/// The channels of a recording that have steps. `each` is the length of epochs that are cut already; `window_s` is where epochs of
/// others are.
pub(super) fn step_channels(
    recording: &Recording,
    classes: &[String],
    window_s: [f64; 2],
    each: Option<usize>,
) -> Vec<StepChannel> {
    let cues: Vec<(usize, usize)> = recording
        .events
        .iter()
        .filter_map(|event| Some((classes.iter().position(|class| *class == event.code)?, event.sample)))
        .collect();
    let of = |c: usize| {
        let samples = recording.channel(c);
        let rest = resting_value(samples)?;
        let mut channel = StepChannel {
            name: recording.channels[c].name.clone(),
            epochs: vec![0; classes.len()],
            values: std::array::from_fn(|_| vec![BTreeSet::new(); classes.len()]),
        };
        for &(class, cue) in &cues {
            let windows = match each {
                Some(each) => [cue..cue + each, cue..cue + each, cue + each / 2..cue + each / 2 + 1],
                None => {
                    let at =
                        |seconds: f64| (cue as f64 + seconds * recording.rate_hz).round().max(0.0) as usize;
                    let range = |[from, to]: [f64; 2]| at(from)..at(to) + 1;
                    [range(AROUND_S), range(window_s), range([HELD_S, HELD_S])]
                }
            };
            channel.epochs[class] += 1;
            for (values, window) in channel.values.iter_mut().zip(windows) {
                values[class].insert(farthest(samples, window, rest).to_bits());
            }
        }
        Some(channel)
    };
    (0..recording.channels.len()).filter_map(of).collect()
}

/// The value a channel has most often, if it stands still but for steps.
fn resting_value(samples: &[f32]) -> Option<f32> {
    let most = (MOST_CHANGES * samples.len() as f64) as usize;
    // An electrode is known after the first of its samples.
    let changes = samples.windows(2).filter(|pair| pair[0] != pair[1]).take(most + 1).count();
    if changes == 0 || changes > most {
        return None;
    }
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for run in samples.chunk_by(|a, b| a == b) {
        *counts.entry(run[0].to_bits()).or_default() += run.len();
        if counts.len() > MOST_VALUES {
            return None;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(bits, _)| f32::from_bits(bits))
}

/// The value in a window that is farthest from the resting one.
fn farthest(samples: &[f32], window: Range<usize>, rest: f32) -> f32 {
    let end = window.end.min(samples.len());
    let inside = &samples[window.start.min(end)..end];
    inside.iter().copied().max_by(|a, b| (a - rest).abs().total_cmp(&(b - rest).abs())).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::{Channel, Event};

    use super::*;

    const LENGTH: usize = 4000;

    /// Twelve cues of two classes and one channel, made by the sample's number, the class there and the number of samples since the cue.
    fn recording(value: impl Fn(usize, usize, usize) -> f32) -> Recording {
        let cue = |sample: usize| (sample / 300, sample % 300);
        let samples = (0..LENGTH).map(|t| value(t, cue(t).0 % 2, cue(t).1)).collect();
        let event = |i: usize| Event { sample: 300 * i, code: ["left", "right"][i % 2].into(), samples: 0 };
        Recording::new(100.0, vec![Channel::named("X1")], samples, (0..12).map(event).collect()).unwrap()
    }

    fn found(recording: &Recording) -> Vec<StepChannel> {
        step_channels(recording, &["left".into(), "right".into()], [0.0, 2.0], None)
    }

    fn is_trigger(recording: &Recording) -> bool {
        !triggers([&found(recording)[..]].into_iter()).is_empty()
    }

    #[test]
    fn values_that_tell_the_classes_are_triggers() {
        // A pulse at the cue, in any unit; a state that is held; a pulse a second later.
        assert!(is_trigger(&recording(|_, class, since| if since < 3 {
            0.0153 * (class + 1) as f32
        } else {
            0.0
        })));
        assert!(is_trigger(&recording(|_, class, _| class as f32)));
        assert!(is_trigger(&recording(|_, class, since| if (100..105).contains(&since) {
            7.0 + class as f32
        } else {
            0.0
        })));
    }

    #[test]
    fn other_channels_are_none() {
        // An electrode, a dead one, a pulse that is the same for all classes, a counter, a switch that does not know of the cues.
        assert!(!is_trigger(&recording(|t, class, _| ((t * 7919) % 1009) as f32 + class as f32)));
        assert!(!is_trigger(&recording(|_, _, _| 5.0)));
        assert!(!is_trigger(&recording(|_, _, since| if since < 3 { 1.0 } else { 0.0 })));
        assert!(!is_trigger(&recording(|t, _, _| (t / 300) as f32)));
        assert!(!is_trigger(&recording(|t, _, _| ((t / 450) % 2) as f32)));
    }

    #[test]
    fn recordings_of_one_class_each_are_judged_together() {
        let of = |class: usize| {
            let mut recording = recording(|_, _, since| if since < 3 { 1.0 + class as f32 } else { 0.0 });
            recording.events.iter_mut().for_each(|event| event.code = ["left", "right"][class].into());
            found(&recording)
        };
        let (left, right) = (of(0), of(1));
        assert!(triggers([&left[..]].into_iter()).is_empty());
        assert_eq!(triggers([&left[..], &right[..]].into_iter()), BTreeSet::from(["X1"]));
    }

    #[test]
    fn a_few_epochs_prove_nothing() {
        let mut recording = recording(|_, class, since| if since < 3 { (class + 1) as f32 } else { 0.0 });
        recording.events.truncate(8);
        assert!(!is_trigger(&recording));
    }
}
