//! Which events of a competition file begin which trials.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_signal::Event;

use super::find::LABELS;
use super::graz::Graz;
use crate::catalogue::matlab::variable;
use crate::catalogue::refusal::refuse;
use crate::catalogue::{UNKNOWN, disk};
use crate::error::Result;

/// The start of a trial.
const START: &str = "768";
/// The first of the cues, one code per class.
const FIRST_CUE: u32 = 769;
/// A cue whose class is not told.
const HIDDEN: &str = "783";
/// A trial that an expert rejected, at its start.
const REJECTED: &str = "1023";

/// A trial.
struct Cue {
    sample: usize,
    /// Which class the event tells.
    class: Option<usize>,
    /// The trial's start among all starts, and its sample.
    start: Option<(usize, usize)>,
    rejected: bool,
}

/// Cues called like their classes, and what should be known of them.
pub(super) fn cues(
    set: &Graz,
    path: &Path,
    labels: Option<&Path>,
    events: &[Event],
    rate_hz: f64,
    drop: bool,
) -> Result<(Vec<Event>, Vec<String>)> {
    let (cues, starts) = collect(set, events);
    if cues.is_empty() {
        return Err(refuse(path, format!("has no cue: no event {FIRST_CUE} and following, none {HIDDEN}")));
    }
    let file_labels = labels.map(|labels| read(set, labels)).transpose()?;
    let classes: Vec<Option<usize>> = match (&file_labels, labels) {
        (Some(file_labels), Some(labels)) => merge(path, labels, &cues, starts, file_labels)?,
        _ => cues.iter().map(|cue| cue.class).collect(),
    };
    let name = disk::file_name(path);
    let mut notes = vec![];
    let hidden = classes.iter().filter(|class| class.is_none()).count();
    if hidden > 0 {
        notes.push(format!(
            "{name}: the classes of {hidden} trials are in a file `{}.mat` (`true_labels.zip`), which is not there",
            Path::new(&name).file_stem().unwrap_or_default().to_string_lossy()
        ));
    }
    notes.extend(delays(set, &name, &cues, rate_hz));
    let kept = |cue: &Cue| !(drop && cue.rejected);
    let dropped = cues.iter().filter(|cue| !kept(cue)).count();
    if dropped > 0 {
        notes.push(format!("{name}: {dropped} trials that an expert annotated as artefacts are left out"));
    }
    let event = |(cue, class): (&Cue, Option<usize>)| Event {
        sample: cue.sample,
        code: class.map_or(UNKNOWN, |class| set.classes[class].1).into(),
        samples: 0,
    };
    let kept = cues.iter().zip(classes).filter(|(cue, _)| kept(cue));
    Ok((kept.map(event).collect(), notes))
}

/// All trials in time order, and how many starts there are.
fn collect(set: &Graz, events: &[Event]) -> (Vec<Cue>, usize) {
    let rejected: BTreeSet<usize> =
        events.iter().filter(|event| event.code == REJECTED).map(|event| event.sample).collect();
    let mut sorted: Vec<&Event> = events.iter().collect();
    sorted.sort_by_key(|event| event.sample);
    let (mut cues, mut start, mut starts) = (vec![], None, 0);
    for event in sorted {
        if event.code == START {
            start = Some((starts, event.sample));
            starts += 1;
            continue;
        }
        let class = event.code.parse::<u32>().ok().and_then(|code| code.checked_sub(FIRST_CUE));
        let class = class.map(|class| class as usize).filter(|&class| class < set.classes.len());
        if class.is_some() || event.code == HIDDEN {
            let from = start.map_or(event.sample, |(_, sample)| sample);
            let rejected = rejected.range(from..=event.sample).next().is_some();
            cues.push(Cue { sample: event.sample, class, start, rejected });
        }
    }
    (cues, starts)
}

/// The labels of a file of labels.
fn read(set: &Graz, path: &Path) -> Result<Vec<usize>> {
    let (_, value) = variable(path, &[LABELS], &|_| true)?;
    let known = |&number: &f64| {
        (number.fract() == 0.0 && number >= 1.0 && number <= set.classes.len() as f64)
            .then_some(number as usize - 1)
    };
    let labels: Option<Vec<usize>> = value.vector().and_then(|numbers| numbers.iter().map(known).collect());
    labels.ok_or_else(|| refuse(path, format!("`{LABELS}` is no list of classes 1 to {}", set.classes.len())))
}

/// What a file of labels says of each cue. It counts cues or starts, rejected ones too; where a cue tells its class both must
/// agree.
fn merge(
    path: &Path,
    labels: &Path,
    cues: &[Cue],
    starts: usize,
    file_labels: &[usize],
) -> Result<Vec<Option<usize>>> {
    let by_start = file_labels.len() != cues.len();
    if by_start && file_labels.len() != starts {
        let message = format!(
            "holds {} labels for {} cues of {}",
            file_labels.len(),
            cues.len(),
            disk::file_name(path)
        );
        return Err(refuse(labels, message));
    }
    cues.iter()
        .enumerate()
        .map(|(i, cue)| {
            let at = if by_start { cue.start.map(|(number, _)| number) } else { Some(i) };
            let label = at.and_then(|at| file_labels.get(at)).copied();
            match (cue.class, label) {
                (Some(class), Some(label)) if class != label => Err(refuse(
                    labels,
                    format!("calls trial {} class {}, the recording class {}", i + 1, label + 1, class + 1),
                )),
                (class, label) => Ok(class.or(label)),
            }
        })
        .collect()
}

/// How long after the start of its trial a cue comes, where that should be known.
fn delays(set: &Graz, name: &str, cues: &[Cue], rate_hz: f64) -> Option<String> {
    let delay = |cue: &Cue| cue.start.map(|(_, start)| (cue.sample - start) as f64 / rate_hz);
    let found: Vec<f64> = cues.iter().filter_map(delay).collect();
    let (least, most) =
        found.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
    if found.is_empty() {
        return Some(format!("{name}: no event {START}, so nothing tells when a trial starts"));
    }
    let expected = (least - set.cue_s).abs() <= 0.1 && (most - set.cue_s).abs() <= 0.1;
    match (expected, set.cue_unsure) {
        (true, false) => None,
        (true, true) => {
            Some(format!("the cue comes {} s after the start of a trial, as GDF files tell", set.cue_s))
        }
        (false, _) => Some(format!(
            "{name}: the cue comes {least:.2} to {most:.2} s after the start of a trial, not {} s",
            set.cue_s
        )),
    }
}
