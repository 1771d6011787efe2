//! Gauss and Legendre's rule for integrals from 0 to 1.

/// Places and their weights, exact for polynomials up to degree `2 n - 1`.
pub(super) fn rule(n: usize) -> Vec<(f64, f64)> {
    let root = |i: usize| {
        // Tricomi's first guess, then Newton.
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..100 {
            let value;
            (value, slope) = polynomial(n, x);
            let step = value / slope;
            x -= step;
            if step.abs() < 1e-15 {
                break;
            }
        }
        // From -1..1 to 0..1.
        (0.5 * (1.0 - x), 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..n).map(root).collect()
}

/// Legendre's polynomial and its slope.
fn polynomial(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut now) = (0.0, 1.0);
    for k in 1..=n {
        let k = k as f64;
        (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
    }
    (now, n as f64 * (x * now - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for n in [1, 2, 5, 32] {
            for degree in 0..2 * n as i32 {
                let sum: f64 = rule(n).iter().map(|(x, w)| w * x.powi(degree)).sum();
                assert!((sum - 1.0 / f64::from(degree + 1)).abs() < 1e-13, "{n} {degree}: {sum}");
            }
            assert!(rule(n).is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
