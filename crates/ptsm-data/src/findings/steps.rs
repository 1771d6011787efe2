//! Channels that hold triggers, whatever they are called: they rest at a few levels, and their values tell the classes.
//!
//! An amplifier's electrode moves with every sample. A channel of triggers does not, and what it shows where an epoch begins is a
//! function of the class: a decoder that is given it reads the label, and is right on pure noise.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ptsm_signal::Recording;
use serde::{Deserialize, Serialize};

use super::faults::extremes;

/// Of a channel of triggers, the most frequent values, one more than there are classes, make this share of all samples.
const AT_REST: f64 = 0.8;
/// A channel with more different values is noisy: values within a share of its range are one level.
const MOST_VALUES: usize = 256;
/// Levels of the range of a noisy channel.
const LEVELS: f32 = 200.0;
/// Epochs that a class needs before its values say something: six of each of two classes fall apart by chance once in 460 times.
const LEAST_EPOCHS: usize = 6;
/// Levels of a noisy channel that a class may have: those of an eye that follows the cue are many.
const MOST_LEVELS: usize = 4;
/// A trigger may be some samples beside its cue.
const BESIDE: [usize; 2] = [2, 3];
/// Around the cue, in seconds, a trigger is looked for.
const AROUND_S: [f64; 2] = [-0.05, 0.2];
/// A state that is held shows its value so long after the cue, in seconds.
const HELD_S: f64 = 0.1;
/// So many samples, if the same is true of somewhat fewer of them, tell whether it is worth looking at all: an electrode is known at a glance.
const GLANCE: usize = 256;
const LIKELY: f64 = 0.65;
/// Ways to look at an epoch.
const LOOKS: usize = 5;

/// A channel that rests at a few levels, and what it shows in epochs of each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepChannel {
    pub(crate) name: String,
    /// Whether values are levels of its range in this recording alone, not values as they are.
    noisy: bool,
    /// Epochs of each class.
    epochs: Vec<usize>,
    /// What it shows in epochs of each class, by every way to look at an epoch.
    values: [Vec<BTreeSet<u32>>; LOOKS],
}

impl StepChannel {
    /// Whether its values tell the class of every epoch.
    fn tells_classes(&self) -> bool {
        let enough = self.epochs.iter().filter(|epochs| **epochs >= LEAST_EPOCHS).count() >= 2;
        enough && self.values.iter().any(|values| self.apart(values))
    }

    /// Whether no value is of two classes, and values come again: a counter, which never repeats one, tells nothing.
    fn apart(&self, values: &[BTreeSet<u32>]) -> bool {
        let mut all: Vec<(u32, usize)> = values
            .iter()
            .enumerate()
            .flat_map(|(class, own)| own.iter().map(move |&value| (value, class)))
            .collect();
        all.sort_unstable();
        // Neighbouring levels of a noisy channel are one.
        let near = if self.noisy { 1 } else { 0 };
        let mixed = all.windows(2).any(|pair| pair[0].1 != pair[1].1 && pair[1].0 - pair[0].0 <= near);
        let few = !self.noisy || values.iter().all(|own| own.len() <= MOST_LEVELS);
        !mixed && few && all.len() <= self.epochs.iter().sum::<usize>() / 2
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
    let mut triggers: BTreeSet<&str> = BTreeSet::new();
    let mut together: BTreeMap<&str, StepChannel> = BTreeMap::new();
    for channel in parts.flatten() {
        if channel.tells_classes() {
            triggers.insert(&channel.name);
        }
        if !channel.noisy {
            together
                .entry(&channel.name)
                .and_modify(|known| known.join(channel))
                .or_insert_with(|| channel.clone());
        }
    }
    triggers.extend(together.iter().filter(|(_, channel)| channel.tells_classes()).map(|(name, _)| *name));
    triggers
}

/// Where epochs are in a recording.
pub(super) enum EpochsAt {
    /// Around each cue, in seconds.
    Cues([f64; 2]),
    /// One after the other, of so many samples, with the cue after so many of them.
    Cut { samples: usize, cue: usize },
}

/// The channels of a recording that rest at a few levels.
pub(super) fn step_channels(recording: &Recording, classes: &[String], at: &EpochsAt) -> Vec<StepChannel> {
    let class = |code: &str| classes.iter().position(|class| class == code);
    let looks: Vec<(usize, [Range<usize>; LOOKS - 1])> = recording
        .events
        .iter()
        .enumerate()
        .filter_map(|(i, event)| {
            let next = recording.events[i + 1..].iter().map(|e| e.sample).find(|s| *s > event.sample);
            Some((class(&event.code)?, looks(recording, event.sample, next, at)))
        })
        .collect();
    (0..recording.channels.len())
        .filter_map(|c| {
            let levels = Levels::of(recording.channel(c), classes.len() + 1)?;
            let mut channel = StepChannel {
                name: recording.channels[c].name.clone(),
                noisy: levels.noisy,
                epochs: vec![0; classes.len()],
                values: std::array::from_fn(|_| vec![BTreeSet::new(); classes.len()]),
            };
            for (class, windows) in &looks {
                channel.epochs[*class] += 1;
                let farthest = windows.iter().map(|window| levels.farthest(window.clone()));
                let first = std::iter::once(levels.first(windows[2].clone()));
                for (values, value) in channel.values.iter_mut().zip(farthest.chain(first)) {
                    values[*class].insert(value);
                }
            }
            Some(channel)
        })
        .collect()
}

/// Beside the cue, around it, the whole epoch, and a moment after the cue: none reaches to the next event.
fn looks(
    recording: &Recording,
    event: usize,
    next: Option<usize>,
    at: &EpochsAt,
) -> [Range<usize>; LOOKS - 1] {
    let (cue, whole) = match *at {
        EpochsAt::Cues([from, to]) => {
            let seconds = |s: f64| (event as f64 + s * recording.rate_hz).round().max(0.0) as usize;
            (event, seconds(from.min(AROUND_S[0]))..seconds(to))
        }
        EpochsAt::Cut { samples, cue } => (event + cue, event..event + samples),
    };
    let end = match (at, next) {
        (EpochsAt::Cues(_), Some(next)) => next.saturating_sub(BESIDE[0]).max(cue + 1),
        _ => whole.end.max(cue + 1),
    };
    let after = |s: f64| (cue as f64 + s * recording.rate_hz).round().max(0.0) as usize;
    let inside = |range: Range<usize>| range.start.max(whole.start)..range.end.min(end).max(range.start);
    let held = after(HELD_S).min(end - 1);
    [
        inside(cue.saturating_sub(BESIDE[0])..cue + BESIDE[1]),
        inside(after(AROUND_S[0])..after(AROUND_S[1]) + 1),
        inside(whole.clone()),
        held..held + 1,
    ]
}

/// A channel as levels.
struct Levels {
    levels: Vec<u32>,
    rest: u32,
    noisy: bool,
}

impl Levels {
    /// None of a channel that does not rest at a few of them, or at one alone.
    fn of(samples: &[f32], few: usize) -> Option<Levels> {
        let glance: Vec<f32> = samples.iter().step_by((samples.len() / GLANCE).max(1)).copied().collect();
        if rest(&counted(glance.iter().map(|x| ordered(*x))), few, 0, LIKELY).is_some() {
            let counts = counted(samples.iter().map(|x| ordered(*x)));
            let rest = rest(&counts, few, 0, AT_REST).filter(|_| (2..=MOST_VALUES).contains(&counts.len()));
            if let Some(rest) = rest {
                let levels = samples.iter().map(|x| ordered(*x)).collect();
                return Some(Levels { levels, rest, noisy: false });
            }
        }
        let [low, high] = extremes(samples);
        let scale = LEVELS / (high - low);
        if !(scale.is_finite() && scale > 0.0) {
            return None;
        }
        let level = |x: &f32| ((x - low) * scale).round() as u32;
        rest(&counted(glance.iter().map(level)), few, 1, LIKELY)?;
        let levels: Vec<u32> = samples.iter().map(level).collect();
        let counts = counted(levels.iter().copied());
        let rest = rest(&counts, few, 1, AT_REST).filter(|_| counts.len() > 1)?;
        Some(Levels { levels, rest, noisy: true })
    }

    /// The level in a window that is farthest from the resting one.
    fn farthest(&self, window: Range<usize>) -> u32 {
        self.inside(window).iter().copied().max_by_key(|level| level.abs_diff(self.rest)).unwrap_or(self.rest)
    }

    /// The first level in a window that is not the resting one.
    fn first(&self, window: Range<usize>) -> u32 {
        let near = u32::from(self.noisy);
        let other = |level: &&u32| level.abs_diff(self.rest) > near;
        self.inside(window).iter().find(other).copied().unwrap_or(self.rest)
    }

    fn inside(&self, window: Range<usize>) -> &[u32] {
        let end = window.end.min(self.levels.len());
        &self.levels[window.start.min(end)..end]
    }
}

/// How often each level occurs.
fn counted(levels: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    levels.for_each(|level| *counts.entry(level).or_default() += 1);
    counts
}

/// The most frequent level, where a few of them, each with those `beside` it, make at least a `share` of the samples.
fn rest(counts: &BTreeMap<u32, usize>, few: usize, beside: u32, share: f64) -> Option<u32> {
    let most = |counts: &BTreeMap<u32, usize>| {
        counts.iter().max_by_key(|(_, count)| **count).map(|(level, _)| *level)
    };
    let mut left = counts.clone();
    let mut sum = 0;
    for _ in 0..few {
        let Some(level) = most(&left) else { break };
        for near in level.saturating_sub(beside)..=level.saturating_add(beside) {
            sum += left.remove(&near).unwrap_or(0);
        }
    }
    most(counts).filter(|_| sum as f64 >= share * counts.values().sum::<usize>() as f64)
}

/// A number that is in the order of the value: those near to each other are near.
fn ordered(x: f32) -> u32 {
    // Zero has two signs and is one value.
    let bits = (x + 0.0).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::{Channel, Event};

    use super::*;

    const LENGTH: usize = 4000;

    /// Noise in -1..1 that is the same everywhere.
    fn noise(t: usize) -> f32 {
        let mut z = (t as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^= z >> 27;
        (z % 20_001) as f32 / 10_000.0 - 1.0
    }

    /// Cues of two classes, so many samples apart, and one channel, made by the sample's number, the class there and the number of samples
    /// since the cue.
    fn spaced(apart: usize, value: impl Fn(usize, usize, usize) -> f32) -> Recording {
        // Classes in an order that does not come again soon.
        let class = |i: usize| (i.count_ones() % 2) as usize;
        let samples = (0..LENGTH).map(|t| value(t, class(t / apart), t % apart)).collect();
        let event =
            |i: usize| Event { sample: apart * i, code: ["left", "right"][class(i)].into(), samples: 0 };
        let events = (0..LENGTH / apart).map(event).collect();
        Recording::new(100.0, vec![Channel::named("X1")], samples, events).unwrap()
    }

    fn recording(value: impl Fn(usize, usize, usize) -> f32) -> Recording {
        spaced(200, value)
    }

    fn found(recording: &Recording) -> Vec<StepChannel> {
        step_channels(recording, &["left".into(), "right".into()], &EpochsAt::Cues([0.0, 1.5]))
    }

    fn is_trigger(recording: &Recording) -> bool {
        !triggers([&found(recording)[..]].into_iter()).is_empty()
    }

    #[test]
    fn values_that_tell_the_classes_are_triggers() {
        let pulse = |level: f32, on: bool| if on { level } else { 0.0 };
        // A pulse at the cue, in any unit; a state that is held; a pulse a second later.
        assert!(is_trigger(&recording(|_, class, since| pulse(0.0153 * (class + 1) as f32, since < 3))));
        assert!(is_trigger(&recording(|_, class, _| class as f32)));
        assert!(is_trigger(&recording(|_, class, since| pulse(
            7.0 + class as f32,
            (100..105).contains(&since)
        ))));
        // Flashes every 170 ms, in whose epochs other flashes are.
        assert!(is_trigger(&spaced(17, |_, class, since| pulse((class + 1) as f32, since == 0))));
        // A code that is the same for all follows at once.
        assert!(is_trigger(&recording(|_, class, since| match since {
            0..2 => (class + 1) as f32,
            5..15 => 99.0,
            _ => 0.0,
        })));
        // An analogue channel with noise.
        assert!(is_trigger(&recording(
            |t, class, since| pulse(50.0 * (class + 1) as f32, since < 30) + 0.01 * noise(t)
        )));
    }

    #[test]
    fn other_channels_are_none() {
        let blink = |t: usize| if t % 1130 < 20 { 300.0 } else { 0.0 };
        // An electrode, with and without blinks and one that the class moves; a dead one; a pulse that is the same for all classes; a counter; a
        // switch that does not know of the cues.
        assert!(!is_trigger(&recording(|t, _, _| 20.0 * noise(t))));
        assert!(!is_trigger(&recording(|t, _, _| 5.0 * noise(t) + blink(t))));
        assert!(!is_trigger(&recording(|t, class, since| {
            let eye =
                if since < 50 { (40.0 + 20.0 * noise(t / 200)) * (2.0 * class as f32 - 1.0) } else { 0.0 };
            0.1 * noise(t) + eye
        })));
        assert!(!is_trigger(&recording(|_, _, _| 5.0)));
        assert!(!is_trigger(&recording(|_, _, since| if since < 3 { 1.0 } else { 0.0 })));
        assert!(!is_trigger(&recording(|t, _, _| (t / 200) as f32)));
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
        recording.events.clear();
        assert!(!is_trigger(&recording));
    }

    #[test]
    fn cut_epochs_are_looked_at_alike() {
        let mut recording = spaced(200, |_, class, since| if since == 60 { (class + 1) as f32 } else { 0.0 });
        recording.breaks = (1..20).map(|i| 200 * i).collect();
        let classes = ["left".into(), "right".into()];
        for cue in [60, 0] {
            let steps = step_channels(&recording, &classes, &EpochsAt::Cut { samples: 200, cue });
            assert!(!triggers([&steps[..]].into_iter()).is_empty(), "{cue}");
        }
    }
}
