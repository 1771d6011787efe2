//! Files of the data set, in any of the trees they are downloaded to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

use super::chosen::RunSelection;
use super::{ID, SUBJECT_COUNT};
use crate::catalogue::disk::{file_name, files, numbers, once, size, under};
use crate::catalogue::{DataSetFiles, RecordingItem};
use crate::error::Result;

/// Looks for what was chosen.
pub(super) fn find(root: &Path, chosen: &RunSelection) -> Result<DataSetFiles> {
    let named = files(ID, root, &[".edf"])?.into_iter().filter_map(|path| {
        let [subject, run] = numbers("S###R##.edf", &file_name(&path))?[..] else { return None };
        ((1..=SUBJECT_COUNT).contains(&subject) && (1..=14).contains(&run)).then_some(((subject, run), path))
    });
    let (present, twice) = once(named);
    let mut found = DataSetFiles { classes: chosen.classes.clone(), ..DataSetFiles::default() };
    found.doubled = twice.into_iter().map(|((subject, _), path)| (SubjectId(subject), path)).collect();
    let mut folders: BTreeMap<u32, &Path> = BTreeMap::new();
    for ((subject, _), path) in &present {
        folders.entry(*subject).or_insert_with(|| path.parent().unwrap_or(root));
    }
    for (&subject, folder) in &folders {
        if let Some(why) = chosen.excluded(subject) {
            found.excluded.push((SubjectId(subject), why.into()));
            continue;
        }
        for &run in &chosen.runs {
            match present.get(&(subject, run)) {
                Some(path) => found.items.push(item(subject, run, path)),
                None => {
                    let path = folder.join(format!("S{subject:03}R{run:02}.edf"));
                    found.missing.push((SubjectId(subject), under(root, path)));
                }
            }
        }
    }
    if present.is_empty() {
        found.missing =
            selected_runs(chosen).map(|(subject, run)| (SubjectId(subject), place(subject, run))).collect();
    }
    Ok(found)
}

/// Every run that was chosen, of all subjects who are not left out.
pub(super) fn selected_runs(chosen: &RunSelection) -> impl Iterator<Item = (u32, u32)> + '_ {
    let subjects = (1..=SUBJECT_COUNT).filter(|&subject| chosen.excluded(subject).is_none());
    subjects.flat_map(|subject| chosen.runs.iter().map(move |&run| (subject, run)))
}

/// Where the publisher has a file.
pub(super) fn place(subject: u32, run: u32) -> PathBuf {
    PathBuf::from(format!("S{subject:03}/S{subject:03}R{run:02}.edf"))
}

fn item(subject: u32, run: u32, path: &Path) -> RecordingItem {
    RecordingItem {
        subject: SubjectId(subject),
        session: 1,
        run,
        files: vec![path.to_path_buf()],
        part: String::new(),
        // Integers of two bytes become numbers of four.
        memory: 2 * size(path),
    }
}
