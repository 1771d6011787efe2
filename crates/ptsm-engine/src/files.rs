//! Files that are there as a whole or not at all.

use std::io::Write;
use std::path::Path;

/// Puts bytes in the place of a file, or leaves what was there: written beside, put on the disk, then renamed.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let no_name = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "this is not a file name");
    let mut name = path.file_name().ok_or_else(no_name)?.to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(name);
    // On the disk before it has the name: a power cut must not leave the name on empty contents.
    let written = std::fs::File::create(&beside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // The part is worthless; the first error is the one to report.
        let _ = std::fs::remove_file(&beside);
    }
    written
}
