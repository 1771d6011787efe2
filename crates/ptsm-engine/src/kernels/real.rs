//! Real numbers as a type parameter: f32 to work, f64 to hold golden numbers and finite differences.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::kernels::Isa;
use crate::kernels::product::{DotProducts, Panel};
use crate::kernels::rows::{RowChange, RowSum};
use crate::kernels::winograd::{Phases, Transform, WinogradForm};

/// A floating-point type the engine computes in.
pub trait Real:
    Copy
    + PartialOrd
    + PartialEq
    + Debug
    + Display
    + Default
    + Send
    + Sync
    + bytemuck::Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Kernels
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The type's name in a safetensors file.
    const DTYPE: safetensors::Dtype;
    /// Rounds to this type.
    fn of(value: f64) -> Self;
    /// Widens.
    fn wide(self) -> f64;
    /// Square root.
    fn sqrt(self) -> Self;
    /// The exponential function; written so that a loop over it becomes vector code.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// The distribution function of the standard normal.
    fn normal(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Neither infinite nor NaN.
    fn finite(self) -> bool;
    /// The larger one; NaN if `self` is.
    fn larger(self, other: Self) -> Self {
        if self < other { other } else { self }
    }
    /// The smaller one; NaN if `self` is.
    fn smaller(self, other: Self) -> Self {
        if self > other { other } else { self }
    }
}

/// The kernels of a type. Sealed: an [`Isa`] reaches them only through a device, which checks it.
mod sealed {
    use super::{DotProducts, Isa, Panel, Phases, RowChange, RowSum, Transform, WinogradForm};

    pub trait Kernels: Sized {
        /// Rows of output one register tile of [`Panel`] holds.
        fn panel_rows(isa: Isa) -> usize;
        /// Columns of output one register tile of [`Panel`] holds.
        fn panel_columns(isa: Isa) -> usize;
        fn panel(isa: Isa, call: &mut Panel<'_, Self>);
        fn dots(isa: Isa, call: &mut DotProducts<'_, Self>);
        fn sum(isa: Isa, what: RowSum<'_, Self>) -> Self;
        fn change(isa: Isa, what: RowChange<'_, Self>, values: &mut [Self]);
        fn transform(isa: Isa, form: WinogradForm, what: Transform<'_, Self>, tiles: usize);
        fn phases(isa: Isa, call: Phases<'_, Self>);
    }
}
pub(crate) use sealed::Kernels;

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const DTYPE: safetensors::Dtype = safetensors::Dtype::F64;
    fn of(value: f64) -> f64 {
        value
    }
    fn wide(self) -> f64 {
        self
    }
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    fn exp(self) -> f64 {
        f64::exp(self)
    }
    fn ln(self) -> f64 {
        f64::ln(self)
    }
    fn normal(self) -> f64 {
        0.5 * (1.0 + erf(self * std::f64::consts::FRAC_1_SQRT_2))
    }
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    fn finite(self) -> bool {
        self.is_finite()
    }
}

impl Kernels for f64 {
    fn panel_rows(_: Isa) -> usize {
        crate::kernels::product::portable_rows()
    }
    fn panel_columns(_: Isa) -> usize {
        crate::kernels::product::portable_columns()
    }
    fn panel(_: Isa, call: &mut Panel<'_, f64>) {
        crate::kernels::product::panel_portable(call);
    }
    fn dots(_: Isa, call: &mut DotProducts<'_, f64>) {
        crate::kernels::product::dots_portable(call);
    }
    fn sum(_: Isa, what: RowSum<'_, f64>) -> f64 {
        crate::kernels::rows::sum_portable(what)
    }
    fn change(_: Isa, what: RowChange<'_, f64>, values: &mut [f64]) {
        crate::kernels::rows::change_portable(what, values);
    }
    fn transform(_: Isa, form: WinogradForm, what: Transform<'_, f64>, tiles: usize) {
        crate::kernels::winograd::transform_portable(form, what, tiles);
    }
    fn phases(_: Isa, call: Phases<'_, f64>) {
        crate::kernels::winograd::phases_portable(call);
    }
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const DTYPE: safetensors::Dtype = safetensors::Dtype::F32;
    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }

    /// Range reduction to |r| <= ln(2)/2 and a degree-6 polynomial; within 2 units in the last place of
    /// the exact value between -87 and 88. The standard library's `exp` is a call that keeps a loop scalar.
    #[inline(always)]
    #[allow(clippy::excessive_precision)] // the two halves of ln 2 are exact as written
    fn exp(self) -> f32 {
        const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to a whole number, in the low bits
        let x = if self > 88.72 { 88.72 } else { self };
        let x = if x < -87.33 { -87.33 } else { x };
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let r = (x - n * 0.693_359_375) - n * -2.121_944_4e-4;
        let p = 1.0 / 720.0;
        let p = p * r + 1.0 / 120.0;
        let p = p * r + 1.0 / 24.0;
        let p = p * r + 1.0 / 6.0;
        let p = p * r + 0.5;
        let p = p * r + 1.0;
        let p = p * r + 1.0;
        // 2^n, n in -126..=128, as two factors so that 2^128 does not overflow on its way. The whole number is read
        // from the bits: a cast would have to care for values out of range, and keep the loop scalar.
        let whole = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
        let half = whole >> 1;
        let rest = whole.wrapping_sub(half);
        let power = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
        p * power(half) * power(rest)
    }
    #[inline(always)]
    fn ln(self) -> f32 {
        f32::ln(self)
    }
    /// Abramowitz and Stegun 7.1.26, within 2.5e-7 with all rounding; without a branch or a call, so that a loop over it becomes vector code.
    #[inline(always)]
    #[allow(clippy::excessive_precision)] // as printed
    fn normal(self) -> f32 {
        let z = self.abs() * std::f32::consts::FRAC_1_SQRT_2;
        let t = 1.0 / (1.0 + 0.327_591_1 * z);
        let p = 1.061_405_429;
        let p = p * t - 1.453_152_027;
        let p = p * t + 1.421_413_741;
        let p = p * t - 0.284_496_736;
        let p = p * t + 0.254_829_592;
        let tail = 0.5 * p * t * Real::exp(-z * z);
        if self < 0.0 { tail } else { 1.0 - tail }
    }
    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }
    #[inline(always)]
    fn finite(self) -> bool {
        self.is_finite()
    }
}

impl Kernels for f32 {
    fn panel_rows(isa: Isa) -> usize {
        crate::kernels::product::f32_rows(isa)
    }
    fn panel_columns(isa: Isa) -> usize {
        crate::kernels::product::f32_columns(isa)
    }
    fn panel(isa: Isa, call: &mut Panel<'_, f32>) {
        crate::kernels::product::panel_f32(isa, call);
    }
    fn dots(isa: Isa, call: &mut DotProducts<'_, f32>) {
        crate::kernels::product::dots_f32(isa, call);
    }
    fn sum(isa: Isa, what: RowSum<'_, f32>) -> f32 {
        crate::kernels::rows::sum_f32(isa, what)
    }
    fn change(isa: Isa, what: RowChange<'_, f32>, values: &mut [f32]) {
        crate::kernels::rows::change_f32(isa, what, values);
    }
    fn transform(isa: Isa, form: WinogradForm, what: Transform<'_, f32>, tiles: usize) {
        crate::kernels::winograd::transform_f32(isa, form, what, tiles);
    }
    fn phases(isa: Isa, call: Phases<'_, f32>) {
        crate::kernels::winograd::phases_f32(isa, call);
    }
}

/// The error function to about 1e-15: series near zero, continued fraction outside.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    let value = if a < 2.5 {
        let (mut term, mut sum, mut n) = (a, a, 0.0);
        while term.abs() > 1e-17 * sum.abs() {
            n += 1.0;
            term *= -a * a / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else if a < 6.0 {
        let mut tail = a;
        for n in (1..=60).rev() {
            tail = a + f64::from(n) / 2.0 / tail;
        }
        1.0 - (-a * a).exp() / (tail * std::f64::consts::PI.sqrt())
    } else {
        1.0
    };
    value.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::Real;

    #[test]
    fn f32_exponential_is_within_two_units_in_the_last_place() {
        let mut worst = 0.0f64;
        let mut x = -87.3f32;
        while x < 88.7 {
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(Real::exp(x)) - exact).abs() / exact);
            x += 0.003_7;
        }
        assert!(worst < 2.0 * f64::from(f32::EPSILON), "{worst}");
        assert_eq!(Real::exp(0.0f32), 1.0);
        assert!(Real::exp(-1000.0f32) < 1e-37 && Real::exp(1000.0f32) > 1e38);
        assert!(Real::exp(f32::NAN).is_nan());
    }

    #[test]
    fn error_function_at_known_points() {
        for (x, y) in [
            (0.5, 0.520_499_877_813_046_5),
            (2.0, 0.995_322_265_018_952_7),
            (1.0, 0.842_700_792_949_714_9),
            (3.0, 0.999_977_909_503_001_4),
        ] {
            assert!((super::erf(x) - y).abs() < 1e-15, "{x}");
            assert_eq!(super::erf(-x), -super::erf(x));
        }
    }

    #[test]
    fn the_narrow_normal_is_the_wide_one_but_for_rounding() {
        for i in -4000..=4000 {
            let x = i as f32 * 2.5e-3;
            let (got, exact) = (f64::from(x.normal()), f64::from(x).normal());
            assert!((got - exact).abs() < 2.5e-7, "{x}: {got} {exact}");
        }
        assert!(f32::NAN.normal().is_nan());
        assert_eq!(f32::INFINITY.normal(), 1.0);
        assert!(f32::NEG_INFINITY.normal() < 1e-30);
    }
}
