//! The values of an NPY file.

use std::io::{self, Read};

use super::Array;
use super::data::{Data, each};
use super::header::{ElementType, Header};
use crate::error::{Error, Place, Result};

/// Text values of one array, at most: each takes some 24 bytes of memory more than its bytes in the file.
const MOST_TEXTS: usize = 1 << 24;

/// Reads an array out of `length` bytes. The caller vouches for `length`, or at least for a bound on it: memory is taken for that
/// many bytes, and only when the head asks for exactly as many.
pub(crate) fn array(reader: &mut impl Read, length: u64, place: &Place) -> Result<Array> {
    let header = Header::read(reader, place)?;
    let there = length.saturating_sub(header.bytes);
    let count = header.shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
    let needed = count.and_then(|n| n.checked_mul(header.kind.size()));
    let (Some(count), Some(needed)) = (count, needed) else {
        let message = format!("claims the shape {:?}, larger than any memory", header.shape);
        return Err(Error::format(place, message));
    };
    if needed as u64 != there {
        let shape = &header.shape;
        let message =
            format!("has the shape {shape:?} and needs {needed} bytes of values, {there} are there");
        return Err(Error::format(place, message).with_hint("the file is damaged; copy or save it again"));
    }
    let data = values(reader, count, &header, place)?;
    // Reaching the end makes an archive compare its check sum.
    match reader.read(&mut [0]) {
        Ok(0) => {}
        Ok(_) => return Err(damaged(place, "more bytes than its length says")),
        Err(error) => return Err(failed(place, error)),
    }
    let data =
        if header.fortran { each!(data, values => Data::from(c_order(values, &header.shape))) } else { data };
    Array::new(header.shape, data)
}

/// The size of each dimension, as the head says.
pub(crate) fn shape(reader: &mut impl Read, place: &Place) -> Result<Vec<usize>> {
    Ok(Header::read(reader, place)?.shape)
}

fn values(reader: &mut impl Read, count: usize, header: &Header, place: &Place) -> Result<Data> {
    macro_rules! numbers {
        ($type:ty) => {{
            let make = if header.big_endian { <$type>::from_be_bytes } else { <$type>::from_le_bytes };
            read_numbers(reader, count, make).map(Data::from)
        }};
    }
    let data = match header.kind {
        ElementType::Bool => read_numbers(reader, count, |[byte]: [u8; 1]| byte != 0).map(Data::from),
        ElementType::Signed(1) => numbers!(i8),
        ElementType::Signed(2) => numbers!(i16),
        ElementType::Signed(4) => numbers!(i32),
        ElementType::Signed(_) => numbers!(i64),
        ElementType::Unsigned(1) => numbers!(u8),
        ElementType::Unsigned(2) => numbers!(u16),
        ElementType::Unsigned(4) => numbers!(u32),
        ElementType::Unsigned(_) => numbers!(u64),
        ElementType::Float(2) => {
            let make = if header.big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
            read_numbers(reader, count, |bytes| half(make(bytes))).map(Data::from)
        }
        ElementType::Float(4) => numbers!(f32),
        ElementType::Float(_) => numbers!(f64),
        ElementType::CodePoints(_) | ElementType::Bytes(_) => return texts(reader, count, header, place),
    };
    data.map_err(|error| failed(place, error))
}

/// Reads in pieces, so that bytes and values are not both in memory.
fn read_numbers<const N: usize, T>(
    reader: &mut impl Read,
    count: usize,
    make: impl Fn([u8; N]) -> T,
) -> io::Result<Vec<T>> {
    const PIECE: usize = 8192;
    let mut values = Vec::new();
    values.try_reserve_exact(count)?;
    let mut bytes = vec![[0; N]; count.min(PIECE)];
    while values.len() < count {
        let piece = &mut bytes[..PIECE.min(count - values.len())];
        reader.read_exact(piece.as_flattened_mut())?;
        values.extend(piece.iter().map(|&bytes| make(bytes)));
    }
    Ok(values)
}

fn texts(reader: &mut impl Read, count: usize, header: &Header, place: &Place) -> Result<Data> {
    if count > MOST_TEXTS {
        return Err(Error::format(place, format!("holds {count} texts; at most {MOST_TEXTS} are read"))
            .with_hint("save numbers as numbers: `array.astype(float)`"));
    }
    // Without values the head may claim any size of one.
    let mut bytes = vec![0; if count == 0 { 0 } else { header.kind.size() }];
    let mut texts = Vec::new();
    texts.try_reserve_exact(count).map_err(|error| failed(place, error.into()))?;
    for i in 0..count {
        reader.read_exact(&mut bytes).map_err(|error| failed(place, error))?;
        let text = match header.kind {
            ElementType::CodePoints(_) => {
                let make = if header.big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&point| char::from_u32(make(point)))
                    .collect::<Option<String>>()
            }
            _ => std::str::from_utf8(&bytes).ok().map(str::to_string),
        };
        let Some(mut text) = text else {
            return Err(Error::format(place, format!("value {i} is not text"))
                .with_hint("save it as Unicode text: `array.astype(str)`"));
        };
        // NumPy fills up with zeros.
        text.truncate(text.trim_end_matches('\0').len());
        texts.push(text);
    }
    Ok(Data::Text(texts))
}

/// Half precision, exactly.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1024.0 + fraction) * 2_f32.powi(exponent - 25),
    }
}

/// Values whose first index runs fastest, put so that the last one does.
fn c_order<T: Clone>(values: Vec<T>, shape: &[usize]) -> Vec<T> {
    if shape.len() < 2 || values.is_empty() {
        return values;
    }
    let mut index = vec![0; shape.len()];
    let strides: Vec<usize> = shape
        .iter()
        .scan(1, |stride, &size| {
            let own = *stride;
            *stride *= size;
            Some(own)
        })
        .collect();
    let mut from = 0;
    let mut ordered = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        ordered.push(values[from].clone());
        // The next index in C order, and where its value is.
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            from += strides[d];
            if index[d] < shape[d] {
                break;
            }
            from -= strides[d] * shape[d];
            index[d] = 0;
        }
    }
    ordered
}

/// What a failure while reading values means.
fn failed(place: &Place, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(place, "ends before its last value"),
        // What a decompressor and a check sum report.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
            damaged(place, &error.to_string())
        }
        _ => Error::system_at(place, "read", error),
    }
}

fn damaged(place: &Place, what: &str) -> Error {
    Error::format(place, format!("the values are damaged: {what}"))
        .with_hint("the file is damaged; copy or save it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_exact() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2_f32.powi(-24)),
            (0x3555, 0.33325195),
            (0x8000, -0.0),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:x}");
        }
        assert!(half(0x7e00).is_nan() && half(0xfc00) == f32::NEG_INFINITY);
    }

    /// One byte each in the file, 25 in memory.
    #[test]
    fn texts_without_number_are_refused() {
        let place = Place::from(std::path::Path::new("texts.npy"));
        let count = MOST_TEXTS + 1;
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let head = format!("{{'descr': '|S1', 'fortran_order': False, 'shape': ({count},), }}");
        bytes.extend((head.len() as u16).to_le_bytes());
        bytes.extend(head.as_bytes());
        let length = (bytes.len() + count) as u64;
        let error = array(&mut bytes.chain(io::repeat(b'a')), length, &place).unwrap_err();
        assert!(error.to_string().contains("16777217 texts; at most 16777216"), "{error}");
    }

    #[test]
    fn fortran_order_is_turned() {
        assert_eq!(c_order(vec![0, 3, 1, 4, 2, 5], &[2, 3]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(c_order(vec![7], &[1, 1, 1]), [7]);
        assert_eq!(c_order(Vec::<u8>::new(), &[0, 3]), Vec::<u8>::new());
    }
}
