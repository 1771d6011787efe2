//! From a data set on disk to trials: the same way for all of them.

mod cache;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod prepare;
mod work;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use cache::{Cache, map_stored_trials, store_trials};
pub use options::LoadOptions;

use crate::catalogue::{DataSet, Options};
use crate::error::Result;

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
