//! GDF files of the competition: the runs of a session one after the other, missing samples between them.

use std::path::{Path, PathBuf};

use ptsm_io::RecordingFile;
use ptsm_signal::{Channel, Pipeline, RecordingId, normalise, position};

use super::cues::cues;
use super::graz::{EYES, Graz};
use super::{RATE_HZ, drops};
use crate::catalogue::channels::used;
use crate::catalogue::disk::file_name;
use crate::catalogue::refusal::{refuse, shortened};
use crate::catalogue::signal::{join, present};
use crate::catalogue::{Options, RecordingItem, RecordingPart, SignalData};
use crate::error::{Error, Result};

/// The start of a run.
const RUN: &str = "32766";

/// Reads the runs of a session that have trials.
pub(super) fn read(
    set: &Graz,
    item: &RecordingItem,
    options: &Options,
    pipeline: &Pipeline,
) -> Result<Vec<RecordingPart>> {
    let path = item.file();
    let opened = ptsm_io::open(path)?;
    check_signals(set, path, &opened)?;
    let electrodes: Vec<usize> = (0..set.channels.len()).collect();
    let recording = opened.recording(Some(&electrodes))?;
    let (rate_hz, length) = (recording.rate_hz, recording.length());
    let labels = item.files.get(1).map(PathBuf::as_path);
    let (events, mut notes) = cues(set, path, labels, &recording.events, rate_hz, drops(options))?;
    notes.extend(opened.notes().iter().map(|note| format!("{}: {note}", file_name(path))));
    if rate_hz != RATE_HZ {
        notes.push(format!("{}: {rate_hz} Hz, not {RATE_HZ} Hz", file_name(path)));
    }

    let mut borders: Vec<usize> =
        recording.events.iter().filter(|event| event.code == RUN).map(|event| event.sample).collect();
    borders.extend(&recording.breaks);
    borders.extend([0, length]);
    borders.sort_unstable();
    borders.dedup();
    let channels: Vec<Channel> = set.channels.iter().map(|name| Channel::named(name)).collect();
    let used = used(pipeline, &channels);
    // Missing samples are written as the extreme of what the file can hold; a millionth is for rounding.
    let ends = |&i: &usize| {
        let [least, most] = opened.signals()[i].range?;
        let slack = 1e-6 * (most - least);
        Some([(least + slack) as f32, (most - slack) as f32])
    };
    let ranges: Vec<Option<[f32; 2]>> = electrodes.iter().map(ends).collect();
    let missing = |channel: usize, x: f32| {
        !x.is_finite() || ranges[channel].is_some_and(|[least, most]| x <= least || x >= most)
    };
    let (mut parts, mut inside) = (vec![], 0);
    for border in borders.windows(2) {
        let range = border[0]..border[1];
        let here = &events[events.partition_point(|event| event.sample < range.start)
            ..events.partition_point(|event| event.sample < range.end)];
        if here.is_empty() {
            continue;
        }
        let pieces = present(&recording.samples, channels.len(), range, missing);
        let signal = join(rate_hz, &channels, &recording.samples, here, &pieces, &used)
            .map_err(|error| Error::Signal { place: path.display().to_string(), error })?;
        inside += signal.events.len();
        let id = RecordingId { subject: item.subject, session: item.session, run: parts.len() as u32 + 1 };
        parts.push(RecordingPart {
            id,
            signal: SignalData::Recording(signal),
            notes: std::mem::take(&mut notes),
        });
    }
    if inside < events.len() {
        let note =
            format!("{}: {} cues come where samples are missing", file_name(path), events.len() - inside);
        parts.iter_mut().take(1).for_each(|part| part.notes.push(note.clone()));
    }
    Ok(parts)
}

/// Signals are known by their places; names that say something must not contradict.
fn check_signals(set: &Graz, path: &Path, opened: &RecordingFile) -> Result<()> {
    let (signals, electrodes) = (opened.signals(), set.channels.len());
    if signals.len() != electrodes + EYES {
        let found = signals.len();
        return Err(refuse(
            path,
            format!("has {found} signals, not {electrodes} electrodes and {EYES} of the eyes"),
        ));
    }
    for (i, (signal, known)) in signals.iter().zip(set.channels).enumerate() {
        let bare = signal.name.rsplit([':', '-']).next().unwrap_or(&signal.name);
        if position(bare).is_some() && normalise(bare) != *known {
            let name = shortened(&signal.name);
            return Err(refuse(path, format!("has `{name}` as signal {}, not `{known}`", i + 1)));
        }
    }
    Ok(())
}
