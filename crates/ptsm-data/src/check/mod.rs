//! Whether recordings are whole: what is missing, damaged, odd or doubled, and how many trials are in it for whom.
//!
//! Nothing here changes what is loaded. Thresholds stand beside the measures, in `faults`, `windows`, `compare` and `scale`.

mod compare;
mod faults;
mod measure;
mod report;
pub(crate) mod scale;
mod windows;

use ptsm_signal::Pipeline;
use rayon::prelude::*;

pub use report::{Case, OtherEvents, Person, Problem, ProblemKind, Report};

use crate::catalogue::{Found, Item};
use crate::error::{Error, Result};
use crate::recordings::load::{asked, missing};
use crate::recordings::options::Count;
use crate::recordings::{LoadOptions, Recordings, memory};
use crate::subjects::SubjectList;
use compare::Told;
use measure::{Measured, measure};

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
    let excluded = recordings.excluded(&found)?;
    let items = recordings.items(&found, &excluded, subjects)?;
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
    let problems = compare::problems(&found, &missing(&found, subjects), &checked, &told);
    let head = report::Head {
        name: recordings.set().about().id,
        notes: found.notes_of(|subject| subjects.is_none_or(|list| list.contains(subject))),
        excluded: asked(&excluded, &found, subjects),
    };
    Ok(report::report(head, &found, &checked, &names, problems))
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
