//! Inputs and numbers that tests of the classic methods share. `golden.json` is made by `lab/python/classic_golden.py`.
#![allow(clippy::unwrap_used)]

use nalgebra::DMatrix;
use serde_json::Value;

/// 12 trials of 3 channels and 60 samples, `[C, T]` each; even trials are of class 1.
pub(crate) fn train_trials() -> Vec<Vec<f64>> {
    (0..12).map(|m| trial(m, 0)).collect()
}

/// 8 more of them.
pub(crate) fn test_trials() -> Vec<Vec<f64>> {
    (0..8).map(|m| trial(m, 12)).collect()
}

fn trial(m: u32, offset: u32) -> Vec<f64> {
    let (q, side) = (f64::from(m + offset), if m.is_multiple_of(2) { 0.6 } else { -0.6 });
    let channel = |c: usize| {
        let amplitude = [1.0 + side, 1.0 - side, 1.0][c];
        let c = c as f64;
        (1..=60).map(move |t| {
            let t = f64::from(t);
            amplitude * (0.4 * (c + 1.0) * t + 0.7 * q).sin()
                + 0.5 * (0.23 * t * (c + 2.0) + 1.1 * q * (c + 1.0)).cos()
                + 0.3 * (1.7 * t + q * q + c).sin()
        })
    };
    (0..3).flat_map(channel).collect()
}

/// The numbers of SciPy and scikit-learn.
pub(crate) fn file() -> Value {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

/// A flat list.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// A list of square matrices, each a flat list.
pub(crate) fn matrices(value: &Value) -> Vec<DMatrix<f64>> {
    let square = |flat: Vec<f64>| {
        let size = flat.len().isqrt();
        DMatrix::from_row_slice(size, size, &flat)
    };
    value.as_array().unwrap().iter().map(|matrix| square(numbers(matrix))).collect()
}

/// Fails unless all values are as wanted.
#[track_caller]
pub(crate) fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance * w.abs().max(1.0), "{got:?} is not {want:?}");
    }
}
