//! A writer that fails once.

use std::io::{self, Seek, SeekFrom, Write};

/// Passes everything on until something fails. That is told once; whatever comes after it seems to go well and goes nowhere. For writers
/// that try again when they are dropped, and complain to standard error when that fails too.
pub(crate) struct FailOnceWriter<W> {
    inner: W,
    failed: bool,
    /// Where the next byte goes, and how many there are, written or not.
    at: u64,
    length: u64,
}

impl<W: Write + Seek> FailOnceWriter<W> {
    /// A writer whose file is empty.
    pub(crate) fn new(inner: W) -> FailOnceWriter<W> {
        FailOnceWriter { inner, failed: false, at: 0, length: 0 }
    }

    /// Returns the first error; no call is made after it.
    fn remember<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        // An interrupted call is simply made again.
        self.failed |= result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

impl<W: Write + Seek> Write for FailOnceWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.failed {
            bytes.len()
        } else {
            let result = self.inner.write(bytes);
            self.remember(result)?
        };
        self.at += written as u64;
        self.length = self.length.max(self.at);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.remember(result)
    }
}

impl<W: Write + Seek> Seek for FailOnceWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if !self.failed {
            let result = self.inner.seek(to);
            self.at = self.remember(result)?;
            return Ok(self.at);
        }
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room for ten bytes.
    struct Small(Vec<u8>);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > 10 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    impl Seek for Small {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    #[test]
    fn the_first_error_is_reported_and_no_other() {
        let mut writer = FailOnceWriter::new(Small(vec![]));
        writer.write_all(b"12345678").unwrap();
        assert_eq!(writer.write_all(b"9012").unwrap_err().kind(), io::ErrorKind::StorageFull);
        writer.write_all(b"9012").unwrap();
        writer.flush().unwrap();
        assert_eq!(writer.stream_position().unwrap(), 12);
        assert_eq!(writer.seek(SeekFrom::Start(3)).unwrap(), 3);
        assert_eq!(writer.seek(SeekFrom::End(-2)).unwrap(), 10);
        assert!(writer.seek(SeekFrom::Current(-11)).is_err());
        assert_eq!(writer.inner.0, b"12345678");
    }
}
