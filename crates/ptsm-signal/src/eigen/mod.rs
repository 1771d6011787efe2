//! Eigenvalues and eigenvectors of symmetric matrices of the size of a montage.
//!
//! Householder reflections make the matrix tridiagonal, implicit QL steps make it diagonal (Golub and Van Loan, *Matrix Computations*,
//! 8.3). The rotations of one QL step are applied together, to some rows of all vectors at a time, so that each vector is read and
//! written once. Columns are kept at a multiple of eight numbers, the rest being zero, so that every loop is of whole vectors.

mod reflect;
mod several;
mod turn;
mod versions;

use nalgebra::{DMatrix, DVector};

use reflect::{reduce, unfold};
use several::{TridiagonalBatch, sweep};
use turn::rotate;

use crate::lanes::{Isa, LANES};

/// QL steps that one eigenvalue may take, as LAPACK has it. Two are usual.
const STEPS: usize = 30;

/// Eigenvalues in ascending order, with their vectors as columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// `[n]`.
    pub values: DVector<f64>,
    /// `[n, n]`, orthonormal.
    pub vectors: DMatrix<f64>,
}

/// Eigenvalues and vectors of a symmetric matrix, of which the lower triangle is read. Nothing where an entry is no number, and where
/// the steps were not enough, which is not known to happen.
pub fn symmetric(matrix: &DMatrix<f64>) -> Option<Eigen> {
    let mut work = Work::new(matrix, Isa::best())?;
    work.reduce();
    let mut vectors = work.unfold();
    let (isa, stride) = (work.isa, work.stride);
    work.diagonalise(|last, turns| versions::rotate(isa, &mut vectors, stride, last, turns))?;
    Some(work.sorted(&vectors))
}

/// The same, to the bit, of several matrices, which is less work where they are of one size.
pub fn symmetric_each(matrices: &[DMatrix<f64>]) -> Option<Vec<Eigen>> {
    let mut all = Vec::with_capacity(matrices.len());
    for some in matrices.chunks(LANES) {
        match several::several(some, Isa::best()) {
            Some(found) => all.extend(found),
            None => {
                for matrix in some {
                    all.push(symmetric(matrix)?);
                }
            }
        }
    }
    Some(all)
}

/// The eigenvalues alone, in ascending order, which is a third of the work.
pub fn symmetric_values(matrix: &DMatrix<f64>) -> Option<DVector<f64>> {
    let mut work = Work::new(matrix, Isa::best())?;
    work.reduce();
    work.diagonalise(|_, _| {})?;
    work.diagonal.sort_by(f64::total_cmp);
    let scale = work.scale;
    Some(DVector::from_vec(work.diagonal) * scale)
}

/// A matrix on its way.
struct Work {
    isa: Isa,
    size: usize,
    /// From one column to the next.
    stride: usize,
    /// What entries were divided by: squares of entries of at most 1 cannot overflow.
    scale: f64,
    columns: Vec<f64>,
    diagonal: Vec<f64>,
    /// Beside the diagonal.
    beside: Vec<f64>,
    /// The factor of each reflection; its vector lies in the column.
    factors: Vec<f64>,
}

impl Work {
    fn new(matrix: &DMatrix<f64>, isa: Isa) -> Option<Work> {
        let size = matrix.nrows();
        if !matrix.is_square() {
            return None;
        }
        // Columns a power of two apart would take each other's places in the processor's cache.
        let stride = size.next_multiple_of(LANES);
        let stride = if size > 64 && stride.is_multiple_of(64) { stride + LANES } else { stride };
        let below = |column: usize| &matrix.as_slice()[column * size + column..(column + 1) * size];
        let mut sizes = (0..size).flat_map(below).map(|v| v.abs());
        let largest = sizes.try_fold(0.0f64, |most, v| v.is_finite().then(|| most.max(v)))?;
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let mut columns = vec![0.0; size * stride];
        for column in 0..size {
            for (row, value) in below(column).iter().enumerate().map(|(i, v)| (column + i, v / scale)) {
                columns[column * stride + row] = value;
                columns[row * stride + column] = value;
            }
        }
        let zeros = || vec![0.0; size];
        Some(Work { isa, size, stride, scale, columns, diagonal: zeros(), beside: zeros(), factors: zeros() })
    }

    fn reduce(&mut self) {
        let Work { isa, size, stride, columns, diagonal, beside, factors, .. } = self;
        if *size > 0 {
            versions::reduce(*isa, columns, *size, *stride, diagonal, beside, factors);
        }
    }

    fn unfold(&self) -> Vec<f64> {
        let mut vectors = vec![0.0; self.size * self.stride];
        if self.size > 0 {
            versions::unfold(self.isa, &self.columns, self.size, self.stride, &self.factors, &mut vectors);
        }
        vectors
    }

    /// What was found, in ascending order and at its true size.
    fn sorted(&self, vectors: &[f64]) -> Eigen {
        let (size, stride) = (self.size, self.stride);
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&a, &b| self.diagonal[a].total_cmp(&self.diagonal[b]));
        let values = DVector::from_iterator(size, order.iter().map(|&i| self.diagonal[i] * self.scale));
        let mut columns = Vec::with_capacity(size * size);
        order.iter().for_each(|&i| columns.extend_from_slice(&vectors[i * stride..i * stride + size]));
        Eigen { values, vectors: DMatrix::from_vec(size, size, columns) }
    }

    /// Whether what is beside the diagonal after entry `m` is as good as nothing: beside its neighbours, or beside the largest entry, which is 1.
    /// Without the latter the directions of a singular matrix would be looked for in what rounding left there.
    fn splits(&self, m: usize) -> bool {
        let (size, next) = (self.diagonal[m].abs(), self.diagonal[m + 1].abs());
        self.beside[m].abs() <= f64::EPSILON * (size * next).sqrt().max(0.5)
    }

    /// Makes the tridiagonal matrix diagonal. `rotated` is told the rotations of each step as cosine and sine: the first is of the column
    /// it is told and the one before, each further one of the pair before.
    fn diagonalise(&mut self, mut rotated: impl FnMut(usize, &[[f64; 2]])) -> Option<()> {
        let mut turns = Vec::with_capacity(self.size);
        for first in 0..self.size {
            let mut steps = 0;
            loop {
                let last = (first..self.size - 1).find(|&m| self.splits(m)).unwrap_or(self.size - 1);
                if last == first {
                    break;
                }
                if steps == STEPS {
                    return None;
                }
                steps += 1;
                turns.clear();
                self.step(first, last, &mut turns);
                rotated(last, &turns);
            }
        }
        Some(())
    }

    /// One implicit QL step on the entries from `first` to `last`.
    fn step(&mut self, first: usize, last: usize, turns: &mut Vec<[f64; 2]>) {
        let (d, e) = (&mut self.diagonal[..=last], &mut self.beside[..=last]);
        // Wilkinson's shift: the eigenvalue of the first two rows that is nearer to the first entry.
        let half = (d[first + 1] - d[first]) / (2.0 * e[first]);
        let root = half.hypot(1.0);
        let mut g = d[last] - d[first] + e[first] / (half + root.copysign(half));
        let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
        for i in (first..last).rev() {
            let (f, b) = (sine * e[i], cosine * e[i]);
            let r = (f * f + g * g).sqrt();
            e[i + 1] = r;
            if r == 0.0 {
                // The matrix falls apart here.
                d[i + 1] -= moved;
                e[last] = 0.0;
                return;
            }
            let inverse = 1.0 / r;
            (sine, cosine) = (f * inverse, g * inverse);
            let reached = d[i + 1] - moved;
            let across = (d[i] - reached) * sine + 2.0 * cosine * b;
            moved = sine * across;
            d[i + 1] = reached + moved;
            g = cosine * across - b;
            turns.push([cosine, sine]);
        }
        d[first] -= moved;
        e[first] = g;
        e[last] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symmetric matrix that is not like any other.
    fn odd(size: usize) -> DMatrix<f64> {
        let x = DMatrix::from_fn(size, size, |i, j| ((i * 31 + j * 17 + i * j) as f64 * 0.7).sin());
        (&x + x.transpose()) * 0.5
    }

    /// The directions without anything are found, wherever they lie.
    #[test]
    fn singular_matrices_are_no_trouble() {
        for (size, rank) in [(8, 1), (30, 3), (63, 20), (64, 63), (200, 11)] {
            for shift in 0..5 {
                let x = DMatrix::from_fn(size, rank, |i, j| {
                    ((i * 31 + j * 17 + i * j + shift) as f64 * 0.7).sin()
                });
                let matrix = &x * x.transpose();
                let found = symmetric(&matrix).unwrap();
                holds(&matrix, &found);
                let lost = found.values.iter().filter(|v| v.abs() < 1e-12 * matrix.amax()).count();
                assert!(lost >= size - rank, "{size} {rank}: {lost}");
                let alone = symmetric_values(&matrix).unwrap();
                assert!((alone - found.values).amax() < 1e-12 * matrix.amax());
            }
        }
    }

    fn holds(matrix: &DMatrix<f64>, found: &Eigen) {
        let size = matrix.nrows();
        let largest = matrix.amax().max(f64::MIN_POSITIVE);
        let near = 1e-14 * (size as f64 + 4.0);
        let turned = found.vectors.transpose() * matrix * &found.vectors;
        let off = turned - DMatrix::from_diagonal(&found.values);
        assert!(off.amax() <= near * largest, "{size}: {}", off.amax() / largest);
        let orthogonal = found.vectors.transpose() * &found.vectors - DMatrix::identity(size, size);
        assert!(orthogonal.amax() <= near, "{size}: {}", orthogonal.amax());
        assert!(found.values.as_slice().is_sorted());
    }

    #[test]
    fn vectors_make_the_matrix_diagonal_at_every_size() {
        for size in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 62, 64, 65, 130] {
            let matrix = odd(size);
            let found = symmetric(&matrix).unwrap();
            holds(&matrix, &found);
            let values = symmetric_values(&matrix).unwrap();
            assert!((values - &found.values).amax() <= 1e-13 * (1.0 + size as f64) * matrix.amax());
        }
    }

    /// Together or alone, of few matrices or many, of matrices that fall apart too.
    #[test]
    fn several_at_once_are_each_as_alone() {
        for size in [1, 2, 3, 8, 17, 33, 62] {
            let mut all: Vec<_> = (0..19).map(|i| odd(size).map(|v| (v * (1.0 + i as f64)).cos())).collect();
            all.iter_mut().for_each(|m| *m = (&*m + m.transpose()) * 0.5);
            all[3] = DMatrix::identity(size, size);
            all[4] = DMatrix::zeros(size, size);
            all[5] = DMatrix::from_element(size, size, 2.0);
            let found = symmetric_each(&all).unwrap();
            assert_eq!(found.len(), 19);
            for (matrix, found) in all.iter().zip(&found) {
                holds(matrix, found);
                assert_eq!(&symmetric(matrix).unwrap(), found);
            }
        }
        assert!(symmetric_each(&[]).unwrap().is_empty());
        assert!(symmetric_each(&[odd(3), odd(4)]).is_some());
        assert!(symmetric_each(&[odd(3), DMatrix::from_element(3, 3, f64::NAN)]).is_none());
    }

    #[test]
    fn every_instruction_set_finds_the_same() {
        let matrix = odd(37);
        let found: Vec<Vec<f64>> = Isa::all()
            .into_iter()
            .map(|isa| {
                let mut work = Work::new(&matrix, isa).unwrap();
                work.reduce();
                let mut vectors = work.unfold();
                let stride = work.stride;
                work.diagonalise(|last, turns| versions::rotate(isa, &mut vectors, stride, last, turns))
                    .unwrap();
                vectors
            })
            .collect();
        assert!(found.iter().all(|vectors| *vectors == found[0]));
    }

    #[test]
    fn special_matrices_are_no_trouble() {
        let equal = DMatrix::from_element(20, 20, 3.0);
        holds(&equal, &symmetric(&equal).unwrap());
        assert!((symmetric(&equal).unwrap().values[19] - 60.0).abs() < 1e-12);
        let diagonal = DMatrix::from_diagonal(&DVector::from_fn(12, |i, _| 5.0 - i as f64));
        let found = symmetric(&diagonal).unwrap();
        assert_eq!(
            found.values.as_slice(),
            &[-6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        );
        for size in [0, 1, 6] {
            let zero = DMatrix::zeros(size, size);
            assert!(symmetric(&zero).unwrap().values.iter().all(|v| *v == 0.0));
        }
        // Very large, very small, and both in one.
        holds(&(odd(20) * 1e300), &symmetric(&(odd(20) * 1e300)).unwrap());
        holds(&(odd(20) * 1e-300), &symmetric(&(odd(20) * 1e-300)).unwrap());
        let graded = DMatrix::from_fn(30, 30, |i, j| odd(30)[(i, j)] * 10f64.powi(-((i + j) as i32)));
        holds(&graded, &symmetric(&graded).unwrap());
        let close = DMatrix::identity(40, 40) + odd(40) * 1e-13;
        holds(&close, &symmetric(&close).unwrap());
    }

    #[test]
    fn what_is_no_number_or_no_square_is_refused() {
        let mut matrix = odd(5);
        matrix[(3, 1)] = f64::NAN;
        assert!(symmetric(&matrix).is_none() && symmetric_values(&matrix).is_none());
        assert!(symmetric(&DMatrix::zeros(2, 3)).is_none());
    }

    #[test]
    fn the_lower_triangle_is_read() {
        let mut matrix = odd(9);
        let whole = symmetric(&matrix).unwrap();
        matrix.fill_upper_triangle(7.0, 1);
        assert_eq!(symmetric(&matrix).unwrap(), whole);
    }
}
