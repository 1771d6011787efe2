//! Which files belong to a header. Renamed recordings are common: headers go on naming the old files.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The file with the samples. A note where it is not the one the header names.
pub(super) fn samples(header: &Path, named: Option<&str>, notes: &mut Vec<String>) -> Result<PathBuf> {
    let places = candidates(header, named, &["eeg", "dat"]);
    find(&places, named, notes).ok_or_else(|| {
        let names: Vec<String> = places.iter().map(|path| format!("`{}`", path.display())).collect();
        let message = format!("its samples are not there; looked for {}", names.join(" and "));
        Error::format(&header.into(), message)
            .with_hint("put the file beside the header, or correct the line `DataFile=` in it")
    })
}

/// The file with the markers, if there is one. A note where it is not the one the header names.
pub(super) fn markers(header: &Path, named: Option<&str>, notes: &mut Vec<String>) -> Option<PathBuf> {
    let endings: &[&str] = if is_ahdr(header) { &["amrk", "vmrk"] } else { &["vmrk"] };
    let found = find(&candidates(header, named, endings), named, notes);
    // What the header calls it may name a person.
    if let (None, Some(_)) = (&found, named) {
        notes.push("the marker file the header names is not there: the recording has no events".into());
    }
    found
}

/// Whether this is a header whose samples have one signal more than it describes.
pub(super) fn is_ahdr(header: &Path) -> bool {
    header.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ahdr"))
}

/// The first file that is there.
fn find(candidates: &[PathBuf], named: Option<&str>, notes: &mut Vec<String>) -> Option<PathBuf> {
    let (i, path) = candidates.iter().enumerate().find(|(_, path)| path.is_file())?;
    if let (1.., Some(_)) = (i, named) {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        notes.push(format!("the `.{ending}` file the header names is not there; the one beside it is read"));
    }
    Some(path.clone())
}

/// Where a file may be: where the header says, then under the header's own name. Names are relative to the header; of an absolute
/// one, which is of the machine that recorded, only the last part counts.
fn candidates(header: &Path, named: Option<&str>, endings: &[&str]) -> Vec<PathBuf> {
    let base = header.file_stem().unwrap_or_default();
    let mut candidates = vec![];
    if let Some(named) = named {
        let named = named.replace("$b", &base.to_string_lossy()).replace('\\', "/");
        let absolute = named.starts_with('/') || named.get(1..2) == Some(":");
        let name = if absolute { named.rsplit('/').next().unwrap_or_default() } else { &named };
        candidates.push(header.with_file_name(name));
    }
    for ending in endings {
        let path = header.with_extension(ending);
        if !candidates.contains(&path) {
            candidates.push(path);
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_files_beside_the_header() {
        let places = |named| candidates(Path::new("d/sub-1.vhdr"), named, &["eeg"]);
        let eeg = PathBuf::from("d/sub-1.eeg");
        for same in [None, Some("sub-1.eeg"), Some("$b.eeg")] {
            assert_eq!(places(same), std::slice::from_ref(&eeg));
        }
        assert_eq!(places(Some("raw/a.eeg")), [PathBuf::from("d/raw/a.eeg"), eeg.clone()]);
        for absolute in ["C:\\data\\a.eeg", "/data/a.eeg", "\\\\server\\a.eeg"] {
            assert_eq!(places(Some(absolute)), [PathBuf::from("d/a.eeg"), eeg.clone()], "{absolute}");
        }
    }
}
