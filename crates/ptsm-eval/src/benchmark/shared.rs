//! Which fits the decoders of a stage are made of: those that differ only in the number of members and in recentring share theirs, and each fit
//! is made once.

use std::collections::BTreeMap;
use std::path::Path;

use ptsm_decode::registry::find;
use ptsm_decode::{Composition, Job, TrainingData, ensemble};
use serde_json::Value;

use super::item::FitItem;
use super::stage::Stage;
use crate::error::Result;

/// Decoders of a stage that are made of fits with the same settings.
pub(crate) struct SharedFits {
    /// The decoder that is fitted, by its name in the registry.
    pub(crate) model: String,
    /// Settings of the fits.
    pub(crate) settings: Value,
    /// How each is made, by its number in the stage.
    pub(crate) compositions: BTreeMap<usize, Composition>,
}

impl Stage {
    /// The decoders of the stage by the fits they are made of, in the order of the first of each.
    pub(crate) fn shared_fits(&self) -> Result<Vec<SharedFits>> {
        let mut all: Vec<SharedFits> = vec![];
        for (i, entry) in self.entries.iter().enumerate() {
            let (composition, settings) = find(&entry.model)?.composition(&entry.settings)?;
            match all.iter_mut().find(|one| one.model == entry.model && one.settings == settings) {
                Some(one) => drop(one.compositions.insert(i, composition)),
                None => all.push(SharedFits {
                    model: entry.model.clone(),
                    settings,
                    compositions: BTreeMap::from([(i, composition)]),
                }),
            }
        }
        Ok(all)
    }
}

impl SharedFits {
    /// Whether an item is made of these fits.
    pub(crate) fn has(&self, item: &FitItem) -> bool {
        self.compositions.contains_key(&item.entry)
    }

    /// The seeds of the fits that an item is made of.
    pub(crate) fn seeds(&self, item: &FitItem) -> Vec<u64> {
        self.compositions.get(&item.entry).map_or_else(Vec::new, |composition| composition.seeds(item.seed))
    }

    /// What they are called in a title.
    pub(super) fn display_name(&self, stage: &Stage) -> String {
        let mut names = self.compositions.keys().map(|&i| stage.entries[i].display_name());
        match (names.next(), names.len()) {
            (Some(name), 0) => name,
            (Some(name), others) => format!("{name}, and {others} made of the same fits"),
            (None, _) => self.model.clone(),
        }
    }
}

/// The fits that some items are made of, each once.
pub(super) struct FitJobs<'a> {
    pub(super) jobs: Vec<Job<'a>>,
    /// For each item its jobs.
    pub(super) of_item: Vec<Vec<usize>>,
    /// For each job the items that are made of it.
    pub(super) items: Vec<Vec<usize>>,
}

impl<'a> FitJobs<'a> {
    /// A fit of several items continues from a file of the last of them. So an item with more members comes later: when a process is
    /// stopped, what is left then includes the owner of the file.
    pub(super) fn of(
        items: &[&FitItem],
        shared: &SharedFits,
        (stage, folder): (&Stage, &Path),
        training_data: &'a BTreeMap<usize, TrainingData<'a>>,
    ) -> FitJobs<'a> {
        let mut all = FitJobs { jobs: vec![], of_item: vec![], items: vec![] };
        let mut known = BTreeMap::new();
        for (i, item) in items.iter().enumerate() {
            let files = ensemble::checkpoints(&item.checkpoint(folder), &stage.entries[item.entry].settings);
            let mut own = vec![];
            for (seed, checkpoint) in shared.seeds(item).into_iter().zip(files) {
                let job = *known.entry((item.fold, seed)).or_insert_with(|| {
                    all.jobs.push(Job { data: &training_data[&item.fold], seed, checkpoint: None });
                    all.items.push(vec![]);
                    all.jobs.len() - 1
                });
                all.jobs[job].checkpoint = Some(checkpoint);
                all.items[job].push(i);
                own.push(job);
            }
            all.of_item.push(own);
        }
        all
    }

    /// Of items in this order, each is ready before those with more members, and the first ones soon.
    pub(super) fn order(items: &mut [&FitItem], shared: &SharedFits) {
        items.sort_by_key(|item| (item.fold, item.seed, shared.seeds(item).len(), item.entry));
    }
}
