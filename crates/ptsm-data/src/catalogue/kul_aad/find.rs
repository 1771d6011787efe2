//! Files of the data set, and where to download them from.

use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

use super::{CLASSES, ID, SUBJECT_COUNT};
use crate::catalogue::disk::{file_name, files, numbers, once, size};
use crate::catalogue::{DataSetFiles, RecordingItem, UNPUBLISHED};
use crate::download::{Checksum, RemoteFile};
use crate::error::Result;

/// Looks for the files of all subjects.
pub(super) fn find(root: &Path) -> Result<DataSetFiles> {
    let mut all = files(ID, root, &[".mat"])?;
    // The authors' script writes files of the same names to a folder beside.
    all.sort_by_key(|path| path.components().any(|part| part.as_os_str() == UNPUBLISHED));
    let named = all.into_iter().filter_map(|path| {
        let [subject] = numbers("S+.mat", &file_name(&path))?[..] else { return None };
        (1..=SUBJECT_COUNT).contains(&subject).then_some((subject, path))
    });
    let (present, twice) = once(named);
    let classes = CLASSES.map(String::from).to_vec();
    let mut found = DataSetFiles { classes, ..DataSetFiles::default() };
    found.doubled = twice.into_iter().map(|(subject, path)| (SubjectId(subject), path)).collect();
    if present.is_empty() {
        found.missing = (1..=SUBJECT_COUNT).map(|subject| (SubjectId(subject), place(subject))).collect();
    }
    found.items = present
        .into_iter()
        .map(|(subject, path)| RecordingItem {
            subject: SubjectId(subject),
            session: 1,
            run: 1,
            // Single or double precision, packed a little; half or all of it again while it is converted.
            memory: 3 * size(&path),
            files: vec![path],
            part: String::new(),
        })
        .collect();
    Ok(found)
}

/// Everybody's file. Only the record's own listing has their MD5 sums.
pub(super) fn remote() -> Vec<RemoteFile> {
    let file = |subject| RemoteFile {
        subject: Some(SubjectId(subject)),
        url: format!("https://zenodo.org/records/4004271/files/S{subject}.mat?download=1"),
        path: place(subject),
        checksum: Checksum::Unpublished,
    };
    (1..=SUBJECT_COUNT).map(file).collect()
}

fn place(subject: u32) -> PathBuf {
    PathBuf::from(format!("S{subject}.mat"))
}
