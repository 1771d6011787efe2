//! Reading a header field by field, never past its end.

use crate::error::{Error, Place, Result};

/// A place in some bytes. Every error says at which byte it is.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    place: &'a Place,
}

macro_rules! number {
    ($name:ident, $kind:ty, $convert:ident) => {
        pub(crate) fn $name(&mut self) -> Result<$kind> {
            let mut bytes = [0; size_of::<$kind>()];
            bytes.copy_from_slice(self.take(size_of::<$kind>())?);
            Ok(<$kind>::$convert(bytes))
        }
    };
}

impl<'a> Cursor<'a> {
    /// From the first byte.
    pub(crate) fn new(bytes: &'a [u8], place: &'a Place) -> Cursor<'a> {
        Cursor { bytes, at: 0, place }
    }

    /// The next byte to be read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// How many are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Goes to a byte; the end itself is allowed.
    pub(crate) fn seek(&mut self, at: usize) -> Result<()> {
        if at > self.bytes.len() {
            let message = format!("byte {at} is past the end of {} bytes", self.bytes.len());
            return Err(self.error(message).with_hint(DAMAGED));
        }
        self.at = at;
        Ok(())
    }

    /// The next bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.left() {
            let message = format!("{count} bytes are expected here, the file ends after {}", self.left());
            return Err(self.error(message).with_hint(DAMAGED));
        }
        let taken = &self.bytes[self.at..][..count];
        self.at += count;
        Ok(taken)
    }

    /// Leaves some bytes out.
    pub(crate) fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(drop)
    }

    /// Latin-1 text of fixed length, without blanks and NULs around it.
    pub(crate) fn text(&mut self, length: usize) -> Result<String> {
        Ok(latin1(self.take(length)?))
    }

    number!(u8, u8, from_le_bytes);
    number!(u16, u16, from_le_bytes);
    number!(u32, u32, from_le_bytes);
    number!(u64, u64, from_le_bytes);
    number!(i64, i64, from_le_bytes);
    number!(f32, f32, from_le_bytes);
    number!(f64, f64, from_le_bytes);
    number!(i32_be, i32, from_be_bytes);
    number!(f32_be, f32, from_be_bytes);

    /// Something that does not fit here.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::format(&self.place.at(self.at as u64), message)
    }
}

/// What to do about bytes that cannot be right.
pub(crate) const DAMAGED: &str = "the file is incomplete or damaged; copy or download it again";

/// Latin-1 without blanks and NULs around it.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn fields_are_read_and_ends_are_reported() {
        let place = Place::from(Path::new("a.edf"));
        let mut cursor = Cursor::new(b"\x01\x02\x03\x04 C3\0\0", &place);
        assert_eq!(cursor.u16().unwrap(), 0x0201);
        assert_eq!((cursor.at(), cursor.left()), (2, 7));
        cursor.skip(2).unwrap();
        assert_eq!(cursor.text(5).unwrap(), "C3");
        let error = cursor.clone().u8().unwrap_err();
        assert_eq!(error.to_string(), "a.edf, byte 9: 1 bytes are expected here, the file ends after 0");
        assert!(error.hint().is_some());
        assert!(cursor.seek(10).is_err() && cursor.seek(9).is_ok() && cursor.take(usize::MAX).is_err());
    }
}
