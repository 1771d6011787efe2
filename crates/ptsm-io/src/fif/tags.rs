//! Tags: everything in a FIF file is one. Numbers are big-endian.

use crate::cursor::{Cursor, DAMAGED, latin1};
use crate::error::{Error, Place, Result};
use crate::limit::few_enough;

/// Types of values.
pub(super) const I16: u32 = 2;
pub(super) const I32: u32 = 3;
pub(super) const F32: u32 = 4;
pub(super) const F64: u32 = 5;
const ID: u32 = 31;
/// What the types of matrices have on top of that of their values.
pub(super) const MATRIX: u32 = 0x4000_0000;

/// The first tag of every file: its identity.
const FILE_ID: i32 = 100;

/// One tag: what it is, and its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag<'a> {
    pub(super) kind: i32,
    /// The type of its values.
    pub(super) of: u32,
    /// The byte it begins at.
    pub(super) at: usize,
    pub(super) data: &'a [u8],
    place: &'a Place,
}

/// Bytes of a tag before its data: kind, type, size, next.
pub(super) const HEAD: usize = 16;

impl Tag<'_> {
    /// What does not fit here.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::format(&self.place.at(self.at as u64), message)
    }

    fn refuse<T>(&self, wanted: &str) -> Result<T> {
        let (kind, of, size) = (self.kind, self.of, self.data.len());
        Err(self
            .error(format!("tag {kind} holds {size} bytes of type {of}, not {wanted}"))
            .with_hint(DAMAGED))
    }

    /// A whole number.
    pub(super) fn int(&self) -> Result<i32> {
        match (self.of, self.data.first_chunk()) {
            (I32, Some(bytes)) => Ok(i32::from_be_bytes(*bytes)),
            _ => self.refuse("a whole number"),
        }
    }

    /// A whole number that is not below zero.
    pub(super) fn count(&self) -> Result<usize> {
        usize::try_from(self.int()?).or_else(|_| self.refuse("a number of things"))
    }

    /// Whole numbers, also those of a matrix.
    pub(super) fn ints(&self) -> Result<Vec<i32>> {
        let values = match self.of {
            I32 => self.data.as_chunks().0,
            matrix if matrix == MATRIX | I32 => {
                // The sizes, as many as the last number says, follow the values.
                let all = self.data.as_chunks().0;
                let sizes =
                    all.last().map(|last| i32::from_be_bytes(*last)).and_then(|n| usize::try_from(n).ok());
                match sizes.and_then(|sizes| all.len().checked_sub(sizes.saturating_add(1))) {
                    Some(values) => &all[..values],
                    None => return self.refuse("a matrix"),
                }
            }
            _ => return self.refuse("whole numbers"),
        };
        Ok(values.iter().map(|bytes| i32::from_be_bytes(*bytes)).collect())
    }

    /// Numbers of any kind.
    pub(super) fn numbers(&self) -> Result<Vec<f64>> {
        Ok(match self.of {
            I32 => {
                self.data.as_chunks().0.iter().map(|bytes| f64::from(i32::from_be_bytes(*bytes))).collect()
            }
            F32 => {
                self.data.as_chunks().0.iter().map(|bytes| f64::from(f32::from_be_bytes(*bytes))).collect()
            }
            F64 => self.data.as_chunks().0.iter().map(|bytes| f64::from_be_bytes(*bytes)).collect(),
            _ => return self.refuse("numbers"),
        })
    }

    /// One number.
    pub(super) fn number(&self) -> Result<f64> {
        match self.numbers()?[..] {
            [number] => Ok(number),
            _ => self.refuse("one number"),
        }
    }

    /// Latin-1; other letters are written as their numbers, `&#945;`.
    pub(super) fn text(&self) -> String {
        let text = latin1(self.data);
        let mut plain = String::new();
        let mut rest = &*text;
        while let Some((before, after)) = rest.split_once("&#") {
            plain.push_str(before);
            // A letter's number has seven digits at most.
            let end = after.bytes().take(8).position(|byte| byte == b';');
            let letter = end
                .and_then(|end| char::from_u32(after[..end].parse().ok()?).map(|c| (c, &after[end + 1..])));
            match letter {
                Some((letter, after)) => {
                    plain.push(letter);
                    rest = after;
                }
                None => {
                    plain.push_str("&#");
                    rest = after;
                }
            }
        }
        plain + rest
    }

    /// Texts with colons between them.
    pub(super) fn list(&self) -> Result<Vec<String>> {
        few_enough(self.data.iter().filter(|&&byte| byte == b':').count(), "texts in a list", self.place)?;
        Ok(self.text().split(':').map(|text| text.replace("{COLON}", ":")).collect())
    }
}

/// All tags of a file, one after the other.
#[derive(Debug)]
pub(super) struct Tags<'a> {
    bytes: &'a [u8],
    place: &'a Place,
    next: Option<usize>,
    /// Whether the file ends with the tag that says so.
    pub(super) closed: bool,
}

impl<'a> Tags<'a> {
    /// Checks that the file begins as it should.
    pub(super) fn of(bytes: &'a [u8], place: &'a Place) -> Result<Tags<'a>> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(
                Error::format(place, "is compressed by gzip").with_hint("unpack it first: gunzip FILE")
            );
        }
        let mut tags = Tags { bytes, place, next: Some(0), closed: false };
        let first = tags.read(0)?;
        if (first.kind, first.of, first.data.len()) != (FILE_ID, ID, 20) {
            return Err(
                Error::format(place, "does not begin as a FIF file does").with_hint("is it another format?")
            );
        }
        tags.closed = tags.next.is_none();
        Ok(tags)
    }

    /// A tag, and where the next one is: always behind it, so that reading ends and no byte belongs to two tags.
    fn read(&mut self, at: usize) -> Result<Tag<'a>> {
        let mut cursor = Cursor::new(self.bytes, self.place);
        cursor.seek(at)?;
        let (kind, of) = (cursor.i32_be()?, cursor.i32_be()? as u32);
        let (size, next) = (cursor.i32_be()?, cursor.i32_be()?);
        let refuse = |message| Err(Error::format(&self.place.at(at as u64), message).with_hint(DAMAGED));
        let Ok(size) = usize::try_from(size) else {
            return refuse(format!("tag {kind} claims {size} bytes"));
        };
        let data = cursor.take(size)?;
        self.next = match next {
            0 => Some(cursor.at()),
            -1 => None,
            next => match usize::try_from(next).ok().filter(|&next| next >= cursor.at()) {
                Some(next) => Some(next),
                None => {
                    return refuse(format!(
                        "the tag after this one is said to be at byte {next}, not behind it"
                    ));
                }
            },
        };
        Ok(Tag { kind, of, at, data, place: self.place })
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Result<Tag<'a>>;

    fn next(&mut self) -> Option<Result<Tag<'a>>> {
        // A file may end without saying so; whether that is well is not for here.
        let at = self.next.take().filter(|&at| at != self.bytes.len())?;
        let tag = self.read(at);
        self.closed = tag.is_ok() && self.next.is_none();
        Some(tag)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn tag<'a>(of: u32, data: &'a [u8], place: &'a Place) -> Tag<'a> {
        Tag { kind: 206, of, at: 8, data, place }
    }

    #[test]
    fn values_are_read_by_their_types() {
        let place = Place::from(Path::new("a.fif"));
        assert_eq!(tag(I32, &[0, 0, 1, 0], &place).int().unwrap(), 256);
        assert_eq!(tag(F32, &1.5f32.to_be_bytes(), &place).number().unwrap(), 1.5);
        assert_eq!(tag(F64, &1.5f64.to_be_bytes(), &place).number().unwrap(), 1.5);
        assert_eq!(
            tag(10, b"a{COLON}b:\xe9:&#945;&#x;&#99999999;", &place).list().unwrap(),
            ["a:b", "é", "α&#x;&#99999999;"]
        );
        let matrix: Vec<u8> = [7, 8, 2, 1, 2].iter().flat_map(|v: &i32| v.to_be_bytes()).collect();
        assert_eq!(tag(MATRIX | I32, &matrix, &place).ints().unwrap(), [7, 8]);
        let error = tag(I16, &[0; 4], &place).int().unwrap_err();
        assert_eq!(error.to_string(), "a.fif, byte 8: tag 206 holds 4 bytes of type 2, not a whole number");
        assert!(tag(I32, &(-1i32).to_be_bytes(), &place).count().is_err());
        for size in [i32::MAX, i32::MIN, -1, 3] {
            assert!(tag(MATRIX | I32, &size.to_be_bytes(), &place).ints().is_err(), "{size}");
        }
        assert!(tag(MATRIX | I32, &[], &place).ints().is_err());
    }
}
