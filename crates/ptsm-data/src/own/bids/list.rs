//! The recordings of a folder as items: whose each is, and which files it is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

use super::super::numbers::numbers;
use super::choose::LabelChoice;
use super::tree::{BidsFile, FETCH, Tree};
use crate::catalogue::{Options, RecordingItem};
use crate::error::{Error, Result};
use crate::walk::{name, natural};

/// What can be read, and what cannot.
pub(super) struct RecordingList {
    pub(super) items: Vec<RecordingItem>,
    pub(super) missing: Vec<(SubjectId, PathBuf)>,
    pub(super) notes: Vec<String>,
}

/// Which subject each number stands for.
pub(super) fn labels(root: &Path) -> Vec<(SubjectId, String)> {
    let tree = Tree::new(root);
    let numbers = numbers(tree.subject_labels.iter().map(String::as_str));
    numbers.into_iter().map(|(label, number)| (SubjectId(number), label)).collect()
}

/// Lists what was chosen.
pub(super) fn list(root: &Path, id: &str, options: &Options) -> Result<RecordingList> {
    let tree = Tree::new(root);
    if tree.recordings.is_empty() {
        return Err(nothing(root, id, &tree));
    }
    // Numbers are of everybody there is a folder of, so that they stay the same whatever is chosen and fetched.
    let subjects = numbers(tree.subject_labels.iter().map(String::as_str));
    let of = |key: &'static str, default: &'static str| {
        move |named: &BidsFile| named.entities.get(key).unwrap_or(default).to_string()
    };
    let (task, session, run) = (of("task", ""), of("ses", "1"), of("run", "1"));
    let all: Vec<(String, String, String, &BidsFile)> =
        tree.recordings.iter().map(|named| (task(named), session(named), run(named), named)).collect();
    let choices = ["task", "sessions", "runs"].map(|name| LabelChoice::new(options, name));
    let present: [BTreeSet<&str>; 3] = [
        all.iter().map(|(task, ..)| task.as_str()).collect(),
        all.iter().map(|(_, session, ..)| session.as_str()).collect(),
        all.iter().map(|(_, _, run, _)| run.as_str()).collect(),
    ];
    for (choice, present) in choices.iter().zip(&present) {
        choice.check(id, present)?;
    }
    let sessions = numbers(present[1].iter().copied());
    let runs = numbers(present[2].iter().copied());

    let mut chosen: Vec<(u32, u32, u32, &str, &BidsFile)> = all
        .iter()
        .filter(|(task, session, run, _)| {
            choices[0].has(task) && choices[1].has(session) && choices[2].has(run)
        })
        .map(|(task, session, run, named)| {
            let subject = subjects.get(&named.subject_label).copied().unwrap_or(0);
            (subject, sessions[session], runs[run], task.as_str(), *named)
        })
        .collect();
    let file = |named: &BidsFile| name(&named.path);
    chosen
        .sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)).then_with(|| natural(&file(a.4), &file(b.4))));
    if chosen.is_empty() {
        return Err(Error::Source {
            id: id.to_string(),
            message: "no recording is of the task, sessions and runs that were chosen".into(),
            hint: Some("choose fewer of `task`, `sessions` and `runs`".into()),
        });
    }
    let tasks: BTreeSet<&str> = chosen.iter().map(|&(.., task, _)| task).collect();
    let mut notes = remarks(&tree, &tasks);
    let items = items(&tree, &chosen, &mut notes);
    let whose = |path: &PathBuf| {
        let inside = path.strip_prefix(root).ok()?;
        let folder = inside.iter().next()?.to_string_lossy();
        let subject = subjects.get(folder.strip_prefix("sub-")?)?;
        Some((SubjectId(*subject), inside.to_path_buf()))
    };
    let missing = tree.not_fetched.iter().chain(&tree.listed).filter_map(whose).collect();
    Ok(RecordingList { items, missing, notes })
}

/// Items in their order. Recordings of one session that share a run (another task, another part) are numbered on.
fn items(
    tree: &Tree,
    chosen: &[(u32, u32, u32, &str, &BidsFile)],
    notes: &mut Vec<String>,
) -> Vec<RecordingItem> {
    let mut counts: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
    chosen
        .iter()
        .for_each(|&(subject, session, run, ..)| *counts.entry((subject, session, run)).or_default() += 1);
    let shared: BTreeSet<(u32, u32)> = counts
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|((subject, session, _), _)| (*subject, *session))
        .collect();
    if let Some((subject, session)) = shared.first() {
        let first = SubjectId(*subject);
        notes.push(format!(
            "recordings that share a run are numbered on ({} sessions, session {session} of {first} is the first)",
            shared.len()
        ));
    }
    let mut next: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let item = |&(subject, session, run, _, named): &(u32, u32, u32, &str, &BidsFile)| {
        let counted = next.entry((subject, session)).or_default();
        *counted += 1;
        let mut files = vec![named.path.clone()];
        files.extend(
            ["channels", "electrodes", "events"]
                .iter()
                .filter_map(|suffix| tree.table(named, suffix))
                .map(PathBuf::from),
        );
        files.extend(
            ["eeg", "coordsystem"]
                .iter()
                .flat_map(|suffix| tree.descriptions(named, suffix))
                .map(PathBuf::from),
        );
        RecordingItem {
            subject: SubjectId(subject),
            session,
            run: if shared.contains(&(subject, session)) { *counted } else { run },
            files,
            part: String::new(),
            memory: 0,
        }
    };
    chosen.iter().map(item).collect()
}

/// What the user should know of files that are not read.
fn remarks(tree: &Tree, tasks: &BTreeSet<&str>) -> Vec<String> {
    let mut notes = vec![];
    if tasks.len() > 1 {
        let all: Vec<&str> = tasks.iter().copied().collect();
        notes
            .push(format!("several tasks are read together: {}; `--with task=NAME` chooses", all.join(", ")));
    }
    if !tree.unsupported.is_empty() {
        let endings: BTreeSet<String> = tree
            .unsupported
            .iter()
            .map(|path| {
                name(path).split_once('.').map_or_else(String::new, |(_, ending)| format!(".{ending}"))
            })
            .collect();
        let endings: Vec<String> = endings.into_iter().collect();
        notes.push(format!(
            "{} recordings are of an unsupported kind or have no header: {}",
            tree.unsupported.len(),
            endings.join(", ")
        ));
    }
    if !tree.not_fetched.is_empty() {
        notes.push(format!(
            "the content of {} recordings is not fetched; `datalad get` or `git annex get` does",
            tree.not_fetched.len()
        ));
    }
    if !tree.closed.is_empty() {
        notes.push(format!(
            "{} folders cannot be looked into; see who may read the folders of subjects",
            tree.closed.len()
        ));
    }
    notes
}

/// Why there is nothing to read.
fn nothing(root: &Path, id: &str, tree: &Tree) -> Error {
    let (message, hint) = if let Some(first) = tree.not_fetched.first() {
        (
            format!(
                "content not fetched: {} recordings are links to it, {} is the first",
                tree.not_fetched.len(),
                first.display()
            ),
            FETCH,
        )
    } else if let Some(first) = tree.unsupported.first() {
        (
            format!("its recordings are of an unsupported kind, such as {}", first.display()),
            "BIDS allows .edf, .bdf, .vhdr and .set; others can be listed in a manifest: `ptsm data add DIR`",
        )
    } else if tree.subject_labels.is_empty() {
        (
            format!("{} has no folder `sub-..`", root.display()),
            "give the folder that holds `dataset_description.json` and `sub-..`",
        )
    } else {
        (
            format!("there is no recording in {}", root.join("sub-*/eeg").display()),
            "recordings are called `sub-.._task-.._eeg.edf`, .bdf, .vhdr or .set and lie in folders `eeg`",
        )
    };
    Error::Source { id: id.to_string(), message, hint: Some(hint.into()) }
}
