//! Files that a user names for results.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ptsm_eval::{ErrorContext, Result};

/// Writes a file whole or not at all. A device or a pipe such as `/dev/stdout` is written to, not replaced; a link stays, and what it leads to is replaced.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    // What is not there yet has no other name.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if real.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let cannot = || format!("{} cannot be written", path.display());
        let mut to = BufWriter::new(File::options().write(true).open(path).while_doing(cannot)?);
        return fill(&mut to).and_then(|()| to.flush()).while_doing(cannot);
    }
    Ok(ptsm_io::atomic::write_atomically(&real, |to| fill(to))?)
}
