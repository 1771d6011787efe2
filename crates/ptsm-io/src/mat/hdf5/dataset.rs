//! Datasets: numbers, text and cells.

use hdf5_pure::{DType, Dataset};

use super::{Attributes, Reader, class, number, opaque, records};
use crate::error::Result;
use crate::mat::FieldDetail;
use crate::mat::outline::{NumberLocation, Outline};
use crate::mat::text;
use crate::mat::value::{Numbers, Value};

impl Reader<'_> {
    pub(super) fn dataset(
        &mut self,
        dataset: &Dataset,
        path: &[&str],
        want: FieldDetail,
        depth: usize,
    ) -> Result<Value> {
        self.count(1, path, depth)?;
        let attributes = dataset.attrs().map_err(self.fault(path))?;
        if let Some(value) = opaque(&attributes) {
            return Ok(value);
        }
        if number(&attributes, "MATLAB_empty").is_some_and(|empty| empty != 0) {
            let dims = self.empty_dims(dataset, path)?;
            return Ok(empty(dims, &attributes));
        }
        let dims = self.dims(dataset, path)?;
        if dims.contains(&0) {
            return Ok(empty(dims, &attributes));
        }
        let kind = dataset.dtype().map_err(self.fault(path))?;
        match (class(&attributes), &kind) {
            (_, DType::ObjectReference) => {
                let objects = self.references(dataset, path, depth)?;
                let values = objects.iter().map(|object| self.object(object, path, want, depth + 1));
                Ok(Value::Cell { dims, values: values.collect::<Result<_>>()? })
            }
            ("char", kind) => self.text(dataset, kind, &dims, path),
            (_, DType::Compound(parts)) => self.complex(dataset, parts, dims, path),
            (_, kind) if want == FieldDetail::Sizes && is_number(kind) => {
                self.afford(dataset, path)?;
                Ok(Value::Sizes(dims))
            }
            (_, kind) if want == FieldDetail::Outline && is_number(kind) => {
                self.afford(dataset, path)?;
                self.outlines.push(Outline { dims, place: NumberLocation::Rows(Box::new(dataset.clone())) });
                Ok(Value::LeftOut)
            }
            (class, kind) if is_number(kind) => {
                let logical = class == "logical";
                let real = self.numbers(dataset, kind, path)?;
                Ok(Value::Array { dims, real, imaginary: None, logical })
            }
            (_, kind) => Ok(Value::Opaque(kind.to_string())),
        }
    }

    /// Sizes as MATLAB has them: two at least, the fastest first.
    pub(super) fn dims(&self, dataset: &Dataset, path: &[&str]) -> Result<Vec<usize>> {
        let shape = dataset.shape().map_err(self.fault(path))?;
        let sizes: Option<Vec<usize>> = shape.iter().rev().map(|&size| usize::try_from(size).ok()).collect();
        let mut dims =
            sizes.ok_or_else(|| self.error(path, format!("has the impossible sizes {shape:?}")))?;
        dims.resize(dims.len().max(2), 1);
        Ok(dims)
    }

    /// Sizes of an empty array, which stand in place of its values.
    fn empty_dims(&mut self, dataset: &Dataset, path: &[&str]) -> Result<Vec<usize>> {
        let count = self.claimed(dataset, path)?;
        if count > 64 {
            return Err(self.error(path, format!("an empty array has {count} sizes")));
        }
        self.afford(dataset, path)?;
        let sizes = dataset.read_u64().map_err(self.fault(path))?;
        let dims: Vec<usize> =
            sizes.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX)).collect();
        Ok(if dims.len() >= 2 && dims.contains(&0) { dims } else { vec![0, 0] })
    }

    /// Numbers as they are stored.
    pub(super) fn numbers(&mut self, dataset: &Dataset, kind: &DType, path: &[&str]) -> Result<Numbers> {
        self.afford(dataset, path)?;
        let fault = self.fault(path);
        Ok(match kind {
            DType::I8 => dataset.read_i8().map_err(fault)?.into(),
            DType::U8 => dataset.read_u8().map_err(fault)?.into(),
            DType::I16 => dataset.read_i16().map_err(fault)?.into(),
            DType::U16 => dataset.read_u16().map_err(fault)?.into(),
            DType::I32 => dataset.read_i32().map_err(fault)?.into(),
            DType::U32 => dataset.read_u32().map_err(fault)?.into(),
            DType::I64 => dataset.read_i64().map_err(fault)?.into(),
            DType::U64 => dataset.read_u64().map_err(fault)?.into(),
            DType::F32 => dataset.read_f32().map_err(fault)?.into(),
            DType::F64 => dataset.read_f64().map_err(fault)?.into(),
            other => return Err(self.error(path, format!("holds {other} where numbers are expected"))),
        })
    }

    fn text(&mut self, dataset: &Dataset, kind: &DType, dims: &[usize], path: &[&str]) -> Result<Value> {
        let rows = dims.iter().fold(1_usize, |n, &d| n.saturating_mul(d)) / dims[1].max(1);
        self.count(rows, path, 0)?;
        let rows = match self.numbers(dataset, kind, path)? {
            Numbers::U16(units) => text::rows_of_units(&units, dims),
            Numbers::U8(bytes) => {
                let chars: Vec<char> = bytes.iter().map(|&byte| char::from(byte)).collect();
                text::rows_of_chars(&chars, dims)
            }
            Numbers::U32(codes) => {
                let char = |&code: &u32| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                text::rows_of_chars(&codes.iter().map(char).collect::<Vec<_>>(), dims)
            }
            _ => None,
        };
        rows.map(Value::Text).ok_or_else(|| self.error(path, format!("{kind} of sizes {dims:?} is no text")))
    }

    /// Complex numbers: two parts side by side.
    fn complex(
        &mut self,
        dataset: &Dataset,
        parts: &[(String, DType)],
        dims: Vec<usize>,
        path: &[&str],
    ) -> Result<Value> {
        self.afford(dataset, path)?;
        let kind = dataset.datatype().map_err(self.fault(path))?;
        let raw = dataset.read_raw().map_err(self.fault(path))?;
        let part = |name: &str| {
            let (_, stored) = parts.iter().find(|(known, _)| known == name)?;
            records::part(&kind, name, stored, &raw)
        };
        Ok(match (part("real"), part("imag")) {
            (Some(real), Some(imaginary)) => {
                Value::Array { dims, real, imaginary: Some(imaginary), logical: false }
            }
            _ => Value::Opaque("records".into()),
        })
    }
}

fn is_number(kind: &DType) -> bool {
    use DType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(kind, I8 | U8 | I16 | U16 | I32 | U32 | I64 | U64 | F32 | F64)
}

/// A value without elements, of the class it says.
fn empty(dims: Vec<usize>, attributes: &Attributes) -> Value {
    let real = match class(attributes) {
        "cell" => return Value::Cell { dims, values: vec![] },
        "struct" => {
            let fields = super::group::field_names(attributes).unwrap_or_default().to_vec();
            return Value::Struct { dims, fields, values: vec![] };
        }
        "char" => return Value::Text(text::rows_of_units(&[], &dims).unwrap_or_default()),
        "single" => Numbers::F32(vec![]),
        "int8" => Numbers::I8(vec![]),
        "uint8" | "logical" => Numbers::U8(vec![]),
        "int16" => Numbers::I16(vec![]),
        "uint16" => Numbers::U16(vec![]),
        "int32" => Numbers::I32(vec![]),
        "uint32" => Numbers::U32(vec![]),
        "int64" => Numbers::I64(vec![]),
        "uint64" => Numbers::U64(vec![]),
        // Also `canonical empty`, what MATLAB puts into cells that nobody filled.
        _ => Numbers::F64(vec![]),
    };
    Value::Array { dims, real, imaginary: None, logical: class(attributes) == "logical" }
}
