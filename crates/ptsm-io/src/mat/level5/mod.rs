//! Level 5: a header of 128 bytes, then one element per variable, packed or not.

mod element;
mod head;
mod matrix;
mod stream;
mod write;

use std::ops::Range;

use self::element::{MATRIX, PACKED, Tag};
use self::head::Head;
use self::matrix::Reader;
use self::stream::Stream;
use super::outline::Outline;
use super::value::Value;
use super::{FieldDetail, MOST_PER_BYTE};
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};

pub(crate) use self::element::Storage;
pub(crate) use self::stream::Order;
pub(super) use self::write::ElementMaker;

/// Bytes in front of the first variable.
pub(super) const HEADER: usize = 128;

/// A variable, found and not read.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    /// The bytes behind its tag.
    bytes: Range<usize>,
    packed: bool,
}

/// Finds all variables. Of packed ones only the first bytes are inflated.
pub(super) fn list(bytes: &[u8], order: Order, place: &Place) -> Result<Vec<Variable>> {
    let mut found: Vec<Variable> = vec![];
    let mut at = HEADER;
    while at < bytes.len() {
        let mut stream = Stream::plain(&bytes[at..], at, order, place);
        let tag = Tag::read(&mut stream, (bytes.len() - at) as u64)?;
        if stream.at() != 8 {
            return Err(stream.error("a variable of less than eight bytes").with_hint(DAMAGED));
        }
        let data = at + 8..at + 8 + tag.bytes as usize;
        at = match tag.kind {
            PACKED => data.end,
            MATRIX => data.end.next_multiple_of(8).min(bytes.len()).max(data.end),
            kind => {
                let message = format!("a variable is expected here, not an element of type {kind}");
                return Err(Error::format(&place.at(at as u64), message).with_hint(DAMAGED));
            }
        };
        let mut variable = Variable { name: String::new(), bytes: data, packed: tag.kind == PACKED };
        let (mut stream, end) = variable.stream(bytes, order, place)?;
        // A variable without bytes has no name either.
        if end > stream.at() {
            variable.name = Head::read(&mut stream, end)?.name;
        }
        // What MATLAB keeps for objects has no name.
        if !variable.name.is_empty() {
            found.push(variable);
        }
    }
    Ok(found)
}

impl Variable {
    /// Reads what is wanted of it.
    pub(super) fn read(
        &self,
        bytes: &[u8],
        order: Order,
        place: &Place,
        want: &dyn Fn(&[&str]) -> FieldDetail,
    ) -> Result<(Value, Vec<Outline>)> {
        let place = Place { member: Some(self.name.clone()), ..place.clone() };
        let (stream, end) = self.stream(bytes, order, &place)?;
        let mut reader = Reader::new(stream, want);
        let value = reader.array(end, &[], want(&[]), 0)?;
        reader.stream.finish()?;
        Ok((value, reader.outlines))
    }

    /// The bytes of the array, and where it ends among them.
    fn stream<'a>(&self, bytes: &'a [u8], order: Order, place: &Place) -> Result<(Stream<'a>, u64)> {
        let own = &bytes[self.bytes.clone()];
        if !self.packed {
            return Ok((Stream::plain(own, self.bytes.start, order, place), own.len() as u64));
        }
        let mut stream = Stream::packed(own, self.bytes.start, order, place);
        let most = (own.len() as u64).saturating_mul(MOST_PER_BYTE);
        let tag = Tag::read(&mut stream, most)?;
        if tag.kind != MATRIX {
            let message = format!("a packed variable holds an element of type {}", tag.kind);
            return Err(stream.error(message).with_hint(DAMAGED));
        }
        let end = stream.at() + tag.bytes;
        Ok((stream, end))
    }
}
