//! Files of the data set, in any of the trees they are downloaded to, and where to download them from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

use super::experiment::Experiment;
use super::{Phase, SUBJECT_COUNT};
use crate::catalogue::disk::{file_name, files, numbers, once, size, under};
use crate::catalogue::{DataSetFiles, Options, RecordingItem};
use crate::download::{Checksum, RemoteFile};
use crate::error::Result;

/// Where GigaDB keeps the files.
const HOME: &str =
    "https://s3.ap-northeast-1.wasabisys.com/gigadb-datasets/live/pub/10.5524/100001_101000/100542";

/// Looks for what was chosen.
pub(super) fn find(set: &Experiment, root: &Path, options: &Options) -> Result<DataSetFiles> {
    let pattern = format!("sess##_subj##_EEG_{}.mat", set.tag);
    let named = files(set.id, root, &[".mat"])?.into_iter().filter_map(|path| {
        let [session, subject] = numbers(&pattern, &file_name(&path))?[..] else { return None };
        ((1..=2).contains(&session) && (1..=SUBJECT_COUNT).contains(&subject))
            .then_some(((subject, session), path))
    });
    let (present, twice) = once(named);
    let classes = set.classes.iter().map(|class| class.to_string()).collect();
    let mut found = DataSetFiles { classes, ..DataSetFiles::default() };
    found.doubled = twice.into_iter().map(|((subject, _), path)| (SubjectId(subject), path)).collect();
    let subjects: BTreeMap<u32, &PathBuf> =
        present.iter().rev().map(|((subject, _), path)| (*subject, path)).collect();
    for (subject, sibling) in subjects {
        for &session in sessions(options) {
            match present.get(&(subject, session)) {
                Some(path) => found.items.extend(items(set, subject, session, path, options)),
                None => {
                    let path = under(root, beside(set, sibling, session, subject));
                    found.missing.push((SubjectId(subject), path));
                }
            }
        }
    }
    if present.is_empty() {
        let file = |(subject, session)| (SubjectId(subject), place(set, session, subject));
        found.missing = selected_sessions(options).map(file).collect();
    }
    Ok(found)
}

/// Every file that was chosen.
pub(super) fn remote(set: &Experiment, options: &Options) -> Vec<RemoteFile> {
    let file = |(subject, session)| RemoteFile {
        subject: Some(SubjectId(subject)),
        url: format!("{HOME}/session{session}/s{subject}/{}", set.file(session, subject)),
        path: place(set, session, subject),
        checksum: Checksum::Unpublished,
    };
    selected_sessions(options).map(file).collect()
}

fn items(set: &Experiment, subject: u32, session: u32, path: &Path, options: &Options) -> Vec<RecordingItem> {
    let phase = options.get("phase");
    let chosen = Phase::ALL.into_iter().filter(|one| phase == "both" || phase == one.name());
    let item = |phase: Phase| RecordingItem {
        subject: SubjectId(subject),
        session,
        run: phase.run(),
        files: vec![path.to_path_buf()],
        part: set.variable(phase),
        memory: set.memory.saturating_mul(size(path)),
    };
    chosen.map(item).collect()
}

fn sessions(options: &Options) -> &'static [u32] {
    match options.get("session") {
        "1" => &[1],
        "2" => &[2],
        _ => &[1, 2],
    }
}

/// Everybody and every session that was chosen.
fn selected_sessions(options: &Options) -> impl Iterator<Item = (u32, u32)> {
    let sessions = sessions(options);
    (1..=SUBJECT_COUNT).flat_map(move |subject| sessions.iter().map(move |&session| (subject, session)))
}

/// Where the publisher has a file.
fn place(set: &Experiment, session: u32, subject: u32) -> PathBuf {
    PathBuf::from(format!("session{session}/s{subject}/{}", set.file(session, subject)))
}

/// Where a subject's file would be beside another one of theirs.
fn beside(set: &Experiment, sibling: &Path, session: u32, subject: u32) -> PathBuf {
    let folder = sibling.parent().unwrap_or(Path::new(""));
    let sessions = folder.parent().filter(|parent| numbers("session#", &file_name(parent)).is_some());
    match sessions.and_then(Path::parent) {
        Some(top) => top.join(place(set, session, subject)),
        None => folder.join(set.file(session, subject)),
    }
}
