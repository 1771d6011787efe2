//! What a variable holds.

use std::io::{self, Write};

use super::level5::Storage;

/// Numbers that are written at once.
const PIECE: usize = 1 << 13;

/// Numbers as they are stored: often smaller than the class MATLAB shows.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // a name each
pub enum Numbers {
    I8(Vec<i8>),
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// A value of MATLAB. Arrays are column-major: element (i, j, k) lies at i + d0 (j + d1 k).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Numbers.
    Array {
        /// At least two.
        dims: Vec<usize>,
        /// The real parts.
        real: Numbers,
        /// The imaginary parts of complex numbers.
        imaginary: Option<Numbers>,
        /// Whether they are truth values.
        logical: bool,
    },
    /// Text, one string per row.
    Text(Vec<String>),
    /// Values of any kind.
    Cell {
        /// At least two.
        dims: Vec<usize>,
        /// Column-major.
        values: Vec<Value>,
    },
    /// One struct or an array of them.
    Struct {
        /// At least two; all 1 for a single struct.
        dims: Vec<usize>,
        /// Names of the fields.
        fields: Vec<String>,
        /// Element by element, each with all fields.
        values: Vec<Value>,
    },
    /// A sparse matrix.
    Sparse {
        /// Rows and columns.
        dims: [usize; 2],
        /// Row, column and value of each entry, column by column.
        entries: Vec<(usize, usize, f64)>,
    },
    /// Numbers of which only the sizes were asked for: at least two.
    Sizes(Vec<usize>),
    /// A field that was not asked for.
    LeftOut,
    /// Something without meaning here: a function, an object.
    Opaque(String),
}

impl Value {
    /// Sizes; of text the number of rows and the longest of them.
    pub fn dims(&self) -> Vec<usize> {
        match self {
            Value::Array { dims, .. } | Value::Cell { dims, .. } | Value::Struct { dims, .. } => dims.clone(),
            Value::Sparse { dims, .. } => dims.to_vec(),
            Value::Sizes(dims) => dims.clone(),
            Value::Text(rows) => {
                vec![rows.len(), rows.iter().map(|row| row.chars().count()).max().unwrap_or(0)]
            }
            Value::LeftOut | Value::Opaque(_) => vec![0, 0],
        }
    }

    /// A field of a single struct.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.element(0, name)
    }

    /// A field of one element of a struct array.
    pub fn element(&self, index: usize, name: &str) -> Option<&Value> {
        let Value::Struct { fields, values, .. } = self else { return None };
        let at = fields.iter().position(|field| field == name)?;
        values.get(index.checked_mul(fields.len())?.checked_add(at)?)
    }

    /// How many elements there are; of structs without fields none.
    pub fn count(&self) -> usize {
        match self {
            Value::Struct { fields, values, .. } => values.len().checked_div(fields.len()).unwrap_or(0),
            Value::Cell { values, .. } => values.len(),
            Value::Array { real, .. } => real.len(),
            other => other.dims().iter().fold(1_usize, |n, &d| n.saturating_mul(d)),
        }
    }

    /// The values of a cell array.
    pub fn cells(&self) -> Option<&[Value]> {
        match self {
            Value::Cell { values, .. } => Some(values),
            _ => None,
        }
    }

    /// A single string. Empty arrays are empty text, as MATLAB writes them.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(rows) if rows.len() == 1 => Some(&rows[0]),
            Value::Text(rows) if rows.is_empty() => Some(""),
            Value::Array { dims, .. } if dims.contains(&0) => Some(""),
            _ => None,
        }
    }

    /// A single number.
    pub fn number(&self) -> Option<f64> {
        match self.vector()?[..] {
            [number] => Some(number),
            _ => None,
        }
    }

    /// A single string or number as text, without blanks around it; also inside of a single cell.
    pub fn label(&self) -> Option<String> {
        match self {
            Value::Text(rows) if rows.len() == 1 => Some(rows[0].trim().to_string()),
            Value::Cell { values, .. } if values.len() == 1 && !matches!(values[0], Value::Cell { .. }) => {
                values[0].label()
            }
            _ => self.number().filter(|number| !number.is_nan()).map(|number| number.to_string()),
        }
    }

    /// All real parts, column-major, as one vector whatever the sizes.
    pub fn vector(&self) -> Option<Vec<f64>> {
        let Value::Array { real, imaginary: None, .. } = self else { return None };
        Some(real.to_f64())
    }

    /// A row or column of numbers.
    pub fn row(numbers: Vec<f64>) -> Value {
        Value::matrix(vec![1, numbers.len()], numbers)
    }

    /// Doubles.
    pub fn matrix(dims: Vec<usize>, numbers: Vec<f64>) -> Value {
        Value::Array { dims, real: Numbers::F64(numbers), imaginary: None, logical: false }
    }

    /// A single struct.
    pub fn record(fields: Vec<(&str, Value)>) -> Value {
        let (names, values): (Vec<_>, Vec<_>) =
            fields.into_iter().map(|(name, value)| (name.to_string(), value)).unzip();
        Value::Struct { dims: vec![1, 1], fields: names, values }
    }
}

/// Does the same for every kind of number.
macro_rules! each {
    ($numbers:expr, $all:ident => $do:expr) => {
        match $numbers {
            Numbers::I8($all) => $do,
            Numbers::U8($all) => $do,
            Numbers::I16($all) => $do,
            Numbers::U16($all) => $do,
            Numbers::I32($all) => $do,
            Numbers::U32($all) => $do,
            Numbers::I64($all) => $do,
            Numbers::U64($all) => $do,
            Numbers::F32($all) => $do,
            Numbers::F64($all) => $do,
        }
    };
}

impl Numbers {
    /// How many.
    pub fn len(&self) -> usize {
        each!(self, all => all.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How they are stored.
    pub(crate) fn storage(&self) -> Storage {
        match self {
            Numbers::I8(_) => Storage::I8,
            Numbers::U8(_) => Storage::U8,
            Numbers::I16(_) => Storage::I16,
            Numbers::U16(_) => Storage::U16,
            Numbers::I32(_) => Storage::I32,
            Numbers::U32(_) => Storage::U32,
            Numbers::I64(_) => Storage::I64,
            Numbers::U64(_) => Storage::U64,
            Numbers::F32(_) => Storage::F32,
            Numbers::F64(_) => Storage::F64,
        }
    }

    /// Writes them, least significant byte first.
    pub(super) fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(8 * PIECE);
        each!(self, all => all.chunks(PIECE).try_for_each(|piece| {
            bytes.clear();
            bytes.extend(piece.iter().flat_map(|x| x.to_le_bytes()));
            writer.write_all(&bytes)
        }))
    }

    /// As doubles.
    #[allow(clippy::unnecessary_cast)] // of one kind they are
    pub fn to_f64(&self) -> Vec<f64> {
        each!(self, all => all.iter().map(|&x| x as f64).collect())
    }

    /// As singles.
    pub fn to_f32(&self) -> Vec<f32> {
        self.part_f32(0..self.len())
    }

    /// As singles, without a copy where they are.
    pub fn into_f32(self) -> Vec<f32> {
        match self {
            Numbers::F32(all) => all,
            other => other.to_f32(),
        }
    }

    /// Some of them as singles.
    ///
    /// # Panics
    /// Where the range is not inside.
    #[allow(clippy::unnecessary_cast)] // of one kind they are
    pub fn part_f32(&self, range: std::ops::Range<usize>) -> Vec<f32> {
        each!(self, all => all[range].iter().map(|&x| x as f32).collect())
    }
}

/// Numbers of one kind.
macro_rules! from {
    ($($kind:ident: $type:ty),*) => {$(
        impl From<Vec<$type>> for Numbers {
            fn from(all: Vec<$type>) -> Numbers {
                Numbers::$kind(all)
            }
        }
    )*};
}
from!(I8: i8, U8: u8, I16: i16, U16: u16, I32: i32, U32: u32, I64: i64, U64: u64, F32: f32, F64: f64);
