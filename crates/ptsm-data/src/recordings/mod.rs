//! From a data set on disk to trials: the same way for all of them.

mod cache;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod options;
mod prepare;
mod work;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use cache::{Cache, keep_trials, kept_trials};
pub use options::LoadOptions;

use crate::catalogue::{DATA_SETS, DataSet, Options};
use crate::error::{Error, Result};
use crate::own::bids::Bids;
use crate::own::files::Files;

/// A data set, where it is and what was chosen about it.
#[derive(Clone)]
pub struct Recordings {
    pub(crate) set: Arc<dyn DataSet>,
    pub(crate) root: PathBuf,
    pub(crate) options: Options,
}

impl Recordings {
    /// Checks what was chosen.
    pub fn new(set: Arc<dyn DataSet>, root: &Path, given: &[(String, String)]) -> Result<Recordings> {
        let options = Options::new(&set.about().id, set.choices(), given)?;
        Ok(Recordings { set, root: root.to_path_buf(), options })
    }

    /// What a user typed, where it names a data set. Paths that are not absolute start at `root` where it is given.
    pub(crate) fn parse(
        id: &str,
        root: Option<&Path>,
        given: &[(String, String)],
    ) -> Result<Option<Recordings>> {
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
                message: "nobody says where it is".into(),
                hint: Some(format!("give `--root DIR`; `ptsm data get {id} --to DIR` downloads it")),
            });
        };
        Recordings::new(Arc::new(set), root, given).map(Some)
    }

    /// The data set.
    pub fn set(&self) -> &dyn DataSet {
        &*self.set
    }

    /// Where it is looked for.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What was chosen.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

impl fmt::Debug for Recordings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recordings").field("set", &self.set).field("root", &self.root).finish_non_exhaustive()
    }
}

impl PartialEq for Recordings {
    fn eq(&self, other: &Recordings) -> bool {
        self.set.about() == other.set.about() && self.root == other.root && self.options == other.options
    }
}
