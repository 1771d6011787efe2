//! Level 5 files, little-endian and not packed.

use std::io::{self, Write};

use super::element::{MATRIX, Storage, UTF16};
use super::head::{CELL, CHAR, SPARSE, STRUCT};
use crate::error::{Error, Place, Result};
use crate::mat::DEEPEST;
use crate::mat::value::{Numbers, Value};

/// Names of variables and fields have fewer bytes than this.
const LONGEST_NAME: usize = 64;

/// An element that is ready to be written.
pub(in crate::mat) enum Element<'a> {
    Own { kind: u32, bytes: Vec<u8> },
    Lent(&'a Numbers),
    Matrix(Vec<Element<'a>>),
}

impl Element<'_> {
    /// Bytes behind the tag.
    fn data(&self) -> u64 {
        match self {
            Element::Own { bytes, .. } => bytes.len() as u64,
            Element::Lent(numbers) => (numbers.len() * numbers.storage().size()) as u64,
            Element::Matrix(parts) => parts.iter().map(Element::whole).sum(),
        }
    }

    /// Bytes of all, with tag and padding.
    fn whole(&self) -> u64 {
        match self.data() {
            1..=4 => 8,
            data => 8 + data.next_multiple_of(8),
        }
    }

    fn kind(&self) -> u32 {
        match self {
            Element::Own { kind, .. } => *kind,
            Element::Lent(numbers) => numbers.storage().kind(),
            Element::Matrix(_) => MATRIX,
        }
    }

    pub(in crate::mat) fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        let data = self.data();
        let (tag, padding) = match data {
            // Small elements have their data in the tag.
            1..=4 => (u64::from(self.kind()) | data << 16, 4 - data),
            _ => (u64::from(self.kind()) | data << 32, data.next_multiple_of(8) - data),
        };
        let tag = tag.to_le_bytes();
        writer.write_all(if (1..=4).contains(&data) { &tag[..4] } else { &tag })?;
        match self {
            Element::Own { bytes, .. } => writer.write_all(bytes)?,
            Element::Lent(numbers) => numbers.write(writer)?,
            Element::Matrix(parts) => parts.iter().try_for_each(|part| part.write(writer))?,
        }
        writer.write_all(&[0; 8][..padding as usize])
    }
}

/// Makes elements of values.
pub(in crate::mat) struct ElementMaker<'p> {
    /// For messages.
    pub(in crate::mat) place: &'p Place,
}

impl ElementMaker<'_> {
    /// A variable.
    pub(in crate::mat) fn variable<'a>(&self, name: &str, value: &'a Value) -> Result<Element<'a>> {
        self.name(name)?;
        let element = self.array(name, value, 0)?;
        if element.data() > u64::from(u32::MAX) {
            let message = format!("`{name}` takes {} bytes; a variable holds 4 GiB at most", element.data());
            return Err(self.error(message).with_hint("write its parts as variables of their own"));
        }
        Ok(element)
    }

    fn array<'a>(&self, name: &str, value: &'a Value, depth: usize) -> Result<Element<'a>> {
        if depth > DEEPEST {
            return Err(self.error(format!("values inside of values, more than {DEEPEST} deep")));
        }
        match value {
            Value::Array { dims, real, imaginary, logical } => {
                let parts = [Some(real), imaginary.as_ref()];
                if let Some(part) = parts.into_iter().flatten().find(|part| Some(part.len()) != product(dims))
                {
                    return Err(Error::Shape { shape: dims.clone(), values: part.len() });
                }
                let flags = u32::from(imaginary.is_some()) << 3 | u32::from(*logical) << 1;
                let mut parts = self.head(real.storage().class(), flags, dims, name, 0)?;
                parts.extend([Some(real), imaginary.as_ref()].into_iter().flatten().map(Element::Lent));
                Ok(Element::Matrix(parts))
            }
            Value::Text(rows) => self.text(name, rows),
            Value::Cell { dims, values } => {
                if Some(values.len()) != product(dims) {
                    return Err(Error::Shape { shape: dims.clone(), values: values.len() });
                }
                let mut parts = self.head(CELL, 0, dims, name, 0)?;
                for value in values {
                    parts.push(self.array("", value, depth + 1)?);
                }
                Ok(Element::Matrix(parts))
            }
            Value::Struct { dims, fields, values } => {
                let count = product(dims).and_then(|count| count.checked_mul(fields.len()));
                if Some(values.len()) != count {
                    return Err(Error::Shape { shape: dims.clone(), values: values.len() });
                }
                let mut parts = self.head(STRUCT, 0, dims, name, 0)?;
                parts.extend(self.field_names(fields)?);
                for value in values {
                    parts.push(self.array("", value, depth + 1)?);
                }
                Ok(Element::Matrix(parts))
            }
            Value::Sparse { dims, entries } => self.sparse(name, *dims, entries),
            Value::LeftOut => Err(self.error("a field that was left out cannot be written")),
            Value::Sizes(_) => Err(self.error("numbers that were not read cannot be written")),
            Value::Opaque(what) => Err(self.error(format!("a {what} cannot be written"))),
        }
    }

    /// Flags, sizes and name.
    fn head(
        &self,
        class: u8,
        flags: u32,
        dims: &[usize],
        name: &str,
        entries: usize,
    ) -> Result<Vec<Element<'static>>> {
        let sizes: Option<Vec<i32>> = dims.iter().map(|&size| i32::try_from(size).ok()).collect();
        let Some(sizes) = sizes.filter(|sizes| sizes.len() >= 2) else {
            return Err(self.error(format!("an array of sizes {dims:?} cannot be written")));
        };
        let flags = [u32::from(class) | flags << 8, u32::try_from(entries).unwrap_or(u32::MAX)];
        Ok(vec![
            Element::Own { kind: 6, bytes: flags.map(u32::to_le_bytes).concat() },
            words(&sizes),
            Element::Own { kind: 1, bytes: name.as_bytes().to_vec() },
        ])
    }

    /// Text in UTF-16, rows filled up with blanks.
    fn text(&self, name: &str, rows: &[String]) -> Result<Element<'static>> {
        let rows: Vec<Vec<u16>> = rows.iter().map(|row| row.encode_utf16().collect()).collect();
        // SciPy 1.17 takes units of the older of the two types for bytes, and fails on characters of two units in the newer.
        let units = || rows.iter().flatten();
        let newer = units().any(|&unit| unit > 127) && !units().any(|unit| (0xD800..0xE000).contains(unit));
        let kind = if newer { UTF16 } else { Storage::U16.kind() };
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let unit = |row: &Vec<u16>, i: usize| row.get(i).copied().unwrap_or(u16::from(b' ')).to_le_bytes();
        let bytes = (0..width).flat_map(|i| rows.iter().flat_map(move |row| unit(row, i))).collect();
        let mut parts = self.head(CHAR, 0, &[rows.len(), width], name, 0)?;
        parts.push(Element::Own { kind, bytes });
        Ok(Element::Matrix(parts))
    }

    /// The length of names, then names filled up with NULs.
    fn field_names(&self, fields: &[String]) -> Result<[Element<'static>; 2]> {
        fields.iter().try_for_each(|field| self.name(field))?;
        let length = if fields.iter().all(|field| field.len() < 32) { 32 } else { LONGEST_NAME };
        let names = fields.iter().flat_map(|field| field.bytes().chain(std::iter::repeat(0)).take(length));
        Ok([words(&[length as i32]), Element::Own { kind: 1, bytes: names.collect() }])
    }

    /// Rows and values of entries, and where each column begins among them.
    fn sparse(
        &self,
        name: &str,
        dims: [usize; 2],
        entries: &[(usize, usize, f64)],
    ) -> Result<Element<'static>> {
        let [rows, columns] = dims;
        let inside = |&(row, column, _): &(usize, usize, f64)| row < rows && column < columns;
        let in_order = |a: &(usize, usize, f64), b: &(usize, usize, f64)| (a.1, a.0) < (b.1, b.0);
        if !entries.iter().all(inside) || !entries.is_sorted_by(in_order) {
            let message = "entries of a sparse matrix must lie inside of it, column by column";
            return Err(self.error(message));
        }
        let mut parts = self.head(SPARSE, 0, &dims, name, entries.len().max(1))?;
        let at: Vec<i32> = entries.iter().map(|entry| entry.0 as i32).collect();
        let before = |column: usize| entries.partition_point(|entry| entry.1 < column) as i32;
        let starts: Vec<i32> = (0..=columns).map(before).collect();
        let values = entries.iter().flat_map(|entry| entry.2.to_le_bytes()).collect();
        parts.extend([words(&at), words(&starts), Element::Own { kind: 9, bytes: values }]);
        Ok(Element::Matrix(parts))
    }

    /// Whether MATLAB takes a name.
    fn name(&self, name: &str) -> Result<()> {
        let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.len() < LONGEST_NAME;
        if fits {
            return Ok(());
        }
        let hint =
            "names begin with a letter, go on with letters, digits and `_`, and have at most 63 of them";
        Err(self.error(format!("`{name}` is no name MATLAB takes")).with_hint(hint))
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::format(self.place, message)
    }
}

fn words(words: &[i32]) -> Element<'static> {
    Element::Own { kind: 5, bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect() }
}

fn product(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1_usize, |n, &d| n.checked_mul(d))
}

impl Storage {
    /// The type of an element.
    fn kind(self) -> u32 {
        match self {
            Storage::I8 => 1,
            Storage::U8 => 2,
            Storage::I16 => 3,
            Storage::U16 => 4,
            Storage::I32 => 5,
            Storage::U32 => 6,
            Storage::F32 => 7,
            Storage::F64 => 9,
            Storage::I64 => 12,
            Storage::U64 => 13,
        }
    }

    /// The class of an array.
    fn class(self) -> u8 {
        match self {
            Storage::F64 => 6,
            Storage::F32 => 7,
            Storage::I8 => 8,
            Storage::U8 => 9,
            Storage::I16 => 10,
            Storage::U16 => 11,
            Storage::I32 => 12,
            Storage::U32 => 13,
            Storage::I64 => 14,
            Storage::U64 => 15,
        }
    }
}
