//! Functions of symmetric matrices through their eigenvalues, and their gradients.

use nalgebra::{DMatrix, DVector};
use ptsm_signal::eigen::{self, Eigen};

use crate::error::{Error, Result};

/// Eigenvalues of covariances below this count as this where their logarithm is taken.
pub(super) const LEAST: f64 = 1e-7;
/// Eigenvalues nearer to each other than this count as equal in gradients.
const EQUAL: f64 = 1e-7;

/// A function of eigenvalues.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    /// The logarithm of what is at least [`LEAST`].
    Log,
    /// The exponential.
    Exp,
    /// The square root.
    Root,
    /// One by the square root.
    InverseRoot,
    /// A power.
    Power(f64),
    /// The logarithm of a power, of at least [`LEAST`].
    LogPower(f64),
    /// At least this.
    Floor(f64),
}

impl Function {
    fn value(self, x: f64) -> f64 {
        match self {
            Function::Log => x.max(LEAST).ln(),
            Function::Exp => x.exp(),
            Function::Root => x.sqrt(),
            Function::InverseRoot => 1.0 / x.sqrt(),
            Function::Power(p) => x.powf(p),
            Function::LogPower(p) => (p * x.ln()).max(LEAST.ln()),
            Function::Floor(least) => x.max(least),
        }
    }

    fn slope(self, x: f64) -> f64 {
        match self {
            Function::Log => {
                if x > LEAST {
                    1.0 / x
                } else {
                    0.0
                }
            }
            Function::Exp => x.exp(),
            Function::Root => 0.5 / x.sqrt(),
            Function::InverseRoot => -0.5 / (x * x.sqrt()),
            Function::Power(p) => p * x.powf(p - 1.0),
            Function::LogPower(p) => {
                if p * x.ln() > LEAST.ln() {
                    p / x
                } else {
                    0.0
                }
            }
            Function::Floor(least) => {
                if x > least {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }
}

/// A symmetric matrix as eigenvalues and eigenvectors.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    pub(super) values: DVector<f64>,
    vectors: DMatrix<f64>,
}

impl Spectrum {
    /// Of the symmetric part of a matrix.
    pub(super) fn of(matrix: &DMatrix<f64>) -> Result<Spectrum> {
        eigen::symmetric(&symmetric(matrix)).map(Spectrum::from).ok_or_else(not_found)
    }

    /// The same of a matrix that has no eigenvalue at or below zero but for rounding, which can be told down to so much of the largest.
    pub(super) fn positive(matrix: &DMatrix<f64>) -> Result<Spectrum> {
        Spectrum::of(matrix).map(Spectrum::kept_from_zero)
    }

    /// The same of several such matrices that are exactly symmetric, which is less work together.
    pub(super) fn positive_each(matrices: &[DMatrix<f64>]) -> Result<Vec<Spectrum>> {
        let found = eigen::symmetric_each(matrices).ok_or_else(not_found)?;
        Ok(found.into_iter().map(|eigen| Spectrum::from(eigen).kept_from_zero()).collect())
    }

    fn kept_from_zero(mut self) -> Spectrum {
        let least = (f64::EPSILON * self.values.max()).max(f64::MIN_POSITIVE);
        self.values.iter_mut().for_each(|v| *v = v.max(least));
        self
    }

    /// The matrix after a function.
    pub(super) fn map(&self, function: Function) -> DMatrix<f64> {
        let mut scaled = self.vectors.clone();
        for (mut column, &value) in scaled.column_iter_mut().zip(self.values.iter()) {
            column *= function.value(value);
        }
        symmetric(&(scaled * self.vectors.transpose()))
    }

    /// A gradient as the eigenvectors see it: `U' sym(G) U`.
    pub(super) fn turned(&self, gradient: &DMatrix<f64>) -> DMatrix<f64> {
        self.vectors.transpose() * symmetric(gradient) * &self.vectors
    }

    /// The gradient before a function from the one after it, by divided differences: eigenvectors are never differentiated, for nearly equal
    /// eigenvalues would make that explode.
    pub(super) fn gradient(&self, function: Function, after: &DMatrix<f64>) -> DMatrix<f64> {
        self.gradient_of_turned(function, self.turned(after))
    }

    /// The same where the gradient is turned already.
    pub(super) fn gradient_of_turned(&self, function: Function, mut turned: DMatrix<f64>) -> DMatrix<f64> {
        let x = &self.values;
        let (values, slopes) = (x.map(|x| function.value(x)), x.map(|x| function.slope(x)));
        for j in 0..x.len() {
            for i in 0..x.len() {
                let between = x[i] - x[j];
                turned[(i, j)] *= match between.abs() < EQUAL {
                    true => 0.5 * (slopes[i] + slopes[j]),
                    false => (values[i] - values[j]) / between,
                };
            }
        }
        &self.vectors * turned * self.vectors.transpose()
    }
}

impl From<Eigen> for Spectrum {
    fn from(Eigen { values, vectors }: Eigen) -> Spectrum {
        Spectrum { values, vectors }
    }
}

fn not_found() -> Error {
    Error::trials(
        "a covariance has values that are not numbers",
        "look for samples of absurd size, or lower `training.rate`",
    )
}

/// The symmetric part.
pub(super) fn symmetric(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    (matrix + matrix.transpose()) * 0.5
}

/// `outer inner outer'`, exactly symmetric, for symmetric `outer`.
pub(super) fn congruence(outer: &DMatrix<f64>, inner: &DMatrix<f64>) -> DMatrix<f64> {
    symmetric(&(outer * inner * outer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tsmnet::golden::{close, fill, orthonormal, two};

    #[test]
    fn the_logarithm_and_its_gradient_are_as_specified() {
        let at = Spectrum::of(&two(2.0, 1.0, 3.0)).unwrap();
        close(at.map(Function::Log).as_slice(), &[0.5895144857, 0.430408941, 0.430408941, 1.019923427], 1e-9);
        let g = two(1.0, 2.0, -1.0);
        let found = at.gradient(Function::Log, &g);
        close(found.as_slice(), &[0.08865430554, 0.9443271528, 0.9443271528, -0.6886543055], 1e-9);
        // Equal eigenvalues: exactly the half.
        let at = Spectrum::of(&two(2.0, 0.0, 2.0)).unwrap();
        assert_eq!(at.gradient(Function::Log, &g), g * 0.5);
    }

    /// The sum of `weights o f(matrix)`, as a function of every entry.
    fn differences(function: Function, matrix: &DMatrix<f64>, weights: &DMatrix<f64>) -> DMatrix<f64> {
        let n = matrix.nrows();
        let value = |m: &DMatrix<f64>| Spectrum::of(m).unwrap().map(function).dot(weights);
        DMatrix::from_fn(n, n, |i, j| {
            let mut step = DMatrix::zeros(n, n);
            step[(i, j)] = 1e-6;
            (value(&(matrix + &step)) - value(&(matrix - &step))) / 2e-6
        })
    }

    #[test]
    fn gradients_agree_with_differences() {
        let any = DMatrix::from_row_slice(4, 4, &fill(16, 3, 1.0));
        let matrix = &any * any.transpose() + DMatrix::identity(4, 4) * 0.3;
        let weights = DMatrix::from_row_slice(4, 4, &fill(16, 5, 1.0));
        use Function::*;
        for function in [Log, Exp, Root, InverseRoot, Power(0.3), Power(-1.7), LogPower(0.8), Floor(0.31)] {
            let found = Spectrum::of(&matrix).unwrap().gradient(function, &weights);
            let expected = differences(function, &matrix, &weights);
            assert!((found - &expected).amax() < 1e-7 * expected.amax(), "{function:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for wrong in [f64::NAN, f64::INFINITY] {
            let matrix = DMatrix::from_element(3, 3, wrong);
            assert!(Spectrum::of(&matrix).unwrap_err().hint().is_some());
            assert!(Spectrum::positive_each(&[DMatrix::identity(3, 3), matrix]).is_err());
        }
    }

    #[test]
    fn what_is_clamped_has_no_gradient() {
        let q = orthonormal(&(DMatrix::from_row_slice(3, 3, &fill(9, 1, 1.0)) + DMatrix::identity(3, 3)));
        let values = DMatrix::from_diagonal(&DVector::from_row_slice(&[1e-6, 0.5, 2.0]));
        let matrix = &q * values * q.transpose();
        let weights = DMatrix::from_row_slice(3, 3, &fill(9, 2, 1.0));
        let function = Function::Floor(1e-4);
        let found = Spectrum::of(&matrix).unwrap().gradient(function, &weights);
        assert!((&found - differences(function, &matrix, &weights)).amax() < 1e-7);
        assert!((q.transpose() * found * q)[(0, 0)].abs() < 1e-12);
        // All of them clamped.
        let flat = Spectrum::of(&(DMatrix::identity(3, 3) * 1e-5)).unwrap();
        assert_eq!(flat.gradient(function, &weights), DMatrix::zeros(3, 3));
        assert_eq!(flat.map(function), DMatrix::identity(3, 3) * 1e-4);
    }
}
