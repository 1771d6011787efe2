//! The bytes of one variable, as they lie in the file or inflated on the way.

use std::io::Read;

use flate2::bufread::ZlibDecoder;

use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};

/// Inflated at a time.
const PIECE: usize = 1 << 16;

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The least significant.
    Little,
    /// The most significant.
    Big,
}

/// Bytes read one after the other. Positions count from the first byte, which is the first inflated one where the bytes are packed.
pub(super) struct Stream<'a> {
    source: Source<'a>,
    order: Order,
    place: Place,
    /// Where the bytes begin in the file.
    begins: u64,
    at: u64,
}

enum Source<'a> {
    Plain(&'a [u8]),
    Packed { inflate: ZlibDecoder<&'a [u8]>, piece: Vec<u8> },
}

impl<'a> Stream<'a> {
    /// Bytes as they are, found at byte `begins` of the file.
    pub(super) fn plain(bytes: &'a [u8], begins: usize, order: Order, place: &Place) -> Stream<'a> {
        Stream { source: Source::Plain(bytes), order, place: place.clone(), begins: begins as u64, at: 0 }
    }

    /// A zlib stream, found at byte `begins` of the file.
    pub(super) fn packed(bytes: &'a [u8], begins: usize, order: Order, place: &Place) -> Stream<'a> {
        let source = Source::Packed { inflate: ZlibDecoder::new(bytes), piece: Vec::new() };
        Stream { source, order, place: place.clone(), begins: begins as u64, at: 0 }
    }

    /// The next byte to be read.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The same as a byte of the file; none where bytes are packed.
    pub(super) fn in_file(&self) -> Option<usize> {
        match self.source {
            Source::Plain(_) => usize::try_from(self.begins + self.at).ok(),
            Source::Packed { .. } => None,
        }
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    /// Fills `to`.
    pub(super) fn fill(&mut self, to: &mut [u8]) -> Result<()> {
        let filled = match &mut self.source {
            Source::Plain(bytes) => match bytes.split_at_checked(to.len()) {
                Some((taken, rest)) => {
                    to.copy_from_slice(taken);
                    *bytes = rest;
                    Ok(())
                }
                None => Err(std::io::ErrorKind::UnexpectedEof.into()),
            },
            Source::Packed { inflate, .. } => inflate.read_exact(to),
        };
        filled.map_err(|error| self.cut(&error))?;
        self.at += to.len() as u64;
        Ok(())
    }

    /// Some of the next bytes, a multiple of eight unless `most` is less. All of them where they lie in the file.
    pub(super) fn piece(&mut self, most: u64) -> Result<&[u8]> {
        if let Source::Packed { piece, .. } = &mut self.source {
            let mut taken = std::mem::take(piece);
            taken.resize(most.min(PIECE as u64) as usize, 0);
            self.fill(&mut taken)?;
            let Source::Packed { piece, .. } = &mut self.source else { return Ok(&[]) };
            *piece = taken;
            return Ok(piece);
        }
        let count = usize::try_from(most).unwrap_or(usize::MAX);
        let Source::Plain(bytes) = &mut self.source else { return Ok(&[]) };
        let Some((taken, rest)) = bytes.split_at_checked(count) else {
            return Err(self.cut(&std::io::ErrorKind::UnexpectedEof.into()));
        };
        *bytes = rest;
        self.at += most;
        Ok(taken)
    }

    /// Leaves bytes out. Packed ones are inflated and forgotten.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<()> {
        while count > 0 {
            count -= self.piece(count)?.len() as u64;
        }
        Ok(())
    }

    /// The next bytes. Memory grows as they come, at the end to exactly what is needed.
    pub(super) fn take(&mut self, count: u64) -> Result<Vec<u8>> {
        let mut all: Vec<u8> = Vec::new();
        while (all.len() as u64) < count {
            let left = count - all.len() as u64;
            let piece = self.piece(left)?;
            if all.capacity() - all.len() < piece.len() {
                all.reserve_exact((all.len().max(piece.len()) as u64).min(left) as usize);
            }
            all.extend_from_slice(piece);
        }
        Ok(all)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    /// Inflates to the end, which compares the check sum. Padding may be left, not more.
    pub(super) fn finish(mut self) -> Result<()> {
        let Source::Packed { inflate, .. } = &mut self.source else { return Ok(()) };
        let mut rest = Vec::new();
        match inflate.take(8).read_to_end(&mut rest) {
            Ok(0..8) => Ok(()),
            Ok(_) => Err(self.error("the packed variable goes on after its end").with_hint(DAMAGED)),
            Err(error) => Err(self.cut(&error)),
        }
    }

    /// Something that does not fit here.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        let message = message.into();
        match &self.source {
            Source::Plain(_) => Error::format(&self.place.at(self.begins + self.at), message),
            Source::Packed { inflate, .. } => {
                let place = self.place.at(self.begins + inflate.total_in());
                Error::format(&place, format!("{message} (after {} inflated bytes)", self.at))
            }
        }
    }

    fn cut(&self, error: &std::io::Error) -> Error {
        let message = match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "the variable ends too early".to_string(),
            _ => format!("cannot inflate the variable: {error}"),
        };
        self.error(message).with_hint(DAMAGED)
    }
}
