//! NPZ: several arrays in one file, a ZIP archive of NPY files.

use std::io::{Cursor, Write};
use std::path::Path;

use zip::read::ZipFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::atomic::write_atomically;
use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::npy::{Array, read_array, read_shape, write_array};
use crate::quiet::FailOnceWriter;

/// Deflate makes at most this many bytes of one; an archive that claims more is lying.
const MOST_PER_BYTE: u64 = 1032;

/// An open archive. Arrays are read one by one when asked for, so that others, even unreadable ones, do no harm.
#[derive(Debug)]
pub struct Archive {
    place: Place,
    length: u64,
    zip: ZipArchive<Cursor<Bytes>>,
}

/// Opens an archive.
pub fn read(path: &Path) -> Result<Archive> {
    parse(Bytes::open_filled(path)?, &path.into())
}

/// Opens the bytes of an archive.
pub fn parse(bytes: Bytes, place: &Place) -> Result<Archive> {
    let (place, length) = (place.clone(), bytes.len() as u64);
    let start: Vec<u8> = bytes.iter().take(6).copied().collect();
    let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| {
        let hint = match &start[..] {
            b"\x93NUMPY" => "this is a single array; put all arrays in one file with `numpy.savez`",
            [b'P', b'K', ..] => "the file is incomplete or damaged; copy or save it again",
            _ => "write it with `numpy.savez` or `numpy.savez_compressed`; if it was, the file is damaged: copy or save it again",
        };
        Error::format(&place, format!("is not an NPZ archive ({})", plain(error))).with_hint(hint)
    })?;
    Ok(Archive { place, length, zip })
}

impl Archive {
    /// Where the archive is.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Names of all arrays, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .zip
            .file_names()
            .filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_string()))
            .collect();
        names.sort();
        names
    }

    /// Whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Reads one array.
    pub fn array(&mut self, name: &str) -> Result<Array> {
        let place = Place { member: Some(name.to_string()), ..self.place.clone() };
        let length = self.length;
        let mut member = self.member(name, &place)?;
        let (packed, unpacked) = (member.compressed_size(), member.size());
        if packed > length || unpacked > packed.saturating_mul(MOST_PER_BYTE) {
            let message = format!("claims {unpacked} bytes from {packed} in a file of {length}");
            return Err(
                Error::format(&place, message).with_hint("the file is damaged; copy or save it again")
            );
        }
        read_array(&mut member, unpacked, &place)
    }

    /// The size of each dimension of an array, without its values.
    pub fn shape(&mut self, name: &str) -> Result<Vec<usize>> {
        let place = Place { member: Some(name.to_string()), ..self.place.clone() };
        read_shape(&mut self.member(name, &place)?, &place)
    }

    fn member(&mut self, name: &str, place: &Place) -> Result<ZipFile<'_, Cursor<Bytes>>> {
        self.zip.by_name(&format!("{name}.npy")).map_err(|error| match error {
            ZipError::FileNotFound => Error::format(place, "is not in the archive"),
            ZipError::CompressionMethodNotSupported(_) => Error::format(place, plain(error))
                .with_hint("write it with `numpy.savez` or `numpy.savez_compressed`"),
            _ => Error::format(place, plain(error)).with_hint("the file is damaged; copy or save it again"),
        })
    }
}

/// How arrays are kept in an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are, like `numpy.savez`: signals hardly shrink.
    #[default]
    Stored,
    /// Deflated, like `numpy.savez_compressed`.
    Deflated,
}

/// Writes an archive beside `path` and renames it. The same arrays give the same bytes: no time is stored.
pub fn write(path: &Path, arrays: &[(&str, &Array)], compression: Compression) -> Result<()> {
    let method = match compression {
        Compression::Stored => CompressionMethod::Stored,
        Compression::Deflated => CompressionMethod::Deflated,
    };
    write_atomically(path, |writer| {
        let mut zip = ZipWriter::new(FailOnceWriter::new(writer)).set_auto_large_file();
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(zip::DateTime::default());
        for (name, array) in arrays {
            zip.start_file(format!("{name}.npy"), options)?;
            write_array(&mut zip, array)?;
        }
        zip.finish()?.flush()
    })
}

/// A ZIP error in a few words.
fn plain(error: ZipError) -> String {
    match error {
        ZipError::Io(error) => error.to_string(),
        ZipError::InvalidArchive(what) if what.contains("EOCD") => {
            "it does not end as an archive does".into()
        }
        ZipError::InvalidArchive(what) => what.to_string(),
        ZipError::UnsupportedArchive(what) => what.to_string(),
        ZipError::CompressionMethodNotSupported(number) => {
            format!("is compressed by method {number}; only stored and deflated arrays are read")
        }
        other => other.to_string(),
    }
}
