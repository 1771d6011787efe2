//! A data set that stays where it is, for programs to pick rows from.

use std::sync::OnceLock;

use crate::cuda::{Cuda, Resident};
use crate::error::{Error, Result};
use crate::real::Real;

/// Rows of one length. A GPU gets them once, at the first run that picks from them.
pub struct Table<'a, T> {
    rows: Vec<&'a [T]>,
    resident: OnceLock<Resident>,
}

impl<T> std::fmt::Debug for Table<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table of {} rows", self.rows.len())
    }
}

impl<'a, T: Real> Table<'a, T> {
    /// Rows of one length, all numbers finite.
    pub fn new(rows: Vec<&'a [T]>) -> Result<Table<'a, T>> {
        let length = rows.first().map_or(0, |row| row.len());
        for (i, row) in rows.iter().enumerate() {
            if row.len() != length {
                let n = row.len();
                return Err(Error::Program(format!(
                    "row {i} of a table has {n} values, the first has {length}"
                )));
            }
            if let Some(at) = row.iter().position(|v| !v.finite()) {
                let value = row[at];
                return Err(Error::Program(format!(
                    "value {at} of row {i} of a table is {value}, not a finite number"
                )));
            }
        }
        Ok(Table { rows, resident: OnceLock::new() })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Numbers in a row.
    pub fn row_length(&self) -> usize {
        self.rows.first().map_or(0, |row| row.len())
    }

    pub(crate) fn row(&self, row: u32) -> &'a [T] {
        self.rows[row as usize]
    }

    pub(crate) fn resident(&self, device: &Cuda) -> Result<&Resident> {
        if let Some(there) = self.resident.get() {
            return Ok(there);
        }
        let bytes = self.rows.iter().map(|row| bytemuck::cast_slice(row));
        let there = Resident::new(device, bytes, self.row_length() * size_of::<T>())?;
        Ok(self.resident.get_or_init(|| there))
    }
}
