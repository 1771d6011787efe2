//! What is measured in one recording.

use std::collections::BTreeMap;

use ptsm_io::Opened;
use ptsm_signal::{Event, Pipeline, Recording, Unit, Who};

use super::faults::{clipped, flat, not_numbers, zeros};
use super::problem::ProblemKind;
use super::scale::{Scale, scale, spread};
use super::windows::Windows;
use crate::catalogue::{Part, Signal};

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) who: Who,
    pub(crate) rate_hz: f64,
    pub(crate) seconds: f64,
    pub(crate) channels: usize,
    /// Trials of each class.
    pub(crate) trials: Vec<usize>,
    /// Events of a class whose window reaches past an end or over a gap.
    pub(crate) short: usize,
    /// Trials whose class nobody tells.
    pub(crate) unknown: usize,
    /// Events of no class.
    pub(crate) others: BTreeMap<String, usize>,
    /// The size of a typical electrode, in microvolts; none where nobody knows the unit.
    pub(crate) spread: Option<f64>,
    /// Of all samples.
    pub(crate) hash: [u8; 32],
    pub(crate) problems: Vec<(ProblemKind, String)>,
    pub(crate) notes: Vec<String>,
}

/// Measures a part of an item.
pub(crate) fn measure(
    part: Part,
    classes: &[String],
    pipeline: &Pipeline,
    opened: Option<&Opened>,
) -> ptsm_signal::Result<Measured> {
    let Part { who, signal, notes } = part;
    let (recording, trials) = match signal {
        Signal::Recording(recording) => (recording, None),
        Signal::Epochs { channels, rate_hz, samples, x, codes, .. } => {
            (joined(channels, rate_hz, samples, &x, &codes)?, Some(samples))
        }
    };
    let windows = Windows::new(&recording, classes, pipeline, trials);
    let mut problems = vec![];
    let mut tell = |kind, text: Option<String>| problems.extend(text.map(|text| (kind, text)));
    tell(ProblemKind::NotNumbers, not_numbers(&recording));
    tell(ProblemKind::Flat, flat(&recording, &windows.time));
    tell(ProblemKind::Clipped, clipped(&recording, opened));
    tell(ProblemKind::Zeros, zeros(&recording));
    if trials.is_none() && !recording.breaks.is_empty() {
        let count = recording.breaks.len();
        tell(ProblemKind::Gaps, Some(if count == 1 { "1 gap".into() } else { format!("{count} gaps") }));
    }
    if windows.short > 0 {
        let all = windows.short + windows.trials.iter().sum::<usize>();
        tell(ProblemKind::Short, Some(format!("{} of {all} trials", windows.short)));
    }
    tell(ProblemKind::Overlap, windows.overlap.clone());
    let spread = typical(&recording);
    tell(ProblemKind::Scale, spread.and_then(odd_scale));
    Ok(Measured {
        who,
        rate_hz: recording.rate_hz,
        seconds: recording.length() as f64 / recording.rate_hz,
        channels: recording.channels.len(),
        trials: windows.trials,
        short: windows.short,
        unknown: windows.unknown,
        others: windows.others,
        spread,
        hash: hash(&recording.samples),
        problems,
        notes,
    })
}

/// Trials of somebody else as one recording with gaps between them.
fn joined(
    channels: Vec<ptsm_signal::Channel>,
    rate_hz: f64,
    each: usize,
    x: &[f32],
    codes: &[String],
) -> ptsm_signal::Result<Recording> {
    let one = (channels.len() * each).max(1);
    let channel = |c: usize| x.chunks_exact(one).flat_map(move |trial| &trial[c * each..][..each]);
    let samples: Vec<f32> = (0..channels.len()).flat_map(channel).copied().collect();
    let event = |(at, code): (usize, &String)| Event { sample: at * each, code: code.clone(), samples: each };
    let events = codes.iter().enumerate().map(event).collect();
    let breaks = (1..codes.len()).map(|at| at * each).collect();
    Recording::new(rate_hz, channels, samples, events)?.with_breaks(breaks)
}

/// The size of the median channel; none where no unit is known.
fn typical(recording: &Recording) -> Option<f64> {
    let known = |&c: &usize| recording.channels[c].unit == Unit::Microvolts;
    let channels = (0..recording.channels.len()).filter(known);
    let mut spreads: Vec<f64> = channels
        .filter_map(|c| spread(recording.channel(c), recording.rate_hz))
        .filter(|s| *s > 0.0)
        .collect();
    spreads.sort_by(f64::total_cmp);
    spreads.get(spreads.len() / 2).copied()
}

fn odd_scale(spread: f64) -> Option<String> {
    let what = match scale(spread) {
        Scale::Plausible => return None,
        Scale::Volts => "too small for microvolts, right for volts",
        Scale::Small => "too small for microvolts",
        Scale::Large => "too large for microvolts, perhaps counts of the amplifier",
    };
    Some(format!("{} uV: {what}", short(spread)))
}

/// A number with two digits that matter.
pub(crate) fn short(x: f64) -> String {
    if (0.1..1e4).contains(&x) { format!("{x:.1}") } else { format!("{x:.1e}") }
}

fn hash(samples: &[f32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = Vec::with_capacity(1 << 16);
    for chunk in samples.chunks(1 << 14) {
        bytes.clear();
        chunk.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        hasher.update(&bytes);
    }
    *hasher.finalize().as_bytes()
}
