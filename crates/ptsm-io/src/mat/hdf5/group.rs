//! Groups: structs, arrays of structs and sparse matrices.

use std::collections::BTreeMap;

use hdf5_pure::{AttrValue, DType, Dataset, Group, Object};

use super::{Attributes, Reader, number, opaque};
use crate::error::Result;
use crate::mat::value::Value;
use crate::mat::{FieldDetail, sparse};

impl Reader<'_> {
    pub(super) fn group(&mut self, group: &Group, path: &[&str], depth: usize) -> Result<Value> {
        self.count(1, path, depth)?;
        let attributes = group.attrs().map_err(self.fault(path))?;
        if let Some(value) = opaque(&attributes) {
            return Ok(value);
        }
        let datasets: Vec<_> = group.iter_datasets().map_err(self.fault(path))?.collect();
        if let Some(rows) = number(&attributes, "MATLAB_sparse") {
            let datasets = datasets.into_iter().collect();
            return self.sparse(&datasets, usize::try_from(rows).unwrap_or(usize::MAX), path);
        }
        let groups: Vec<_> = group.iter_groups().map_err(self.fault(path))?.collect();
        self.count(datasets.len() + groups.len(), path, depth)?;
        if groups.is_empty() && self.are_elements(&datasets, path)? {
            return self.array(datasets, &attributes, path, depth);
        }
        let datasets = datasets.into_iter().map(|(name, dataset)| (name, Object::Dataset(Box::new(dataset))));
        let groups = groups.into_iter().map(|(name, group)| (name, Object::Group(group)));
        let members = in_order(datasets.chain(groups).collect(), &attributes);
        let mut fields = vec![];
        let mut values = vec![];
        for (name, object) in members {
            let path = [path, &[name.as_str()]].concat();
            values.push(match (self.want)(&path) {
                FieldDetail::Nothing => Value::LeftOut,
                want => self.object(&object, &path, want, depth + 1)?,
            });
            fields.push(name);
        }
        Ok(Value::Struct { dims: vec![1, 1], fields, values })
    }

    /// Whether the members of a group are fields of a struct array: each a dataset of references, one per element. A field that is a
    /// cell says so by its class.
    fn are_elements(&self, datasets: &[(String, Dataset)], path: &[&str]) -> Result<bool> {
        for (_, dataset) in datasets {
            let kind = dataset.dtype().map_err(self.fault(path))?;
            if kind != DType::ObjectReference
                || dataset.attrs().map_err(self.fault(path))?.contains_key("MATLAB_class")
            {
                return Ok(false);
            }
        }
        Ok(!datasets.is_empty())
    }

    fn array(
        &mut self,
        datasets: Vec<(String, Dataset)>,
        attributes: &Attributes,
        path: &[&str],
        depth: usize,
    ) -> Result<Value> {
        let dims = self.dims(&datasets[0].1, path)?;
        let count = dims.iter().fold(1_usize, |n, &d| n.saturating_mul(d));
        let mut fields = vec![];
        let mut columns = vec![];
        for (name, dataset) in in_order(datasets, attributes) {
            let path = [path, &[name.as_str()]].concat();
            if self.dims(&dataset, &path)? != dims {
                return Err(self.error(&path, "has other sizes than its neighbours in a struct array"));
            }
            let want = (self.want)(&path);
            let column: Vec<Value> = if want == FieldDetail::Nothing {
                self.count(count, &path, depth)?;
                vec![Value::LeftOut; count]
            } else {
                let objects = self.references(&dataset, &path, depth)?;
                let values = objects.iter().map(|object| self.object(object, &path, want, depth + 1));
                values.collect::<Result<_>>()?
            };
            columns.push(column.into_iter());
            fields.push(name);
        }
        // Field by field in the file, element by element here.
        let mut values = Vec::new();
        for _ in 0..count {
            values.extend(columns.iter_mut().filter_map(Iterator::next));
        }
        Ok(Value::Struct { dims, fields, values })
    }

    fn sparse(&mut self, parts: &BTreeMap<String, Dataset>, rows: usize, path: &[&str]) -> Result<Value> {
        // Without entries only the starts of columns are there.
        let mut part = |name: &str| match parts.get(name) {
            None => Ok(Some(vec![])),
            Some(dataset) => match dataset.dtype().map_err(self.fault(path))? {
                DType::Compound(_) => Ok(None),
                kind => self.numbers(dataset, &kind, path).map(|numbers| Some(numbers.to_f64())),
            },
        };
        let (Some(values), Some(at), Some(starts)) = (part("data")?, part("ir")?, part("jc")?) else {
            return Ok(Value::Opaque("sparse matrix of complex numbers".into()));
        };
        let columns = starts.len().saturating_sub(1);
        sparse::matrix(&[rows, columns], &at, &starts, &values)
            .ok_or_else(|| self.error(path, "the parts of a sparse matrix do not fit"))
    }
}

/// Names of fields in MATLAB's order.
pub(super) fn field_names(attributes: &Attributes) -> Option<&[String]> {
    attributes.get("MATLAB_fields").and_then(AttrValue::as_strings)
}

/// Members in MATLAB's order, as far as it is known.
fn in_order<T>(members: Vec<(String, T)>, attributes: &Attributes) -> Vec<(String, T)> {
    let Some(names) = field_names(attributes) else { return members };
    let places: BTreeMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut members = members;
    members.sort_by_key(|(name, _)| places.get(name.as_str()).copied().unwrap_or(usize::MAX));
    members
}
