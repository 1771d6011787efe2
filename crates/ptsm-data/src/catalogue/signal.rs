//! What data sets do with signals before they become trials.

use std::ops::Range;

use ptsm_signal::{Band, Channel, Event, FilterKind, Recording};

/// The band every pipeline of the catalogue has: Butterworth of order 4, zero-phase.
pub(super) fn zero_phase(low_hz: f64, high_hz: f64) -> Option<Band> {
    Some(Band { low_hz: Some(low_hz), high_hz: Some(high_hz), kind: FilterKind::ZeroPhase { order: 4 } })
}

/// Pieces of a range of samples in which at least one channel has a sample.
///
/// # Shapes
/// `samples` is `[channels, N]`.
pub(super) fn present(
    samples: &[f32],
    channels: usize,
    range: Range<usize>,
    missing: impl Fn(usize, f32) -> bool,
) -> Vec<Range<usize>> {
    let length = samples.len() / channels.max(1);
    let mut absent = vec![true; range.len()];
    for (c, channel) in samples.chunks_exact(length.max(1)).enumerate() {
        for (absent, &x) in absent.iter_mut().zip(&channel[range.clone()]) {
            *absent = *absent && missing(c, x);
        }
    }
    let mut pieces: Vec<Range<usize>> = vec![];
    for at in range.clone().filter(|at| !absent[at - range.start]) {
        match pieces.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => pieces.push(at..at + 1),
        }
    }
    pieces
}

/// Pieces of a recording one after the other with gaps between them, with only some channels. Events outside of the pieces are
/// left out.
///
/// # Shapes
/// `samples` is `[C, N]` with all channels; pieces lie inside N, in their order.
pub(super) fn join(
    rate_hz: f64,
    channels: &[Channel],
    samples: &[f32],
    events: &[Event],
    pieces: &[Range<usize>],
    used: &[usize],
) -> ptsm_signal::Result<Recording> {
    let length = samples.len() / channels.len().max(1);
    let joined = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let mut kept = Vec::with_capacity(used.len() * joined);
    for &channel in used {
        let all = &samples[channel * length..][..length];
        pieces.iter().for_each(|piece| kept.extend_from_slice(&all[piece.clone()]));
    }
    let starts: Vec<usize> = pieces
        .iter()
        .scan(0, |next, piece| {
            let start = *next;
            *next += piece.len();
            Some(start)
        })
        .collect();
    let moved = events.iter().filter_map(|event| {
        let at = pieces.partition_point(|piece| piece.end <= event.sample);
        pieces.get(at).filter(|piece| piece.contains(&event.sample))?;
        Some(Event { sample: event.sample - pieces[at].start + starts[at], ..event.clone() })
    });
    let channels = used.iter().map(|&c| channels[c].clone()).collect();
    Recording::new(rate_hz, channels, kept, moved.collect())?
        .with_breaks(starts.into_iter().skip(1).collect())
}

/// The first segment of a range of samples in which a channel does not change for longer than some samples: the channel and
/// its first sample.
pub(super) fn flat(recording: &Recording, range: Range<usize>, longest: usize) -> Option<(usize, usize)> {
    (0..recording.channels.len()).find_map(|c| {
        let samples = &recording.channel(c)[range.clone()];
        let mut start = 0;
        while let Some(&last) = samples.get(start + longest) {
            // From the far end back: mostly the first comparison decides, and all before it is skipped.
            match samples[start..start + longest].iter().rposition(|&x| x != last) {
                Some(at) => start += at + 1,
                None => return Some((c, range.start + start)),
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn event(sample: usize) -> Event {
        Event { sample, code: "a".into(), samples: 0 }
    }

    #[test]
    fn samples_that_are_missing_everywhere_become_gaps() {
        let n = f32::NAN;
        let samples = [1.0, n, n, 4.0, 5.0, n, n, 11.0, n, n, 14.0, n, n, n];
        let missing = |_: usize, x: f32| x.is_nan();
        assert_eq!(present(&samples, 2, 0..7, missing), [0..1, 3..5]);
        assert_eq!(present(&samples, 2, 1..4, missing), std::slice::from_ref(&(3..4)));
        assert!(present(&samples, 2, 5..7, missing).is_empty());
        let channels = ["C3", "C4"].map(Channel::named);
        let joined =
            join(10.0, &channels, &samples, &[event(0), event(2), event(4)], &[0..1, 3..5], &[0]).unwrap();
        assert_eq!((joined.samples, joined.breaks), (vec![1.0, 4.0, 5.0], vec![1]));
        assert_eq!(joined.events, [event(0), event(2)]);
        assert_eq!(joined.channels, [Channel::named("C3")]);
    }

    #[test]
    fn segments_that_do_not_change_are_found() {
        let samples = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 7.0, 7.0, 7.0, 2.0, 2.0];
        let recording =
            Recording::new(10.0, ["C3", "C4"].map(Channel::named).to_vec(), samples, vec![]).unwrap();
        assert_eq!(flat(&recording, 0..6, 2), Some((1, 1)));
        assert_eq!(flat(&recording, 2..6, 1), Some((1, 2)));
        assert_eq!(flat(&recording, 2..6, 2), None);
        assert_eq!(flat(&recording, 4..6, 1), Some((1, 4)));
        assert_eq!(flat(&recording, 6..6, 1), None);
    }
}
