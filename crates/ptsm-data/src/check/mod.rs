//! Whether recordings are whole: what is missing, damaged, odd or doubled, and how many trials are in it for whom.
//!
//! Nothing here changes what is loaded. What is looked for, and the thresholds, stand in `findings`.

mod report;

use ptsm_signal::{Alignment, Pipeline};
use rayon::prelude::*;

pub use report::{CheckReport, OtherEvents, SubjectReport};

use crate::arrays::LabelHandling;
use crate::catalogue::{DataSetFiles, RecordingItem};
use crate::error::{Error, Result};
pub use crate::findings::{Case, Problem, ProblemKind};
use crate::findings::{Duplicate, RecordingMeasures, ReportScope, add_cases, problems};
use crate::recordings::load::{duplicates, missing, requested_exclusions};
use crate::recordings::options::Count;
use crate::recordings::prepare::{EpochedItem, Labels, epoch};
use crate::recordings::{LoadOptions, Recordings, memory};
use crate::subjects::SubjectList;

/// What became of an item.
struct CheckedItem<'a> {
    item: &'a RecordingItem,
    /// What was measured in each of its parts.
    measured: Vec<RecordingMeasures>,
    /// What the user should know of each of them.
    notes: Vec<Vec<String>>,
    /// Its epochs, which are compared with those of other subjects; or why it cannot be read or epoched.
    epochs: Result<EpochedItem>,
}

impl CheckedItem<'_> {
    /// Whether samples that are no numbers are told of it already: they keep it from being epochs, which need not be told again.
    fn has_non_numbers(&self) -> bool {
        let kinds = self.measured.iter().flat_map(|measured| &measured.problems).map(|(kind, _)| kind);
        kinds.into_iter().any(|kind| *kind == ProblemKind::NotNumbers)
    }
}

/// Reads all recordings of all or some subjects. With `labels`, subjects' names in the data set and the files of recordings are
/// told too. Nothing is taken from a cache: what is on the disk is looked at.
pub fn check(
    recordings: &Recordings,
    subjects: Option<&SubjectList>,
    labels: bool,
    options: &LoadOptions<'_>,
) -> Result<CheckReport> {
    options.work(|| check_here(recordings, subjects, labels, options))
}

fn check_here(
    recordings: &Recordings,
    subjects: Option<&SubjectList>,
    labels: bool,
    options: &LoadOptions<'_>,
) -> Result<CheckReport> {
    let found = recordings.find()?;
    let pipeline = recordings.set().pipeline(recordings.options())?;
    let excluded = recordings.excluded(&found)?;
    let items = recordings.items(&found, &excluded, subjects)?;
    let id = recordings.set().about().id;
    let labels_of = Labels::new(&found.classes, LabelHandling::Own, &id)?;
    let count = Count::new(items.len(), options);
    let needs: Vec<u64> = items.iter().map(|item| item.memory).collect();
    let mut checked: Vec<CheckedItem<'_>> = vec![];
    for part in memory::parts(&needs, options.bound()) {
        let part = items[part].par_iter().map(|&item| {
            options.go_on()?;
            let checked = check_item(recordings, item, &found, &labels_of, &pipeline);
            count.one_more();
            Ok(checked)
        });
        checked.append(&mut part.collect::<Result<Vec<_>>>()?);
    }
    let names = match labels {
        true => recordings.set().labels(recordings.options())?,
        false => vec![],
    };
    let scope = ReportScope {
        files: labels,
        paths: labels || !recordings.set().names_subjects(),
        remote: recordings.set().remote(recordings.options()).is_ok_and(|files| !files.is_empty()),
    };
    let unreadable: Vec<(&RecordingItem, &Error)> = checked
        .iter()
        .filter(|c| !c.has_non_numbers())
        .filter_map(|c| Some((c.item, c.epochs.as_ref().err()?)))
        .collect();
    let parts: Vec<(&RecordingItem, &RecordingMeasures)> =
        checked.iter().flat_map(|c| c.measured.iter().map(|part| (c.item, part))).collect();
    let mut problems = problems(&found.classes, &missing(&found, subjects), &unreadable, &parts, &scope);
    let mut notes = found.notes_of(|subject| subjects.is_none_or(|list| list.contains(subject)));
    let named = recordings.set().names_subjects();
    match compare(&id, &found.classes, named, &mut checked) {
        Ok(duplicates) => add_duplicates(&mut problems, &duplicates),
        // Each of these is told above.
        Err(_) if problems.iter().any(|problem| problem.damage) => {
            notes.push("subjects were not compared with each other: what is wrong keeps their epochs from being loaded".into());
        }
        Err(error) => {
            let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
            let case =
                Case { subject: None, other: None, place: id.clone(), detail: format!("{error}{hint}") };
            add_cases(&mut problems, ProblemKind::Unreadable, vec![case]);
        }
    }
    let head = report::Head { name: id, notes, excluded: requested_exclusions(&excluded, &found, subjects) };
    Ok(report::report(head, &found, &checked, &names, problems))
}

/// Adds subjects with nearly the same recording to those with exactly the same, unless they are among them.
fn add_duplicates(problems: &mut Vec<Problem>, duplicates: &[Duplicate]) {
    let cases: Vec<&Case> = problems.iter().flat_map(|problem| &problem.cases).collect();
    let known = |duplicate: &Duplicate| cases.iter().any(|case| duplicate.is_reported_by(case));
    let near: Vec<&Duplicate> = duplicates.iter().filter(|duplicate| !known(duplicate)).collect();
    let cases = near.iter().map(|duplicate| Case {
        subject: Some(duplicate.second),
        other: Some(duplicate.first),
        place: duplicate.second.to_string(),
        detail: format!("{} epochs are those of {}, nearly to the sample", duplicate.epochs, duplicate.first),
    });
    add_cases(problems, ProblemKind::Doubled, cases.collect());
}

/// Subjects with a recording in common, by their epochs; an error where an item has none or they do not fit together.
fn compare(
    id: &str,
    classes: &[String],
    named: bool,
    checked: &mut [CheckedItem<'_>],
) -> Result<Vec<Duplicate>> {
    let epochs = |item: &mut CheckedItem<'_>| std::mem::replace(&mut item.epochs, Ok(EpochedItem::default()));
    let epoched = checked.iter_mut().map(epochs).collect::<Result<Vec<_>>>()?;
    let items: Vec<(&RecordingItem, &[RecordingMeasures])> =
        checked.iter().map(|c| (c.item, &*c.measured)).collect();
    duplicates(id, classes, named, &items, epoched)
}

/// Reads an item once: measures it as it was recorded, then epochs it.
fn check_item<'a>(
    recordings: &Recordings,
    item: &'a RecordingItem,
    found: &DataSetFiles,
    labels: &Labels,
    pipeline: &Pipeline,
) -> CheckedItem<'a> {
    let read = match recordings.read_measured(item, &found.classes, pipeline) {
        Ok(read) => read,
        Err(error) => return CheckedItem { item, measured: vec![], notes: vec![], epochs: Err(error) },
    };
    let (parts, measured): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let notes = parts.iter().map(|part| part.notes.clone()).collect();
    // Subjects are compared before alignment, as where they are loaded.
    let pipeline = Pipeline { alignment: Alignment::None, ..pipeline.clone() };
    let epochs = epoch(item, parts, &found.classes, labels, &pipeline);
    CheckedItem { item, measured, notes, epochs }
}
