//! What `--data ID [--root DIR]` means.

mod load;
mod people;

use std::path::{Path, PathBuf};

pub use load::Loaded;

use crate::cohort::{COHORT_FILE, read_cohort};
use crate::error::{Error, Result};
use crate::simulate::Cohort;

/// A name a user can give, or will be able to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What is typed.
    pub id: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whether this version can read it.
    pub available: bool,
}

/// Every source of data, in the order users see them.
pub const SOURCES: &[Entry] = &[
    Entry {
        id: "simulated",
        about: "people who do not exist; `--root DIR` takes `DIR/cohort.toml`",
        available: true,
    },
    Entry { id: "FILE.npz", about: "your own trials: arrays `X`, `y`, `subject`", available: true },
    Entry { id: "FOLDER", about: "your own trials, one `.npz` file per subject", available: true },
    Entry {
        id: "physionet-mi",
        about: "PhysioNet EEG motor movement and imagery, 109 people",
        available: false,
    },
    Entry { id: "openbmi-mi", about: "OpenBMI motor imagery, 54 people", available: false },
    Entry { id: "openbmi-erp", about: "OpenBMI P300 speller, 54 people", available: false },
    Entry {
        id: "openbmi-ssvep",
        about: "OpenBMI steady-state visual potentials, 54 people",
        available: false,
    },
    Entry { id: "kul-aad", about: "KU Leuven auditory attention, 16 people", available: false },
    Entry { id: "bci-iv-2a", about: "BCI Competition IV 2a, four movements, 9 people", available: false },
    Entry { id: "bci-iv-2b", about: "BCI Competition IV 2b, two hands, 9 people", available: false },
    Entry { id: "bids:DIR", about: "a folder in the Brain Imaging Data Structure", available: false },
    Entry { id: "files:MANIFEST", about: "recordings listed in a file", available: false },
];

/// Where trials come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A simulated cohort.
    Simulated {
        /// Its settings.
        cohort: Box<Cohort>,
        /// What the user should know about where they come from.
        note: Option<String>,
    },
    /// One `.npz` file.
    File(PathBuf),
    /// A folder of `.npz` files.
    Folder(PathBuf),
}

impl Source {
    /// Understands what a user typed. Paths that are not absolute start at `root` where it is given.
    pub fn parse(id: &str, root: Option<&Path>) -> Result<Source> {
        if id == "simulated" {
            return Source::simulated(root);
        }
        let refuse = |message: &str, hint: String| Error::Source {
            id: id.to_string(),
            message: message.to_string(),
            hint: Some(hint),
        };
        // Paths come first: a folder called like a data set to come is the user's own.
        let path = root.map_or_else(|| PathBuf::from(id), |root| root.join(id));
        if path.is_dir() {
            return Ok(Source::Folder(path));
        }
        if id.ends_with(".npz") {
            if path.is_file() {
                return Ok(Source::File(path));
            }
            let hint = "check the path; without `--root` it starts at the working folder";
            return Err(refuse("there is no such file", hint.into()));
        }
        if path.is_file() {
            return Err(refuse(
                "of files, this version reads `.npz` only",
                "save the trials with `numpy.savez`".into(),
            ));
        }
        let planned = |entry: &&Entry| !entry.available && stem(entry.id) == stem(id);
        if let Some(entry) = SOURCES.iter().find(planned) {
            let message = format!("this version cannot read it yet ({})", entry.about);
            let hint = "cut the trials in Python and save them with `numpy.savez(\"trials.npz\", X=.., y=.., subject=..)`; then give `--data trials.npz`";
            return Err(refuse(&message, hint.into()));
        }
        let known: Vec<&str> = SOURCES.iter().filter(|e| e.available).map(|e| e.id).collect();
        let nearest = SOURCES
            .iter()
            .map(|entry| (strsim::normalized_damerau_levenshtein(stem(entry.id), id), entry.id))
            .filter(|(likeness, _)| *likeness >= 0.5)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let meant = nearest.map_or_else(String::new, |(_, id)| format!("is `{id}` meant? "));
        Err(refuse(
            "there is no data set, file or folder of this name",
            format!(
                "{meant}known are {}",
                known.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
            ),
        ))
    }

    fn simulated(root: Option<&Path>) -> Result<Source> {
        let Some(root) = root else {
            return Ok(Source::Simulated { cohort: Box::default(), note: None });
        };
        let path = root.join(COHORT_FILE);
        if path.is_file() {
            return Ok(Source::Simulated { cohort: Box::new(read_cohort(&path)?), note: None });
        }
        let note = format!("no `{COHORT_FILE}` in {}: this is the default cohort", root.display());
        Ok(Source::Simulated { cohort: Box::default(), note: Some(note) })
    }

    /// A short name, without folders: what stands beside scores.
    pub fn name(&self) -> String {
        match self {
            Source::Simulated { .. } => "simulated".into(),
            Source::File(path) | Source::Folder(path) => {
                // A path such as `.` has no name of its own.
                let whole = path.canonicalize();
                let path = whole.as_deref().unwrap_or(path);
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
        }
    }
}

/// `bids` of `bids:DIR`.
fn stem(id: &str) -> &str {
    id.split(':').next().unwrap_or(id)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn refused(id: &str) -> (String, String) {
        let error = Source::parse(id, None).unwrap_err();
        (error.to_string(), error.hint().unwrap().to_string())
    }

    #[test]
    fn data_sets_to_come_are_told_apart_from_unknown_ones() {
        for entry in SOURCES.iter().filter(|e| !e.available) {
            let (error, hint) = refused(entry.id);
            assert!(error.contains("this version cannot read it yet") && hint.contains(".npz"), "{error}");
        }
        assert!(refused("bids:/some/folder").0.contains("cannot read it yet"));
        let (error, hint) = refused("simulate");
        assert_eq!(error, "data `simulate`: there is no data set, file or folder of this name");
        assert_eq!(hint, "is `simulated` meant? known are `simulated`, `FILE.npz`, `FOLDER`");
        assert!(refused("zzz").1.starts_with("known are"));
        assert!(refused("absent.npz").0.contains("there is no such file"));
        assert!(refused("").0.contains("no data set"));
    }

    #[test]
    fn files_and_folders_start_at_the_root() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.npz"), "").unwrap();
        std::fs::write(folder.path().join("a.edf"), "").unwrap();
        let source = Source::parse("a.npz", Some(folder.path())).unwrap();
        assert_eq!(source, Source::File(folder.path().join("a.npz")));
        assert_eq!(source.name(), "a.npz");
        assert_eq!(Source::parse(".", Some(folder.path())).unwrap(), Source::Folder(folder.path().join(".")));
        let whole = folder.path().to_str().unwrap();
        let source = Source::parse(whole, None).unwrap();
        assert_eq!(source, Source::Folder(folder.path().to_path_buf()));
        assert_eq!(
            source.name(),
            folder.path().canonicalize().unwrap().file_name().unwrap().to_str().unwrap()
        );
        // Called like a data set to come, but there.
        std::fs::create_dir(folder.path().join("bci-iv-2a")).unwrap();
        let source = Source::parse("bci-iv-2a", Some(folder.path())).unwrap();
        assert_eq!(source, Source::Folder(folder.path().join("bci-iv-2a")));
        assert!(Source::parse("a.edf", Some(folder.path())).unwrap_err().to_string().contains("`.npz` only"));
    }

    #[test]
    fn a_root_without_a_cohort_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let Source::Simulated { cohort, note } = Source::parse("simulated", Some(folder.path())).unwrap()
        else {
            panic!("not simulated");
        };
        assert_eq!(*cohort, Cohort::default());
        assert!(note.unwrap().contains("no `cohort.toml`"));
    }
}
