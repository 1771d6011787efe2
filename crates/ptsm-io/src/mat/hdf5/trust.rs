//! What a dataset claims, held against the bytes that are there, before memory is taken for it.

use hdf5_pure::Dataset;

use super::{HINT, fault};
use crate::error::{Error, Place, Result};
use crate::mat::MOST_PER_BYTE;

/// What may always be read, however small the file: values that were never written take no bytes.
const ALWAYS: u64 = 1 << 24;

/// Bytes of values a file can hold.
pub(super) fn most(length: u64) -> u64 {
    length.saturating_mul(MOST_PER_BYTE).max(ALWAYS)
}

/// What looking at a chunk costs, in bytes of values: references may lead to the same dataset over and over. Each chunk takes more than
/// 40 bytes of the file, so a file that is what it seems can pay for all of them.
const CHUNK: u64 = 4096;

/// What a dataset costs in bytes of values, of which `most` may be read from a file of some length.
pub(super) fn check(dataset: &Dataset, most: u64, length: u64, place: &Place) -> Result<u64> {
    let fault = |error| fault(place, &error);
    let size = dataset.element_size().map_err(fault)?;
    let bytes = |shape: &[u64]| shape.iter().try_fold(size, |n, &d| n.checked_mul(d.max(1)));
    let shape = dataset.shape().map_err(fault)?;
    let Some(whole) = bytes(&shape).filter(|&whole| whole <= most) else {
        let message = format!("claims {shape:?} values of {size} bytes each; the file cannot hold them");
        return Err(Error::format(place, message).with_hint(HINT));
    };
    let Some(chunk_shape) = dataset.chunk_shape().map_err(fault)? else { return Ok(whole) };
    let one = bytes(&chunk_shape).unwrap_or(u64::MAX);
    let (mut stored, mut cost) = (0_u64, whole);
    for chunk in dataset.chunks().map_err(fault)? {
        (stored, cost) = (stored.saturating_add(chunk.storage_size), cost.saturating_add(CHUNK));
        let inside = chunk.offset.iter().zip(&shape).all(|(at, size)| at < size);
        if !inside || stored > length || one > chunk.storage_size.saturating_mul(MOST_PER_BYTE) {
            let (at, packed) = (&chunk.offset, chunk.storage_size);
            let message = format!("claims a chunk of {one} bytes at {at:?} of {shape:?}, packed in {packed}");
            return Err(Error::format(&place.at(chunk.address), message).with_hint(HINT));
        }
    }
    if cost > most {
        let message = "more chunks are referred to than the file can hold";
        return Err(Error::format(place, message).with_hint(HINT));
    }
    Ok(cost)
}
