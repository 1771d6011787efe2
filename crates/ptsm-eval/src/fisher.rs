//! Fisher's distribution of ratios of variances.

use crate::normal::fraction;

/// What a ratio of variances with these degrees of freedom stays below with probability `share`: `scipy.stats.f.ppf(share, above, below)`. Degrees
/// of freedom need not be whole. NaN where there are none, or where `share` is no probability between 0 and 1.
pub fn fisher_quantile(share: f64, above: f64, below: f64) -> f64 {
    if !(above > 0.0 && below > 0.0 && share > 0.0 && share < 1.0) {
        return f64::NAN;
    }
    let (a, b) = (0.5 * above, 0.5 * below);
    // In the logarithm of the odds no end is lost.
    let (mut low, mut high) = (-700.0, 700.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if lower_tail(a, b, middle) < share { low = middle } else { high = middle }
    }
    (0.5 * (low + high)).exp() * below / above
}

/// The regularised incomplete beta function of `a` and `b` at `1 / (1 + exp(-odds))`.
fn lower_tail(a: f64, b: f64, odds: f64) -> f64 {
    let (x, rest) = (1.0 / (1.0 + (-odds).exp()), 1.0 / (1.0 + odds.exp()));
    let beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = (a * x.ln() + b * rest.ln() - beta).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, rest) / b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.f.ppf(share, above, below)`, SciPy 1.17.
    #[test]
    fn quantiles_are_scipys() {
        for (share, above, below, expected) in [
            (0.975, 5.0, 15.0, 3.5764153492790607),
            (0.975, 15.0, 5.0, 6.427728167078779),
            (0.975, 5.0, 4.79, 7.490103962012941),
            (0.5, 1.0, 1.0, 1.0),
            (0.95, 1.0, 3.0, 10.127964486013925),
            (0.975, 0.6, 900.0, 6.3525534470245475),
            (0.025, 108.0, 108.0, 0.6844131180914218),
            (0.975, 2000.0, 4000.0, 1.0783581446310253),
        ] {
            let found = fisher_quantile(share, above, below);
            assert!((found - expected).abs() <= 1e-10 * expected, "{found} instead of {expected}");
        }
    }

    #[test]
    fn what_is_no_distribution_has_no_quantile() {
        assert!(fisher_quantile(0.5, 0.0, 3.0).is_nan() && fisher_quantile(1.0, 2.0, 3.0).is_nan());
        assert!(fisher_quantile(0.5, f64::NAN, 3.0).is_nan());
    }
}
