//! What stands in front of the content of an array: flags, sizes and a name.

use super::element::Tag;
use super::stream::Stream;
use crate::cursor::DAMAGED;
use crate::error::Result;

/// More dimensions than anybody uses.
const MOST_DIMS: u64 = 64;

// Classes. All others but these are numbers.
pub(super) const CELL: u8 = 1;
pub(super) const STRUCT: u8 = 2;
pub(super) const OBJECT: u8 = 3;
pub(super) const CHAR: u8 = 4;
pub(super) const SPARSE: u8 = 5;
pub(super) const FUNCTION: u8 = 16;
pub(super) const OPAQUE: u8 = 17;

/// What stands in front of the content of an array.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) class: u8,
    pub(super) complex: bool,
    pub(super) logical: bool,
    pub(super) dims: Vec<usize>,
    pub(super) name: String,
}

impl Head {
    /// Reads the head of an array that ends in front of byte `end`.
    pub(super) fn read(stream: &mut Stream<'_>, end: u64) -> Result<Head> {
        let flags = Tag::read(stream, end)?;
        if flags.bytes != 8 {
            let message = format!("array flags of {} bytes; 8 are expected", flags.bytes);
            return Err(stream.error(message).with_hint(DAMAGED));
        }
        let flags = flags.words(stream, "array flags", 2)?[0] as u32;
        let class = flags as u8;
        let mut dims = vec![];
        // Objects of newer kinds have no sizes here.
        if class != OPAQUE {
            let words = Tag::read(stream, end)?.words(stream, "sizes", MOST_DIMS)?;
            for word in &words {
                let Ok(size) = usize::try_from(*word) else {
                    return Err(stream.error(format!("a size of {word}")).with_hint(DAMAGED));
                };
                dims.push(size);
            }
            if dims.len() < 2 {
                return Err(stream.error("an array has fewer than two dimensions").with_hint(DAMAGED));
            }
        }
        let name = Tag::read(stream, end)?.name(stream)?;
        let (complex, logical) = (flags & 0x800 != 0, flags & 0x200 != 0);
        Ok(Head { class, complex, logical, dims, name })
    }
}
