//! What the system tells of a file besides its size and when it was written.

use std::fs::Metadata;

/// When it was last changed in any way, in seconds and nanoseconds since 1970; zeros where the system does not tell.
#[cfg(unix)]
pub(crate) fn changed(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.ctime().try_into().unwrap_or(0), about.ctime_nsec().try_into().unwrap_or(0))
}

/// Its place on the disk and the disk; zeros where the system does not tell.
#[cfg(unix)]
pub(crate) fn place(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.ino(), about.dev())
}

#[cfg(not(unix))]
pub(crate) fn changed(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(not(unix))]
pub(crate) fn place(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
