//! Windows for filter design.

/// The window a sinc is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowFunction {
    /// Hamming.
    Hamming,
    /// Kaiser with its shape parameter beta, at most 50.
    Kaiser(f64),
}

impl WindowFunction {
    /// Symmetric weights.
    pub(super) fn weights(self, length: usize) -> Vec<f64> {
        let half = (length.max(2) - 1) as f64 / 2.0;
        let weight = |i: usize| {
            let x = if length == 1 { 0.0 } else { i as f64 / half - 1.0 };
            match self {
                WindowFunction::Hamming => 0.54 + 0.46 * (std::f64::consts::PI * x).cos(),
                WindowFunction::Kaiser(beta) => {
                    bessel_i0(beta * (1.0 - x * x).max(0.0).sqrt()) / bessel_i0(beta)
                }
            }
        };
        (0..length).map(weight).collect()
    }
}

/// Modified Bessel function of order 0. All terms of the power series are positive, so nothing cancels.
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while term > f64::EPSILON * sum {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bessel_function_has_its_known_values() {
        // Abramowitz and Stegun, table 9.8.
        for (x, value) in [(0.0, 1.0), (1.0, 1.2660658777520084), (5.0, 27.239871823604442)] {
            assert!((bessel_i0(x) / value - 1.0).abs() < 1e-15);
        }
    }
}
