//! Where to download the MATLAB files from.

use std::path::PathBuf;

use ptsm_signal::SubjectId;

use super::SUBJECT_COUNT;
use super::graz::{Graz, SessionHalf};
use crate::catalogue::Options;
use crate::download::{Checksum, RemoteFile};

/// Every file that was chosen.
pub(super) fn remote(set: &Graz, options: &Options) -> Vec<RemoteFile> {
    let halves = SessionHalf::ALL.into_iter().filter(|&half| !set.chosen(half, options).is_empty());
    let halves: Vec<SessionHalf> = halves.collect();
    let file = |(subject, half)| {
        let name = set.mat(subject, half);
        RemoteFile {
            subject: Some(SubjectId(subject)),
            url: format!("https://lampx.tugraz.at/~bci/database/{}/{name}", set.folder),
            path: PathBuf::from(name),
            checksum: Checksum::Unpublished,
        }
    };
    (1..=SUBJECT_COUNT)
        .flat_map(|subject| halves.iter().map(move |&half| (subject, half)))
        .map(file)
        .collect()
}
