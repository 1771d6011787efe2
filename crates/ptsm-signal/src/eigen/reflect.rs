//! Householder reflections: a symmetric matrix to a tridiagonal one, and the turn that does it.

use crate::lanes::LANES;

type Piece = [f64; LANES];

/// A piece whole: made before it is put anywhere, so that the compiler need not think of what else lies there.
#[inline(always)]
fn piece(entry: impl Fn(usize) -> f64) -> Piece {
    std::array::from_fn(entry)
}

#[inline(always)]
fn pieces(values: &[f64]) -> &[Piece] {
    values.as_chunks().0
}

#[inline(always)]
fn pieces_mut(values: &mut [f64]) -> &mut [Piece] {
    values.as_chunks_mut().0
}

/// Makes a symmetric matrix tridiagonal. Column k then holds the vector of reflection k, zero down to row k, and `factors` its factor.
#[inline(always)]
pub(crate) fn reduce(
    columns: &mut [f64],
    size: usize,
    stride: usize,
    diagonal: &mut [f64],
    beside: &mut [f64],
    factors: &mut [f64],
) {
    let mut w = vec![0.0; stride];
    for k in 0..size - 1 {
        let (done, rest) = columns.split_at_mut((k + 1) * stride);
        let v = &mut done[k * stride..];
        diagonal[k] = v[k];
        v[..=k].fill(0.0);
        let Some(factor) = reflection(&mut v[k + 1..size], &mut beside[k]) else {
            v.fill(0.0);
            continue;
        };
        factors[k] = factor;
        // `w = factor A v`, less what makes `A - v w^T - w v^T` the reflected matrix. Pieces before `from` are zero in both.
        let from = (k + 1) / LANES;
        product(rest, stride, from, &v[k + 1..size], pieces_mut(&mut w));
        w[..=k].fill(0.0);
        let half = 0.5 * factor * factor * dot(&pieces(&w)[from..], &pieces(v)[from..]);
        w.iter_mut().zip(&*v).for_each(|(w, v)| *w = factor * *w - half * v);
        subtract(rest, stride, from, k + 1, v, &w);
    }
    diagonal[size - 1] = columns[(size - 1) * stride + size - 1];
}

/// The turn that made the matrix tridiagonal: all reflections one after the other. `vectors` come as zeros.
#[inline(always)]
pub(crate) fn unfold(columns: &[f64], size: usize, stride: usize, factors: &[f64], vectors: &mut [f64]) {
    vectors.iter_mut().step_by(stride + 1).for_each(|v| *v = 1.0);
    for k in (0..size - 1).rev().filter(|&k| factors[k] != 0.0) {
        let from = (k + 1) / LANES;
        let v = &pieces(&columns[k * stride..(k + 1) * stride])[from..];
        // Columns before are still those of the identity, which have nothing below row k.
        let mut groups = vectors[(k + 1) * stride..].chunks_exact_mut(4 * stride);
        for group in &mut groups {
            let mut four = split(group, stride).map(|column| &mut pieces_mut(column)[from..]);
            let mut sums = [[0.0; LANES]; 4];
            for (i, v) in v.iter().enumerate() {
                for (sum, column) in sums.iter_mut().zip(&four) {
                    *sum = piece(|l| sum[l] + v[l] * column[i][l]);
                }
            }
            let sums = sums.map(|sum| factors[k] * total(&sum));
            for (i, v) in v.iter().enumerate() {
                for (sum, column) in sums.iter().zip(&mut four) {
                    column[i] = piece(|l| column[i][l] - sum * v[l]);
                }
            }
        }
        for column in groups.into_remainder().chunks_exact_mut(stride) {
            let column = &mut pieces_mut(column)[from..];
            let sum = factors[k] * dot(v, column);
            for (column, v) in column.iter_mut().zip(v) {
                *column = piece(|l| column[l] - sum * v[l]);
            }
        }
    }
}

/// Makes a vector that of the reflection that turns it onto its first axis: `(I - factor v v^T) x = reached e`. Nothing where it lies there.
#[inline(always)]
fn reflection(x: &mut [f64], reached: &mut f64) -> Option<f64> {
    let alpha = x[0];
    let rest: f64 = x[1..].iter().map(|v| v * v).sum();
    if rest == 0.0 {
        *reached = alpha;
        return None;
    }
    let beta = -(alpha * alpha + rest).sqrt().copysign(alpha);
    *reached = beta;
    let scale = 1.0 / (alpha - beta);
    x[1..].iter_mut().for_each(|v| *v *= scale);
    x[0] = 1.0;
    Some((beta - alpha) / beta)
}

#[inline(always)]
fn total(sum: &Piece) -> f64 {
    let half: [f64; 4] = std::array::from_fn(|l| sum[l] + sum[l + 4]);
    (half[0] + half[2]) + (half[1] + half[3])
}

#[inline(always)]
fn dot(a: &[Piece], b: &[Piece]) -> f64 {
    let mut sum = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        sum = piece(|l| sum[l] + a[l] * b[l]);
    }
    total(&sum)
}

/// Four columns that follow each other.
#[inline(always)]
fn split(group: &mut [f64], stride: usize) -> [&mut [f64]; 4] {
    let (front, back) = group.split_at_mut(2 * stride);
    let ((a, b), (c, d)) = (front.split_at_mut(stride), back.split_at_mut(stride));
    [a, b, c, d]
}

/// The columns times the entries of a vector, summed.
#[inline(always)]
fn product(columns: &[f64], stride: usize, from: usize, entries: &[f64], sum: &mut [Piece]) {
    let sum = &mut sum[from..];
    sum.fill([0.0; LANES]);
    let (fours, ones) = entries.as_chunks::<4>();
    let mut rest = columns;
    for v in fours {
        let (group, after) = rest.split_at(4 * stride);
        rest = after;
        let four: [&[Piece]; 4] =
            std::array::from_fn(|c| &pieces(&group[c * stride..(c + 1) * stride])[from..][..sum.len()]);
        for (i, sum) in sum.iter_mut().enumerate() {
            *sum = piece(|l| {
                let front = four[0][i][l] * v[0] + four[1][i][l] * v[1];
                let back = four[2][i][l] * v[2] + four[3][i][l] * v[3];
                sum[l] + (front + back)
            });
        }
    }
    for (column, v) in rest.chunks_exact(stride).zip(ones) {
        for (sum, column) in sum.iter_mut().zip(&pieces(column)[from..]) {
            *sum = piece(|l| sum[l] + column[l] * v);
        }
    }
}

/// `A - v w^T - w v^T`, the first column being that of row `first`.
#[inline(always)]
fn subtract(columns: &mut [f64], stride: usize, from: usize, first: usize, v: &[f64], w: &[f64]) {
    let (vs, ws) = (&pieces(v)[from..], &pieces(w)[from..]);
    for (column, (vj, wj)) in columns.chunks_exact_mut(stride).zip(v[first..].iter().zip(&w[first..])) {
        for ((column, v), w) in pieces_mut(column)[from..].iter_mut().zip(vs).zip(ws) {
            *column = piece(|l| column[l] - (v[l] * wj + w[l] * vj));
        }
    }
}
