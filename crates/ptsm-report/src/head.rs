//! The head from above: where a place on the sphere is drawn, and the outline with nose and ears.

use std::f64::consts::FRAC_PI_2;

use ptsm_signal::Position;

use crate::spline::on_sphere;
use crate::svg::{Canvas, Path};

/// Radius of the outline, where 1 is the height of the ears' upper edge (90 degrees from the top). The lowest ring of the 10-20
/// system (Fp1, T7, O1) lies just inside.
pub(crate) const OUTLINE: f64 = 1.12;
/// Nothing is drawn further out than this.
const FURTHEST: f64 = 1.38;

/// Azimuthal equidistant: the distance from the top is the angle, 1 at 90 degrees; x to the right, y to the nose.
pub(crate) fn project(place: Position) -> Option<(f64, f64)> {
    let place = on_sphere(place)?;
    let radius = (place.z.clamp(-1.0, 1.0).acos() / FRAC_PI_2).min(FURTHEST);
    let across = place.x.hypot(place.y);
    Some(if across < 1e-9 { (0.0, 0.0) } else { (radius * place.x / across, radius * place.y / across) })
}

/// The place on the sphere that is drawn at a point.
pub(crate) fn unproject(x: f64, y: f64) -> Position {
    let radius = x.hypot(y);
    if radius < 1e-12 {
        return Position { x: 0.0, y: 0.0, z: 1.0 };
    }
    let (sine, cosine) = (radius * FRAC_PI_2).sin_cos();
    Position { x: sine * x / radius, y: sine * y / radius, z: cosine }
}

/// Where the head stands on the page: its centre and the pixels of one unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) unit: f64,
}

impl Place {
    pub(crate) fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x + x * self.unit, self.y - y * self.unit)
    }

    pub(crate) fn radius(&self) -> f64 {
        OUTLINE * self.unit
    }
}

/// Nose and ears; they go under the map.
pub(crate) fn nose_and_ears(canvas: &mut Canvas, place: Place) {
    let nose = [
        (-0.13, 1.0),
        (-0.085, 1.045),
        (-0.045, 1.1),
        (0.0, 1.125),
        (0.045, 1.1),
        (0.085, 1.045),
        (0.13, 1.0),
    ];
    let ear = [
        (1.0, 0.15),
        (1.035, 0.175),
        (1.07, 0.15),
        (1.075, 0.06),
        (1.065, -0.04),
        (1.07, -0.12),
        (1.04, -0.17),
        (1.0, -0.155),
    ];
    let mut path = Path::default();
    let mut draw = |points: &[(f64, f64)], side: f64| {
        for (x, y) in points {
            let (x, y) = place.at((x * side * OUTLINE, y * OUTLINE));
            path.to(x, y);
        }
        path.gap();
    };
    draw(&nose, 1.0);
    draw(&ear, 1.0);
    draw(&ear, -1.0);
    canvas.path("head", &path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projection_and_back() {
        for name in ["Cz", "C3", "Fp1", "O2", "T9", "FCz"] {
            let place = ptsm_signal::position(name).unwrap();
            let (x, y) = project(place).unwrap();
            let back = unproject(x, y);
            assert!(back.distance(place) < 1e-4, "{name}: {place:?} {back:?}");
        }
        assert_eq!(project(Position { x: 0.0, y: 0.0, z: 1.0 }), Some((0.0, 0.0)));
        assert_eq!(project(Position { x: 0.0, y: 0.0, z: 0.0 }), None);
        assert_eq!(project(Position { x: f64::NAN, y: 0.0, z: 0.0 }), None);
    }

    #[test]
    fn left_is_left_and_the_nose_is_up() {
        let place = Place { x: 100.0, y: 100.0, unit: 50.0 };
        let (x, y) = place.at(project(ptsm_signal::position("F7").unwrap()).unwrap());
        assert!(x < 100.0 && y < 100.0);
    }
}
