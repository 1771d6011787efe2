//! Tags: everything in a FIF file is one. Numbers are big-endian.

use crate::cursor::{Cursor, DAMAGED, latin1};
use crate::error::{Error, Place, Result};
use crate::limit::few_enough;

/// Types of values.
pub(super) const I16: u32 = 2;
pub(super) const I32: u32 = 3;
pub(super) const F32: u32 = 4;
pub(super) const F64: u32 = 5;
pub(super) const ID: u32 = 31;
/// What the types of matrices have on top of that of their values.
pub(super) const MATRIX: u32 = 0x4000_0000;

/// The first tag of every file: its identity.
const FILE_ID: i32 = 100;
/// The second: where the directory is.
const DIRECTORY_POINTER: i32 = 101;
/// The directory: kind, type, size and place of every tag.
const DIRECTORY: i32 = 102;
const DIRECTORY_ENTRIES: u32 = 32;

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

    fn refuse<T>(&self, expected: &str) -> Result<T> {
        let (kind, of, size) = (self.kind, self.of, self.data.len());
        Err(self
            .error(format!("tag {kind} holds {size} bytes of type {of}, not {expected}"))
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

/// All tags of a file, in the order the file gives them.
#[derive(Debug)]
pub(super) struct Tags<'a> {
    bytes: &'a [u8],
    place: &'a Place,
    /// Where each tag begins. No byte belongs to two of them.
    order: std::vec::IntoIter<usize>,
    /// Whether the file ends with the tag that says so, or has a directory, which is written last.
    pub(super) closed: bool,
}

impl<'a> Tags<'a> {
    /// Checks that the file begins as it should and finds its tags: by the directory where there is one that fits the file, as MNE
    /// does, otherwise from tag to tag. Programs that change a file put new tags at its end and lead there and back.
    pub(super) fn of(bytes: &'a [u8], place: &'a Place) -> Result<Tags<'a>> {
        let (first, _) = read(bytes, 0, place)?;
        if (first.kind, first.of, first.data.len()) != (FILE_ID, ID, 20) {
            return Err(
                Error::format(place, "does not begin as a FIF file does").with_hint("is it another format?")
            );
        }
        let (order, closed) = match directory(bytes, place) {
            Some(order) => (order, true),
            None => chain(bytes, place)?,
        };
        Ok(Tags { bytes, place, order: order.into_iter(), closed })
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Result<Tag<'a>>;

    fn next(&mut self) -> Option<Result<Tag<'a>>> {
        let at = self.order.next()?;
        Some(read(self.bytes, at, self.place).map(|(tag, _)| tag))
    }
}

/// What a tag says about the one after it.
enum NextTag {
    At(usize),
    /// This one is the last.
    None,
}

/// A tag, and where the next one is.
fn read<'a>(bytes: &'a [u8], at: usize, place: &'a Place) -> Result<(Tag<'a>, NextTag)> {
    let mut cursor = Cursor::new(bytes, place);
    cursor.seek(at)?;
    let (kind, of) = (cursor.i32_be()?, cursor.i32_be()? as u32);
    let (size, next) = (cursor.i32_be()?, cursor.i32_be()?);
    let refuse = |message| Err(Error::format(&place.at(at as u64), message).with_hint(DAMAGED));
    let Ok(size) = usize::try_from(size) else {
        return refuse(format!("tag {kind} claims {size} bytes"));
    };
    let data = cursor.take(size)?;
    let next = match (next, usize::try_from(next)) {
        (0, _) => NextTag::At(cursor.at()),
        (-1, _) => NextTag::None,
        (_, Ok(next)) => NextTag::At(next),
        (_, Err(_)) => return refuse(format!("the tag after this one is said to be at byte {next}")),
    };
    Ok((Tag { kind, of, at, data, place }, next))
}

/// Tags one after the other, and whether the last one says that it is the last.
fn chain(bytes: &[u8], place: &Place) -> Result<(Vec<usize>, bool)> {
    let mut order = vec![];
    let mut at = 0;
    let (mut behind, mut sorted) = (0, true);
    // A file may end without saying so; whether that is well is not for here.
    let closed = loop {
        if at == bytes.len() {
            break false;
        }
        let (tag, next) = read(bytes, at, place)?;
        sorted &= at >= behind;
        behind = at + HEAD + tag.data.len();
        // There is no room for more tags than this: some have come twice.
        if order.len() == bytes.len() / HEAD {
            return Err(tag.error("the tags lead in a circle").with_hint(DAMAGED));
        }
        order.push(at);
        match next {
            NextTag::At(next) => at = next,
            NextTag::None => break true,
        }
    };
    if !sorted && let Some(at) = shared(bytes, &order, place) {
        let message = "the tags lead here twice, or into the middle of another tag";
        return Err(Error::format(&place.at(at as u64), message).with_hint(DAMAGED));
    }
    Ok((order, closed))
}

/// The tags the file's directory lists; none where there is no directory, or where what it lists is not there.
fn directory(bytes: &[u8], place: &Place) -> Option<Vec<usize>> {
    let (first, _) = read(bytes, 0, place).ok()?;
    // The pointer is the second tag.
    let (pointer, _) = read(bytes, HEAD + first.data.len(), place).ok()?;
    let at = pointer.int().ok().filter(|_| pointer.kind == DIRECTORY_POINTER)?;
    let at = usize::try_from(at).ok().filter(|&at| at > 0)?;
    let (directory, _) = read(bytes, at, place).ok()?;
    if (directory.kind, directory.of) != (DIRECTORY, DIRECTORY_ENTRIES) {
        return None;
    }
    let mut order = vec![];
    for entry in directory.data.as_chunks::<HEAD>().0 {
        let mut cursor = Cursor::new(entry, place);
        let mut number = || cursor.i32_be().ok();
        let (kind, of, size, at) = (number()?, number()? as u32, number()?, number()?);
        // The last one says that nothing follows.
        if kind == -1 {
            break;
        }
        let (tag, _) = read(bytes, usize::try_from(at).ok()?, place).ok()?;
        if (tag.kind, tag.of, Ok(tag.data.len())) != (kind, of, usize::try_from(size)) {
            return None;
        }
        order.push(tag.at);
    }
    (order.first() == Some(&0) && shared(bytes, &order, place).is_none()).then_some(order)
}

/// Where a tag begins some of whose bytes are of another tag as well. Of such tags a small file could hold any number.
fn shared(bytes: &[u8], order: &[usize], place: &Place) -> Option<usize> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let end = |at: usize| read(bytes, at, place).map_or(usize::MAX, |(tag, _)| at + HEAD + tag.data.len());
    sorted.windows(2).find(|pair| pair[1] < end(pair[0])).map(|pair| pair[1])
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
