//! `ptsm data add`

use ptsm::data::{AddOptions, AddReport, LoadOptions, add_folder_with};

use crate::args::AddArgs;
use crate::commands::Session;
use crate::exit::fail;
use ptsm::eval::phrases::{count, subject_count};

/// How many files that cannot be read are told of one by one.
const LISTED: usize = 5;

pub(super) fn run(args: &AddArgs, session: &Session) -> anyhow::Result<()> {
    let known = AddOptions {
        labels: labels(&args.label)?,
        every_s: args.every,
        events_from: args.events_from.clone(),
    };
    let counting = session.env.lazy_progress("looking");
    let progress = |done: usize, all: usize| counting.at(done, all);
    let options = LoadOptions {
        threads: session.env.threads,
        memory: session.env.memory_bytes,
        progress: Some(&progress),
        ..LoadOptions::default()
    };
    let added = add_folder_with(&args.folder, args.out.as_deref(), args.force, &known, &options);
    drop(counting);
    let added = added?;
    for note in &added.notes {
        session.output.note(format!("note: {note}"));
    }
    for unreadable in added.unreadable.iter().take(LISTED) {
        session.output.note(format!("note: not read: {}: {}", unreadable.file, unreadable.error));
    }
    if added.unreadable.len() > LISTED {
        session
            .output
            .note(format!("note: and {} more, as the manifest says", added.unreadable.len() - LISTED));
    }
    session.output.result(text(&added), &added)
}

/// Splits `--label NAME=PATTERN`.
fn labels(given: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let label = |pair: &String| match pair.split_once('=') {
        Some((name, pattern)) if !name.trim().is_empty() && !pattern.trim().is_empty() => {
            Ok((name.trim().to_string(), pattern.trim().to_string()))
        }
        _ => Err(fail(
            format!("`--label {pair}` has no name and pattern"),
            "write `--label 'rest=*_rest.edf'`",
        )),
    };
    given.iter().map(label).collect()
}

fn text(added: &AddReport) -> String {
    let classes = added.events.iter().filter(|event| event.class).count();
    let manifest = added.manifest.display();
    let labels: Vec<String> = added
        .labels
        .iter()
        .map(|(label, recordings)| format!("{label} ({})", count(*recordings, "recording")))
        .collect();
    let first = if !labels.is_empty() {
        "see that `[labels]` and `[windows]` are right"
    } else if classes == 0 {
        "say below `[events]` which event codes begin trials, and of which class"
    } else {
        "give the classes below `[events]` their names and delete those that are none; see that `window_s` is right"
    };
    let what = match labels.is_empty() {
        true => format!("{} for classes", count(classes, "event code")),
        false => format!("one label each: {}", labels.join(", ")),
    };
    format!(
        "{manifest}: {} of {}, {what}\n\nnext: {first}; then\n  ptsm data check files:{manifest}\n  \
         ptsm train --data files:{manifest} --out run\n",
        count(added.recordings, "recording"),
        subject_count(added.subjects)
    )
}
