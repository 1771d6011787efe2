//! Arrays of every class: a head, then what the class says.

use super::element::{MATRIX, Storage, Tag, UTF8, UTF16, UTF32, name};
use super::head::{CELL, CHAR, FUNCTION, Head, OBJECT, OPAQUE, SPARSE, STRUCT};
use super::stream::{Order, Stream};
use crate::cursor::DAMAGED;
use crate::error::Result;
use crate::mat::outline::{NumberLocation, Outline};
use crate::mat::value::{Numbers, Value};
use crate::mat::{DEEPEST, FieldDetail, MOST_VALUES};
use crate::mat::{sparse, text};

/// Reads one variable in one pass.
pub(super) struct Reader<'a, 'w> {
    pub(super) stream: Stream<'a>,
    pub(super) want: &'w dyn Fn(&[&str]) -> FieldDetail,
    pub(super) outlines: Vec<Outline>,
    /// How many values were made.
    made: usize,
}

impl<'a, 'w> Reader<'a, 'w> {
    pub(super) fn new(stream: Stream<'a>, want: &'w dyn Fn(&[&str]) -> FieldDetail) -> Reader<'a, 'w> {
        Reader { stream, want, outlines: vec![], made: 0 }
    }

    /// Reads an array that ends in front of byte `end`.
    pub(super) fn array(
        &mut self,
        end: u64,
        path: &[&str],
        want: FieldDetail,
        depth: usize,
    ) -> Result<Value> {
        self.count(1)?;
        // Empty arrays inside of others may have no bytes at all.
        if self.stream.at() == end {
            return Ok(Value::matrix(vec![0, 0], vec![]));
        }
        if depth > DEEPEST {
            let message = format!("values inside of values, more than {DEEPEST} deep");
            return Err(self.stream.error(message).with_hint(DAMAGED));
        }
        let head = Head::read(&mut self.stream, end)?;
        let value = match head.class {
            CELL => self.cell(head, end, path, want, depth)?,
            STRUCT | OBJECT => self.structs(head, end, path, depth)?,
            CHAR => self.text(&head, end)?,
            SPARSE => self.sparse(&head, end)?,
            6..=15 if want == FieldDetail::Sizes => {
                self.numbers_tag(&head, end)?;
                Value::Sizes(head.dims)
            }
            6..=15 if want == FieldDetail::Outline => self.outline(head, end)?,
            6..=15 => self.numbers(head, end)?,
            FUNCTION => Value::Opaque("function".into()),
            OPAQUE => Value::Opaque(self.class_of_object(end)),
            class => {
                return Err(self
                    .stream
                    .error(format!("array class {class} is not known"))
                    .with_hint(DAMAGED));
            }
        };
        let left = end.saturating_sub(self.stream.at());
        self.stream.skip(left)?;
        Ok(value)
    }

    /// Numbers in a cell that is wanted in outline are wanted in outline.
    fn cell(
        &mut self,
        head: Head,
        end: u64,
        path: &[&str],
        want: FieldDetail,
        depth: usize,
    ) -> Result<Value> {
        let count = self.size(&head.dims, 1, end)?;
        let mut values = vec![];
        for _ in 0..count {
            values.push(self.inner(end, path, want, depth)?);
        }
        Ok(Value::Cell { dims: head.dims, values })
    }

    fn structs(&mut self, head: Head, end: u64, path: &[&str], depth: usize) -> Result<Value> {
        if head.class == OBJECT {
            // The name of its class.
            Tag::read(&mut self.stream, end)?.skip(&mut self.stream)?;
        }
        let fields = self.field_names(end)?;
        let count = self.size(&head.dims, fields.len(), end)?;
        let mut path = path.to_vec();
        let details: Vec<FieldDetail> = fields
            .iter()
            .map(|field| {
                path.push(field);
                let want = (self.want)(&path);
                path.pop();
                want
            })
            .collect();
        let mut values = vec![];
        for _ in 0..count {
            for (field, &want) in fields.iter().zip(&details) {
                path.push(field);
                values.push(self.inner(end, &path, want, depth)?);
                path.pop();
            }
        }
        drop(path);
        Ok(Value::Struct { dims: head.dims, fields, values })
    }

    fn field_names(&mut self, end: u64) -> Result<Vec<String>> {
        let length =
            Tag::read(&mut self.stream, end)?.words(&mut self.stream, "the length of field names", 1)?;
        let tag = Tag::read(&mut self.stream, end)?;
        let names = tag.small(&mut self.stream, "names of fields", 1 << 20)?;
        if names.is_empty() {
            return Ok(vec![]);
        }
        match length[..] {
            [length] if length > 0 && names.len().is_multiple_of(length as usize) => {
                self.count(names.len() / length as usize)?;
                Ok(names.chunks(length as usize).map(name).collect())
            }
            _ => {
                let message = format!("{} bytes of field names are not {length:?} each", names.len());
                Err(self.stream.error(message).with_hint(DAMAGED))
            }
        }
    }

    /// An array inside of another.
    fn inner(&mut self, end: u64, path: &[&str], want: FieldDetail, depth: usize) -> Result<Value> {
        let tag = Tag::read(&mut self.stream, end)?;
        if want == FieldDetail::Nothing {
            self.count(1)?;
            tag.skip(&mut self.stream)?;
            return Ok(Value::LeftOut);
        }
        if tag.kind != MATRIX {
            let message = format!("an array is expected here, not an element of type {}", tag.kind);
            return Err(self.stream.error(message).with_hint(DAMAGED));
        }
        let inner_end = self.stream.at() + tag.bytes;
        let value = self.array(inner_end, path, want, depth + 1)?;
        self.stream.skip(tag.padding)?;
        Ok(value)
    }

    fn numbers(&mut self, head: Head, end: u64) -> Result<Value> {
        let real = self.part(&head, end)?;
        let imaginary = if head.complex { Some(self.part(&head, end)?) } else { None };
        Ok(Value::Array { dims: head.dims, real, imaginary, logical: head.logical })
    }

    /// The real or the imaginary part.
    fn part(&mut self, head: &Head, end: u64) -> Result<Numbers> {
        let tag = self.numbers_tag(head, end)?;
        tag.numbers(&mut self.stream)
    }

    /// The tag of as many numbers as the sizes say.
    fn numbers_tag(&mut self, head: &Head, end: u64) -> Result<Tag> {
        let tag = Tag::read(&mut self.stream, end)?;
        let count = tag.bytes / tag.storage(&self.stream)?.size() as u64;
        if product(&head.dims) != Some(count) {
            let message = format!("an array of sizes {:?} holds {count} numbers", head.dims);
            return Err(self.stream.error(message).with_hint(DAMAGED));
        }
        Ok(tag)
    }

    /// Where numbers are. Packed ones are kept: to come by them again, all in front of them would be inflated again.
    fn outline(&mut self, head: Head, end: u64) -> Result<Value> {
        if head.complex {
            let message = "complex numbers where real ones are expected";
            return Err(self.stream.error(message).with_hint("save the real part"));
        }
        let tag = self.numbers_tag(&head, end)?;
        let (storage, order) = (tag.storage(&self.stream)?, self.stream.order());
        let place = match self.stream.in_file() {
            Some(at) => NumberLocation::InFile { at, storage, order },
            None => NumberLocation::Inflated { bytes: tag.raw(&mut self.stream)?, storage, order },
        };
        self.outlines.push(Outline { dims: head.dims, place });
        Ok(Value::LeftOut)
    }

    fn text(&mut self, head: &Head, end: u64) -> Result<Value> {
        let rows = product(&head.dims).unwrap_or(u64::MAX) / (head.dims[1] as u64).max(1);
        self.count(usize::try_from(rows).unwrap_or(usize::MAX))?;
        let tag = Tag::read(&mut self.stream, end)?;
        let rows = match (tag.kind, Storage::of(tag.kind)) {
            (UTF8, _) | (_, Some(Storage::I8 | Storage::U8)) => {
                let bytes = tag.raw(&mut self.stream)?;
                match String::from_utf8(bytes) {
                    Ok(text) => text::rows_of_text(&text, &head.dims),
                    // Not UTF-8, whatever it says: Latin-1, one byte each.
                    Err(error) => {
                        let chars: Vec<char> =
                            error.as_bytes().iter().map(|&byte| char::from(byte)).collect();
                        text::rows_of_chars(&chars, &head.dims)
                    }
                }
            }
            (UTF16, _) | (_, Some(Storage::U16 | Storage::I16)) => {
                let make = match self.stream.order() {
                    Order::Little => u16::from_le_bytes,
                    Order::Big => u16::from_be_bytes,
                };
                let bytes = tag.raw(&mut self.stream)?;
                let units: Vec<u16> = bytes.as_chunks().0.iter().map(|&unit| make(unit)).collect();
                text::rows_of_units(&units, &head.dims)
            }
            (UTF32, _) | (_, Some(Storage::U32 | Storage::I32)) => {
                let make = match self.stream.order() {
                    Order::Little => u32::from_le_bytes,
                    Order::Big => u32::from_be_bytes,
                };
                let bytes = tag.raw(&mut self.stream)?;
                let chars = bytes.as_chunks().0.iter();
                let chars: Vec<char> =
                    chars.map(|&c| char::from_u32(make(c)).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
                text::rows_of_chars(&chars, &head.dims)
                    .or_else(|| text::rows_of_text(&chars.iter().collect::<String>(), &head.dims))
            }
            _ => None,
        };
        rows.map(Value::Text).ok_or_else(|| {
            let (bytes, kind) = (tag.bytes, tag.kind);
            let message = format!("{bytes} bytes of type {kind} are no text of sizes {:?}", head.dims);
            self.stream.error(message).with_hint(DAMAGED)
        })
    }

    fn sparse(&mut self, head: &Head, end: u64) -> Result<Value> {
        if head.complex {
            return Ok(Value::Opaque("sparse matrix of complex numbers".into()));
        }
        let mut next = || Tag::read(&mut self.stream, end)?.numbers(&mut self.stream);
        let (rows, columns, values) = (next()?, next()?, next()?);
        sparse::matrix(&head.dims, &rows.to_f64(), &columns.to_f64(), &values.to_f64())
            .ok_or_else(|| self.stream.error("the parts of a sparse matrix do not fit").with_hint(DAMAGED))
    }

    /// The name of an object's class, for people.
    fn class_of_object(&mut self, end: u64) -> String {
        let mut next = || Tag::read(&mut self.stream, end).and_then(|tag| tag.name(&mut self.stream));
        match (next(), next()) {
            (Ok(_system), Ok(class)) if !class.is_empty() => class,
            _ => "object".into(),
        }
    }

    /// How many arrays follow, each of which takes at least the eight bytes of a tag.
    fn size(&self, dims: &[usize], fields: usize, end: u64) -> Result<u64> {
        let left = end.saturating_sub(self.stream.at());
        match product(dims) {
            // Without fields nothing follows, whatever the sizes.
            Some(_) if fields == 0 => Ok(0),
            Some(count) if count.checked_mul(fields as u64).is_some_and(|all| all <= left / 8) => Ok(count),
            _ => {
                let message = format!("sizes {dims:?} with {fields} values each; {left} bytes are left");
                Err(self.stream.error(message).with_hint(DAMAGED))
            }
        }
    }

    /// Values take more memory than their bytes in the file, so their number is limited.
    fn count(&mut self, more: usize) -> Result<()> {
        self.made = self.made.saturating_add(more);
        if self.made > MOST_VALUES {
            let message = format!("more than {MOST_VALUES} values in one variable");
            return Err(self.stream.error(message).with_hint("save numbers as arrays, not as cells"));
        }
        Ok(())
    }
}

fn product(dims: &[usize]) -> Option<u64> {
    dims.iter().try_fold(1_u64, |n, &d| n.checked_mul(d as u64))
}
