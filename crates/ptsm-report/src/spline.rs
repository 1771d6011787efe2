//! Spherical splines: values at electrodes become values everywhere on the head.
//!
//! Perrin, Pernier, Bertrand and Echallier 1989, doi:10.1016/0013-4694(89)90180-6, with order 4 and without smoothing, so that
//! the map equals the measurement at each electrode. The sum over Legendre polynomials stops at 50 terms: the next
//! is below 1e-12.

use nalgebra::{DMatrix, DVector};
use ptsm_signal::Position;

const ORDER: i32 = 4;
const TERMS: usize = 50;
/// Electrodes closer than this (in radii, under a millimetre) are one place with their mean value: two values at one place have
/// no smooth surface.
const SAME_PLACE: f64 = 0.01;

/// Places of the ring under the head, their angle from the top (115 degrees), and how near to an electrode none is needed (15 degrees).
const RING: usize = 16;
const RING_ANGLE: f64 = 2.007;
const RING_APART: f64 = 0.262;

/// A smooth surface through values on a sphere.
#[derive(Clone, Debug, PartialEq)]
pub struct SphericalSpline {
    places: Vec<Position>,
    weights: Vec<f64>,
    constant: f64,
}

impl SphericalSpline {
    /// The surface through these values; those that are not finite are left out. None where nothing is left or the places
    /// allow no solution.
    pub fn fit(points: &[(Position, f64)]) -> Option<SphericalSpline> {
        let (places, values) = distinct(points);
        let count = places.len();
        if count == 0 {
            return None;
        }
        // Equation 2 and its side condition: the weights sum to zero.
        let matrix =
            DMatrix::from_fn(count + 1, count + 1, |row, column| match (row < count, column < count) {
                (true, true) => kernel(cosine(places[row], places[column])),
                (false, false) => 0.0,
                _ => 1.0,
            });
        let right = DVector::from_fn(count + 1, |row, _| values.get(row).copied().unwrap_or(0.0));
        let solution = matrix.lu().solve(&right)?;
        if !solution.iter().all(|value| value.is_finite()) {
            return None;
        }
        Some(SphericalSpline {
            places,
            weights: solution.iter().take(count).copied().collect(),
            constant: solution[count],
        })
    }

    /// The surface of a map of the scalp. Below the lowest electrodes nothing holds a spline, and it runs away to values nobody measured: a
    /// ring under the head takes the mean of the three electrodes nearest to each of its places, as MNE's `border=\"mean\"` does.
    pub fn of_scalp(points: &[(Position, f64)]) -> Option<SphericalSpline> {
        let (places, values) = distinct(points);
        let mut all: Vec<(Position, f64)> = places.iter().copied().zip(values.iter().copied()).collect();
        for step in 0..RING {
            let (sine, cosine_around) = (std::f64::consts::TAU * step as f64 / RING as f64).sin_cos();
            let (low, down) = RING_ANGLE.sin_cos();
            let place = Position { x: low * sine, y: low * cosine_around, z: down };
            let mut near: Vec<(f64, f64)> =
                places.iter().zip(&values).map(|(other, value)| (cosine(place, *other), *value)).collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0));
            near.truncate(3);
            if near.first().is_some_and(|(nearest, _)| *nearest < RING_APART.cos()) {
                let mean = near.iter().map(|(_, value)| value).sum::<f64>() / near.len() as f64;
                all.push((place, mean));
            }
        }
        SphericalSpline::fit(&all)
    }

    /// The value at a place; its distance from the centre does not matter.
    pub fn at(&self, place: Position) -> f64 {
        let place = on_sphere(place).unwrap_or(Position { x: 0.0, y: 0.0, z: 1.0 });
        let sum: f64 = self
            .places
            .iter()
            .zip(&self.weights)
            .map(|(other, weight)| weight * kernel(cosine(place, *other)))
            .sum();
        self.constant + sum
    }
}

/// A place moved along its direction to the unit sphere; none for the centre and for what is not finite.
pub(crate) fn on_sphere(place: Position) -> Option<Position> {
    let length = place.distance(Position { x: 0.0, y: 0.0, z: 0.0 });
    (length.is_finite() && length > 1e-9).then(|| Position {
        x: place.x / length,
        y: place.y / length,
        z: place.z / length,
    })
}

pub(crate) fn cosine(one: Position, other: Position) -> f64 {
    (one.x * other.x + one.y * other.y + one.z * other.z).clamp(-1.0, 1.0)
}

fn distinct(points: &[(Position, f64)]) -> (Vec<Position>, Vec<f64>) {
    let mut places: Vec<Position> = Vec::new();
    let mut values: Vec<(f64, f64)> = Vec::new();
    for (place, value) in points {
        let Some(place) = on_sphere(*place).filter(|_| value.is_finite()) else { continue };
        match places.iter().position(|other| other.distance(place) < SAME_PLACE) {
            Some(index) => {
                values[index].0 += value;
                values[index].1 += 1.0;
            }
            None => {
                places.push(place);
                values.push((*value, 1.0));
            }
        }
    }
    (places, values.into_iter().map(|(sum, count)| sum / count).collect())
}

/// Equation 3: the sum of (2n + 1) / (n (n + 1))^m P_n(x), over 4 pi.
fn kernel(x: f64) -> f64 {
    let (mut before, mut current) = (1.0, x);
    let mut sum = 0.0;
    for term in 1..=TERMS {
        let n = term as f64;
        sum += (2.0 * n + 1.0) / (n * (n + 1.0)).powi(ORDER) * current;
        (before, current) = (current, ((2.0 * n + 1.0) * x * current - n * before) / (n + 1.0));
    }
    sum / (4.0 * std::f64::consts::PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn montage(names: &[&str]) -> Vec<Position> {
        names.iter().map(|name| ptsm_signal::position(name).unwrap()).collect()
    }

    #[test]
    fn the_surface_goes_through_the_values() {
        let places = montage(&[
            "Fp1", "Fp2", "F3", "Fz", "F4", "T7", "C3", "Cz", "C4", "T8", "P3", "Pz", "P4", "O1", "O2",
        ]);
        let points: Vec<_> =
            places.iter().enumerate().map(|(i, place)| (*place, ((i * 7) % 5) as f64 - 1.5)).collect();
        let spline = SphericalSpline::fit(&points).unwrap();
        for (place, value) in points {
            assert!((spline.at(place) - value).abs() < 1e-9);
        }
    }

    #[test]
    fn nothing_runs_away_below_the_electrodes() {
        let names =
            ["Fp1", "Fp2", "F3", "Fz", "F4", "T7", "C3", "Cz", "C4", "T8", "P3", "Pz", "P4", "O1", "O2"];
        let value = |name: &str| if ["C3", "C4"].contains(&name) { 2.0 } else { 0.1 };
        let points: Vec<_> = montage(&names).into_iter().zip(names.map(value)).collect();
        let below = Position { x: 0.0, y: -0.96, z: -0.28 };
        let [free, held] =
            [SphericalSpline::fit(&points), SphericalSpline::of_scalp(&points)].map(Option::unwrap);
        assert!((free.at(below) - 0.1).abs() > 0.4, "{}", free.at(below));
        assert!((held.at(below) - 0.1).abs() < 0.2, "{}", held.at(below));
        points.iter().for_each(|(place, value)| assert!((held.at(*place) - value).abs() < 1e-9));
    }

    #[test]
    fn few_values_make_a_plain_surface() {
        assert_eq!(SphericalSpline::fit(&[]), None);
        let place = montage(&["Cz", "Oz"]);
        assert_eq!(SphericalSpline::fit(&[(place[0], f64::NAN)]), None);
        let constant = SphericalSpline::fit(&[(place[0], 3.0)]).unwrap();
        assert!((constant.at(place[1]) - 3.0).abs() < 1e-12);
        let merged = SphericalSpline::fit(&[(place[0], 1.0), (place[0], 3.0), (place[1], 0.0)]).unwrap();
        assert!((merged.at(place[0]) - 2.0).abs() < 1e-9);
    }
}
