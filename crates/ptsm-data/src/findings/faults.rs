//! What can be wrong with the samples of a recording.

use std::collections::BTreeMap;
use std::ops::Range;

use ptsm_io::RecordingFile;
use ptsm_signal::{Recording, normalise};

/// A signal that does not change for so long, in seconds, stands still: noise alone moves every sample of a living electrode.
const STILL_S: f64 = 0.1;
/// And for so many samples.
const STILL_SAMPLES: usize = 5;
/// A channel that stands still for this share of its trials is told.
const FLAT: f64 = 0.1;
/// A channel with this share of its samples at the ends of its range is told.
const CLIPPED: f64 = 0.001;
/// So many samples at the same extreme in a row are no chance.
const IN_A_ROW: usize = 3;

/// Samples that are not numbers.
pub(super) fn not_numbers(recording: &Recording) -> Option<String> {
    let counts = each(recording, |samples| samples.iter().filter(|x| !x.is_finite()).count());
    let all: usize = counts.iter().sum();
    let names = named(recording, counts.iter().map(|&count| (count > 0).then(String::new)));
    (all > 0).then(|| format!("{all} samples of {names}"))
}

/// Channels that stand still in trials.
pub(super) fn flat(recording: &Recording, time: &[Range<usize>]) -> Option<String> {
    let least = still(recording.rate_hz);
    let all: usize = time.iter().map(ExactSizeIterator::len).sum();
    let shares = each(recording, |samples| {
        let same = |&at: &usize| samples[at] == samples[at - 1];
        let mut still = 0;
        for range in time {
            let mut start = range.start;
            for at in range.start + 1..=range.end {
                if at == range.end || !same(&at) {
                    still += if at - start >= least { at - start } else { 0 };
                    start = at;
                }
            }
        }
        still as f64 / all.max(1) as f64
    });
    channels_above(recording, &shares, FLAT)
}

/// Channels that stay at the ends of their range, or at the same extremes.
pub(super) fn clipped(recording: &Recording, opened: Option<&RecordingFile>) -> Option<String> {
    let ranges: BTreeMap<String, [f64; 2]> = opened
        .iter()
        .flat_map(|opened| opened.signals())
        .filter_map(|signal| Some((normalise(&signal.name), signal.range?)))
        .collect();
    let shares: Vec<f64> = (0..recording.channels.len())
        .map(|c| {
            let samples = recording.channel(c);
            let range = ranges.get(&recording.channels[c].name);
            at_ends(samples, range.copied()) as f64 / samples.len().max(1) as f64
        })
        .collect();
    channels_above(recording, &shares, CLIPPED)
}

fn at_ends(samples: &[f32], range: Option<[f64; 2]>) -> usize {
    let [low, high] = extremes(samples);
    // A channel that never changes is flat, not clipped.
    if low >= high {
        return 0;
    }
    let outside = range.map_or(0, |[from, to]| {
        let slack = 1e-5 * (to - from).abs();
        let [least, most] = [(from + slack) as f32, (to - slack) as f32];
        // Most channels come near to neither end.
        match low <= least || high >= most {
            true => samples.iter().filter(|&&x| x <= least || x >= most).count(),
            false => 0,
        }
    });
    // Nor do extremes come again in most.
    let repeated = match samples.iter().filter(|&&x| x == low || x == high).count() {
        0..IN_A_ROW => 0,
        _ => samples
            .chunk_by(|a, b| a == b)
            .filter(|row| row.len() >= IN_A_ROW && (row[0] == low || row[0] == high))
            .map(<[f32]>::len)
            .sum(),
    };
    outside.max(repeated)
}

/// The least and the largest number among samples, sixteen at a time.
pub(super) fn extremes(samples: &[f32]) -> [f32; 2] {
    let wider = |[low, high]: [f32; 2], x: f32| {
        let finite = x.abs() <= f32::MAX;
        [if finite && x < low { x } else { low }, if finite && x > high { x } else { high }]
    };
    let none = [f32::INFINITY, f32::NEG_INFINITY];
    let (rows, rest) = samples.as_chunks::<16>();
    let mut lanes = [none; 16];
    for row in rows {
        for (lane, &x) in lanes.iter_mut().zip(row) {
            *lane = wider(*lane, x);
        }
    }
    let all = lanes.iter().flatten().chain(rest).copied();
    all.fold(none, wider)
}

/// How long all channels are exactly nothing.
pub(super) fn zeros(recording: &Recording) -> Option<String> {
    let mut nothing = vec![true; recording.length()];
    for c in 0..recording.channels.len() {
        nothing.iter_mut().zip(recording.channel(c)).for_each(|(nothing, &x)| *nothing &= x == 0.0);
    }
    let least = still(recording.rate_hz);
    let (mut at, mut segments) = (0, vec![]);
    for row in nothing.chunk_by(|a, b| a == b) {
        if row[0] && row.len() >= least {
            segments.push((at, row.len()));
        }
        at += row.len();
    }
    let (first, _) = segments.first()?;
    let seconds = |samples: usize| samples as f64 / recording.rate_hz;
    let all = seconds(segments.iter().map(|(_, samples)| samples).sum());
    let more = if segments.len() > 1 { format!(" in {} segments", segments.len()) } else { String::new() };
    Some(format!("{all:.1} s{more}, from {:.1} s on", seconds(*first)))
}

/// How many equal samples in a row stand still.
fn still(rate_hz: f64) -> usize {
    ((STILL_S * rate_hz).ceil() as usize).max(STILL_SAMPLES)
}

fn each<T>(recording: &Recording, of: impl Fn(&[f32]) -> T) -> Vec<T> {
    (0..recording.channels.len()).map(|c| of(recording.channel(c))).collect()
}

/// Channels whose share is above a limit, with it.
fn channels_above(recording: &Recording, shares: &[f64], limit: f64) -> Option<String> {
    let share = |&share: &f64| (share > limit).then(|| format!(" ({} %)", percent(share)));
    let names = named(recording, shares.iter().map(share));
    (!names.is_empty()).then_some(names)
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 1.0 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Names of the channels something is told of.
fn named(recording: &Recording, remarks: impl Iterator<Item = Option<String>>) -> String {
    let names = recording
        .channels
        .iter()
        .zip(remarks)
        .filter_map(|(c, remark)| Some(format!("{}{}", c.name, remark?)));
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::Channel;

    use super::*;

    #[test]
    fn samples_at_the_ends_of_the_range_are_clipped() {
        // Single samples at the ends, and three in a row at an extreme inside of it.
        let samples = [0.0, 5.0, 1.0, -5.0, 2.0, 5.0, 0.0];
        assert_eq!(at_ends(&samples, Some([-5.0, 5.0])), 3);
        assert_eq!(at_ends(&samples, Some([-500.0, 500.0])), 0);
        assert_eq!(at_ends(&[0.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0], None), 3);
        assert_eq!(at_ends(&[0.0, 3.0, 3.0, 0.0], None), 0);
        // What never changes is flat, and what is no number is told elsewhere.
        assert_eq!(at_ends(&[2.0; 9], Some([-2.0, 2.0])), 0);
        assert_eq!(at_ends(&[f32::NAN; 3], None), 0);
    }

    #[test]
    fn short_recordings_do_no_harm() {
        for length in 0..3 {
            let recording =
                Recording::new(100.0, vec![Channel::named("C3")], vec![0.0; length], vec![]).unwrap();
            let time: Vec<Range<usize>> = std::iter::once(0..length).collect();
            assert_eq!((flat(&recording, &time), zeros(&recording)), (None, None));
            assert_eq!((clipped(&recording, None), not_numbers(&recording)), (None, None));
        }
    }
}
