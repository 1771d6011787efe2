//! Data elements: a tag that says what follows and how many bytes, then the bytes.

use super::stream::{Order, Stream};
use crate::cursor::DAMAGED;
use crate::error::Result;
use crate::mat::value::Numbers;

/// Types of elements that are not numbers.
pub(super) const MATRIX: u32 = 14;
pub(super) const PACKED: u32 = 15;
pub(super) const UTF8: u32 = 16;
pub(super) const UTF16: u32 = 17;
pub(super) const UTF32: u32 = 18;

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Storage {
    /// By the type of an element.
    pub(super) fn of(kind: u32) -> Option<Storage> {
        Some(match kind {
            1 => Storage::I8,
            2 => Storage::U8,
            3 => Storage::I16,
            4 => Storage::U16,
            5 => Storage::I32,
            6 => Storage::U32,
            7 => Storage::F32,
            9 => Storage::F64,
            12 => Storage::I64,
            13 => Storage::U64,
            _ => return None,
        })
    }

    /// Bytes of one number.
    pub(crate) fn size(self) -> usize {
        match self {
            Storage::I8 | Storage::U8 => 1,
            Storage::I16 | Storage::U16 => 2,
            Storage::I32 | Storage::U32 | Storage::F32 => 4,
            Storage::I64 | Storage::U64 | Storage::F64 => 8,
        }
    }
}

/// What the first bytes of an element say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub(super) kind: u32,
    pub(super) bytes: u64,
    /// Bytes without meaning after the data.
    pub(super) padding: u64,
}

impl Tag {
    /// Reads the tag of an element that lies in front of byte `end` of the stream.
    pub(super) fn read(stream: &mut Stream<'_>, end: u64) -> Result<Tag> {
        let left = end.saturating_sub(stream.at());
        if left < 8 {
            let message = format!("another element is expected here, its parent ends after {left} bytes");
            return Err(stream.error(message).with_hint(DAMAGED));
        }
        let first = stream.u32()?;
        // A small element has its length in the upper half and up to four bytes of data in the tag.
        if first >> 16 != 0 {
            let bytes = u64::from(first >> 16);
            if bytes > 4 {
                let message = format!("a small element claims {bytes} bytes; four are the most");
                return Err(stream.error(message).with_hint(DAMAGED));
            }
            return Ok(Tag { kind: first & 0xFFFF, bytes, padding: 4 - bytes });
        }
        let bytes = u64::from(stream.u32()?);
        if bytes > left - 8 {
            let message = format!("an element claims {bytes} bytes, {} are left", left - 8);
            return Err(stream.error(message).with_hint(DAMAGED));
        }
        // The last element of a parent may lack its padding.
        let padding = (bytes.next_multiple_of(8) - bytes).min(left - 8 - bytes);
        Ok(Tag { kind: first, bytes, padding })
    }

    /// Leaves the element out.
    pub(super) fn skip(self, stream: &mut Stream<'_>) -> Result<()> {
        stream.skip(self.bytes + self.padding)
    }

    /// The bytes of an element of at most `most`.
    pub(super) fn small(self, stream: &mut Stream<'_>, what: &str, most: u64) -> Result<Vec<u8>> {
        if self.bytes > most {
            let message = format!("{what} of {} bytes; at most {most} are read", self.bytes);
            return Err(stream.error(message).with_hint(DAMAGED));
        }
        self.raw(stream)
    }

    /// All bytes. The stream holds them, or breaks off: memory grows only as they come.
    pub(super) fn raw(self, stream: &mut Stream<'_>) -> Result<Vec<u8>> {
        let bytes = stream.take(self.bytes)?;
        stream.skip(self.padding)?;
        Ok(bytes)
    }

    /// Signed or unsigned words: sizes and lengths. Some writers use the wrong one of the two types.
    pub(super) fn words(self, stream: &mut Stream<'_>, what: &str, most: u64) -> Result<Vec<i32>> {
        if !matches!(self.kind, 5 | 6) || !self.bytes.is_multiple_of(4) {
            let (kind, bytes) = (self.kind, self.bytes);
            let message = format!("{what} must be whole numbers, not {bytes} bytes of type {kind}");
            return Err(stream.error(message).with_hint(DAMAGED));
        }
        let make = match stream.order() {
            Order::Little => i32::from_le_bytes,
            Order::Big => i32::from_be_bytes,
        };
        let bytes = self.small(stream, what, 4 * most)?;
        Ok(bytes.as_chunks().0.iter().map(|&word| make(word)).collect())
    }

    /// Text of a name: without NULs behind it.
    pub(super) fn name(self, stream: &mut Stream<'_>) -> Result<String> {
        if !matches!(self.kind, 1 | 2 | UTF8) {
            let message = format!("a name must be text, not of type {}", self.kind);
            return Err(stream.error(message).with_hint(DAMAGED));
        }
        let bytes = self.small(stream, "a name", 4096)?;
        Ok(name(&bytes))
    }

    /// All numbers.
    pub(super) fn numbers(self, stream: &mut Stream<'_>) -> Result<Numbers> {
        let storage = self.storage(stream)?;
        let count = self.bytes / storage.size() as u64;
        macro_rules! read {
            ($type:ident) => {{
                let make = match stream.order() {
                    Order::Little => <$type>::from_le_bytes,
                    Order::Big => <$type>::from_be_bytes,
                };
                read_all(stream, count, make)?.into()
            }};
        }
        let numbers = match storage {
            Storage::I8 => read!(i8),
            Storage::U8 => read!(u8),
            Storage::I16 => read!(i16),
            Storage::U16 => read!(u16),
            Storage::I32 => read!(i32),
            Storage::U32 => read!(u32),
            Storage::I64 => read!(i64),
            Storage::U64 => read!(u64),
            Storage::F32 => read!(f32),
            Storage::F64 => read!(f64),
        };
        stream.skip(self.padding)?;
        Ok(numbers)
    }

    /// How the numbers of this element are stored.
    pub(super) fn storage(self, stream: &Stream<'_>) -> Result<Storage> {
        match Storage::of(self.kind) {
            Some(storage) if self.bytes.is_multiple_of(storage.size() as u64) => Ok(storage),
            _ => {
                let (kind, bytes) = (self.kind, self.bytes);
                let message = format!("{bytes} bytes of type {kind} are no numbers");
                Err(stream.error(message).with_hint(DAMAGED))
            }
        }
    }
}

/// A name in UTF-8 or, failing that, Latin-1; what follows a NUL does not belong to it.
pub(super) fn name(bytes: &[u8]) -> String {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_string(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// Reads in pieces; memory grows as they come, at the end to exactly what is needed.
fn read_all<const N: usize, T>(
    stream: &mut Stream<'_>,
    count: u64,
    make: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    let mut left = count;
    while left > 0 {
        let (pieces, _) = stream.piece(left * N as u64)?.as_chunks::<N>();
        if all.capacity() - all.len() < pieces.len() {
            let more = (all.len().max(pieces.len()) as u64).min(left) as usize;
            all.reserve_exact(more);
        }
        all.extend(pieces.iter().map(|&bytes| make(bytes)));
        left -= pieces.len() as u64;
    }
    Ok(all)
}
