//! Sparse matrices: rows and values of entries, and where each column begins among them.

use super::value::Value;

/// A matrix from its three parts; none where they do not fit.
pub(super) fn matrix(dims: &[usize], rows: &[f64], starts: &[f64], values: &[f64]) -> Option<Value> {
    let [height, width] = *dims else { return None };
    if width.checked_add(1)? != starts.len() {
        return None;
    }
    let mut entries = vec![];
    let mut first = 0;
    for (column, &end) in starts[1..].iter().enumerate() {
        let end = end as usize;
        let (rows, values) = (rows.get(first..end)?, values.get(first..end)?);
        for (&row, &value) in rows.iter().zip(values) {
            let row = Some(row as usize).filter(|&row| row < height)?;
            entries.push((row, column, value));
        }
        first = end;
    }
    Some(Value::Sparse { dims: [height, width], entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_must_fit() {
        let dims = [3, 2];
        let good = matrix(&dims, &[2.0, 0.0, 9.0], &[0.0, 1.0, 2.0], &[5.0, 6.0, 7.0]).unwrap();
        assert_eq!(good, Value::Sparse { dims, entries: vec![(2, 0, 5.0), (0, 1, 6.0)] });
        let starts: [&[f64]; 5] =
            [&[], &[0.0, 1.0], &[0.0, 2.0, 1.0], &[0.0, 1.0, 9.0], &[0.0, 1.0, f64::INFINITY]];
        for starts in starts {
            assert_eq!(matrix(&dims, &[2.0, 0.0], starts, &[5.0, 6.0]), None, "{starts:?}");
        }
        assert_eq!(matrix(&dims, &[3.0], &[0.0, 1.0, 1.0], &[5.0]), None);
        assert_eq!(matrix(&[3, 1, 1], &[], &[0.0, 0.0], &[]), None);
    }
}
