//! All trials of one subject.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_signal::{Event, Pipeline, Recording, RecordingId};

use super::trial::{Trial, keep};
use super::window_s;
use crate::catalogue::channels::used;
use crate::catalogue::disk::file_name;
use crate::catalogue::matlab::{Record, records, variable};
use crate::catalogue::refusal::listed;
use crate::catalogue::{Options, RecordingItem, RecordingPart, SignalData};
use crate::error::{Error, Result};

/// Variables of the published files and of those the authors' script writes.
const VARIABLES: [&str; 2] = ["trials", "preproc_trials"];

/// Reads a subject's trials, each a recording with an event at the start of every window.
pub(super) fn read(
    item: &RecordingItem,
    options: &Options,
    pipeline: &Pipeline,
) -> Result<Vec<RecordingPart>> {
    let path = item.file();
    let (variable, value) = variable(path, &VARIABLES, &keep)?;
    let records = records(path, variable, &value)?;
    let name = file_name(path);
    let mut notes = vec![];
    if variable == VARIABLES[1] {
        notes.push(format!("{name}: trials as the authors' script preprocessed them"));
    }
    notes.extend(other_window(options, pipeline));
    if let Some(other) = other_subject(&records, item) {
        notes.push(format!("{name}: says it is of {other}"));
    }

    let all: Vec<Trial<'_>> = records.iter().map(Trial::new).collect::<Result<_>>()?;
    let ids: BTreeSet<u32> = all.iter().filter_map(|trial| trial.id).collect();
    let numbered = ids.len() == all.len();
    if !numbered {
        notes.push(format!("{name}: trials have no numbers of their own and are counted from 1"));
    }
    let mut parts = vec![];
    let is_selected = |trial: &Trial<'_>| options.get("experiments") != "12" || trial.experiment != 3;
    // Where there is nothing to cut, the first trial is there to be told of.
    let nothing = !all.iter().any(is_selected);
    for (i, trial) in all.into_iter().enumerate() {
        if !(is_selected(&trial) || nothing && i == 0) {
            continue;
        }
        let run = trial.id.filter(|_| numbered).unwrap_or(i as u32 + 1);
        check_band(path, variable, &trial, pipeline)?;
        notes.extend(trial.notes.iter().map(|note| format!("{name}, trial {run}: {note}")));
        let mut recording = recording(&trial, pipeline)
            .map_err(|error| Error::Signal { place: format!("{}, trial {run}", path.display()), error })?;
        if nothing {
            recording.events.clear();
            notes.push(format!("{name}: no trial is of the experiments that were chosen"));
        } else if recording.events.is_empty() {
            notes.push(format!("{name}, trial {run}: too short for a window"));
        }
        let id = RecordingId { subject: item.subject, session: item.session, run };
        parts.push(RecordingPart {
            id,
            signal: SignalData::Recording(recording),
            notes: std::mem::take(&mut notes),
        });
    }
    Ok(parts)
}

/// A trial with an event at the start of every window that fits.
fn recording(trial: &Trial<'_>, pipeline: &Pipeline) -> ptsm_signal::Result<Recording> {
    let used = used(pipeline, &trial.channels);
    let channels = used.iter().map(|&c| trial.channels[c].clone()).collect();
    let events = windows(trial.samples.rows, trial.rate_hz, pipeline.window_s)
        .map(|sample| Event { sample, code: trial.class.into(), samples: 0 })
        .collect();
    Recording::new(trial.rate_hz, channels, trial.samples.channels(&used), events)
}

/// The cues of windows that follow one another without overlap and lie inside some samples.
fn windows(samples: usize, rate_hz: f64, [from, to]: [f64; 2]) -> impl Iterator<Item = usize> {
    let before = (-from).max(0.0);
    let length_s = (to - from).max(1.0 / rate_hz);
    let end_s = samples as f64 / rate_hz;
    // Half a sample of grace: times are rounded to samples.
    let count = ((end_s - before - to + 0.5 / rate_hz) / length_s).floor() + 1.0;
    let count = if count > 0.0 { (count as usize).min(samples) } else { 0 };
    (0..count).map(move |k| ((before + k as f64 * length_s) * rate_hz).round() as usize)
}

/// Whether the pipeline's window is another one than was chosen: then the pipeline's is taken.
fn other_window(options: &Options, pipeline: &Pipeline) -> Option<String> {
    let ([from, to], chosen) = (pipeline.window_s, window_s(options));
    ((to - from - chosen).abs() > 1e-9)
        .then(|| format!("windows are of {} s, as the pipeline says, not of {chosen} s", to - from))
}

/// Whom a file says it is of, where that is somebody else.
fn other_subject(records: &[Record<'_>], item: &RecordingItem) -> Option<String> {
    let said = records.iter().find_map(|record| record.find("subject")?.text())?;
    let number = said.trim().trim_start_matches(['S', 's']).parse::<u32>().ok();
    (number != Some(item.subject.0)).then(|| listed(&[said]))
}

/// Files at a low rate have no room for the band of the published ones.
fn check_band(path: &Path, variable: &str, trial: &Trial<'_>, pipeline: &Pipeline) -> Result<()> {
    let high_hz = pipeline.band.and_then(|band| band.high_hz);
    match high_hz.filter(|&high_hz| variable == VARIABLES[1] && 2.0 * high_hz >= trial.rate_hz) {
        None => Ok(()),
        Some(high_hz) => Err(Error::Content {
            path: path.to_path_buf(),
            message: format!("`{variable}` has {} Hz, too few for a band up to {high_hz} Hz", trial.rate_hz),
            hint: Some("add `--with pipeline=preprocessed`, or take the published files (`trials`)".into()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_one_another_and_the_tail_is_dropped() {
        let cues = |samples, rate_hz, window_s| windows(samples, rate_hz, window_s).collect::<Vec<_>>();
        assert_eq!(cues(1280, 128.0, [0.0, 5.0]), [0, 640]);
        assert_eq!(cues(1279, 128.0, [0.0, 5.0]), [0]);
        assert_eq!(cues(300, 128.0, [0.0, 1.0]), [0, 128]);
        assert_eq!(cues(300, 128.0, [-0.5, 0.5]), [64, 192]);
        assert_eq!(cues(300, 128.0, [0.5, 1.0]), [0, 64, 128]);
        assert_eq!(cues(127, 128.0, [0.0, 1.0]), [0usize; 0]);
        assert_eq!(cues(0, 128.0, [0.0, 1.0]), [0usize; 0]);
        assert_eq!(cues(5, 1.0, [0.0, 1e-9]).len(), 5);
    }
}
