//! What is wrong, in each recording and between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

use super::duplicates::Duplicate;
use super::measure::{RecordingMeasures, short};
use super::problem::{Case, Problem, ProblemKind};
use super::steps::triggers;
use crate::catalogue::RecordingItem;
use crate::error::Error;

/// A recording so many times larger or smaller than most is odd.
const ODD: f64 = 10.0;

/// Recordings that were measured, with the items they are of.
pub(crate) type Parts<'a> = [(&'a RecordingItem, &'a RecordingMeasures)];

/// All that is wrong, the worst first. `unreadable` items are told with the reason.
pub(crate) fn problems(
    classes: &[String],
    missing: &[&(SubjectId, PathBuf)],
    unreadable: &[(&RecordingItem, &Error)],
    parts: &Parts<'_>,
    tell_of: &ReportScope,
) -> Vec<Problem> {
    let mut all: BTreeMap<ProblemKind, Vec<Case>> = BTreeMap::new();
    let mut tell = |kind, subject, place: String, detail: String| {
        all.entry(kind).or_default().push(Case { subject, other: None, place, detail });
    };
    for (subject, path) in missing {
        let place = if tell_of.paths { path.display().to_string() } else { subject.to_string() };
        tell(ProblemKind::Missing, Some(*subject), place, String::new());
    }
    for (item, error) in unreadable {
        let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
        let mut detail = format!("{error}{hint}");
        if !tell_of.paths {
            detail = without_names(&detail, item, error);
        }
        tell(ProblemKind::Unreadable, Some(item.subject), describe_recording(item, None, false), detail);
    }
    let place = |(item, part): (&RecordingItem, &RecordingMeasures)| {
        describe_recording(item, Some(part), tell_of.files)
    };
    for &(item, part) in parts {
        for (kind, detail) in &part.problems {
            tell(*kind, Some(item.subject), place((item, part)), detail.clone());
        }
    }
    let channels = triggers(parts.iter().map(|(_, part)| &part.steps[..]));
    for (&channel, &(item, part)) in
        channels.iter().filter_map(|channel| Some((channel, has(parts, channel)?)))
    {
        tell(ProblemKind::Trigger, Some(item.subject), place((item, part)), format!("channel `{channel}`"));
    }
    for (at, detail) in odd_rates(parts) {
        tell(ProblemKind::Rate, Some(parts[at].0.subject), place(parts[at]), detail);
    }
    for (at, detail) in odd_scales(parts) {
        tell(ProblemKind::Scale, Some(parts[at].0.subject), place(parts[at]), detail);
    }
    for (subject, class) in without_trials(parts, classes) {
        tell(ProblemKind::NoTrial, Some(subject), subject.to_string(), format!("no trial of `{class}`"));
    }
    let twice = doubled(parts).into_iter().map(|(at, other)| Case {
        subject: Some(parts[at].0.subject),
        other: Some(parts[other].0.subject),
        place: place(parts[at]),
        detail: format!("the same as {}", place(parts[other])),
    });
    let twice: Vec<Case> = twice.collect();
    if !twice.is_empty() {
        all.insert(ProblemKind::Doubled, twice);
    }
    all.into_iter().map(|(kind, cases)| problem(kind, cases, tell_of.remote)).collect()
}

/// Adds places to what is wrong, where they belong.
pub(crate) fn add_cases(problems: &mut Vec<Problem>, kind: ProblemKind, cases: Vec<Case>) {
    if cases.is_empty() {
        return;
    }
    match problems.iter_mut().find(|problem| problem.kind == kind) {
        Some(problem) => problem.cases.extend(cases),
        None => {
            problems.push(problem(kind, cases, false));
            problems.sort_by_key(|problem| problem.kind);
        }
    }
}

/// What is said of recordings besides what is wrong with them.
pub(crate) struct ReportScope {
    /// Whether the file of every recording is told.
    pub(crate) files: bool,
    /// Whether names of files are told where they are all there is to tell.
    pub(crate) paths: bool,
    /// Whether what is missing can be downloaded.
    pub(crate) remote: bool,
}

/// A message in which files, which may be called like a person, are known by their endings alone: those of the recording, and the one that
/// cannot be read, which may be a table beside it.
fn without_names(message: &str, item: &RecordingItem, error: &Error) -> String {
    let hide =
        |text: String, file: &Path| text.replace(&format!("{}.", file.with_extension("").display()), "*.");
    item.files.iter().map(PathBuf::as_path).chain(file_of(error)).fold(message.to_string(), hide)
}

/// The file that an error is about.
fn file_of(error: &Error) -> Option<&Path> {
    match error {
        Error::Content { path, .. } => Some(path),
        Error::File(ptsm_io::Error::System { place, .. } | ptsm_io::Error::Format { place, .. }) => {
            Some(&place.path)
        }
        _ => None,
    }
}

/// Which recording: by its numbers, and where it is asked for its file.
fn describe_recording(item: &RecordingItem, part: Option<&RecordingMeasures>, file: bool) -> String {
    let (session, run) = part.map_or((item.session, item.run), |part| (part.session, part.run));
    let file = if file { format!(" ({})", item.place()) } else { String::new() };
    format!("{} session {session} run {run}{file}", item.subject)
}

/// The first recording with a channel of steps.
fn has<'a>(parts: &'a Parts<'a>, channel: &str) -> Option<&'a (&'a RecordingItem, &'a RecordingMeasures)> {
    parts.iter().find(|(_, part)| part.steps.iter().any(|step| step.name == channel))
}

/// Recordings whose rate is not the one most have.
fn odd_rates(parts: &Parts<'_>) -> Vec<(usize, String)> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    parts.iter().for_each(|(_, part)| *counts.entry(part.rate_hz.to_bits()).or_default() += 1);
    let Some((most, count)) = counts.iter().max_by_key(|(_, count)| **count) else { return vec![] };
    let (most, count) = (f64::from_bits(*most), *count);
    let odd = |(at, (_, part)): (usize, &(&RecordingItem, &RecordingMeasures))| {
        let other = (part.rate_hz - most).abs() > 1e-6 * most;
        other.then(|| (at, format!("{} Hz, {count} of {} have {most} Hz", part.rate_hz, parts.len())))
    };
    parts.iter().enumerate().filter_map(odd).collect()
}

/// Recordings that could be, by themselves, and are far larger or smaller than the others.
fn odd_scales(parts: &Parts<'_>) -> Vec<(usize, String)> {
    let mut spreads: Vec<f64> = parts.iter().filter_map(|(_, part)| part.spread).collect();
    spreads.sort_by(f64::total_cmp);
    let Some(&middle) = spreads.get(spreads.len() / 2).filter(|_| spreads.len() > 2) else { return vec![] };
    let odd = |(at, (_, part)): (usize, &(&RecordingItem, &RecordingMeasures))| {
        let spread = part.spread?;
        let alone = part.problems.iter().any(|(kind, _)| *kind == ProblemKind::Scale);
        let far = spread > ODD * middle || spread < middle / ODD;
        (far && !alone).then(|| (at, format!("{} uV, others {} uV", short(spread), short(middle))))
    };
    parts.iter().enumerate().filter_map(odd).collect()
}

/// Subjects who have a recording with the very same samples, and how many epochs are in it.
pub(crate) fn same_samples(parts: &Parts<'_>) -> Vec<Duplicate> {
    let pair = |(at, other): (usize, usize)| {
        let (first, second) = (parts[other].0.subject, parts[at].0.subject);
        let epochs = parts[at].1.trials.iter().sum();
        (first != second).then_some(Duplicate { first: first.min(second), second: first.max(second), epochs })
    };
    doubled(parts).into_iter().filter_map(pair).collect()
}

/// Recordings with the same samples as an earlier one, which comes second.
fn doubled(parts: &Parts<'_>) -> Vec<(usize, usize)> {
    let mut seen: BTreeMap<[u8; 32], usize> = BTreeMap::new();
    let mut doubled = vec![];
    for (at, (_, part)) in parts.iter().enumerate() {
        let Some(hash) = part.hash else { continue };
        match seen.get(&hash) {
            Some(&first) => doubled.push((at, first)),
            None => {
                seen.insert(hash, at);
            }
        }
    }
    doubled
}

/// Subjects without a trial of some class; subjects whose classes are unknown are not among them.
fn without_trials<'a>(parts: &Parts<'_>, classes: &'a [String]) -> Vec<(SubjectId, &'a str)> {
    let subjects: BTreeSet<SubjectId> = parts.iter().map(|(item, _)| item.subject).collect();
    let mut without = vec![];
    for subject in subjects {
        let own = || parts.iter().filter(|(item, _)| item.subject == subject).map(|(_, part)| part);
        if own().any(|part| part.unknown > 0) {
            continue;
        }
        let lacks = |class: &usize| own().all(|part| part.trials[*class] == 0);
        without.extend((0..classes.len()).filter(lacks).map(|class| (subject, classes[class].as_str())));
    }
    without
}

fn problem(kind: ProblemKind, cases: Vec<Case>, remote: bool) -> Problem {
    let (damage, what, advice) = match kind {
        ProblemKind::Missing if remote => (true, "files are not there", "`ptsm data get` downloads them"),
        ProblemKind::Missing => (true, "files are not there", "copy or fetch them; `--labels` names them"),
        ProblemKind::Unreadable => (true, "recordings cannot be read", "each says what to do about it"),
        ProblemKind::NotNumbers => (
            true,
            "samples are not numbers",
            "leave the channels out by `pick` in `[pipeline]`, or mend the file",
        ),
        ProblemKind::Trigger => (
            true,
            "channels hold triggers: they rest at a few levels, and their values tell the class of every epoch",
            "leave them out by `pick` in `[pipeline]`: a decoder would read the label, not the EEG",
        ),
        ProblemKind::Doubled => (
            true,
            "recordings have the same samples",
            "leave one of them out: a subject that is both trained on and tested spoils every score",
        ),
        ProblemKind::Scale => (
            false,
            "amplitudes are odd",
            "see which unit the file counts in; a manifest and `.npz` files can say it: `unit = \"V\"`",
        ),
        ProblemKind::Rate => (
            false,
            "rates are odd",
            "`rate_hz` in `[pipeline]` brings all to one; where the file is wrong a manifest can say so",
        ),
        ProblemKind::Flat => (
            false,
            "channels are flat, in this share of their trials",
            "leave the channels out by `pick` in `[pipeline]`, or the recordings by `--subjects`",
        ),
        ProblemKind::Clipped => (
            false,
            "channels are clipped, in this share of their samples",
            "clipped samples cannot be restored; leave the channels out by `pick` in `[pipeline]` where there are many",
        ),
        ProblemKind::Zeros => {
            (false, "all channels are zero", "signal was lost there; no trial should lie in it")
        }
        ProblemKind::Gaps => {
            (false, "recordings have gaps", "nothing needs to be done: no filter and no epoch crosses a gap")
        }
        ProblemKind::Short => (
            false,
            "trials reach past an end or over a gap and are left out",
            "a shorter `window_s` in `[pipeline]` keeps more of them",
        ),
        ProblemKind::Overlap => (
            false,
            "windows hold many events",
            "give `window_s` in `[pipeline]` the length of one response, such as [0.0, 0.8]",
        ),
        ProblemKind::NoTrial => (
            false,
            "subjects lack trials of a class",
            "leave them out by `--subjects`, or see the event codes",
        ),
    };
    Problem { kind, damage, what: what.into(), advice: advice.into(), cases }
}
