//! Files packed by gzip.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use crate::bytes::Bytes;
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};

/// What is unpacked of any file.
const ALWAYS: u64 = 64 << 20;

/// Bytes that are unpacked of one more byte of a file. Recordings are noise: they become some two times as large.
const PER_BYTE: u64 = 8;

/// Whether bytes are packed by gzip.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Unpacks bytes that are packed by gzip and gives others back as they are. They are held in memory, so what would be much larger
/// than the file is refused.
pub(crate) fn unpacked(bytes: Bytes, place: &Place) -> Result<Bytes> {
    if !is_packed(&bytes) {
        return Ok(bytes);
    }
    let refuse = |error: io::Error| {
        Error::format(place, format!("is packed by gzip and cannot be unpacked: {error}")).with_hint(DAMAGED)
    };
    // Counted first: memory for what is there, and not twice on the way.
    let most = ALWAYS.saturating_add(PER_BYTE.saturating_mul(bytes.len() as u64));
    let decoder = || MultiGzDecoder::new(&*bytes).take(most + 1);
    let size = io::copy(&mut decoder(), &mut io::sink()).map_err(refuse)?;
    if size > most {
        let message = format!("is packed by gzip and becomes larger than {most} bytes when it is unpacked");
        return Err(Error::format(place, message).with_hint("unpack it first: gunzip FILE"));
    }
    let mut all = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    decoder().read_to_end(&mut all).map_err(refuse)?;
    Ok(Bytes::from(all))
}
