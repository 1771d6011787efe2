//! `ptsm data add`

use ptsm_data::{Added, LoadOptions, add_folder};

use crate::args::AddArgs;
use crate::commands::Session;
use crate::load::memory;
use crate::progress::counting;
use crate::words::{count, people};

/// How many files that cannot be read are told of one by one.
const TOLD: usize = 5;

pub(super) fn run(args: &AddArgs, session: &Session) -> anyhow::Result<()> {
    let bar = counting(session.output, "looking", 1);
    let progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let options = LoadOptions {
        threads: session.threads,
        memory: memory()?,
        progress: Some(&progress),
        ..LoadOptions::default()
    };
    let added = add_folder(&args.folder, args.to.as_deref(), args.force, &options);
    bar.finish_and_clear();
    let added = added?;
    for note in &added.notes {
        session.output.note(format!("note: {note}"));
    }
    for unreadable in added.unreadable.iter().take(TOLD) {
        session.output.note(format!("note: not read: {}: {}", unreadable.file, unreadable.error));
    }
    if added.unreadable.len() > TOLD {
        session
            .output
            .note(format!("note: and {} more, as the manifest says", added.unreadable.len() - TOLD));
    }
    session.output.result(text(&added), &added)
}

fn text(added: &Added) -> String {
    let classes = added.events.iter().filter(|event| event.class).count();
    let manifest = added.manifest.display();
    let first = if classes == 0 {
        "say below `[events]` which event codes begin trials, and of which class"
    } else {
        "give the classes below `[events]` their names and delete those that are none; see that `window_s` is right"
    };
    format!(
        "{manifest}: {} of {}, {} for classes\n\nnext: {first}; then\n  ptsm data check files:{manifest}\n  \
         ptsm train --data files:{manifest} --out run\n",
        count(added.recordings, "recording"),
        people(added.subjects),
        count(classes, "event code")
    )
}
