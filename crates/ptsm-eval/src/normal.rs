//! The normal distribution's upper tail, and Student's.

use std::f64::consts::{PI, SQRT_2};

/// From here on the tail is taken from its series: soon after it is too small to be a number.
const FAR: f64 = 30.0;

/// How often a standard normal number is larger than `z`.
pub(crate) fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// What a standard normal number exceeds with probability `p`; NaN where `p` is no probability.
pub(crate) fn upper_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -upper_quantile(1.0 - p);
    }
    if p == 0.0 {
        return f64::INFINITY;
    }
    // The tail is at most half of exp(-z^2 / 2) and its logarithm is concave: Newton's method comes down from there and never overshoots.
    let mut z = (-2.0 * (2.0 * p).ln()).max(0.0).sqrt();
    for _ in 0..50 {
        let step = (log_upper_tail(z) - p.ln()) / hazard(z);
        z += step;
        if step.abs() <= 1e-15 * z.abs() {
            break;
        }
    }
    z
}

/// The tail's logarithm.
fn log_upper_tail(z: f64) -> f64 {
    if z < FAR { upper_tail(z).ln() } else { -0.5 * z * z - hazard(z).ln() - 0.5 * (2.0 * PI).ln() }
}

/// How fast that falls: density by tail.
fn hazard(z: f64) -> f64 {
    if z < FAR {
        return (-0.5 * z * z).exp() / (2.0 * PI).sqrt() / upper_tail(z);
    }
    let x = 1.0 / (z * z);
    z / (1.0 - x * (1.0 - x * (3.0 - x * (15.0 - 105.0 * x))))
}

/// How often a number of Student's distribution is larger than `t`.
pub(crate) fn student_upper_tail(t: f64, freedom: usize) -> f64 {
    if t < 0.0 {
        return 1.0 - student_upper_tail(-t, freedom);
    }
    if t.is_infinite() {
        return 0.0;
    }
    let n = freedom as f64;
    let far = n / (n + t * t);
    let near = t * t / (n + t * t);
    0.5 * incomplete_beta(freedom, far, near)
}

/// The regularised incomplete beta function of n/2 and 1/2 at `x`, with `rest = 1 - x`.
fn incomplete_beta(n: usize, x: f64, rest: f64) -> f64 {
    let a = 0.5 * n as f64;
    // B(a + 1, b) = B(a, b) a / (a + b), from B(1/2, 1/2) or B(1, 1/2).
    let (mut beta, mut from) = if n % 2 == 1 { (PI, 0.5) } else { (2.0, 1.0) };
    while from < a {
        beta *= from / (from + 0.5);
        from += 1.0;
    }
    let front = x.powf(a) * rest.sqrt() / beta;
    if x < (a + 1.0) / (a + 2.5) {
        front * fraction(a, 0.5, x) / a
    } else {
        1.0 - front * fraction(0.5, a, rest) / 0.5
    }
}

/// The continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8), from the front by Lentz's method.
pub(crate) fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let safe = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / safe(1.0 + term * d);
            c = safe(1.0 + term / c);
            change *= c * d;
        }
        value *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found} instead of {expected}");
    }

    /// `scipy.stats.norm.isf(p)`, SciPy 1.17.
    #[test]
    fn quantiles_are_scipys() {
        for (p, z) in [
            (5e-324, 38.467405617144344),
            (1e-310, 37.663060331949524),
            (1e-300, 37.0470962993612),
            (1e-200, 30.20559417957964),
            (1e-190, 29.43429692247552),
            (1e-20, 9.262340089798409),
            (0.01, 2.3263478740408408),
            (0.3, 0.5244005127080409),
            (0.999, -3.090232306167813),
            (1f64.next_down(), -8.209536151601387),
        ] {
            near(upper_quantile(p), z);
        }
        assert_eq!(upper_quantile(0.5), 0.0);
        assert_eq!([0.0, 1.0].map(upper_quantile), [f64::INFINITY, f64::NEG_INFINITY]);
        assert!([-0.1, 1.1, f64::NAN].iter().all(|p| upper_quantile(*p).is_nan()));
    }

    #[test]
    fn the_quantile_undoes_the_tail() {
        for z in (-70..=340).map(|i| 0.11 * f64::from(i)) {
            let found = upper_quantile(upper_tail(z));
            // Near 1 a tail has fewer digits.
            assert!((found - z).abs() < if z < -5.0 { 1e-2 } else { 1e-9 }, "{z} becomes {found}");
        }
    }

    /// `scipy.stats.t.sf(t, freedom)`, SciPy 1.17.
    #[test]
    fn students_tail_is_scipys() {
        for (t, freedom, p) in [
            (0.5, 1, 0.35241638234956674),
            (0.1, 2, 0.4647327192070701),
            (2.3, 4, 0.04146951855619118),
            (1.7, 9, 0.061673831071911926),
            (12.0, 49, 1.690405247398702e-16),
            (-2.0, 3, 0.9303370157205785),
            (3.0, 499, 0.0014173826179085663),
            (40.0, 99, 3.1925425801436255e-63),
        ] {
            near(student_upper_tail(t, freedom), p);
        }
        assert_eq!(student_upper_tail(0.0, 7), 0.5);
        assert_eq!([f64::INFINITY, f64::NEG_INFINITY].map(|t| student_upper_tail(t, 7)), [0.0, 1.0]);
    }
}
