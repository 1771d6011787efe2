//! Reading data: what is kept of it, a line while it takes long, the wish to stop.

use std::time::{Duration, Instant};

use ptsm_data::arrays::LabelHandling;
use ptsm_data::check::{Case, Problem};
use ptsm_data::{Cache, LoadOptions, LoadedData, Source, SubjectList};
use ptsm_signal::Pipeline;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::phrases::count;

/// The line appears when reading takes longer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Characters of a list of channels in a warning.
const LIST: usize = 80;

/// Trials of all or some subjects, for a decoder that exists or for one to come.
pub fn load(
    source: &Source,
    pipeline: Option<&Pipeline>,
    subjects: Option<&SubjectList>,
    label_handling: LabelHandling<'_>,
    env: &Env,
) -> Result<LoadedData> {
    let cache = match source {
        Source::Recordings(_) => open(env),
        _ => None,
    };
    let began = Instant::now();
    let counting = env.lazy_progress("recordings");
    let progress = |done: usize, all: usize| {
        if began.elapsed() < PATIENCE {
            return;
        }
        counting.at(done, all);
    };
    let stop = || env.is_cancelled();
    let options = LoadOptions {
        cache: cache.as_ref(),
        threads: env.threads,
        memory: env.memory_bytes,
        progress: Some(&progress),
        stop: Some(&stop),
        ..LoadOptions::default()
    };
    let loaded = source.load_with(pipeline, subjects, label_handling, &options);
    drop(counting);
    let loaded = loaded?;
    tracing::info!(
        data = loaded.name,
        trials = loaded.trials.len(),
        subjects = loaded.trials.subjects().len(),
        seconds = began.elapsed().as_secs_f64(),
        "loaded"
    );
    for note in &loaded.notes {
        env.note_once(format!("note: {note}"));
    }
    tell_findings(&loaded, env)?;
    Ok(loaded)
}

/// Tells what is wrong or odd in data before anything is made of them, or refuses them where that was asked for.
fn tell_findings(loaded: &LoadedData, env: &Env) -> Result<()> {
    let pairs = loaded
        .duplicates
        .iter()
        .map(|duplicate| (duplicate.to_string(), "leave one of them out with `--subjects`".to_string()));
    // Whoever shares a recording is told as a pair.
    let paired = |case: &Case| loaded.duplicates.iter().any(|duplicate| duplicate.is_reported_by(case));
    let others = loaded.findings.iter().filter_map(|problem| {
        let mut problem = problem.clone();
        problem.cases.retain(|case| !paired(case));
        (!problem.cases.is_empty()).then_some(problem)
    });
    let findings: Vec<(String, String)> =
        pairs.chain(others.map(|problem| (in_short(&problem), problem.advice.clone()))).collect();
    let Some((first, hint)) = findings.first() else { return Ok(()) };
    if env.strict {
        let more = match findings.len() - 1 {
            0 => String::new(),
            more => format!(" (and {} more)", count(more, "finding")),
        };
        return Err(Error::request(
            format!("{}: {first}{more}", loaded.name),
            format!("{hint}; without `--strict` it is a warning"),
        ));
    }
    for (finding, advice) in &findings {
        env.note_once(format!("warning: {}: {finding}\n  to do: {advice}", loaded.name));
    }
    Ok(())
}

/// A list that fits on a line: as many of its parts as there is room for.
fn shortened(list: &str) -> String {
    let room = list.char_indices().nth(LIST).map(|(at, _)| at);
    match room.and_then(|room| list[..room].rfind(", ")) {
        Some(end) => format!("{}, ..", &list[..end]),
        None => list.to_string(),
    }
}

/// A problem with its first place.
fn in_short(problem: &Problem) -> String {
    let Some(case) = problem.cases.first() else { return problem.what.clone() };
    let detail =
        if case.detail.is_empty() { String::new() } else { format!(": {}", shortened(&case.detail)) };
    let more = match problem.cases.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more (`ptsm data check` tells all)"),
    };
    format!("{}: {}{detail}{more}", problem.what, case.place)
}

/// The cache of the environment. Where it cannot be used, data are read as if there were none.
fn open(env: &Env) -> Option<Cache> {
    let folder = env.cache.path()?;
    match Cache::open(&folder) {
        Ok(cache) => Some(cache),
        Err(error) => {
            env.note(format!("note: trials are not kept: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_shortened() {
        assert_eq!(shortened("C3 (1 %), C4 (2 %)"), "C3 (1 %), C4 (2 %)");
        let long = ["C3 (1 %)"; 20].join(", ");
        assert_eq!(shortened(&long), format!("{}, ..", ["C3 (1 %)"; 8].join(", ")));
        assert_eq!(shortened(&"\u{e4}".repeat(200)), "\u{e4}".repeat(200));
    }
}
