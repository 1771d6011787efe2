//! What `--data ID [--root DIR]` means.

mod cohort_relation;
mod load;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use cohort_relation::CohortRelation;

use crate::catalogue::DATA_SETS;
use crate::cohort::{COHORT_FILE, read_cohort};
use crate::error::{Error, Result};
use crate::own::{Bids, Files};
use crate::recordings::Recordings;
use ptsm_signal::nearest::suggestion;
use ptsm_simulate::Cohort;

/// A name a user can give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEntry {
    /// What is typed.
    pub id: String,
    /// What it is, in one line.
    pub about: String,
}

/// Every source of data, in the order users see them.
pub fn sources() -> Vec<SourceEntry> {
    let entry = |id: &str, about: &str| SourceEntry { id: id.into(), about: about.into() };
    let mut all = vec![entry("simulated", "a simulated cohort; `--root DIR` takes `DIR/cohort.toml`")];
    all.extend(
        DATA_SETS.iter().map(|set| set.about()).map(|about| SourceEntry { id: about.id, about: about.title }),
    );
    all.push(entry("bids:DIR", "a folder in the Brain Imaging Data Structure"));
    all.push(entry(
        "files:MANIFEST",
        "recordings of your own, listed in a file; `ptsm data add DIR` writes one",
    ));
    all.push(entry("FILE.npz", "trials of your own: arrays `X`, `y`, `subject`"));
    all.push(entry("FOLDER", "trials of your own, one `.npz` file per subject"));
    all
}

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
    /// A data set of recordings.
    Recordings(Recordings),
}

impl Source {
    /// Understands what a user typed. Paths that are not absolute start at `root` where it is given.
    pub fn parse(id: &str, root: Option<&Path>) -> Result<Source> {
        Source::parse_with(id, root, &[])
    }

    /// The same with what was chosen about a data set, as names and values.
    pub fn parse_with(id: &str, root: Option<&Path>, with: &[(String, String)]) -> Result<Source> {
        if let Some(recordings) = recordings(id, root, with)? {
            return Ok(Source::Recordings(recordings));
        }
        if let Some((name, _)) = with.first() {
            return Err(Error::Source {
                id: id.to_string(),
                message: format!("there is no choice `{name}`"),
                hint: Some("`--with` is for data sets of recordings".into()),
            });
        }
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
                "a single file of trials must be `.npz`",
                "recordings are listed in a manifest: `ptsm data add DIR` writes one for a folder".into(),
            ));
        }
        let known: Vec<String> = sources().into_iter().map(|entry| entry.id).collect();
        let meant = suggestion(id, known.iter().map(|known| (stem(known), known.as_str())));
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
            Source::Recordings(recordings) => recordings.set().about().id,
            Source::File(path) | Source::Folder(path) => {
                // A path such as `.` has no name of its own.
                let whole = path.canonicalize();
                let path = whole.as_deref().unwrap_or(path);
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
        }
    }
}

/// What a user typed, where it names a data set. Paths that are not absolute start at `root` where it is given.
fn recordings(id: &str, root: Option<&Path>, given: &[(String, String)]) -> Result<Option<Recordings>> {
    let at = |path: &str| root.map_or_else(|| PathBuf::from(path), |root| root.join(path));
    if let Some(folder) = id.strip_prefix("bids:") {
        let folder = at(folder);
        return Recordings::new(Arc::new(Bids::open(&folder, id)?), &folder, given).map(Some);
    }
    if let Some(manifest) = id.strip_prefix("files:") {
        let manifest = at(manifest);
        let folder = manifest.parent().unwrap_or(Path::new("")).to_path_buf();
        return Recordings::new(Arc::new(Files::open(&manifest)?), &folder, given).map(Some);
    }
    let Some(&set) = DATA_SETS.iter().find(|set| set.about().id == id) else { return Ok(None) };
    let Some(root) = root else {
        return Err(Error::Source {
            id: id.to_string(),
            message: "its folder is not known".into(),
            hint: Some(format!("give `--root DIR`; `ptsm data get {id} --out DIR` downloads it")),
        });
    };
    Recordings::new(Arc::new(set), root, given).map(Some)
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
    fn unknown_names_are_answered_with_the_nearest() {
        let (error, hint) = refused("simulate");
        assert_eq!(error, "data `simulate`: there is no data set, file or folder of this name");
        assert!(hint.starts_with("is `simulated` meant? known are `simulated`, "), "{hint}");
        assert!(refused("zzz").1.starts_with("known are"));
        assert!(refused("absent.npz").0.contains("there is no such file"));
        assert!(refused("").0.contains("no data set"));
        let with = [("classes".to_string(), "4".to_string())];
        let error = Source::parse_with("simulated", None, &with).unwrap_err();
        assert!(error.to_string().contains("no choice `classes`"), "{error}");
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
        assert!(
            Source::parse("a.edf", Some(folder.path())).unwrap_err().to_string().contains("must be `.npz`")
        );
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
