//! Symmetric positive definite matrices with the affine-invariant geometry: functions, distance and means.
//!
//! Eigenvalues are taken as at least 1e-12 of the largest. Where an inverse or a logarithm is needed a smaller one means
//! that the matrix has lost rank, and the matrix is refused.

mod tangent;

use nalgebra::{DMatrix, DMatrixViewMut, DVector, Dyn};
use rayon::prelude::*;

pub use tangent::{TangentSpace, upper};

use crate::eigen::{self, Eigen};
use crate::error::{Error, Result};

/// Share of the largest eigenvalue below which an eigenvalue counts as zero.
const FLOOR: f64 = 1e-12;
/// Norm of the mean tangent vector at which the Karcher mean is found.
const TOLERANCE: f64 = 1e-8;
/// Most steps towards the Karcher mean.
const STEPS: usize = 50;
/// Matrices whose logarithms one thread adds up: always the same ones, so that the sum does not depend on the threads.
const PIECE: usize = 8;

/// The matrix to a real power. Negative powers need full rank.
pub fn power(matrix: &DMatrix<f64>, exponent: f64) -> Result<DMatrix<f64>> {
    let need = if exponent < 0.0 { EigenvalueNeed::FullRank } else { EigenvalueNeed::Nothing };
    apply(matrix, need, |e| e.powf(exponent))
}

/// The symmetric square root.
pub fn sqrt(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    apply(matrix, EigenvalueNeed::Nothing, f64::sqrt)
}

/// The inverse of the symmetric square root. Needs full rank.
pub fn inverse_sqrt(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    apply(matrix, EigenvalueNeed::FullRank, |e| 1.0 / e.sqrt())
}

/// The matrix logarithm. Needs full rank.
pub fn log(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    apply(matrix, EigenvalueNeed::FullRank, f64::ln)
}

/// The exponential of any symmetric matrix.
pub fn exp(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    let eigen = decompose(matrix)?;
    Ok(recompose(&eigen, f64::exp))
}

/// `outer inner outer` of symmetric matrices, exactly symmetric; with `outer` an inverse square root this whitens.
pub fn congruence(outer: &DMatrix<f64>, inner: &DMatrix<f64>) -> DMatrix<f64> {
    let size = outer.nrows();
    let mut product = DMatrix::zeros(size, size);
    add_lower(&mut product, &(outer * inner), outer);
    product.fill_upper_triangle_with_lower_triangle();
    product
}

/// Affine-invariant distance `||log(A^-1/2 B A^-1/2)||`.
pub fn distance(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Result<f64> {
    same_size(a, b)?;
    Ok(log(&congruence(&inverse_sqrt(a)?, b))?.norm())
}

/// The matrix that lies at a share of the shortest way from one matrix to another: at 0 the first, at 1 the second.
pub fn geodesic(from: &DMatrix<f64>, to: &DMatrix<f64>, share: f64) -> Result<DMatrix<f64>> {
    same_size(from, to)?;
    let between = congruence(&inverse_sqrt(from)?, to);
    Ok(congruence(&sqrt(from)?, &apply(&between, EigenvalueNeed::FullRank, |e| e.powf(share))?))
}

/// The arithmetic mean.
pub fn mean_euclid(matrices: &[DMatrix<f64>]) -> Result<DMatrix<f64>> {
    let (first, rest) = matrices.split_first().ok_or_else(|| Error::data("mean", "there is no matrix"))?;
    let mut sum = first.clone();
    for matrix in rest {
        same_size(first, matrix)?;
        sum += matrix;
    }
    Ok(sum / matrices.len() as f64)
}

/// The Karcher mean: the matrix with the least sum of squared distances to all. It starts at the arithmetic mean and follows
/// pyRiemann's step rule, with its tolerance (1e-8) and its 50 steps; like there, the last step is the result where 50 were
/// not enough. Every matrix needs full rank.
pub fn karcher_mean(matrices: &[DMatrix<f64>]) -> Result<DMatrix<f64>> {
    karcher(matrices, EigenvalueNeed::FullRank)
}

/// The same of matrices of any rank: eigenvalues below `least`, as the mean sees them, count as that.
pub fn karcher_mean_of_any(matrices: &[DMatrix<f64>], least: f64) -> Result<DMatrix<f64>> {
    karcher(matrices, EigenvalueNeed::AtLeast(least))
}

fn karcher(matrices: &[DMatrix<f64>], need: EigenvalueNeed) -> Result<DMatrix<f64>> {
    let mut mean = mean_euclid(matrices)?;
    // The roots of a mean of lower rank are those of what rounding leaves there.
    let of_mean = if need == EigenvalueNeed::FullRank { need } else { EigenvalueNeed::Nothing };
    let (mut step, mut best) = (1.0, f64::MAX);
    for _ in 0..STEPS {
        let (root, inverse) = (sqrt(&mean)?, apply(&mean, of_mean, |e| 1.0 / e.sqrt())?);
        let tangent = mean_log(matrices, need, |matrix| congruence(&inverse, matrix))?;
        mean = congruence(&root, &exp(&(&tangent * step))?);
        let norm = tangent.norm();
        if step * norm < best {
            best = step * norm;
            step *= 0.95;
        } else {
            step *= 0.5;
        }
        if norm <= TOLERANCE || step <= TOLERANCE {
            break;
        }
    }
    Ok(mean)
}

/// The log-Euclidean mean `exp(mean(log X))`. Every matrix needs full rank.
pub fn mean_log_euclid(matrices: &[DMatrix<f64>]) -> Result<DMatrix<f64>> {
    // Refuses what has no mean or no common size.
    mean_euclid(matrices)?;
    exp(&mean_log(matrices, EigenvalueNeed::FullRank, DMatrix::clone)?)
}

/// The mean of the logarithms of what `prepare` makes of the matrices.
fn mean_log(
    matrices: &[DMatrix<f64>],
    need: EigenvalueNeed,
    prepare: impl Fn(&DMatrix<f64>) -> DMatrix<f64> + Sync,
) -> Result<DMatrix<f64>> {
    let size = matrices[0].nrows();
    let piece = |matrices: &[DMatrix<f64>]| -> Result<DMatrix<f64>> {
        let mut sum = DMatrix::zeros(size, size);
        let prepared: Vec<_> = matrices.iter().map(&prepare).collect();
        for eigen in decompose_each(&prepared)? {
            let floor = floor(&eigen.values, need)?;
            add_recomposed(&mut sum, &eigen, |e| e.max(floor).ln());
        }
        Ok(sum)
    };
    let pieces: Vec<_> = matrices.par_chunks(PIECE).map(piece).collect::<Result<_>>()?;
    let mut mean = pieces.into_iter().sum::<DMatrix<f64>>() / matrices.len() as f64;
    mean.fill_upper_triangle_with_lower_triangle();
    Ok(mean)
}

/// What is asked of eigenvalues.
#[derive(Clone, Copy, PartialEq)]
enum EigenvalueNeed {
    Nothing,
    FullRank,
    /// Nothing: what is less counts as this.
    AtLeast(f64),
}

/// A function of a positive matrix through its eigenvalues.
fn apply(matrix: &DMatrix<f64>, need: EigenvalueNeed, function: impl Fn(f64) -> f64) -> Result<DMatrix<f64>> {
    let eigen = decompose(matrix)?;
    let floor = floor(&eigen.values, need)?;
    Ok(recompose(&eigen, |e| function(e.max(floor))))
}

/// A function of the eigenvalues alone, which are cheaper without their vectors. Needs full rank.
fn apply_values(matrix: &DMatrix<f64>, function: impl Fn(f64) -> f64) -> Result<DVector<f64>> {
    check(matrix)?;
    let values = eigen::symmetric_values(matrix).ok_or_else(not_found)?;
    floor(&values, EigenvalueNeed::FullRank)?;
    Ok(values.map(function))
}

/// The least an eigenvalue may be; refuses fewer above it than needed.
fn floor(eigenvalues: &DVector<f64>, need: EigenvalueNeed) -> Result<f64> {
    if let EigenvalueNeed::AtLeast(least) = need {
        return Ok(least);
    }
    let floor = FLOOR * eigenvalues.iter().copied().fold(0.0, f64::max);
    let rank = eigenvalues.iter().filter(|&&e| e > floor).count();
    if need == EigenvalueNeed::FullRank && rank < eigenvalues.len() {
        let size = eigenvalues.len();
        return Err(Error::data("covariance", format!("has rank {rank} of {size}, so it cannot be inverted"))
            .with_hint(
                "an average reference, removed components, interpolated or flat channels and fewer samples than channels \
                 all take rank away: keep the recorded reference, pick fewer channels, or use a shrinkage estimator",
            ));
    }
    Ok(floor)
}

fn decompose(matrix: &DMatrix<f64>) -> Result<Eigen> {
    check(matrix)?;
    eigen::symmetric(matrix).ok_or_else(not_found)
}

fn decompose_each(matrices: &[DMatrix<f64>]) -> Result<Vec<Eigen>> {
    matrices.iter().try_for_each(check)?;
    eigen::symmetric_each(matrices).ok_or_else(not_found)
}

fn not_found() -> Error {
    Error::data("covariance", "its eigenvalues were not found")
}

fn check(matrix: &DMatrix<f64>) -> Result<()> {
    if !matrix.is_square() {
        let (rows, columns) = matrix.shape();
        return Err(Error::data("covariance", format!("{rows} x {columns} is not square")));
    }
    if matrix.iter().any(|v| !v.is_finite()) {
        return Err(Error::data("covariance", "holds a value that is not a number")
            .with_hint("look for missing samples and for overflow in the signal"));
    }
    Ok(())
}

fn recompose(eigen: &Eigen, function: impl Fn(f64) -> f64) -> DMatrix<f64> {
    let size = eigen.values.len();
    let mut matrix = DMatrix::zeros(size, size);
    add_recomposed(&mut matrix, eigen, function);
    matrix.fill_upper_triangle_with_lower_triangle();
    matrix
}

/// Adds a function of a matrix, on and below the diagonal.
fn add_recomposed(sum: &mut DMatrix<f64>, eigen: &Eigen, function: impl Fn(f64) -> f64) {
    let mut scaled = eigen.vectors.clone();
    for (mut column, &value) in scaled.column_iter_mut().zip(eigen.values.iter()) {
        column *= function(value);
    }
    add_lower(sum, &scaled, &eigen.vectors.transpose());
}

/// Columns of a symmetric product that are made together.
const BLOCK: usize = 32;

/// Adds a product that is symmetric, on and below the diagonal; what is above has no meaning then.
fn add_lower(sum: &mut DMatrix<f64>, left: &DMatrix<f64>, right: &DMatrix<f64>) {
    let size = sum.nrows();
    for (i, some) in sum.as_mut_slice().chunks_mut((BLOCK * size).max(1)).enumerate() {
        let (start, width) = (i * BLOCK, some.len() / size);
        let rows = size - start;
        let mut some = DMatrixViewMut::from_slice_generic(some, Dyn(size), Dyn(width));
        // Copies: nalgebra's small products read beyond a view whose rows are not side by side in memory.
        if start == 0 {
            some.gemm(1.0, left, &right.columns(0, width), 1.0);
        } else {
            let product = left.rows(start, rows).into_owned() * right.columns(start, width);
            let mut below = some.rows_mut(start, rows);
            below += product;
        }
    }
}

fn same_size(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Result<()> {
    if a.shape() == b.shape() {
        return Ok(());
    }
    let (a, b) = (a.nrows(), b.nrows());
    Err(Error::data("covariances", format!("of {a} and of {b} channels cannot be compared")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariance::{Estimator, estimate, second_moment};
    use crate::golden::{close, train};

    fn two(a: f64, b: f64, c: f64) -> DMatrix<f64> {
        DMatrix::from_row_slice(2, 2, &[a, b, b, c])
    }

    #[test]
    fn log_and_distance_are_as_geoopt_has_them() {
        let l = log(&two(2.0, 1.0, 3.0)).unwrap();
        close(l.as_slice(), &[0.5895144857, 0.430408941, 0.430408941, 1.019923427], 1e-9);
        let (a, b) = (two(2.0, 0.5, 1.0), two(1.0, -0.3, 3.0));
        close(&[distance(&a, &b).unwrap(), distance(&b, &a).unwrap()], &[1.542699509; 2], 1e-9);
        let mean = karcher_mean(&[a, b, two(4.0, 1.0, 1.0)]).unwrap();
        close(mean.as_slice(), &[1.9543429705, 0.3545351795, 0.3545351795, 1.3339637835], 1e-9);
    }

    #[test]
    fn karcher_mean_is_as_pyriemann_has_it() {
        let all: Vec<_> = train().iter().map(|x| estimate(x, 3, Estimator::Oas)).collect();
        let mean = karcher_mean(&all).unwrap();
        close(mean.diagonal().as_slice(), &[0.71180340117, 0.67397848684, 0.69447701371], 1e-10);
        close(&[mean[(0, 2)]], &[-0.02872389956], 1e-10);
        let mean = mean_log_euclid(&all).unwrap();
        close(mean.diagonal().as_slice(), &[0.71187775648, 0.67399890153, 0.69449232342], 1e-10);
        // The reference of Riemannian alignment: the same of what is not centred.
        let all: Vec<_> = train().iter().map(|x| second_moment(x, 3)).collect();
        let mean = karcher_mean(&all).unwrap();
        close(mean.diagonal().as_slice(), &[0.63230205500, 0.59599825952, 0.67193586730], 1e-10);
    }

    #[test]
    fn functions_undo_each_other() {
        let a = two(2.0, 0.5, 1.0);
        close(exp(&log(&a).unwrap()).unwrap().as_slice(), a.as_slice(), 1e-14);
        let root = sqrt(&a).unwrap();
        close((&root * &root).as_slice(), a.as_slice(), 1e-14);
        close(congruence(&inverse_sqrt(&a).unwrap(), &a).as_slice(), two(1.0, 0.0, 1.0).as_slice(), 1e-14);
        close(power(&a, 0.5).unwrap().as_slice(), root.as_slice(), 1e-14);
        close(power(&power(&a, -3.0).unwrap(), -1.0 / 3.0).unwrap().as_slice(), a.as_slice(), 1e-13);
    }

    #[test]
    fn the_shortest_way_is_divided_by_its_share() {
        let (a, b) = (two(2.0, 0.5, 1.0), two(1.0, -0.3, 3.0));
        let whole = distance(&a, &b).unwrap();
        for share in [0.0, 0.25, 0.5, 1.0] {
            let at = geodesic(&a, &b, share).unwrap();
            close(
                &[distance(&a, &at).unwrap(), distance(&at, &b).unwrap()],
                &[share * whole, (1.0 - share) * whole],
                1e-7,
            );
        }
        assert!(geodesic(&a, &DMatrix::identity(3, 3), 0.5).is_err());
    }

    #[test]
    fn lost_rank_is_refused_where_an_inverse_is_needed() {
        let flat = two(1.0, 1.0, 1.0);
        assert!(sqrt(&flat).is_ok());
        let error = inverse_sqrt(&flat).unwrap_err();
        assert!(error.to_string().contains("rank 1 of 2") && error.hint().unwrap().contains("average"));
        assert!(log(&flat).is_err() && power(&flat, -1.0).is_err() && karcher_mean(&[flat]).is_err());
        assert!(inverse_sqrt(&DMatrix::zeros(2, 2)).is_err());
    }

    /// Of what has full rank it is the mean itself; of the rest it is one that can be inverted.
    #[test]
    fn a_mean_of_any_rank_is_found() {
        let full = [two(2.0, 0.5, 1.0), two(1.0, -0.3, 3.0), two(4.0, 1.0, 1.0)];
        assert_eq!(karcher_mean_of_any(&full, 1e-7).unwrap(), karcher_mean(&full).unwrap());
        let any = [two(1.0, 1.0, 1.0), two(1.0, -1.0, 1.0), two(1e9, 0.0, 1e-9), DMatrix::zeros(2, 2)];
        assert!(karcher_mean(&any).is_err());
        let mean = karcher_mean_of_any(&any, 1e-7).unwrap();
        assert!(mean.iter().all(|v| v.is_finite()) && inverse_sqrt(&mean).is_ok(), "{mean}");
        assert_eq!(mean, mean.transpose());
        assert!(karcher_mean_of_any(&[], 1e-7).is_err());
    }

    #[test]
    fn bad_matrices_are_refused() {
        assert!(sqrt(&DMatrix::zeros(2, 3)).is_err());
        assert!(exp(&two(f64::NAN, 0.0, 1.0)).is_err());
        assert!(mean_euclid(&[]).is_err() && karcher_mean(&[]).is_err() && mean_log_euclid(&[]).is_err());
        assert!(distance(&two(1.0, 0.0, 1.0), &DMatrix::identity(3, 3)).is_err());
    }
}
