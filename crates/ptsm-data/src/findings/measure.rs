//! What is measured in one recording.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ptsm_io::RecordingFile;
use ptsm_signal::{Event, Pipeline, Recording, Unit};
use serde::{Deserialize, Serialize};

use super::faults::{clipped, flat, not_numbers, zeros};
use super::problem::ProblemKind;
use super::scale::{AmplitudeScale, scale, spread};
use super::steps::{EpochsAt, StepChannel, step_channels};
use super::windows::Windows;
use crate::catalogue::{RecordingItem, RecordingPart, SignalData};
use crate::error::{Error, Result};

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordingMeasures {
    pub(crate) session: u32,
    pub(crate) run: u32,
    pub(crate) rate_hz: f64,
    pub(crate) seconds: f64,
    pub(crate) channels: usize,
    /// Trials of each class.
    pub(crate) trials: Vec<usize>,
    /// Events of a class whose window reaches past an end or over a gap.
    pub(crate) short: usize,
    /// Trials whose class is not known.
    pub(crate) unknown: usize,
    /// Events of no class. They may be somebody's free text, so they are not kept.
    #[serde(skip)]
    pub(crate) others: BTreeMap<String, usize>,
    /// The size of a typical electrode, in microvolts; none where nobody knows the unit.
    pub(crate) spread: Option<f64>,
    /// Of all samples; none where no channel moves, for all such recordings are the same.
    pub(crate) hash: Option<[u8; 32]>,
    pub(crate) problems: Vec<(ProblemKind, String)>,
    /// Channels that rest at a few levels.
    pub(crate) steps: Vec<StepChannel>,
}

/// Measures a part of an item.
pub(crate) fn measure(
    part: &RecordingPart,
    item: &RecordingItem,
    classes: &[String],
    pipeline: &Pipeline,
) -> Result<RecordingMeasures> {
    // The header tells the range of each signal, where the file is a recording itself.
    let opened = item.files.first().and_then(|file| ptsm_io::open(file).ok());
    measure_with(part, classes, pipeline, opened.as_ref())
        .map_err(|error| Error::Signal { place: item.place(), error })
}

/// Measures what has no file of its own, or whose file is open.
pub(crate) fn measure_with(
    part: &RecordingPart,
    classes: &[String],
    pipeline: &Pipeline,
    opened: Option<&RecordingFile>,
) -> ptsm_signal::Result<RecordingMeasures> {
    let (recording, trials) = match &part.signal {
        SignalData::Recording(recording) => (Cow::Borrowed(recording), None),
        SignalData::Epochs { channels, rate_hz, samples, x, codes, .. } => {
            (Cow::Owned(joined(channels.clone(), *rate_hz, *samples, x, codes)?), Some(*samples))
        }
    };
    let epochs_at = match &part.signal {
        SignalData::Recording(_) => EpochsAt::Cues(pipeline.window_s),
        SignalData::Epochs { samples, start_s, rate_hz, .. } => EpochsAt::Cut {
            samples: *samples,
            cue: ((-start_s * rate_hz).round().max(0.0) as usize).min(samples.saturating_sub(1)),
        },
    };
    let recording = &*recording;
    let windows = Windows::new(recording, classes, pipeline, trials);
    let mut problems = vec![];
    let mut tell = |kind, text: Option<String>| problems.extend(text.map(|text| (kind, text)));
    tell(ProblemKind::NotNumbers, not_numbers(recording));
    tell(ProblemKind::Flat, flat(recording, &windows.time));
    // Values that were computed are rounded as their writer likes: an extreme may come three times in a row.
    if trials.is_none() {
        tell(ProblemKind::Clipped, clipped(recording, opened));
    }
    tell(ProblemKind::Zeros, zeros(recording));
    if trials.is_none() && !recording.breaks.is_empty() {
        let count = recording.breaks.len();
        tell(ProblemKind::Gaps, Some(if count == 1 { "1 gap".into() } else { format!("{count} gaps") }));
    }
    if windows.short > 0 {
        let all = windows.short + windows.trials.iter().sum::<usize>();
        tell(ProblemKind::Short, Some(format!("{} of {all} trials", windows.short)));
    }
    tell(ProblemKind::Overlap, windows.overlap.clone());
    let spread = typical(recording, Unit::Microvolts);
    tell(ProblemKind::Scale, spread.and_then(odd_scale));
    tell(ProblemKind::Scale, typical(recording, Unit::Arbitrary).and_then(unstated_volts));
    Ok(RecordingMeasures {
        session: part.id.session,
        run: part.id.run,
        rate_hz: recording.rate_hz,
        seconds: recording.length() as f64 / recording.rate_hz,
        channels: recording.channels.len(),
        trials: windows.trials,
        short: windows.short,
        unknown: windows.unknown,
        others: windows.others,
        spread,
        hash: moves(recording).then(|| hash(&recording.samples)),
        problems,
        steps: step_channels(recording, classes, &epochs_at),
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

/// The size of the median channel among those of a unit.
fn typical(recording: &Recording, unit: Unit) -> Option<f64> {
    let channels = (0..recording.channels.len()).filter(|&c| recording.channels[c].unit == unit);
    let mut spreads: Vec<f64> = channels
        .filter_map(|c| spread(recording.channel(c), recording.rate_hz))
        .filter(|s| *s > 0.0)
        .collect();
    spreads.sort_by(f64::total_cmp);
    spreads.get(spreads.len() / 2).copied()
}

fn odd_scale(spread: f64) -> Option<String> {
    let what = match scale(spread) {
        AmplitudeScale::Plausible => return None,
        AmplitudeScale::Volts => "too small for microvolts, right for volts",
        AmplitudeScale::Small => "too small for microvolts",
        AmplitudeScale::Large => "too large for microvolts, perhaps counts of the amplifier",
    };
    Some(format!("{} uV: {what}", short(spread)))
}

/// Without a unit any size is possible, but one of volts is most likely volts.
fn unstated_volts(spread: f64) -> Option<String> {
    let volts = scale(spread) == AmplitudeScale::Volts;
    volts.then(|| format!("{}, and the unit is not stated: right for volts", short(spread)))
}

/// A number with two digits that matter.
pub(crate) fn short(x: f64) -> String {
    if (0.1..1e4).contains(&x) { format!("{x:.1}") } else { format!("{x:.1e}") }
}

fn moves(recording: &Recording) -> bool {
    let still = |c: usize| recording.channel(c).windows(2).all(|pair| pair[0] == pair[1]);
    !(0..recording.channels.len()).all(still)
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
