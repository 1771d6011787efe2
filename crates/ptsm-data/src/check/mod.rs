//! Whether recordings are whole: what is missing, damaged, odd or doubled, and how many trials are in it for whom.
//!
//! Nothing here changes what is loaded. Thresholds stand beside the measures, in `faults`, `windows`, `compare` and `scale`.

mod compare;
mod faults;
mod measure;
mod report;
pub(crate) mod scale;
mod windows;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptsm_signal::{Pipeline, SubjectId};
use rayon::prelude::*;

pub use report::{Case, OtherEvents, Person, Problem, ProblemKind, Report};

use crate::catalogue::{Found, Item};
use crate::error::{Error, Result};
use crate::recordings::{Recordings, memory};
use crate::subjects::SubjectList;
use measure::{Measured, measure};

/// What became of an item.
struct Checked<'a> {
    item: &'a Item,
    parts: Result<Vec<Measured>>,
}

/// Reads all recordings of all or some people. With `labels`, people's names in the data set and the files of recordings are
/// told too. `progress` hears how many recordings of how many were read.
pub fn check(
    recordings: &Recordings,
    subjects: Option<&SubjectList>,
    labels: bool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Report> {
    let found = recordings.find()?;
    let pipeline = recordings.set().pipeline(recordings.options())?;
    let present: BTreeSet<SubjectId> = found.items.iter().map(|item| item.subject).collect();
    let chosen = match subjects {
        Some(list) => list.choose(&present)?,
        None => present,
    };
    let items: Vec<&Item> = found.items.iter().filter(|item| chosen.contains(&item.subject)).collect();
    let done = AtomicUsize::new(0);
    let needs: Vec<u64> = items.iter().map(|item| item.memory).collect();
    let mut checked = vec![];
    for part in memory::parts(&needs, memory::usual_bound()) {
        checked.par_extend(items[part].par_iter().map(|&item| {
            let parts = read(recordings, item, &found, &pipeline);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, items.len());
            Checked { item, parts }
        }));
    }
    let names = match labels {
        true => recordings.set().labels(recordings.options())?,
        false => vec![],
    };
    let remote = recordings.set().remote(recordings.options()).is_ok_and(|files| !files.is_empty());
    let problems = compare::problems(&found, &checked, labels, remote);
    Ok(report::report(recordings.set().about().id, &found, &checked, &names, problems))
}

fn read(recordings: &Recordings, item: &Item, found: &Found, pipeline: &Pipeline) -> Result<Vec<Measured>> {
    let parts = recordings.set().read(item, recordings.options(), pipeline)?;
    // The header tells the range of each signal, where the file is a recording itself.
    let opened = item.files.first().and_then(|file| ptsm_io::open(file).ok());
    let place = |error| Error::Signal { place: item.place(), error };
    parts
        .into_iter()
        .map(|part| measure(part, &found.classes, pipeline, opened.as_ref()).map_err(place))
        .collect()
}
