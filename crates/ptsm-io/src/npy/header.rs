//! The head of an NPY file: `\x93NUMPY`, a version, and a Python dict such as
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (100, 62, 1000), }`.

use std::io::{self, Read};

use crate::error::{Error, Place, Result};

/// What every NPY file begins with.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longer heads belong to structured arrays, which are not read; NumPy itself stops at 10 000.
const LONGEST: u64 = 1 << 16;

/// What the head says of the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: ElementType,
    /// Whether the most significant byte comes first.
    pub(super) big_endian: bool,
    /// Whether the first index runs fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
    /// Length of the head itself.
    pub(super) bytes: u64,
}

/// The type of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementType {
    Bool,
    /// Bytes per value: 1, 2, 4, 8.
    Signed(usize),
    /// Bytes per value: 1, 2, 4, 8.
    Unsigned(usize),
    /// Bytes per value: 2, 4, 8.
    Float(usize),
    /// Code points of four bytes each.
    CodePoints(usize),
    /// Bytes.
    Bytes(usize),
}

impl ElementType {
    /// Bytes per value, at least one.
    pub(super) fn size(self) -> usize {
        match self {
            ElementType::Bool => 1,
            ElementType::Signed(n)
            | ElementType::Unsigned(n)
            | ElementType::Float(n)
            | ElementType::Bytes(n) => n,
            ElementType::CodePoints(n) => 4 * n,
        }
    }
}

impl Header {
    /// Reads a head and leaves the reader at the first value.
    pub(super) fn read(reader: &mut impl Read, place: &Place) -> Result<Header> {
        let short = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::format(place, "ends inside the head of an NPY array")
                .with_hint("the file is incomplete; copy or save it again"),
            _ => Error::system_at(place, "read", error),
        };
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(short)?;
        if start[..6] != *MAGIC {
            return Err(Error::format(place, "does not begin like an NPY array")
                .with_hint("write it with `numpy.save` or `numpy.savez`"));
        }
        let (length, before) = match start[6] {
            1 => {
                let mut length = [0; 2];
                reader.read_exact(&mut length).map_err(short)?;
                (u64::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                reader.read_exact(&mut length).map_err(short)?;
                (u64::from(u32::from_le_bytes(length)), 12)
            }
            version => {
                return Err(Error::format(
                    place,
                    format!("is NPY version {version}; versions 1 to 3 are known"),
                ));
            }
        };
        if length > LONGEST {
            return Err(Error::format(
                place,
                format!("claims a head of {length} bytes; at most {LONGEST} are read"),
            ));
        }
        let mut text = vec![0; length as usize];
        reader.read_exact(&mut text).map_err(short)?;
        let text = String::from_utf8(text).map_err(|_| Error::format(place, "has a head that is no text"))?;
        let header = parse(&text).map_err(|fault| {
            let error = Error::format(place, fault.message);
            match fault.hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })?;
        Ok(Header { bytes: before + length, ..header })
    }
}

/// What is wrong with a head.
struct Fault {
    message: String,
    hint: Option<&'static str>,
}

fn fault<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { message: message.into(), hint: None })
}

/// Reads the dict. Only this shape of literal is understood; nothing is evaluated.
fn parse(text: &str) -> Result<Header, Fault> {
    let mut rest = Cursor { rest: text };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    rest.expect("{")?;
    while !rest.accept("}") {
        let key = rest.string()?;
        rest.expect(":")?;
        match key {
            "descr" if rest.peek("[") => {
                return Err(Fault {
                    message: "is a structured array (several fields per value)".into(),
                    hint: Some("save each field as an array of its own"),
                });
            }
            "descr" => descr = Some(rest.string()?),
            "fortran_order" => fortran = Some(rest.boolean()?),
            "shape" => shape = Some(rest.tuple()?),
            other => return fault(format!("has an unknown entry `{other}` in its head")),
        }
        if !rest.accept(",") {
            rest.expect("}")?;
            break;
        }
    }
    match (descr, fortran, shape) {
        (Some(descr), Some(fortran), Some(shape)) => {
            let (kind, big_endian) = kind(descr)?;
            Ok(Header { kind, big_endian, fortran, shape, bytes: 0 })
        }
        _ => fault("has a head without `descr`, `fortran_order` or `shape`"),
    }
}

/// Type and byte order from text such as `<f4`.
fn kind(descr: &str) -> Result<(ElementType, bool), Fault> {
    let unknown = || Fault {
        message: format!("holds values of type `{descr}`, which cannot be read"),
        hint: Some("save it as integers, floats, booleans or text"),
    };
    let mut letters = descr.chars();
    let (order, letter) = (letters.next(), letters.next());
    let big_endian = match order {
        Some('<' | '|') => false,
        Some('=') => cfg!(target_endian = "big"),
        Some('>') => true,
        _ => return Err(unknown()),
    };
    if letter == Some('O') {
        return Err(Fault {
            message: "holds Python objects".into(),
            hint: Some(
                "data that need `allow_pickle` cannot be read; save plain arrays (all trials of one length, `np.array(names, dtype=str)`)",
            ),
        });
    }
    let size: usize = letters.as_str().parse().map_err(|_| unknown())?;
    let kind = match (letter, size) {
        (Some('b'), 1) => ElementType::Bool,
        (Some('i'), 1 | 2 | 4 | 8) => ElementType::Signed(size),
        (Some('u'), 1 | 2 | 4 | 8) => ElementType::Unsigned(size),
        (Some('f'), 2 | 4 | 8) => ElementType::Float(size),
        // The bound keeps `4 * n` from overflowing; a size of 0 would let a file of no bytes claim any number of values.
        (Some('U'), 1..=0x0fff_ffff) => ElementType::CodePoints(size),
        (Some('S'), 1..=0x0fff_ffff) => ElementType::Bytes(size),
        _ => return Err(unknown()),
    };
    Ok((kind, big_endian))
}

/// What is left of the dict.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn peek(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.starts_with(token)
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.peek(token);
        if found {
            self.rest = &self.rest[token.len()..];
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Fault> {
        if self.accept(token) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(20).collect();
        fault(format!("has a damaged head: `{token}` expected before `{}`", found.escape_debug()))
    }

    fn string(&mut self) -> Result<&'a str, Fault> {
        let quote = if self.accept("'") {
            '\''
        } else {
            self.expect("\"")?;
            '"'
        };
        match self.rest.split_once(quote) {
            Some((text, rest)) => {
                self.rest = rest;
                Ok(text)
            }
            None => fault("has a damaged head: a text without an end"),
        }
    }

    fn boolean(&mut self) -> Result<bool, Fault> {
        if self.accept("True") {
            return Ok(true);
        }
        self.expect("False").map(|()| false)
    }

    fn tuple(&mut self) -> Result<Vec<usize>, Fault> {
        let mut sizes = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            self.rest = self.rest.trim_start();
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(digits);
            match number.parse() {
                Ok(size) => sizes.push(size),
                Err(_) => return fault("has a damaged head: a size in `shape` is no number"),
            }
            self.rest = rest;
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(sizes)
    }
}
