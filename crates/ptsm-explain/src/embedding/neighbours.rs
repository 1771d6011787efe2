//! A picture in which neighbours stay neighbours.
//!
//! t-SNE (van der Maaten & Hinton 2008, "Visualizing data using t-SNE") with all pairs and scikit-learn's settings: it starts from the principal directions (Kobak & Berens 2019,
//! doi:10.1038/s41467-019-13056-x), so that there is nothing random in it.

use nalgebra::DMatrix;

use super::squared_distances;

/// How many neighbours a trial has, more or less; at most a third of the others.
const PERPLEXITY: f64 = 30.0;
/// Steps in which what attracts is exaggerated, and by how much.
const EARLY: (usize, f64) = (250, 12.0);
/// All steps.
const STEPS: usize = 1000;
/// How far apart the first points are, in parts of the first direction's deviation.
const START: f64 = 1e-4;

/// From features and where their trials are along two principal directions.
pub(super) fn neighbours(rows: &DMatrix<f64>, principal: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let n = rows.nrows();
    let attraction = attraction(&squared_distances(rows), n);
    let spread = (principal.iter().map(|p| p[0] * p[0]).sum::<f64>() / n as f64).sqrt();
    let scale = if spread > 0.0 { START / spread } else { 0.0 };
    let mut points: Vec<[f64; 2]> = principal.iter().map(|p| p.map(|v| scale * v)).collect();
    let rate = (n as f64 / EARLY.1 / 4.0).max(50.0);
    let (mut moved, mut gains) = (vec![[0.0; 2]; n], vec![[1.0f64; 2]; n]);
    for step in 0..STEPS {
        let (exaggeration, momentum) = if step < EARLY.0 { (EARLY.1, 0.5) } else { (1.0, 0.8) };
        let slopes = slopes(&points, &attraction, exaggeration);
        for i in 0..n {
            for axis in 0..2 {
                let (slope, gain) = (slopes[i][axis], &mut gains[i][axis]);
                *gain = if moved[i][axis] * slope < 0.0 { *gain + 0.2 } else { (*gain * 0.8).max(0.01) };
                moved[i][axis] = momentum * moved[i][axis] - rate * *gain * slope;
                points[i][axis] += moved[i][axis];
            }
        }
    }
    points
}

/// How much each pair belongs together, a row of `i` numbers for each `i`; the sum over both orders is 1.
fn attraction(distances: &[f64], n: usize) -> Vec<f64> {
    let perplexity = PERPLEXITY.min((n - 1) as f64 / 3.0).max(1.0);
    let mut directed = vec![0.0; n * n];
    for i in 0..n {
        let own = &distances[i * n..(i + 1) * n];
        near(own, i, perplexity, &mut directed[i * n..(i + 1) * n]);
    }
    let mut pairs = Vec::with_capacity(n * (n - 1) / 2);
    for i in 0..n {
        for j in 0..i {
            pairs.push((directed[i * n + j] + directed[j * n + i]) / (2 * n) as f64);
        }
    }
    pairs
}

/// Gaussian weights of the others of `i`, as narrow as makes their entropy that of so many equal ones.
fn near(distances: &[f64], i: usize, perplexity: f64, weights: &mut [f64]) {
    let nearest =
        distances.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, d)| *d).fold(f64::INFINITY, f64::min);
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    // All at one place have nothing to be measured by.
    let mut precision = if mean > 0.0 { 1.0 / mean } else { 1.0 };
    for _ in 0..100 {
        let (mut sum, mut weighted) = (0.0, 0.0);
        for (j, (weight, distance)) in weights.iter_mut().zip(distances).enumerate() {
            let beyond = distance - nearest;
            *weight = if j == i { 0.0 } else { libm::exp(-precision * beyond) };
            sum += *weight;
            weighted += *weight * beyond;
        }
        let entropy = libm::log(sum) + precision * weighted / sum;
        weights.iter_mut().for_each(|weight| *weight /= sum);
        let off = entropy - libm::log(perplexity);
        if off.abs() < 1e-5 {
            break;
        }
        if off > 0.0 {
            low = precision
        } else {
            high = precision
        }
        precision = if high.is_infinite() { 2.0 * precision } else { 0.5 * (low + high) };
    }
}

/// The slope of the divergence at each point, which is where it is pushed from. One coordinate after the other, and sums apart from what can be
/// done for several points at once: this is where all the time goes.
fn slopes(points: &[[f64; 2]], attraction: &[f64], exaggeration: f64) -> Vec<[f64; 2]> {
    let n = points.len();
    let [x, y] = [0, 1].map(|axis| points.iter().map(|p| p[axis]).collect::<Vec<f64>>());
    let mut closeness = vec![0.0; attraction.len()];
    let mut half = 0.0;
    let mut rest = &mut closeness[..];
    for i in 0..n {
        let Some(row) = rest.split_off_mut(..i) else { break };
        for ((close, a), b) in row.iter_mut().zip(&x).zip(&y) {
            let (dx, dy) = (x[i] - a, y[i] - b);
            *close = 1.0 / (1.0 + dx * dx + dy * dy);
        }
        half += sum(row);
    }
    let all = 0.5 / half;
    // From closeness to how strongly the two of a pair push each other.
    for (close, attracts) in closeness.iter_mut().zip(attraction) {
        *close *= 4.0 * (exaggeration * attracts - *close * all);
    }
    let mut found = vec![[0.0; 2]; n];
    let mut pushed = vec![0.0; n];
    for (axis, at) in [x, y].iter().enumerate() {
        let mut slope = vec![0.0; n];
        let mut rest = &closeness[..];
        for i in 0..n {
            let Some(row) = rest.split_off(..i) else { break };
            for (((own, other), strength), place) in pushed.iter_mut().zip(&mut slope).zip(row).zip(at) {
                *own = strength * (at[i] - place);
                *other -= *own;
            }
            slope[i] += sum(&pushed[..i]);
        }
        found.iter_mut().zip(slope).for_each(|(point, slope)| point[axis] = slope);
    }
    found
}

/// A sum in eight parts, which a processor adds up side by side.
fn sum(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut parts = [0.0; 8];
    for eight in eights {
        parts.iter_mut().zip(eight).for_each(|(part, value)| *part += value);
    }
    parts.iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    #[test]
    fn everybody_has_as_many_neighbours_as_requested() {
        let distances = squared_distances(&normal(120, 4, 1));
        let mut weights = vec![0.0; 120];
        near(&distances[..120], 0, 30.0, &mut weights);
        let entropy: f64 = weights.iter().filter(|w| **w > 0.0).map(|w| -w * w.ln()).sum();
        assert!((entropy.exp() - 30.0).abs() < 1e-3 && weights[0] == 0.0);
        let pairs = attraction(&distances, 120);
        assert!((2.0 * pairs.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    /// The divergence of the picture from the neighbourhoods, whose slopes the steps follow.
    fn divergence(points: &[[f64; 2]], attraction: &[f64]) -> f64 {
        let mut close = vec![];
        for i in 0..points.len() {
            for j in 0..i {
                let [x, y] = [points[i][0] - points[j][0], points[i][1] - points[j][1]];
                close.push(1.0 / (1.0 + x * x + y * y));
            }
        }
        let all = 2.0 * close.iter().sum::<f64>();
        attraction.iter().zip(&close).map(|(p, q)| 2.0 * p * (p / (q / all)).ln()).sum()
    }

    #[test]
    fn slopes_are_those_of_the_divergence() {
        let pairs = attraction(&squared_distances(&normal(12, 3, 1)), 12);
        let start = normal(12, 2, 2);
        let points: Vec<[f64; 2]> = start.row_iter().map(|row| [row[0], row[1]]).collect();
        let found = slopes(&points, &pairs, 1.0);
        for i in 0..12 {
            for axis in 0..2 {
                let at = |by: f64| {
                    let mut moved = points.clone();
                    moved[i][axis] += by;
                    divergence(&moved, &pairs)
                };
                let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((found[i][axis] - expected).abs() < 1e-8, "{} {expected}", found[i][axis]);
            }
        }
    }
}
