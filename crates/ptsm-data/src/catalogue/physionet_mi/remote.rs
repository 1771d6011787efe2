//! Where to download it from.

use std::collections::HashMap;
use std::sync::LazyLock;

use ptsm_signal::SubjectId;

use super::chosen::RunSelection;
use super::find::{place, selected_runs};
use crate::download::{Checksum, RemoteFile};

/// What PhysioNet publishes of every file: its hash and path.
const SUMS: &str = include_str!("../../../data/physionet-mi-sha256.txt");

static SHA256: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    SUMS.lines().filter_map(|line| line.split_once("  ")).map(|(sum, path)| (path, sum)).collect()
});

/// Every file that was chosen.
pub(super) fn remote(chosen: &RunSelection) -> Vec<RemoteFile> {
    let file = |(subject, run)| {
        let path = place(subject, run);
        let name = format!("S{subject:03}/S{subject:03}R{run:02}.edf");
        RemoteFile {
            subject: Some(SubjectId(subject)),
            url: format!("https://physionet.org/files/eegmmidb/1.0.0/{name}"),
            path,
            checksum: SHA256
                .get(&*name)
                .map_or(Checksum::Unpublished, |sum| Checksum::Sha256(sum.to_string())),
        }
    };
    selected_runs(chosen).map(file).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{CHOICES, ID, SUBJECT_COUNT};
    use super::*;
    use crate::catalogue::Options;

    #[test]
    fn every_file_has_a_hash() {
        assert_eq!(SHA256.len(), SUBJECT_COUNT as usize * 14);
        let with = [("classes", "4"), ("exclude", "none")].map(|(n, v)| (n.to_string(), v.to_string()));
        let chosen = RunSelection::new(&Options::new(ID, CHOICES, &with).unwrap()).unwrap();
        let all = remote(&chosen);
        assert_eq!(all.len(), 109 * 6);
        for file in &all {
            assert!(matches!(&file.checksum, Checksum::Sha256(sum) if sum.len() == 64), "{file:?}");
        }
        assert_eq!(all[1].url, "https://physionet.org/files/eegmmidb/1.0.0/S001/S001R06.edf");
        assert_eq!(all[1].path, std::path::Path::new("S001/S001R06.edf"));
    }
}
