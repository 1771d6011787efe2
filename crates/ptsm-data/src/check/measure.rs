//! What is measured in one recording.

use std::collections::BTreeMap;
use std::ops::Range;

use ptsm_io::Opened;
use ptsm_signal::{Event, Pipeline, Recording, Unit, Who, normalise};

use super::report::ProblemKind;
use super::scale::{Scale, scale, spread};
use crate::catalogue::{Part, Signal, UNKNOWN};

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
/// Windows that hold more events than this are told: the window is too long for such events.
const MOST_EVENTS_A_WINDOW: f64 = 4.0;
/// But not where they are as short as an evoked response: those overlap by design.
const RESPONSE_S: f64 = 1.0;

/// What was measured.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) who: Who,
    pub(super) rate_hz: f64,
    pub(super) seconds: f64,
    pub(super) channels: usize,
    /// Trials of each class.
    pub(super) trials: Vec<usize>,
    /// Events of a class whose window reaches past an end or over a gap.
    pub(super) short: usize,
    /// Trials whose class nobody tells.
    pub(super) unknown: usize,
    /// Events of no class.
    pub(super) others: BTreeMap<String, usize>,
    /// The size of a typical electrode, in microvolts; none where nobody knows the unit.
    pub(super) spread: Option<f64>,
    /// Of all samples.
    pub(super) hash: [u8; 32],
    pub(super) problems: Vec<(ProblemKind, String)>,
    pub(super) notes: Vec<String>,
}

/// Measures a part of an item.
pub(super) fn measure(
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

/// Which stretches of a recording are trials.
struct Windows {
    trials: Vec<usize>,
    short: usize,
    unknown: usize,
    others: BTreeMap<String, usize>,
    overlap: Option<String>,
    /// All samples of trials, without doubles, in time order; the whole recording where there is no trial.
    time: Vec<Range<usize>>,
}

impl Windows {
    /// `each` is the length of trials that are cut already: they fit.
    fn new(recording: &Recording, classes: &[String], pipeline: &Pipeline, each: Option<usize>) -> Windows {
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
        let stretches = recording.stretches();
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
            let stretch = &stretches[stretches.partition_point(|stretch| stretch.end <= event.sample)];
            let inside = at(first) >= stretch.start as f64 - 0.5 && at(last) <= stretch.end as f64 + 0.5;
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

fn not_numbers(recording: &Recording) -> Option<String> {
    let counts = each(recording, |samples| samples.iter().filter(|x| !x.is_finite()).count());
    let all: usize = counts.iter().sum();
    let names = named(recording, counts.iter().map(|&count| (count > 0).then(String::new)));
    (all > 0).then(|| format!("{all} samples of {names}"))
}

/// Channels that stand still in trials.
fn flat(recording: &Recording, time: &[Range<usize>]) -> Option<String> {
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
    told(recording, &shares, FLAT)
}

/// Channels that stay at the ends of their range, or at the same extremes.
fn clipped(recording: &Recording, opened: Option<&Opened>) -> Option<String> {
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
    told(recording, &shares, CLIPPED)
}

fn at_ends(samples: &[f32], range: Option<[f64; 2]>) -> usize {
    let finite = || samples.iter().copied().filter(|x| x.is_finite());
    let (low, high) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    // A channel that never changes is flat, not clipped.
    if low >= high {
        return 0;
    }
    let outside = range.map_or(0, |[from, to]| {
        let slack = 1e-5 * (to - from).abs();
        samples.iter().map(|&x| f64::from(x)).filter(|&x| x <= from + slack || x >= to - slack).count()
    });
    let mut repeated = 0;
    for row in samples.chunk_by(|a, b| a == b) {
        if row.len() >= IN_A_ROW && (row[0] == low || row[0] == high) {
            repeated += row.len();
        }
    }
    outside.max(repeated)
}

/// How long all channels are exactly nothing.
fn zeros(recording: &Recording) -> Option<String> {
    let mut nothing = vec![true; recording.length()];
    for c in 0..recording.channels.len() {
        nothing.iter_mut().zip(recording.channel(c)).for_each(|(nothing, &x)| *nothing &= x == 0.0);
    }
    let least = still(recording.rate_hz);
    let (mut at, mut stretches) = (0, vec![]);
    for row in nothing.chunk_by(|a, b| a == b) {
        if row[0] && row.len() >= least {
            stretches.push((at, row.len()));
        }
        at += row.len();
    }
    let (first, _) = stretches.first()?;
    let seconds = |samples: usize| samples as f64 / recording.rate_hz;
    let all = seconds(stretches.iter().map(|(_, samples)| samples).sum());
    let more = if stretches.len() > 1 { format!(" in {} stretches", stretches.len()) } else { String::new() };
    Some(format!("{all:.1} s{more}, from {:.1} s on", seconds(*first)))
}

/// How many equal samples in a row stand still.
fn still(rate_hz: f64) -> usize {
    ((STILL_S * rate_hz).ceil() as usize).max(STILL_SAMPLES)
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
pub(super) fn short(x: f64) -> String {
    if (0.1..1e4).contains(&x) { format!("{x:.1}") } else { format!("{x:.1e}") }
}

fn each<T>(recording: &Recording, of: impl Fn(&[f32]) -> T) -> Vec<T> {
    (0..recording.channels.len()).map(|c| of(recording.channel(c))).collect()
}

/// Channels whose share is above a limit, with it.
fn told(recording: &Recording, shares: &[f64], limit: f64) -> Option<String> {
    let share = |&share: &f64| (share > limit).then(|| format!(" ({} %)", percent(share)));
    let names = named(recording, shares.iter().map(share));
    (!names.is_empty()).then_some(names)
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 1.0 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Names of the channels something is told of.
fn named(recording: &Recording, told: impl Iterator<Item = Option<String>>) -> String {
    let names =
        recording.channels.iter().zip(told).filter_map(|(c, told)| Some(format!("{}{}", c.name, told?)));
    names.collect::<Vec<_>>().join(", ")
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
