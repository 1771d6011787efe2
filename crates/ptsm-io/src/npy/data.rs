//! Values of one type.

/// The values of an array. Each type of NumPy keeps its own, so that a large array takes no more room than its file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// `bool`.
    Bool(Vec<bool>),
    /// `int8`.
    I8(Vec<i8>),
    /// `int16`.
    I16(Vec<i16>),
    /// `int32`.
    I32(Vec<i32>),
    /// `int64`.
    I64(Vec<i64>),
    /// `uint8`.
    U8(Vec<u8>),
    /// `uint16`.
    U16(Vec<u16>),
    /// `uint32`.
    U32(Vec<u32>),
    /// `uint64`.
    U64(Vec<u64>),
    /// `float32`, and `float16` when it was read.
    F32(Vec<f32>),
    /// `float64`.
    F64(Vec<f64>),
    /// Text, from `U` or `S`.
    Text(Vec<String>),
}

/// The same expression on the values of whichever type.
macro_rules! each {
    ($data:expr, $values:ident => $result:expr) => {
        match $data {
            Data::Bool($values) => $result,
            Data::I8($values) => $result,
            Data::I16($values) => $result,
            Data::I32($values) => $result,
            Data::I64($values) => $result,
            Data::U8($values) => $result,
            Data::U16($values) => $result,
            Data::U32($values) => $result,
            Data::U64($values) => $result,
            Data::F32($values) => $result,
            Data::F64($values) => $result,
            Data::Text($values) => $result,
        }
    };
}
pub(super) use each;

impl Data {
    /// Number of values.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// NumPy's name of the type; `text` for strings.
    pub fn dtype(&self) -> &'static str {
        match self {
            Data::Bool(_) => "bool",
            Data::I8(_) => "int8",
            Data::I16(_) => "int16",
            Data::I32(_) => "int32",
            Data::I64(_) => "int64",
            Data::U8(_) => "uint8",
            Data::U16(_) => "uint16",
            Data::U32(_) => "uint32",
            Data::U64(_) => "uint64",
            Data::F32(_) => "float32",
            Data::F64(_) => "float64",
            Data::Text(_) => "text",
        }
    }

    /// The values as whole numbers; none for floats and text, and for `uint64` beyond 2^63.
    pub fn to_integers(&self) -> Option<Vec<i64>> {
        fn wide<T: Copy + Into<i64>>(values: &[T]) -> Option<Vec<i64>> {
            Some(values.iter().map(|&v| v.into()).collect())
        }
        match self {
            Data::Bool(v) => wide(v),
            Data::I8(v) => wide(v),
            Data::I16(v) => wide(v),
            Data::I32(v) => wide(v),
            Data::I64(v) => wide(v),
            Data::U8(v) => wide(v),
            Data::U16(v) => wide(v),
            Data::U32(v) => wide(v),
            Data::U64(v) => v.iter().map(|&v| v.try_into().ok()).collect(),
            Data::F32(_) | Data::F64(_) | Data::Text(_) => None,
        }
    }

    /// The values as numbers of double precision (64-bit integers are rounded to it); none for text.
    pub fn to_f64(&self) -> Option<Vec<f64>> {
        match self {
            Data::F32(v) => Some(v.iter().map(|&v| v.into()).collect()),
            Data::F64(v) => Some(v.clone()),
            Data::U64(v) => Some(v.iter().map(|&v| v as f64).collect()),
            Data::Text(_) => None,
            integers => Some(integers.to_integers()?.into_iter().map(|v| v as f64).collect()),
        }
    }

    /// The values as numbers of single precision, rounded to it; none for text. A number beyond its range becomes infinite.
    pub fn into_f32(self) -> Option<Vec<f32>> {
        fn narrow<T: Copy>(values: Vec<T>, make: impl Fn(T) -> f32) -> Option<Vec<f32>> {
            Some(values.into_iter().map(make).collect())
        }
        match self {
            Data::F32(v) => Some(v),
            Data::F64(v) => narrow(v, |v| v as f32),
            Data::Bool(v) => narrow(v, |v| f32::from(u8::from(v))),
            Data::I8(v) => narrow(v, f32::from),
            Data::I16(v) => narrow(v, f32::from),
            Data::I32(v) => narrow(v, |v| v as f32),
            Data::I64(v) => narrow(v, |v| v as f32),
            Data::U8(v) => narrow(v, f32::from),
            Data::U16(v) => narrow(v, f32::from),
            Data::U32(v) => narrow(v, |v| v as f32),
            Data::U64(v) => narrow(v, |v| v as f32),
            Data::Text(_) => None,
        }
    }
}

macro_rules! from {
    ($($kind:ident: $type:ty),*) => {$(
        impl From<Vec<$type>> for Data {
            fn from(values: Vec<$type>) -> Data {
                Data::$kind(values)
            }
        }
    )*};
}
from!(Bool: bool, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64, F32: f32, F64: f64, Text: String);
