//! Eigenvalues and eigenvectors of small symmetric matrices.
//!
//! Householder's reduction to tridiagonal form, then QL steps with implicit shifts (Wilkinson and Reinsch 1971, contributions II/2 and
//! II/4). For 20 x 20 it takes a fraction of the time of a solver made for large matrices, and training takes several per trial.

use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};

/// QL steps for one eigenvalue at most; two or three are usual.
const STEPS: usize = 60;

/// Eigenvalues in no particular order, and eigenvectors as columns. Only the lower triangle is read.
pub(super) fn symmetric(matrix: &DMatrix<f64>) -> Result<(DVector<f64>, DMatrix<f64>)> {
    let n = matrix.nrows();
    let largest = matrix.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    if !matrix.iter().all(|v| v.is_finite()) {
        return Err(Error::trials(
            "a covariance has values that are not numbers",
            "look for samples of absurd size, or lower `training.rate`",
        ));
    }
    if n == 0 || largest == 0.0 {
        return Ok((DVector::zeros(n), DMatrix::identity(n, n)));
    }
    // Entries of at most 1 can neither overflow nor vanish in a square.
    let mut work = matrix / largest;
    let (mut diagonal, mut beside, mut vectors) = tridiagonal(&mut work);
    ql(&mut diagonal, &mut beside, &mut vectors)?;
    diagonal.iter_mut().for_each(|v| *v *= largest);
    Ok((DVector::from_vec(diagonal), vectors))
}

/// A column below row `k`.
fn below(a: &DMatrix<f64>, k: usize, column: usize) -> &[f64] {
    let n = a.nrows();
    &a.as_slice()[column * n + k + 1..(column + 1) * n]
}

/// The same, to change it.
fn below_mut(a: &mut DMatrix<f64>, k: usize, column: usize) -> &mut [f64] {
    let n = a.nrows();
    &mut a.as_mut_slice()[column * n + k + 1..(column + 1) * n]
}

/// The diagonal, what is beside it, and the orthogonal matrix that leads there. The matrix is used up.
fn tridiagonal(a: &mut DMatrix<f64>) -> (Vec<f64>, Vec<f64>, DMatrix<f64>) {
    let n = a.nrows();
    let mut beside = vec![0.0; n];
    let mut weights = vec![0.0; n];
    let mut w = vec![0.0; n];
    for k in 0..n.saturating_sub(2) {
        // The reflection that leaves one entry of this column below the diagonal stays where the column was.
        let column = below_mut(a, k, k);
        let length = column.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length == 0.0 {
            continue;
        }
        let left = if column[0] > 0.0 { -length } else { length };
        beside[k] = left;
        column[0] -= left;
        let weight = 2.0 / column.iter().map(|x| x * x).sum::<f64>();
        weights[k] = weight;
        let v: Vec<f64> = column.to_vec();
        // What is left becomes H A H, through w = b A v - (b^2/2 v'Av) v. Only its lower triangle is kept.
        let w = &mut w[..v.len()];
        w.fill(0.0);
        for j in 0..v.len() {
            let column = below(a, k, k + 1 + j);
            let mut dot = column[j] * v[j];
            for i in j + 1..v.len() {
                dot += column[i] * v[i];
                w[i] += column[i] * v[j];
            }
            w[j] += dot;
        }
        w.iter_mut().for_each(|w| *w *= weight);
        let half = 0.5 * weight * w.iter().zip(&v).map(|(w, v)| w * v).sum::<f64>();
        w.iter_mut().zip(&v).for_each(|(w, v)| *w -= half * v);
        for j in 0..v.len() {
            let column = below_mut(a, k, k + 1 + j);
            let (vj, wj) = (v[j], w[j]);
            for i in j..v.len() {
                column[i] -= v[i] * wj + w[i] * vj;
            }
        }
    }
    if n > 1 {
        beside[n - 2] = a[(n - 1, n - 2)];
    }
    let diagonal = a.diagonal().as_slice().to_vec();
    let mut q = DMatrix::identity(n, n);
    for k in (0..n.saturating_sub(2)).rev() {
        let v = below(a, k, k);
        for j in k + 1..n {
            let column = below_mut(&mut q, k, j);
            let dot = weights[k] * column.iter().zip(v).map(|(q, v)| q * v).sum::<f64>();
            column.iter_mut().zip(v).for_each(|(q, v)| *q -= dot * v);
        }
    }
    (diagonal, beside, q)
}

/// Makes the entries beside the diagonal vanish; the columns of `q` turn with them.
fn ql(d: &mut [f64], e: &mut [f64], q: &mut DMatrix<f64>) -> Result<()> {
    let n = d.len();
    for l in 0..n {
        for step in 0.. {
            let small = |m: &usize| e[*m].abs() <= f64::EPSILON * (d[*m].abs() + d[*m + 1].abs());
            let m = (l..n - 1).find(small).unwrap_or(n - 1);
            if m == l {
                break;
            }
            if step == STEPS {
                return Err(Error::trials(
                    "the eigenvalues of a covariance were not found",
                    "look for samples of absurd size",
                ));
            }
            let slope = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let length = (slope * slope + 1.0).sqrt();
            let mut g = d[m] - d[l] + e[l] / (slope + length.copysign(slope));
            let (mut s, mut c, mut shift) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = (f * f + g * g).sqrt();
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= shift;
                    split = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = d[i + 1] - shift;
                let r = (d[i] - g) * s + 2.0 * c * b;
                shift = s * r;
                d[i + 1] = g + shift;
                g = c * r - b;
                let (left, right) = q.as_mut_slice()[i * n..(i + 2) * n].split_at_mut(n);
                for (x, y) in left.iter_mut().zip(right) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
            if !split {
                d[l] -= shift;
                e[l] = g;
            }
            e[m] = 0.0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(matrix: &DMatrix<f64>) {
        let (values, vectors) = symmetric(matrix).unwrap();
        let n = matrix.nrows();
        let size = matrix.amax().max(f64::MIN_POSITIVE);
        let again = &vectors * DMatrix::from_diagonal(&values) * vectors.transpose();
        assert!((again - matrix).amax() <= 1e-14 * n as f64 * size, "{matrix}");
        assert!((vectors.transpose() * &vectors - DMatrix::identity(n, n)).amax() < 1e-14 * n as f64);
    }

    #[test]
    fn a_matrix_is_put_together_again_from_its_parts() {
        for n in [1, 2, 3, 5, 20, 40] {
            let any = DMatrix::from_fn(n, n, |i, j| ((i * 7 + j * 13) as f64 * 0.37).sin());
            check(&(&any + any.transpose()));
            check(&(&any * any.transpose() * 1e9));
            check(&DMatrix::zeros(n, n));
            check(&DMatrix::identity(n, n));
            check(&DMatrix::from_element(n, n, 2.0));
            check(&DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| 1e-4 * (i as f64 - 2.0))));
        }
        // Nearly equal eigenvalues, and very unequal ones.
        let turn = DMatrix::from_row_slice(2, 2, &[0.6, -0.8, 0.8, 0.6]);
        for values in [[1.0, 1.0 + 1e-15], [1e-300, 1.0], [1e300, 1e-300], [-1.0, 1.0]] {
            let diagonal = DMatrix::from_diagonal(&DVector::from_row_slice(&values));
            let full = &turn * diagonal * turn.transpose();
            check(&(&full + full.transpose()));
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert!(symmetric(&DMatrix::from_element(3, 3, f64::NAN)).is_err());
        assert!(symmetric(&DMatrix::from_element(3, 3, f64::INFINITY)).is_err());
    }
}
