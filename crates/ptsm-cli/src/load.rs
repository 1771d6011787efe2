//! Reading data: what is kept of it, a line while it takes long, the wish to stop.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use ptsm_data::arrays::LabelHandling;
use ptsm_data::check::{Case, Problem};
use ptsm_data::{Cache, LoadOptions, LoadedData, Source, SubjectList};
use ptsm_signal::Pipeline;

use crate::commands::Session;
use crate::exit::told;
use crate::progress::counting;
use crate::words::count;

/// The line appears when reading takes longer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Characters of a list of channels in a warning.
const LIST: usize = 80;
/// Bytes that recordings in work may take together: `8G`, `500M`.
const MEMORY: &str = "PTSM_MEMORY";

/// Trials of all or some people, for a decoder that exists or for one to come.
pub(crate) fn load(
    source: &Source,
    pipeline: Option<&Pipeline>,
    subjects: Option<&SubjectList>,
    wanted: LabelHandling<'_>,
    session: &Session,
) -> anyhow::Result<LoadedData> {
    let cache = match source {
        Source::Recordings(_) => open(session),
        _ => None,
    };
    let began = Instant::now();
    let line: Mutex<Option<ProgressBar>> = Mutex::default();
    let progress = |done: usize, all: usize| {
        if began.elapsed() < PATIENCE {
            return;
        }
        let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
        line.get_or_insert_with(|| counting(session.output, "recordings", all)).set_position(done as u64);
    };
    let stop = || session.stop.asked();
    let options = LoadOptions {
        cache: cache.as_ref(),
        threads: session.threads,
        memory: memory()?,
        progress: Some(&progress),
        stop: Some(&stop),
        ..LoadOptions::default()
    };
    let loaded = source.load_with(pipeline, subjects, wanted, &options);
    if let Some(line) = line.into_inner().unwrap_or_else(PoisonError::into_inner) {
        line.finish_and_clear();
    }
    let loaded = loaded?;
    for note in &loaded.notes {
        session.tell_once(format!("note: {note}"));
    }
    tell_findings(&loaded, session)?;
    Ok(loaded)
}

/// Tells what is wrong or odd in data before anything is made of them, or refuses them where that was asked for.
fn tell_findings(loaded: &LoadedData, session: &Session) -> anyhow::Result<()> {
    let pairs = loaded
        .duplicates
        .iter()
        .map(|duplicate| (duplicate.to_string(), "leave one of them out with `--subjects`".to_string()));
    // Whoever shares a recording is told as a pair.
    let paired = |case: &Case| loaded.duplicates.iter().any(|duplicate| duplicate.is_told_by(case));
    let others = loaded.findings.iter().filter_map(|problem| {
        let mut problem = problem.clone();
        problem.cases.retain(|case| !paired(case));
        (!problem.cases.is_empty()).then_some(problem)
    });
    let findings: Vec<(String, String)> =
        pairs.chain(others.map(|problem| (in_short(&problem), problem.advice.clone()))).collect();
    let Some((first, hint)) = findings.first() else { return Ok(()) };
    if session.strict {
        let more = match findings.len() - 1 {
            0 => String::new(),
            more => format!(" (and {} more)", count(more, "finding")),
        };
        return Err(told(
            format!("{}: {first}{more}", loaded.name),
            format!("{hint}; without `--strict` it is a warning"),
        ));
    }
    for (finding, advice) in &findings {
        session.tell_once(format!("warning: {}: {finding}\n  to do: {advice}", loaded.name));
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

/// Bytes that recordings in work may take together, where the environment says it.
pub(crate) fn memory() -> anyhow::Result<Option<u64>> {
    let Ok(text) = std::env::var(MEMORY) else { return Ok(None) };
    match bytes(&text) {
        Some(bytes) => Ok(Some(bytes)),
        None => {
            Err(told(format!("`{MEMORY}={text}` is no amount of memory"), "write it like `8G` or `500M`"))
        }
    }
}

/// The cache that `--cache` or the system names. Where it cannot be used, data are read as if there were none.
fn open(session: &Session) -> Option<Cache> {
    let folder = match &session.cache {
        Some(given) if given == Path::new("none") => return None,
        Some(given) => given.clone(),
        None => Cache::usual_folder()?,
    };
    match Cache::open(&folder) {
        Ok(cache) => Some(cache),
        Err(error) => {
            session.output.note(format!("note: trials are not kept: {error}"));
            None
        }
    }
}

/// `8G`, `500M`, `1000000`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b', 'i']);
    let (number, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
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

    #[test]
    fn amounts_of_memory() {
        for (text, value) in
            [("8G", 8 << 30), ("500M", 500 << 20), ("3 KiB", 3 << 10), ("17", 17), (" 2gb ", 2 << 30)]
        {
            assert_eq!(bytes(text), Some(value), "{text}");
        }
        for text in ["", "G", "x", "-1", "1.5G", "99999999999999G"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
