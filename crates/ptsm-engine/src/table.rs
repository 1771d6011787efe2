//! A data set that stays where it is, for programs to pick rows from.

use std::any::Any;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::kernels::Real;

/// Rows of one length. A GPU gets them once, at the first run that picks from them.
pub struct RowTable<'a, T> {
    rows: Vec<&'a [T]>,
    /// Which part of a row each part of its image is; empty without images.
    order: Vec<u32>,
    /// The copy in the memory of a device, in that device's form.
    resident: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl<T> std::fmt::Debug for RowTable<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table of {} rows", self.rows.len())
    }
}

impl<'a, T: Real> RowTable<'a, T> {
    /// Rows of one length, all numbers finite.
    pub fn new(rows: Vec<&'a [T]>) -> Result<RowTable<'a, T>> {
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
        Ok(RowTable { rows, order: vec![], resident: OnceLock::new() })
    }

    /// The same rows, and after them an image of each: its equal parts in another order, such as channels mirrored left to right. Images
    /// take no memory.
    pub fn with_images(self, order: &[usize]) -> Result<RowTable<'a, T>> {
        let (n, length) = (order.len(), self.row_length());
        if n == 0 || !length.is_multiple_of(n) || self.rows.len() > i32::MAX as usize / 2 {
            return Err(Error::Program(format!("a row of {length} values has no {n} equal parts")));
        }
        if let Some(part) = order.iter().find(|part| **part >= n) {
            return Err(Error::Program(format!("an image of {n} parts has no part {part}")));
        }
        Ok(RowTable {
            order: order.iter().map(|&part| part as u32).collect(),
            resident: OnceLock::new(),
            ..self
        })
    }

    /// Number of rows, without images.
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

    /// Number of rows and images.
    pub(crate) fn numbers(&self) -> usize {
        if self.order.is_empty() { self.rows.len() } else { 2 * self.rows.len() }
    }

    /// Copies a row or an image.
    pub(crate) fn copy(&self, row: u32, to: &mut [T]) {
        let row = row as usize;
        if let Some(from) = self.rows.get(row) {
            return to.copy_from_slice(from);
        }
        let (from, part) = (self.rows[row - self.rows.len()], to.len() / self.order.len());
        for (to, &source) in to.chunks_exact_mut(part).zip(&self.order) {
            to.copy_from_slice(&from[source as usize * part..][..part]);
        }
    }

    /// The copy in a device's memory, made at the first call from the rows and the order of parts in their images.
    pub(crate) fn resident<D: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&[&'a [T]], &[u32]) -> Result<D>,
    ) -> Result<&D> {
        let there = match self.resident.get() {
            Some(there) => there,
            None => {
                let made = Box::new(make(&self.rows, &self.order)?);
                self.resident.get_or_init(|| made)
            }
        };
        there
            .downcast_ref()
            .ok_or_else(|| Error::Device("the table is in the memory of another device".into()))
    }
}
