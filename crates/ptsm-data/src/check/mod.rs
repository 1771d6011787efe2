//! Whether recordings are whole: what is missing, damaged, odd or doubled, and how many trials are in it for whom.
//!
//! Nothing here changes what is loaded. What is looked for, and the thresholds, stand in `findings`.

mod report;

use std::collections::BTreeSet;

use ptsm_signal::{Pipeline, SubjectId};
use rayon::prelude::*;

pub use report::{OtherEvents, Person, Report};

use crate::catalogue::{Found, Item};
use crate::error::{Error, Result};
pub use crate::findings::{Case, Problem, ProblemKind};
use crate::findings::{Measured, Told, measure, problems};
use crate::recordings::load::missing;
use crate::recordings::options::Count;
use crate::recordings::{LoadOptions, Recordings, memory};
use crate::subjects::SubjectList;

/// What became of an item.
struct Checked<'a> {
    item: &'a Item,
    parts: Result<Vec<Measured>>,
}

/// Reads all recordings of all or some people. With `labels`, people's names in the data set and the files of recordings are
/// told too. Nothing is taken from a cache: what is on the disk is looked at.
pub fn check(
    recordings: &Recordings,
    subjects: Option<&SubjectList>,
    labels: bool,
    options: &LoadOptions<'_>,
) -> Result<Report> {
    options.work(|| check_here(recordings, subjects, labels, options))
}

fn check_here(
    recordings: &Recordings,
    subjects: Option<&SubjectList>,
    labels: bool,
    options: &LoadOptions<'_>,
) -> Result<Report> {
    let found = recordings.find()?;
    let pipeline = recordings.set().pipeline(recordings.options())?;
    let present: BTreeSet<SubjectId> = found.items.iter().map(|item| item.subject).collect();
    let chosen = match subjects {
        Some(list) => list.choose(&present)?,
        None => present,
    };
    let items: Vec<&Item> = found.items.iter().filter(|item| chosen.contains(&item.subject)).collect();
    let count = Count::new(items.len(), options);
    let needs: Vec<u64> = items.iter().map(|item| item.memory).collect();
    let mut checked = vec![];
    for part in memory::parts(&needs, options.bound()) {
        let part = items[part].par_iter().map(|&item| {
            options.go_on()?;
            let parts = read(recordings, item, &found, &pipeline);
            count.one_more();
            Ok(Checked { item, parts })
        });
        checked.append(&mut part.collect::<Result<Vec<_>>>()?);
    }
    let names = match labels {
        true => recordings.set().labels(recordings.options())?,
        false => vec![],
    };
    let told = Told {
        files: labels,
        paths: labels || !recordings.set().names_people(),
        remote: recordings.set().remote(recordings.options()).is_ok_and(|files| !files.is_empty()),
    };
    let unreadable: Vec<(&Item, &Error)> =
        checked.iter().filter_map(|c| Some((c.item, c.parts.as_ref().err()?))).collect();
    let parts: Vec<(&Item, &Measured)> =
        checked.iter().flat_map(|c| c.parts.iter().flatten().map(|part| (c.item, part))).collect();
    let problems = problems(&found.classes, &missing(&found, subjects), &unreadable, &parts, &told);
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
