//! An array as NPY, version 1.0, little-endian, in C order.

use std::io::{self, Write};

use super::Array;
use super::data::Data;
use super::header::MAGIC;

/// Writes an array as `numpy.save` does.
pub(crate) fn array(writer: &mut impl Write, array: &Array) -> io::Result<()> {
    let width = match &array.data {
        // NumPy has no text of length 0.
        Data::Text(texts) => texts.iter().map(|t| t.chars().count()).max().unwrap_or(0).max(1),
        _ => 0,
    };
    writer.write_all(&head(array, width)?)?;
    match &array.data {
        Data::Bool(values) => numbers(writer, values, |v| [u8::from(v)]),
        Data::I8(values) => numbers(writer, values, i8::to_le_bytes),
        Data::I16(values) => numbers(writer, values, i16::to_le_bytes),
        Data::I32(values) => numbers(writer, values, i32::to_le_bytes),
        Data::I64(values) => numbers(writer, values, i64::to_le_bytes),
        Data::U8(values) => numbers(writer, values, u8::to_le_bytes),
        Data::U16(values) => numbers(writer, values, u16::to_le_bytes),
        Data::U32(values) => numbers(writer, values, u32::to_le_bytes),
        Data::U64(values) => numbers(writer, values, u64::to_le_bytes),
        Data::F32(values) => numbers(writer, values, f32::to_le_bytes),
        Data::F64(values) => numbers(writer, values, f64::to_le_bytes),
        Data::Text(texts) => texts.iter().try_for_each(|text| {
            let points = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
            writer.write_all(points.map(u32::to_le_bytes).collect::<Vec<_>>().as_flattened())
        }),
    }
}

fn head(array: &Array, width: usize) -> io::Result<Vec<u8>> {
    let descr = match &array.data {
        Data::Bool(_) => "|b1".to_string(),
        Data::I8(_) => "|i1".to_string(),
        Data::I16(_) => "<i2".to_string(),
        Data::I32(_) => "<i4".to_string(),
        Data::I64(_) => "<i8".to_string(),
        Data::U8(_) => "|u1".to_string(),
        Data::U16(_) => "<u2".to_string(),
        Data::U32(_) => "<u4".to_string(),
        Data::U64(_) => "<u8".to_string(),
        Data::F32(_) => "<f4".to_string(),
        Data::F64(_) => "<f8".to_string(),
        Data::Text(_) => format!("<U{width}"),
    };
    // A tuple of one is written `(5,)`.
    let sizes: String = array.shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = if array.shape.len() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Values begin at a multiple of 64; the head ends in a line feed.
    let before = MAGIC.len() + 4;
    let total = (before + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', total - before - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the array has too many dimensions"))?;
    Ok([MAGIC.as_slice(), &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat())
}

/// Writes in pieces, so that values and bytes are not both in memory.
fn numbers<const N: usize, T: Copy>(
    writer: &mut impl Write,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> io::Result<()> {
    let mut buffer = Vec::new();
    values.chunks(8192).try_for_each(|piece| {
        buffer.clear();
        buffer.extend(piece.iter().map(|&value| bytes(value)));
        writer.write_all(buffer.as_flattened())
    })
}
