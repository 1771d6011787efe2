//! All items of a load: kept ones are taken from the cache, the others read within a bound on memory.

use std::sync::atomic::{AtomicBool, Ordering};

use ptsm_signal::{Alignment, Pipeline};
use rayon::prelude::*;

use super::cache::{Contents, Hashes, Key};
use super::options::Count;
use super::prepare::{EpochedItem, Labels};
use super::{LoadOptions, Recordings, memory};
use crate::catalogue::RecordingItem;
use crate::error::Result;

/// What all items of a load have in common.
pub(super) struct Work<'a> {
    recordings: &'a Recordings,
    present: &'a [String],
    labels: &'a Labels,
    /// Without alignment, which comes when all of a subject's trials are there.
    pipeline: Pipeline,
    options: &'a LoadOptions<'a>,
    key: Key,
}

/// What came of an item.
pub(super) struct FinishedItem {
    pub(super) contents: Vec<Contents>,
    pub(super) prepared: EpochedItem,
    /// Why its trials could not be kept.
    lost: Option<String>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        recordings: &'a Recordings,
        present: &'a [String],
        labels: &'a Labels,
        pipeline: &Pipeline,
        options: &'a LoadOptions<'a>,
    ) -> Result<Work<'a>> {
        let pipeline = Pipeline { alignment: Alignment::None, ..pipeline.clone() };
        let key = Key::new(recordings, present, labels, &pipeline)?;
        Ok(Work { recordings, present, labels, pipeline, options, key })
    }

    /// Trials of all items, in their order, and what the user should know where they could not be kept.
    pub(super) fn all(&self, items: &[&RecordingItem]) -> Result<(Vec<FinishedItem>, Option<String>)> {
        let added = AtomicBool::new(false);
        let outcome = self.parts(items, &added);
        // Also after an error, or when the user stopped: what was done need not be done again.
        let saved = self.options.cache.map_or(Ok(()), |cache| cache.settle(added.into_inner()));
        let all = outcome?;
        let lost = all.iter().find_map(|done| done.lost.clone());
        let lost = lost.or(saved.err().map(|error| error.to_string()));
        Ok((all, lost.map(|why| format!("trials could not be kept for the next time: {why}"))))
    }

    fn parts(&self, items: &[&RecordingItem], added: &AtomicBool) -> Result<Vec<FinishedItem>> {
        let count = Count::new(items.len(), self.options);
        let forgotten = Hashes::default();
        let hashes = self.options.cache.map_or(&forgotten, |cache| &cache.hashes);
        let one = |item: &&RecordingItem| {
            self.options.go_on()?;
            let done = self.one(item, hashes, added)?;
            count.one_more();
            Ok(done)
        };
        let needs: Vec<u64> = items.iter().map(|item| item.memory).collect();
        let mut all = Vec::with_capacity(items.len());
        for part in memory::parts(&needs, self.options.bound()) {
            all.append(&mut items[part].par_iter().map(one).collect::<Result<Vec<FinishedItem>>>()?);
        }
        Ok(all)
    }

    /// Looks for an item in the cache, else reads it: right after its files were hashed, while the system still has them in memory.
    fn one(&self, item: &RecordingItem, hashes: &Hashes, added: &AtomicBool) -> Result<FinishedItem> {
        let contents: Vec<Contents> = item.files.iter().map(|file| hashes.of(file)).collect::<Result<_>>()?;
        let key = self.key.of(item, &contents);
        let kept = self.options.cache.and_then(|cache| cache.get(&key, self.options.verify));
        if let Some(prepared) = kept {
            return Ok(FinishedItem { contents, prepared, lost: None });
        }
        let prepared = self.recordings.prepare(item, self.present, self.labels, &self.pipeline)?;
        // What changed since it was hashed would be kept under the wrong name.
        let unchanged = || item.files.iter().zip(&contents).all(|(file, contents)| contents.still(file));
        let Some(cache) = self.options.cache.filter(|_| unchanged()) else {
            return Ok(FinishedItem { contents, prepared, lost: None });
        };
        let (prepared, kept) = cache.put(&key, prepared);
        added.fetch_or(kept.is_ok(), Ordering::Relaxed);
        Ok(FinishedItem { contents, prepared, lost: kept.err().map(|error| error.to_string()) })
    }
}
