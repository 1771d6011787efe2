//! The trials that jobs learn from and are judged by, as one table for all of them.

use std::collections::HashMap;

use ptsm_engine::RowTable;
use ptsm_signal::Trials;

use super::TrainingTask;
use crate::error::{Error, Result};
use crate::mirror::Mirror;

/// All trials of all sets that some jobs use, each set once.
pub(super) struct Library<'a> {
    pub(super) table: RowTable<'a, f32>,
    /// Sets, and the number of the first trial of each.
    sets: Vec<(&'a Trials, usize)>,
    /// Of every trial, and after them of every image; 0 for trials that are there without labels.
    labels: Vec<u32>,
    /// The numbers of unlabelled trials, by where their samples are.
    unlabelled: HashMap<*const f32, u32>,
}

impl<'a> Library<'a> {
    /// With a mirror, the image of trial `i` is number `len + i`.
    pub(super) fn new(tasks: &[&TrainingTask<'a>], mirror: Option<&Mirror>) -> Result<Library<'a>> {
        let mut sets: Vec<(&'a Trials, usize)> = vec![];
        let mut trials = 0;
        for task in tasks {
            for part in [&task.train, task.job.data.validation()] {
                let set = part.set();
                if !sets.iter().any(|(known, _)| std::ptr::eq(*known, set)) {
                    sets.push((set, trials));
                    trials += set.len();
                }
            }
        }
        let all = || sets.iter().flat_map(|(set, _)| (0..set.len()).map(move |row| (*set, row)));
        let mut labels: Vec<u32> = all().map(|(set, row)| set.info()[row].label).collect();
        let mut rows: Vec<&'a [f32]> = all().map(|(set, row)| set.signal(row)).collect();
        let mut unlabelled = HashMap::new();
        let targets = || tasks.iter().flat_map(|task| task.target.iter().copied());
        if targets().next().is_some() {
            // Mostly they lie in one of the sets, where they are already.
            let known: HashMap<_, _> = rows.iter().enumerate().map(|(i, row)| (row.as_ptr(), i)).collect();
            for signal in targets() {
                unlabelled.entry(signal.as_ptr()).or_insert_with(|| {
                    let number = known.get(&signal.as_ptr()).copied();
                    number.unwrap_or_else(|| {
                        rows.push(signal);
                        rows.len() - 1
                    }) as u32
                });
            }
        }
        let trials = rows.len();
        labels.resize(trials, 0);
        let mut table = RowTable::new(rows)?;
        if let Some(mirror) = mirror {
            table = table.with_images(&mirror.channels)?;
            labels.extend_from_within(..);
            labels[trials..].iter_mut().for_each(|label| *label = mirror.classes[*label as usize]);
        }
        Ok(Library { table, sets, labels, unlabelled })
    }

    /// The number of a set's first trial; refuses a set that it was not made from.
    pub(super) fn first(&self, set: &Trials) -> Result<u32> {
        let found = self.sets.iter().find(|(known, _)| std::ptr::eq(*known, set));
        found.map(|(_, first)| *first as u32).ok_or_else(|| unknown("a set of trials"))
    }

    /// The number of an unlabelled trial; refuses one that it was not made from.
    pub(super) fn unlabelled(&self, signal: &[f32]) -> Result<u32> {
        self.unlabelled.get(&signal.as_ptr()).copied().ok_or_else(|| unknown("an unlabelled trial"))
    }

    /// The number of a trial's image.
    pub(super) fn image(&self, number: u32) -> u32 {
        number + self.table.len() as u32
    }

    pub(super) fn label(&self, number: u32) -> u32 {
        self.labels[number as usize]
    }
}

fn unknown(what: &str) -> Error {
    Error::trials(
        format!("{what} is asked for that is not among the trials of these jobs"),
        "this is a mistake in the program; please report it",
    )
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Layout, SubjectId, Trial};

    use super::*;

    #[test]
    fn trials_of_other_jobs_are_refused() {
        let layout = Layout {
            channels: vec![Channel::named("Cz")],
            samples: 2,
            rate_hz: 1.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        let trial = Trial { label: 0, subject: SubjectId(1), session: 1, run: 1, cue_s: 0.0 };
        let set = |first: f32| Trials::new(layout.clone(), vec![first, 1.0], vec![trial]).unwrap();
        let (own, other) = (set(0.0), set(5.0));
        let library = Library {
            table: RowTable::new(vec![own.signal(0)]).unwrap(),
            sets: vec![(&own, 0)],
            labels: vec![0],
            unlabelled: HashMap::from([(own.signal(0).as_ptr(), 0)]),
        };
        assert_eq!((library.first(&own).unwrap(), library.unlabelled(own.signal(0)).unwrap()), (0, 0));
        assert!(library.first(&other).unwrap_err().to_string().contains("not among the trials"));
        assert!(library.unlabelled(other.signal(0)).is_err());
    }
}
