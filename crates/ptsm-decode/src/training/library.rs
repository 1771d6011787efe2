//! The trials that jobs learn from and are judged by, as one table for all of them.

use ptsm_engine::Table;
use ptsm_signal::Trials;

use super::Task;
use crate::augment::mirror::Mirror;
use crate::error::Result;

/// All trials of all sets that some jobs use, each set once.
pub(super) struct Library<'a> {
    pub(super) table: Table<'a, f32>,
    /// Sets, and the number of the first trial of each.
    sets: Vec<(&'a Trials, usize)>,
    /// Of every trial, and after them of every image.
    labels: Vec<u32>,
}

impl<'a> Library<'a> {
    /// With a mirror, the image of trial `i` is number `len + i`.
    pub(super) fn new(tasks: &[&Task<'a>], mirror: Option<&Mirror>) -> Result<Library<'a>> {
        let mut sets: Vec<(&'a Trials, usize)> = vec![];
        let mut trials = 0;
        for task in tasks {
            for part in [task.job.lesson.train(), task.job.lesson.validation()] {
                let set = part.set();
                if !sets.iter().any(|(known, _)| std::ptr::eq(*known, set)) {
                    sets.push((set, trials));
                    trials += set.len();
                }
            }
        }
        let all = || sets.iter().flat_map(|(set, _)| (0..set.len()).map(move |row| (*set, row)));
        let mut labels: Vec<u32> = all().map(|(set, row)| set.info()[row].label).collect();
        let mut table = Table::new(all().map(|(set, row)| set.signal(row)).collect())?;
        if let Some(mirror) = mirror {
            table = table.with_images(&mirror.channels)?;
            labels.extend_from_within(..);
            labels[trials..].iter_mut().for_each(|label| *label = mirror.classes[*label as usize]);
        }
        Ok(Library { table, sets, labels })
    }

    /// The number of a set's first trial.
    pub(super) fn first(&self, set: &Trials) -> u32 {
        let found = self.sets.iter().find(|(known, _)| std::ptr::eq(*known, set));
        found.map_or(0, |(_, first)| *first as u32)
    }

    /// The number of a trial's image.
    pub(super) fn image(&self, number: u32) -> u32 {
        number + self.table.len() as u32
    }

    pub(super) fn label(&self, number: u32) -> u32 {
        self.labels[number as usize]
    }
}
