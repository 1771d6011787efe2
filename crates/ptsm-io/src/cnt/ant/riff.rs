//! Chunks: a name of four letters, a size, and as many bytes. Sizes have 32 bits, in RF64 64.

use crate::cursor::{Cursor, DAMAGED};
use crate::error::{Error, Place, Result};

/// A chunk of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<'a> {
    bytes: &'a [u8],
    place: &'a Place,
    name: [u8; 4],
    /// Whether sizes and places have 64 bits.
    pub(super) wide: bool,
    /// Its first byte behind the size, and behind the name of its kind where it is a list.
    pub(super) at: usize,
    size: usize,
}

impl<'a> Chunk<'a> {
    /// The whole file.
    pub(super) fn form(bytes: &'a [u8], place: &'a Place) -> Result<Chunk<'a>> {
        let wide = bytes.starts_with(b"RF64");
        let mut cursor = Cursor::new(bytes, place);
        cursor.skip(if wide { 12 } else { 8 })?;
        if cursor.take(4)? != b"CNT " {
            return Err(Error::format(place, "is a RIFF file, but no recording of ANT")
                .with_hint("is it another format?"));
        }
        // What the file says of its own size is wrong where it was never closed.
        Ok(Chunk { bytes, place, name: *b"CNT ", wide, at: cursor.at(), size: cursor.left() })
    }

    pub(super) fn data(&self) -> &'a [u8] {
        &self.bytes[self.at..][..self.size]
    }

    /// A chunk in this one.
    pub(super) fn find(&self, name: &[u8; 4]) -> Result<Option<Chunk<'a>>> {
        self.chunks(|chunk| &chunk.name == name)
    }

    /// A chunk in this one that must be there.
    pub(super) fn needed(&self, name: &[u8; 4]) -> Result<Chunk<'a>> {
        self.find(name)?.ok_or_else(|| self.missing(name))
    }

    /// A list in this one that must be there.
    pub(super) fn list(&self, kind: &[u8; 4]) -> Result<Chunk<'a>> {
        let list = self.chunks(|chunk| &chunk.name == b"LIST" && chunk.data().starts_with(kind))?;
        let list = list.ok_or_else(|| self.missing(kind))?;
        Ok(Chunk { at: list.at + 4, size: list.size - 4, name: *kind, ..list })
    }

    fn missing(&self, name: &[u8; 4]) -> Error {
        let (name, own) = (String::from_utf8_lossy(name), String::from_utf8_lossy(&self.name));
        let hint = match &*name {
            "raw3" => "only continuous recordings are read, no averages and spectra",
            _ => DAMAGED,
        };
        Error::format(self.place, format!("there is no part `{name}` in `{own}`")).with_hint(hint)
    }

    /// The first chunk in this one for which `is` says yes.
    fn chunks(&self, is: impl Fn(&Chunk) -> bool) -> Result<Option<Chunk<'a>>> {
        let head = if self.wide { 12 } else { 8 };
        let end = self.at + self.size;
        let mut cursor = Cursor::new(self.bytes, self.place);
        cursor.seek(self.at)?;
        while cursor.at() + head <= end {
            let mut name = [0; 4];
            name.copy_from_slice(cursor.take(4)?);
            let size = if self.wide { cursor.u64()? } else { u64::from(cursor.u32()?) };
            let left = end - cursor.at();
            let Some(size) = usize::try_from(size).ok().filter(|&size| size <= left) else {
                let name = String::from_utf8_lossy(&name).into_owned();
                let message = format!("part `{name}` says {size} bytes, {left} are there");
                return Err(cursor.error(message).with_hint(DAMAGED));
            };
            let chunk = Chunk { name, at: cursor.at(), size, ..*self };
            if is(&chunk) {
                return Ok(Some(chunk));
            }
            // Chunks begin at even bytes.
            let next = cursor.at() + size + size % 2;
            if next > end {
                break;
            }
            cursor.seek(next)?;
        }
        Ok(None)
    }
}
