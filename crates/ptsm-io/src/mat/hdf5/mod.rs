//! v7.3: HDF5, with MATLAB's classes as attributes.
//!
//! Variables are datasets and groups of the root. Sizes are reversed, so that numbers lie as in MATLAB. Cells and struct arrays are
//! datasets of references to objects in the group `#refs#`.

mod dataset;
mod group;
mod records;
mod trust;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hdf5_pure::{
    AttrValue, ChunkCacheConfig, Dataset, File, FileAccessProperties, FormatError, Object, Source,
};

use super::outline::Outline;
use super::value::Value;
use super::{DEEPEST, FieldDetail, MOST_VALUES};
use crate::bytes::Bytes;
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};

const HINT: &str = "the file is damaged, or of a kind MATLAB does not write; save it in MATLAB with `-v7`";

/// An opened file.
pub(super) struct Hdf5 {
    file: File,
    pub(super) names: Vec<String>,
    /// Bytes of the file.
    length: u64,
}

impl std::fmt::Debug for Hdf5 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hdf5").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Mapped bytes as HDF5 reads them.
struct MappedBytes(Arc<Bytes>);

impl Source for MappedBytes {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<(), FormatError> {
        let from = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)?.get(..to.len()));
        match from {
            Some(bytes) => {
                to.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(FormatError::UnexpectedEof {
                expected: usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(to.len()),
                available: self.0.len(),
            }),
        }
    }
}

impl Hdf5 {
    /// Opens a file and lists its variables.
    pub(super) fn open(bytes: &Arc<Bytes>, place: &Place) -> Result<Hdf5> {
        let fault = |error| fault(place, &error);
        // Windows that follow one another share chunks.
        let cache = ChunkCacheConfig::new().with_max_bytes(16 << 20).with_max_slots(256);
        let options = FileAccessProperties::new().with_chunk_cache(cache);
        let file = File::from_source_with_options(MappedBytes(bytes.clone()), options).map_err(fault)?;
        let (length, whole) = (bytes.len() as u64, file.superblock().eof_address);
        if length < whole {
            let message = format!("the file ends here; it should have {whole} bytes");
            return Err(Error::format(&place.at(length), message).with_hint(DAMAGED));
        }
        let root = file.root();
        let mut names = root.datasets().map_err(fault)?;
        names.extend(root.groups().map_err(fault)?);
        // What MATLAB keeps for itself: `#refs#`, `#subsystem#`.
        names.retain(|name| !name.starts_with('#'));
        names.sort();
        Ok(Hdf5 { file, names, length })
    }

    /// Reads what is wanted of a variable.
    pub(super) fn read(
        &self,
        name: &str,
        place: &Place,
        want: &dyn Fn(&[&str]) -> FieldDetail,
    ) -> Result<(Value, Vec<Outline>)> {
        let place = Place { member: Some(name.to_string()), ..place.clone() };
        let root = self.file.root();
        let (left, length) = (trust::most(self.length), self.length);
        let mut reader = Reader { place, want, outlines: vec![], made: 0, left, length };
        let value = match root.dataset(name) {
            Ok(dataset) => reader.dataset(&dataset, &[], want(&[]), 0)?,
            Err(hdf5_pure::Error::NotADataset(_)) => {
                let group = root.group(name).map_err(|error| fault(&reader.place, &error))?;
                reader.group(&group, &[], 0)?
            }
            Err(error) => return Err(fault(&reader.place, &error)),
        };
        Ok((value, reader.outlines))
    }
}

/// Rows of numbers as singles. The dataset was found by [`Reader`], which has held its claims against the file.
pub(crate) fn rows_of(dataset: &Dataset, rows: Range<usize>, place: &Place) -> Result<Vec<f32>> {
    dataset.read_f32_rows(rows.start as u64, rows.len() as u64).map_err(|error| fault(place, &error))
}

/// What HDF5 says of a file.
pub(super) fn fault(place: &Place, error: &hdf5_pure::Error) -> Error {
    Error::format(place, format!("cannot be read as HDF5: {error}")).with_hint(HINT)
}

/// Attributes of an object.
type Attributes = HashMap<String, AttrValue>;

/// The class MATLAB gave an object; empty where there is none.
fn class(attributes: &Attributes) -> &str {
    attributes.get("MATLAB_class").and_then(AttrValue::as_str).unwrap_or_default()
}

/// A number among the attributes.
fn number(attributes: &Attributes, name: &str) -> Option<u64> {
    attributes.get(name).and_then(AttrValue::as_u64)
}

/// What MATLAB keeps outside of the object, or as code; none for data.
fn opaque(attributes: &Attributes) -> Option<Value> {
    match (class(attributes), number(attributes, "MATLAB_object_decode")) {
        ("function_handle", _) | (_, Some(1)) => Some(Value::Opaque("function".into())),
        (class, Some(3)) => Some(Value::Opaque(if class.is_empty() { "object" } else { class }.into())),
        _ => None,
    }
}

/// Reads one variable.
struct Reader<'w> {
    place: Place,
    want: &'w dyn Fn(&[&str]) -> FieldDetail,
    outlines: Vec<Outline>,
    /// How many values were made.
    made: usize,
    /// Bytes of values that may still be read: references may lead to the same object again and again.
    left: u64,
    /// Bytes of the file.
    length: u64,
}

impl Reader<'_> {
    fn object(&mut self, object: &Object, path: &[&str], want: FieldDetail, depth: usize) -> Result<Value> {
        match object {
            Object::Dataset(dataset) => self.dataset(dataset, path, want, depth),
            Object::Group(group) => self.group(group, path, depth),
            _ => Ok(Value::Opaque("object".into())),
        }
    }

    /// An error about a field.
    fn error(&self, path: &[&str], message: impl Into<String>) -> Error {
        Error::format(&self.at(path), message).with_hint(HINT)
    }

    /// What HDF5 says of a field.
    fn fault(&self, path: &[&str]) -> impl Fn(hdf5_pure::Error) -> Error {
        let place = self.at(path);
        move |error| fault(&place, &error)
    }

    fn at(&self, path: &[&str]) -> Place {
        let name = self.place.member.iter().map(String::as_str).chain(path.iter().copied());
        Place { member: Some(name.collect::<Vec<_>>().join(".")), ..self.place.clone() }
    }

    /// Complains where values are too many or too deep.
    fn count(&mut self, more: usize, path: &[&str], depth: usize) -> Result<()> {
        self.made = self.made.saturating_add(more);
        // Each value takes bytes of its own, unless references lead to the same one again and again.
        let most = usize::try_from(self.length).unwrap_or(usize::MAX).clamp(1 << 16, MOST_VALUES);
        if self.made > most {
            return Err(self.error(path, format!("more than {most} values in one variable")));
        }
        if depth > DEEPEST {
            return Err(self.error(path, format!("values inside of values, more than {DEEPEST} deep")));
        }
        Ok(())
    }

    /// Complains where a dataset claims more than the file can hold.
    fn afford(&mut self, dataset: &Dataset, path: &[&str]) -> Result<()> {
        self.left -= trust::check(dataset, self.left, self.length, &self.at(path))?;
        Ok(())
    }

    /// How many values a dataset claims.
    fn claimed(&self, dataset: &Dataset, path: &[&str]) -> Result<usize> {
        let shape = dataset.shape().map_err(self.fault(path))?;
        let count = shape.iter().try_fold(1_u64, |n, &d| n.checked_mul(d));
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX))
    }

    /// The objects a dataset of references leads to.
    fn references(&mut self, dataset: &Dataset, path: &[&str], depth: usize) -> Result<Vec<Object>> {
        self.afford(dataset, path)?;
        self.count(self.claimed(dataset, path)?, path, depth)?;
        dataset.dereference().map_err(self.fault(path))
    }
}
