//! What a check found.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_signal::SubjectId;
use serde::Serialize;

use super::CheckedItem;
use crate::catalogue::DataSetFiles;
use crate::findings::{Problem, RecordingMeasures};

/// Everything a check found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// A short name of the data set.
    pub name: String,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// One for each subject.
    #[serde(rename = "people")]
    pub subjects: Vec<SubjectReport>,
    /// What is wrong, the worst first, the same things together.
    pub problems: Vec<Problem>,
    /// Events that begin no trial.
    pub other_events: Vec<OtherEvents>,
    /// Subjects left out on purpose, with the reason.
    pub excluded: Vec<(SubjectId, String)>,
    /// What else the user should know.
    pub notes: Vec<String>,
}

impl CheckReport {
    /// Whether something is missing or damaged, so that loading fails or scores mean nothing.
    pub fn damaged(&self) -> bool {
        self.problems.iter().any(|problem| problem.damage)
    }
}

/// What is there of a subject.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubjectReport {
    /// The subject.
    pub subject: SubjectId,
    /// What the data set calls them, where that was asked for.
    pub label: Option<String>,
    /// Sessions that could be read.
    pub sessions: usize,
    /// Recordings that could be read.
    pub recordings: usize,
    /// How long they are together.
    pub seconds: f64,
    /// Their rates.
    pub rates_hz: Vec<f64>,
    /// Channels of the recording with the fewest.
    pub channels: usize,
    /// Trials of each class.
    pub trials: Vec<usize>,
    /// Events of a class whose window reaches past an end or over a gap.
    pub short: usize,
    /// Trials whose class nobody tells.
    pub unknown: usize,
    /// In how many things of theirs something is wrong.
    pub problems: usize,
}

/// Events that begin no trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherEvents {
    /// Their code.
    pub code: String,
    /// How often they occur.
    pub events: usize,
    /// In how many recordings.
    pub recordings: usize,
}

/// What is known before anything is read.
pub(super) struct Head {
    /// A short name of the data set.
    pub(super) name: String,
    /// What the user should know of the subjects asked for.
    pub(super) notes: Vec<String>,
    /// Who of them is left out on purpose, with the reason.
    pub(super) excluded: Vec<(SubjectId, String)>,
}

/// Puts a report together.
pub(super) fn report(
    Head { name, mut notes, excluded }: Head,
    found: &DataSetFiles,
    checked: &[CheckedItem<'_>],
    labels: &[(SubjectId, String)],
    problems: Vec<Problem>,
) -> CheckReport {
    let mut others: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut parts: BTreeMap<SubjectId, Vec<&RecordingMeasures>> = BTreeMap::new();
    for CheckedItem { item, measured, notes: own_notes, .. } in checked {
        let own = parts.entry(item.subject).or_default();
        for (measured, own_notes) in measured.iter().zip(own_notes) {
            own.push(measured);
            for (code, count) in &measured.others {
                let (events, recordings) = others.entry(code).or_default();
                *events += count;
                *recordings += 1;
            }
            for note in own_notes {
                if !notes.contains(note) {
                    notes.push(note.clone());
                }
            }
        }
    }
    let of_subject = |(&subject, parts): (&SubjectId, &Vec<&RecordingMeasures>)| {
        let sessions: BTreeSet<u32> = parts.iter().map(|part| part.session).collect();
        let mut rates_hz: Vec<f64> = parts.iter().map(|part| part.rate_hz).collect();
        rates_hz.sort_by(f64::total_cmp);
        rates_hz.dedup();
        let of = |class: usize| parts.iter().map(|part| part.trials[class]).sum();
        SubjectReport {
            subject,
            label: labels.iter().find(|(known, _)| *known == subject).map(|(_, label)| label.clone()),
            sessions: sessions.len(),
            recordings: parts.len(),
            seconds: parts.iter().map(|part| part.seconds).sum(),
            rates_hz,
            channels: parts.iter().map(|part| part.channels).min().unwrap_or(0),
            trials: (0..found.classes.len()).map(of).collect(),
            short: parts.iter().map(|part| part.short).sum(),
            unknown: parts.iter().map(|part| part.unknown).sum(),
            problems: problems
                .iter()
                .flat_map(|p| &p.cases)
                .filter(|case| case.subject == Some(subject))
                .count(),
        }
    };
    let subjects = parts.iter().map(of_subject).collect();
    let other_events = others
        .into_iter()
        .map(|(code, (events, recordings))| OtherEvents { code: code.to_string(), events, recordings })
        .collect();
    CheckReport { name, classes: found.classes.clone(), subjects, problems, other_events, excluded, notes }
}
