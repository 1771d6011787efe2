//! MATLAB files: level 5 (v5 to v7) and v7.3, which is HDF5.
//!
//! [`MatFile::open`] lists the variables, [`MatFile::read`] reads one, [`MatFile::read_some`] only some fields of one,
//! [`MatFile::read_sizes`] only how large its numbers are.

mod hdf5;
mod level5;
mod outline;
mod sparse;
mod text;
mod value;

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::atomic::write_atomically;
use crate::bytes::Bytes;
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};

use self::hdf5::Hdf5;
pub(crate) use self::hdf5::rows_of;
use self::level5::{ElementMaker, Variable};
pub(crate) use self::level5::{Order, Storage};
pub(crate) use self::outline::{NumberLocation, Outline};
pub use value::{Numbers, Value};

/// Values inside of values, at most.
const DEEPEST: usize = 64;

/// Values of one variable, at most: an empty cell takes some 130 bytes of memory, and a packed file can hold 1032 bytes of such in one.
const MOST_VALUES: usize = 1 << 22;

/// Deflate makes at most this many bytes of one; whoever claims more is lying.
const MOST_PER_BYTE: u64 = 1032;

/// An opened file. Variables are read when asked for.
#[derive(Debug)]
pub struct MatFile {
    place: Place,
    bytes: Arc<Bytes>,
    kind: FileVersion,
}

#[derive(Debug)]
enum FileVersion {
    Level5 { order: Order, variables: Vec<Variable> },
    Hdf5(Hdf5),
}

/// What is wanted of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldDetail {
    /// All of it.
    Whole,
    /// Nothing.
    Nothing,
    /// Of numbers, also those in cells, only their sizes; of all else the whole.
    Sizes,
    /// Of numbers, also those in cells, only where they are, or their bytes where they are packed; of all else the whole.
    Outline,
}

impl MatFile {
    /// Opens a file of either kind and lists its variables.
    pub fn open(path: &Path) -> Result<MatFile> {
        MatFile::parse(Bytes::open_filled(path)?, &path.into())
    }

    /// The same from bytes; `place` is for messages.
    pub fn parse(bytes: Bytes, place: &Place) -> Result<MatFile> {
        let bytes = Arc::new(bytes);
        let kind = match family(&bytes, place)? {
            Family::Level5(order) => {
                let mut variables = level5::list(&bytes, order, place)?;
                // Of variables with the same name the last counts, as in MATLAB.
                let mut seen = HashSet::new();
                variables.reverse();
                variables.retain(|variable| seen.insert(variable.name.clone()));
                variables.reverse();
                FileVersion::Level5 { order, variables }
            }
            Family::Hdf5 => FileVersion::Hdf5(Hdf5::open(&bytes, place)?),
        };
        Ok(MatFile { place: place.clone(), bytes, kind })
    }

    /// Names of the variables, in the file's order.
    pub fn names(&self) -> Vec<String> {
        match &self.kind {
            FileVersion::Level5 { variables, .. } => variables.iter().map(|v| v.name.clone()).collect(),
            FileVersion::Hdf5(file) => file.names.clone(),
        }
    }

    /// Reads a variable with all it holds.
    pub fn read(&self, name: &str) -> Result<Value> {
        self.read_some(name, &|_| true)
    }

    /// Reads a variable in one pass, leaving out every field for which `keep` says no: it becomes [`Value::LeftOut`] and costs no memory.
    /// `keep` is asked once per field with its path inside the variable, such as `["RawData", "EegData"]`; cells and elements of
    /// struct arrays add nothing to a path.
    pub fn read_some(&self, name: &str, keep: &dyn Fn(&[&str]) -> bool) -> Result<Value> {
        let want = |path: &[&str]| {
            if path.is_empty() || keep(path) { FieldDetail::Whole } else { FieldDetail::Nothing }
        };
        Ok(self.survey(name, &want)?.0)
    }

    /// Reads a variable with all it holds but numbers: they become [`Value::Sizes`] and cost no memory.
    pub fn read_sizes(&self, name: &str) -> Result<Value> {
        Ok(self.survey(name, &|_| FieldDetail::Sizes)?.0)
    }

    /// Reads what is wanted of a variable and says where the numbers are that were only wanted in outline. The variable itself is asked
    /// for with an empty path.
    pub(crate) fn survey(
        &self,
        name: &str,
        want: &dyn Fn(&[&str]) -> FieldDetail,
    ) -> Result<(Value, Vec<Outline>)> {
        match &self.kind {
            FileVersion::Level5 { order, variables } => {
                let variable = variables.iter().find(|v| v.name == name).ok_or_else(|| self.missing(name))?;
                variable.read(&self.bytes, *order, &self.place, want)
            }
            FileVersion::Hdf5(file) if !file.names.iter().any(|known| known == name) => {
                Err(self.missing(name))
            }
            FileVersion::Hdf5(file) => file.read(name, &self.place, want),
        }
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Arc<Bytes> {
        self.bytes.clone()
    }

    fn missing(&self, name: &str) -> Error {
        let names = self.names();
        let there = match &names[..] {
            [] => "the file holds none".to_string(),
            names => format!("there are `{}`", names[..names.len().min(20)].join("`, `")),
        };
        Error::format(&self.place, format!("has no variable `{name}`")).with_hint(there)
    }
}

/// The two kinds of files that are read.
enum Family {
    Level5(Order),
    Hdf5,
}

/// What every HDF5 file begins with, after as many bytes as its writer likes: 512 in MATLAB's files.
const HDF5: &[u8] = b"\x89HDF\r\n\x1A\n";

fn family(bytes: &[u8], place: &Place) -> Result<Family> {
    let refuse = |message: &str, hint: &str| Err(Error::format(place, message).with_hint(hint));
    if bytes.is_empty() {
        return Err(Bytes::empty(place));
    }
    if bytes.starts_with(HDF5) || bytes.get(512..).is_some_and(|bytes| bytes.starts_with(HDF5)) {
        return Ok(Family::Hdf5);
    }
    if bytes.len() >= 4 && bytes[..4].contains(&0) {
        return refuse("is a MATLAB file of level 4", "save it in MATLAB with `-v7`");
    }
    let Some(end) = bytes.get(124..level5::HEADER) else {
        return refuse("is too short for a MATLAB file", DAMAGED);
    };
    match *end {
        [0, 1, b'I', b'M'] => Ok(Family::Level5(Order::Little)),
        [1, 0, b'M', b'I'] => Ok(Family::Level5(Order::Big)),
        [0, 2, b'I', b'M'] => refuse("is a MATLAB file of v7.3 without its HDF5 part at byte 512", DAMAGED),
        [a, b, b'I', b'M'] | [b, a, b'M', b'I'] => {
            let message = format!("is a MATLAB file of the unknown version {b}.{a}");
            refuse(&message, "save it in MATLAB with `-v7`")
        }
        _ => refuse("is not a MATLAB file", "check that it is the right file"),
    }
}

/// Writes an uncompressed level 5 file beside `path` and renames it. Numbers get the class they are stored in, rows of text are filled
/// up with blanks to one length. Fields that were left out and opaque values cannot be written.
pub fn write(path: &Path, variables: &[(&str, &Value)]) -> Result<()> {
    let place = Place::from(path);
    let maker = ElementMaker { place: &place };
    let elements: Vec<_> =
        variables.iter().map(|(name, value)| maker.variable(name, value)).collect::<Result<_>>()?;
    write_atomically(path, |writer| {
        // The time would stand here; without it the same values give the same bytes.
        writer.write_all(format!("{:124}", "MATLAB 5.0 MAT-file, written by ptsm").as_bytes())?;
        writer.write_all(b"\x00\x01IM")?;
        elements.iter().try_for_each(|element| element.write(writer))
    })
}
