//! The head from above: where a place on the sphere is drawn, and the outline with nose and ears.

use std::f64::consts::FRAC_PI_2;

use ptsm_signal::Position;

use crate::spline::on_sphere;
use crate::svg::{Canvas, coordinate};

/// Radius of the outline, where 1 is the equator, 90 degrees from the top. The lowest ring of the 10-20
/// system (Fp1, T7, O1, and Iz below it) lies just inside.
pub(crate) const OUTLINE: f64 = 1.15;
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
pub(crate) struct HeadPlacement {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) unit: f64,
}

impl HeadPlacement {
    pub(crate) fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x + x * self.unit, self.y - y * self.unit)
    }

    pub(crate) fn radius(&self) -> f64 {
        OUTLINE * self.unit
    }
}

/// Nose and ears; they go under the map. Curves of SVG, in parts of the head's radius: start, two control points and end.
pub(crate) fn nose_and_ears(canvas: &mut Canvas, place: HeadPlacement) {
    const NOSE: [[(f64, f64); 4]; 2] = [
        [(-0.14, 0.985), (-0.075, 1.03), (-0.06, 1.135), (0.0, 1.135)],
        [(0.0, 1.135), (0.06, 1.135), (0.075, 1.03), (0.14, 0.985)],
    ];
    const EAR: [[(f64, f64); 4]; 2] = [
        [(0.985, 0.16), (1.05, 0.21), (1.10, 0.15), (1.085, 0.03)],
        [(1.085, 0.03), (1.065, -0.05), (1.10, -0.20), (0.985, -0.17)],
    ];
    let mut data = String::new();
    for (curves, side) in [(NOSE, 1.0), (EAR, 1.0), (EAR, -1.0)] {
        for (index, curve) in curves.into_iter().enumerate() {
            let [start, first, second, end] = curve.map(|(x, y)| {
                let (x, y) = place.at((x * side * OUTLINE, y * OUTLINE));
                format!("{} {}", coordinate(x), coordinate(y))
            });
            if index == 0 {
                data += &format!("M{start}");
            }
            data += &format!("C{first} {second} {end}");
        }
    }
    canvas.raw(&format!("<path class=\"head\" d=\"{data}\"/>"));
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
        let place = HeadPlacement { x: 100.0, y: 100.0, unit: 50.0 };
        let (x, y) = place.at(project(ptsm_signal::position("F7").unwrap()).unwrap());
        assert!(x < 100.0 && y < 100.0);
    }
}
