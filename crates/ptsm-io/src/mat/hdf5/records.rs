//! Records: values of several numbers each, such as complex ones.

use hdf5_pure::{DType, Datatype, DatatypeByteOrder};

use crate::mat::value::Numbers;

/// One number of each record; none where there is no such number.
pub(super) fn part(kind: &Datatype, name: &str, stored: &DType, raw: &[u8]) -> Option<Numbers> {
    let Datatype::Compound { size, members } = kind else { return None };
    let member = members.iter().find(|member| member.name == name)?;
    let big = match &member.datatype {
        Datatype::FixedPoint { byte_order, .. } | Datatype::FloatingPoint { byte_order, .. } => {
            *byte_order == DatatypeByteOrder::BigEndian
        }
        _ => return None,
    };
    let (size, at) = (usize::try_from(*size).ok()?, usize::try_from(member.byte_offset).ok()?);
    macro_rules! numbers {
        ($type:ty) => {{
            let make = if big { <$type>::from_be_bytes } else { <$type>::from_le_bytes };
            every(raw, size, at, make)?.into()
        }};
    }
    Some(match stored {
        DType::I8 => numbers!(i8),
        DType::U8 => numbers!(u8),
        DType::I16 => numbers!(i16),
        DType::U16 => numbers!(u16),
        DType::I32 => numbers!(i32),
        DType::U32 => numbers!(u32),
        DType::I64 => numbers!(i64),
        DType::U64 => numbers!(u64),
        DType::F32 => numbers!(f32),
        DType::F64 => numbers!(f64),
        _ => return None,
    })
}

/// The number at one place of each record.
fn every<const N: usize, T>(raw: &[u8], size: usize, at: usize, make: fn([u8; N]) -> T) -> Option<Vec<T>> {
    if size == 0 || at.checked_add(N)? > size {
        return None;
    }
    raw.chunks_exact(size).map(|record| Some(make(*record[at..].first_chunk()?))).collect()
}
