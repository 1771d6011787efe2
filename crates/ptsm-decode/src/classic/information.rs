//! How much a feature tells about the class.

use super::linear::class_counts;
use crate::error::{Error, Result};

/// Terms of the series of a Gaussian around a box's middle: at half a bandwidth from it they are exact to rounding.
const TERMS: usize = 24;
/// Bandwidths beyond which a Gaussian adds nothing to the rounding of others.
const REACH: f64 = 9.0;

/// Mutual information of a feature and the class in bits, `H(class) - H(class | feature)`, the mean being taken over the examples.
///
/// Densities inside the classes are Gaussian kernel estimates with Scott's bandwidth (the deviation inside the class times `n^(-1/5)`), as
/// filter-bank CSP chooses features by (Ang et al. 2012, doi:10.3389/fnins.2012.00039). A feature that does not vary inside a
/// class has no density there and is refused.
pub fn mutual_information(feature: &[f64], labels: &[u32], classes: usize) -> Result<f64> {
    let counts = class_counts(feature.len(), labels, classes)?;
    let n = feature.len() as f64;
    let priors: Vec<f64> = counts.iter().map(|&c| c as f64 / n).collect();
    // The joint density of every class at every example.
    let mut joint = vec![vec![0.0; feature.len()]; classes];
    for (class, density) in joint.iter_mut().enumerate() {
        let own: Vec<f64> =
            feature.iter().zip(labels).filter(|(_, l)| **l as usize == class).map(|(f, _)| *f).collect();
        let kernel = Kernel::new(&own).ok_or_else(|| {
            Error::trials(
                format!("a feature does not vary among the trials of class {class}"),
                "give more trials of each class, or leave out bands without signal",
            )
        })?;
        for (density, &at) in density.iter_mut().zip(feature) {
            *density = priors[class] * kernel.density(at);
        }
    }
    let information = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    let prior: f64 = priors.iter().map(|&p| information(p)).sum();
    let mut rest = 0.0;
    for i in 0..feature.len() {
        let sum: f64 = joint.iter().map(|d| d[i]).sum();
        rest += joint.iter().map(|d| information(d[i] / sum)).sum::<f64>() / n;
    }
    Ok(prior - rest)
}

/// A sum of Gaussians, gathered into boxes of one bandwidth (the fast Gauss transform of Greengard and Strain 1991): the
/// work grows with the number of points, not with its square.
struct Kernel {
    bandwidth: f64,
    first: f64,
    /// For each box the moments `sum(d^k) / k!`, d being a point's distance from the middle in bandwidths.
    boxes: Vec<[f64; TERMS]>,
    scale: f64,
}

impl Kernel {
    fn new(points: &[f64]) -> Option<Kernel> {
        let n = points.len() as f64;
        let mean = points.iter().sum::<f64>() / n;
        let squares: f64 = points.iter().map(|p| (p - mean).powi(2)).sum();
        let bandwidth = (squares / (n - 1.0)).sqrt() * n.powf(-0.2);
        if !(bandwidth.is_finite() && bandwidth > 0.0) {
            return None;
        }
        let (first, last) = points.iter().fold((f64::MAX, f64::MIN), |(a, b), &p| (a.min(p), b.max(p)));
        // All points lie within `sqrt(n)` deviations, so this is at most a multiple of the points.
        let count = ((last - first) / bandwidth).floor() as usize + 1;
        let mut boxes = vec![[0.0; TERMS]; count];
        for point in points {
            let place = (point - first) / bandwidth;
            let at = (place.floor() as usize).min(count - 1);
            let distance = place - at as f64 - 0.5;
            let mut term = 1.0;
            for (k, moment) in boxes[at].iter_mut().enumerate() {
                *moment += term;
                term *= distance / (k + 1) as f64;
            }
        }
        Some(Kernel { bandwidth, first, boxes, scale: 1.0 / (n * bandwidth * std::f64::consts::TAU.sqrt()) })
    }

    fn density(&self, at: f64) -> f64 {
        let place = (at - self.first) / self.bandwidth;
        let from = (place - REACH).floor().max(0.0) as usize;
        let to = ((place + REACH).ceil().max(0.0) as usize).min(self.boxes.len());
        let mut sum = 0.0;
        for (i, moments) in self.boxes.iter().enumerate().take(to).skip(from) {
            let distance = place - i as f64 - 0.5;
            // Hermite polynomials: `exp(-(t - d)^2 / 2) = exp(-t^2 / 2) sum_k d^k / k! He_k(t)`.
            let (mut before, mut polynomial, mut series) = (0.0, 1.0, 0.0);
            for (k, moment) in moments.iter().enumerate() {
                series += moment * polynomial;
                (before, polynomial) = (polynomial, distance * polynomial - k as f64 * before);
            }
            sum += series * (-0.5 * distance * distance).exp();
        }
        // Rounding must not make it negative.
        (sum * self.scale).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(n: usize, shift: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * 1.7).sin() * 3.0 + (i as f64 * i as f64).cos() + shift).collect()
    }

    #[test]
    fn boxes_add_up_to_the_sum_of_gaussians() {
        for n in [2, 7, 300] {
            let points = points(n, 10.0);
            let kernel = Kernel::new(&points).unwrap();
            for at in (0..60).map(|i| 0.4 * f64::from(i) - 2.0) {
                let gaussian = |p: &f64| (-0.5 * ((at - p) / kernel.bandwidth).powi(2)).exp();
                let plain = kernel.scale * points.iter().map(gaussian).sum::<f64>();
                assert!((kernel.density(at) - plain).abs() < 1e-13, "{n} at {at}");
            }
        }
    }

    #[test]
    fn a_feature_tells_nothing_or_all() {
        let labels: Vec<u32> = (0..600).map(|i| u32::from(i >= 300)).collect();
        let same: Vec<f64> = [points(300, 0.0), points(300, 0.0)].concat();
        assert!(mutual_information(&same, &labels, 2).unwrap().abs() < 1e-12);
        let apart: Vec<f64> = [points(300, 0.0), points(300, 100.0)].concat();
        assert!((mutual_information(&apart, &labels, 2).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_size_of_a_feature_does_not_matter() {
        let labels: Vec<u32> = (0..90).map(|i| i % 3).collect();
        let feature: Vec<f64> = points(90, 0.0).iter().zip(&labels).map(|(f, l)| f + f64::from(*l)).collect();
        let larger: Vec<f64> = feature.iter().map(|f| 1e6 * f - 5.0).collect();
        let (a, b) = (
            mutual_information(&feature, &labels, 3).unwrap(),
            mutual_information(&larger, &labels, 3).unwrap(),
        );
        assert!((a - b).abs() < 1e-9 && a > 0.01, "{a} {b}");
    }

    #[test]
    fn a_flat_feature_is_refused() {
        let error = mutual_information(&[1.0; 8], &[0, 1, 0, 1, 0, 1, 0, 1], 2).unwrap_err();
        assert!(error.to_string().contains("does not vary"));
        assert!(mutual_information(&[1.0, f64::NAN, 2.0, 3.0], &[0, 0, 1, 1], 2).is_err());
        assert!(mutual_information(&[1.0, 2.0, 3.0], &[0, 0, 1], 2).is_err());
    }
}
