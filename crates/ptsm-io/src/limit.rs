//! How many things a file may be made of.

use crate::error::{Error, Place, Result};

/// Annotations, segments or trials of a file, at most. One takes some 200 bytes of memory while a file is opened, and two bytes of a
/// hostile file can ask for one.
pub(crate) const MOST: usize = 1 << 20;

/// Refuses more than [`MOST`] of something.
pub(crate) fn few_enough(count: usize, what: &str, place: &Place) -> Result<()> {
    if count <= MOST {
        return Ok(());
    }
    Err(Error::format(place, format!("has more than {MOST} {what}"))
        .with_hint("no recording has so many; if this one does, write parts of it to files of their own"))
}
