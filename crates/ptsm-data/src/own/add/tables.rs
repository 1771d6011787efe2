//! Tables of events that lie beside recordings.

use std::path::{Path, PathBuf};

use super::super::files::events::is_event_table;
use crate::walk::name;

/// What names of recordings end in that names of their tables lack.
const ENDS: [&str; 6] = ["_raw", "-raw", "_eeg", "-eeg", "_ieeg", "_meg"];
/// What names of tables end in.
const TABLES: [&str; 13] = [
    "_events.tsv",
    "_events.csv",
    "-events.tsv",
    "-events.csv",
    "_markers.csv",
    "_annotations.csv",
    "-eve.fif",
    "_eve.fif",
    "-eve.fif.gz",
    ".eve",
    "-eve.lst",
    ".tsv",
    ".csv",
];

/// The table of events beside a recording: by a pattern in which `*` is the recording's name without its ending, or by usual names.
pub(super) fn beside(recording: &Path, pattern: Option<&str>) -> Option<PathBuf> {
    let file = name(recording);
    let stem = file.strip_suffix(".gz").unwrap_or(&file);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let folder = recording.parent().unwrap_or(Path::new(""));
    let stems = || {
        let short = ENDS.iter().filter_map(|end| stem.strip_suffix(end)).filter(|short| !short.is_empty());
        std::iter::once(stem).chain(short)
    };
    match pattern {
        Some("none") => None,
        Some(pattern) => {
            stems().map(|stem| folder.join(pattern.replace('*', stem))).find(|path| path.is_file())
        }
        None => {
            let all = stems().flat_map(|stem| TABLES.iter().map(move |end| (stem, *end)));
            // A table that is called like the recording and nothing else may hold anything.
            all.map(|(stem, end)| (folder.join(format!("{stem}{end}")), end.starts_with('.')))
                .find(|(path, surely)| path.is_file() && is_event_table(path, *surely))
                .map(|(path, _)| path)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tables_are_found_by_the_names_of_recordings() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write("a_events.csv", "onset,label\n1,x\n");
        write("b.csv", "name,units\nC3,uV\n");
        write("c.eve", "1 0 1\n");
        write("log-d.txt", "onset,label\n1,x\n");
        let found = |recording: &str, pattern| beside(&root.join(recording), pattern).map(|path| name(&path));
        assert_eq!(found("a.edf", None).as_deref(), Some("a_events.csv"));
        assert_eq!(found("a_raw.fif.gz", None).as_deref(), Some("a_events.csv"));
        assert_eq!(found("a.edf", Some("none")), None);
        // A table of anything else is none of events.
        assert_eq!(found("b.edf", None), None);
        write("b.csv", "time,value\n0.01,3\n");
        assert_eq!(found("b.edf", None), None);
        write("b.csv", "onset,label\n0.01,3\n");
        assert_eq!(found("b.edf", None).as_deref(), Some("b.csv"));
        assert_eq!(found("c_raw.fif", None).as_deref(), Some("c.eve"));
        assert_eq!(found("d.edf", Some("log-*.txt")).as_deref(), Some("log-d.txt"));
    }
}
