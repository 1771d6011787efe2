//! Writes recordings as EDF+.

mod annotations;
mod channel;
mod number;
mod plan;

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use ptsm_signal::{Recording, Unit};

use crate::atomic::write_atomically;
use crate::error::{Error, Result};

use annotations::Schedule;
use channel::Coding;
use plan::Plan;

/// Records should not be longer than this, says the format.
const MOST_RECORD_BYTES: usize = 61440;

/// Signals a header has room for, less the annotations.
const MOST_CHANNELS: usize = 9998;

/// What a recording became.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenEdf {
    /// How long a record is.
    pub record_s: f64,
    /// Samples that fill up the last record of a segment with its last value: samples of the file that are not of the recording.
    pub padding: Vec<Range<usize>>,
}

/// Writes a recording as EDF+C, or as EDF+D where it has gaps, with its events as annotations. The file is there whole or not at all.
///
/// Each channel gets the finest 16 bits that hold its values. How long a gap lasts no recording tells: each is written as the rest of
/// a second and one more. People and dates are left unknown.
pub fn write(path: &Path, recording: &Recording) -> Result<WrittenEdf> {
    check(recording).map_err(|(message, hint)| Error::format(&path.into(), message).with_hint(hint))?;
    let codings = (0..recording.channels.len())
        .map(|channel| Coding::of(recording.channel(channel)))
        .collect::<Result<Vec<Coding>, _>>();
    let codings = codings.map_err(|message| {
        Error::format(&path.into(), message).with_hint("EDF holds numbers of at most 8 characters")
    })?;
    let segments = recording.segments();
    let plans = plan::plans(recording.rate_hz, &segments, codings.len());
    let (plan, schedule) = scheduled(recording, &segments, plans).ok_or_else(|| {
        let rate_hz = recording.rate_hz;
        let message =
            format!("no record of EDF holds {} channels at {rate_hz} Hz and the events", codings.len());
        Error::format(&path.into(), message).with_hint("resample to a rate in whole hertz")
    })?;
    write_atomically(path, |to| {
        to.write_all(&header(recording, &codings, &plan, &schedule))?;
        records(to, recording, &segments, &codings, &plan, &schedule)
    })?;
    Ok(WrittenEdf { record_s: plan.record_s, padding: plan.padding(&segments) })
}

/// The first plan with room for the events. Records have more room for them the shorter they are, so after one that is too small only
/// those are tried that are at most half as long.
fn scheduled(recording: &Recording, segments: &[Range<usize>], plans: Vec<Plan>) -> Option<(Plan, Schedule)> {
    let mut most = usize::MAX;
    for plan in plans {
        if plan.samples > most {
            continue;
        }
        match Schedule::of(recording, segments, &plan) {
            Some(schedule) => return Some((plan, schedule)),
            None => most = plan.samples / 2,
        }
    }
    None
}

/// What cannot be written, and one thing to do about it.
fn check(recording: &Recording) -> Result<(), (String, &'static str)> {
    let Recording { rate_hz, channels, samples, events, breaks } = recording;
    let length = samples.len().checked_div(channels.len()).unwrap_or(0);
    if length == 0 || length * channels.len() != samples.len() || !(rate_hz.is_finite() && *rate_hz > 0.0) {
        return Err((
            "a recording without samples or rate cannot be written".into(),
            "check where it comes from",
        ));
    }
    if channels.len() > MOST_CHANNELS {
        return Err((format!("EDF has no room for {} channels", channels.len()), "write some of them"));
    }
    for channel in channels {
        let name = &channel.name;
        let plain = name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if !plain || name.trim() != name || !(1..=16).contains(&name.len()) || name == "EDF Annotations" {
            let message = format!("channel name {name:?} is no label of 1 to 16 plain characters");
            return Err((message, "rename the channel"));
        }
    }
    if !breaks.is_sorted_by(|a, b| a < b)
        || breaks.first() == Some(&0)
        || breaks.last().is_some_and(|&last| last >= length)
    {
        return Err(("gaps lie outside of the recording".into(), "check where it comes from"));
    }
    for event in events {
        let code = &event.code;
        if event.sample >= length {
            return Err((
                format!("event {code:?} lies outside of the recording"),
                "check where it comes from",
            ));
        }
        // What follows `@@` would be taken for the name of a channel the event is about.
        let about = code.rsplit_once("@@").is_some_and(|(_, name)| channels.iter().any(|c| c.name == name));
        if code.is_empty() || code.contains(['\0', '\x14', '\x15']) || about {
            return Err((format!("{code:?} is no text of an annotation"), "rename the event"));
        }
    }
    Ok(())
}

/// Text in a field of fixed length.
fn put(to: &mut Vec<u8>, text: &str, length: usize) {
    to.extend_from_slice(text.as_bytes());
    to.resize(to.len() + length - text.len(), b' ');
}

fn header(recording: &Recording, codings: &[Coding], plan: &Plan, schedule: &Schedule) -> Vec<u8> {
    let signals = codings.len() + 1;
    let mut to = Vec::with_capacity(256 * (1 + signals));
    put(&mut to, "0", 8);
    put(&mut to, "X X X X", 80);
    put(&mut to, "Startdate X X X X", 80);
    // The year that stands for none: the format has no other, and a true one tells something about a person.
    put(&mut to, "01.01.85", 8);
    put(&mut to, "00.00.00", 8);
    put(&mut to, &(256 * (1 + signals)).to_string(), 8);
    put(&mut to, if recording.breaks.is_empty() { "EDF+C" } else { "EDF+D" }, 44);
    put(&mut to, &schedule.records().to_string(), 8);
    put(&mut to, &plan.duration, 8);
    put(&mut to, &signals.to_string(), 4);
    let mut each = |length: usize, of: &dyn Fn(usize) -> String, annotations: &str| {
        (0..codings.len()).for_each(|channel| put(&mut to, &of(channel), length));
        put(&mut to, annotations, length);
    };
    let unit = |channel: usize| match recording.channels[channel].unit {
        Unit::Microvolts => "uV",
        Unit::Arbitrary => "",
    };
    each(16, &|channel| recording.channels[channel].name.clone(), "EDF Annotations");
    each(80, &|_| String::new(), "");
    each(8, &|channel| unit(channel).to_string(), "");
    each(8, &|channel| codings[channel].low.clone(), "-1");
    each(8, &|channel| codings[channel].high.clone(), "1");
    each(8, &|_| i16::MIN.to_string(), &i16::MIN.to_string());
    each(8, &|_| i16::MAX.to_string(), &i16::MAX.to_string());
    each(80, &|_| String::new(), "");
    each(8, &|_| plan.samples.to_string(), &(schedule.block_bytes / 2).to_string());
    each(32, &|_| String::new(), "");
    to
}

fn records(
    to: &mut impl Write,
    recording: &Recording,
    segments: &[Range<usize>],
    codings: &[Coding],
    plan: &Plan,
    schedule: &Schedule,
) -> io::Result<()> {
    let mut blocks = schedule.blocks();
    let mut record = vec![];
    for segment in segments {
        for first in segment.clone().step_by(plan.samples) {
            record.clear();
            let end = segment.end.min(first + plan.samples);
            for (channel, coding) in codings.iter().enumerate() {
                let samples = &recording.channel(channel)[first..end];
                record.extend(samples.iter().flat_map(|&value| coding.code(value).to_le_bytes()));
                let last = coding.code(samples[samples.len() - 1]).to_le_bytes();
                (end..first + plan.samples).for_each(|_| record.extend(last));
            }
            record.extend(blocks.next().unwrap_or_default());
            to.write_all(&record)?;
        }
    }
    Ok(())
}
