//! MATLAB files: level 5 (v5 to v7) and v7.3, which is HDF5.
//!
//! [`MatFile::open`] lists the variables, [`MatFile::read`] reads one, [`MatFile::read_some`] only some fields of one.

mod level5;
mod outline;
mod text;
mod value;

use std::collections::HashSet;
use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};

use self::level5::{Order, Variable};
use self::outline::Outline;
pub use value::{Numbers, Value};

/// Values inside of values, at most.
const DEEPEST: usize = 64;

/// Values of one variable, at most: an empty cell takes some 130 bytes of memory, and a packed file can hold 1032 bytes of such in one.
const MOST_VALUES: usize = 1 << 22;

/// An opened file. Variables are read when asked for.
#[derive(Debug)]
pub struct MatFile {
    place: Place,
    bytes: Bytes,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Level5 { order: Order, variables: Vec<Variable> },
}

/// What is wanted of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// All of it.
    Whole,
    /// Nothing.
    Nothing,
    /// Of numbers only where they are; of all else the whole.
    Outline,
}

impl MatFile {
    /// Opens a file of either kind and lists its variables.
    pub fn open(path: &Path) -> Result<MatFile> {
        MatFile::parse(Bytes::open(path)?, &path.into())
    }

    /// The same from bytes; `place` is for messages.
    pub fn parse(bytes: Bytes, place: &Place) -> Result<MatFile> {
        let place = place.clone();
        let order = order(&bytes, &place)?;
        let mut variables = level5::list(&bytes, order, &place)?;
        // Of variables with the same name the last counts, as in MATLAB.
        let mut seen = HashSet::new();
        variables.reverse();
        variables.retain(|variable| seen.insert(variable.name.clone()));
        variables.reverse();
        Ok(MatFile { place, bytes, kind: Kind::Level5 { order, variables } })
    }

    /// Names of the variables, in the file's order.
    pub fn names(&self) -> Vec<String> {
        match &self.kind {
            Kind::Level5 { variables, .. } => variables.iter().map(|v| v.name.clone()).collect(),
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
        let want = |path: &[&str]| if path.is_empty() || keep(path) { Want::Whole } else { Want::Nothing };
        Ok(self.survey(name, &want)?.0)
    }

    /// Reads what is wanted of a variable and says where the numbers are that were only wanted in outline. The variable itself is asked
    /// for with an empty path.
    pub(crate) fn survey(&self, name: &str, want: &dyn Fn(&[&str]) -> Want) -> Result<(Value, Vec<Outline>)> {
        match &self.kind {
            Kind::Level5 { order, variables } => {
                let variable = variables.iter().find(|v| v.name == name).ok_or_else(|| self.missing(name))?;
                variable.read(&self.bytes, *order, &self.place, want)
            }
        }
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

/// Which byte of a number comes first; refuses what is not level 5.
fn order(bytes: &[u8], place: &Place) -> Result<Order> {
    let refuse = |message: &str, hint: &str| Err(Error::format(place, message).with_hint(hint));
    if bytes.len() >= 4 && bytes[..4].contains(&0) {
        return refuse("is a MATLAB file of level 4", "save it in MATLAB with `-v7`");
    }
    let Some(end) = bytes.get(124..level5::HEADER) else {
        return refuse("is too short for a MATLAB file", "the file is incomplete; copy or download it again");
    };
    match *end {
        [0, 1, b'I', b'M'] => Ok(Order::Little),
        [1, 0, b'M', b'I'] => Ok(Order::Big),
        [a, b, b'I', b'M'] | [b, a, b'M', b'I'] => {
            let message = format!("is a MATLAB file of the unknown version {b}.{a}");
            refuse(&message, "save it in MATLAB with `-v7`")
        }
        _ => refuse("is not a MATLAB file", "check that it is the right file"),
    }
}

/// Writes an uncompressed level 5 file beside `path` and renames it.
pub fn write(path: &Path, variables: &[(&str, &Value)]) -> Result<()> {
    let _ = variables;
    Err(Error::format(&path.into(), "cannot be written yet"))
}
