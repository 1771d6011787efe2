//! The coloured surface of a scalp map: a grid of interpolated values, cut into filled contours.

use contour::ContourBuilder;
use ptsm_signal::Position;

use crate::colour::{ColourRamp, STEPS};
use crate::head::{HeadPlacement, OUTLINE, unproject};
use crate::spline::{SphericalSpline, cosine, on_sphere};
use crate::svg::{Canvas, PathData};

/// Half the side of the grid; a little more than the head, so that contours end outside the outline.
const REACH: f64 = OUTLINE * 1.04;
/// Further from every electrode than this (in radians, 34 degrees) nothing is drawn: an extrapolation would look like a measurement.
/// Between neighbours of the 10-20 system, 36 degrees apart, no hole opens.
const BLIND: f64 = 0.6;
/// How sharply the area around electrodes follows the nearest one; lower is rounder.
const SHARPNESS: f64 = 12.0;

/// Draws the surface clipped to the head and to the surroundings of the electrodes, from values on a grid of `size` by `size` points.
pub(crate) fn draw(
    canvas: &mut Canvas,
    id: &str,
    place: HeadPlacement,
    points: &[(Position, f64)],
    range: [f64; 2],
    ramp: ColourRamp,
    size: usize,
) {
    let Some(spline) = SphericalSpline::of_scalp(points) else { return };
    let values: Vec<f64> = grid(size).map(|at| spline.at(at)).collect();
    let electrodes: Vec<Position> =
        points.iter().filter(|point| point.1.is_finite()).filter_map(|point| on_sphere(point.0)).collect();
    let nearness: Vec<f64> = grid(size).map(|at| BLIND - nearest(at, &electrodes)).collect();
    let (x, y) = place.at((0.0, 0.0));
    let covered = outline(&nearness, size, 0.0, place);
    canvas.raw(&format!(
        "<clipPath id=\"{id}-head\"><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/></clipPath>\
         <clipPath id=\"{id}-near\"><path clip-rule=\"evenodd\" d=\"{}\"/></clipPath>\
         <g clip-path=\"url(#{id}-head)\"><g clip-path=\"url(#{id}-near)\" class=\"field\">",
        place.radius(),
        covered.data()
    ));
    let radius = place.radius() + 2.0;
    canvas.rectangle(&ramp.class(0), x - radius, y - radius, 2.0 * radius, 2.0 * radius);
    // Each level covers all above it, so neighbouring colours leave no seams.
    for step in 1..STEPS {
        let threshold = range[0] + (range[1] - range[0]) * step as f64 / STEPS as f64;
        canvas.path(&ramp.class(step), &outline(&values, size, threshold, place));
    }
    canvas.raw("</g></g>");
}

fn grid(size: usize) -> impl Iterator<Item = Position> {
    let coordinate = move |index: usize| (index as f64 / (size - 1) as f64 * 2.0 - 1.0) * REACH;
    (0..size).flat_map(move |row| (0..size).map(move |column| unproject(coordinate(column), coordinate(row))))
}

/// The angle to the nearest electrode, with the corners between electrodes rounded off.
fn nearest(at: Position, electrodes: &[Position]) -> f64 {
    let sum: f64 =
        electrodes.iter().map(|electrode| (-SHARPNESS * cosine(at, *electrode).acos()).exp()).sum();
    if sum > 0.0 { -sum.ln() / SHARPNESS } else { std::f64::consts::PI }
}

/// The border of where the values reach a threshold, as closed rings.
fn outline(values: &[f64], size: usize, threshold: f64, place: HeadPlacement) -> PathData {
    let mut path = PathData::default();
    // It fails only where the grid has another size than promised.
    let Ok(lines) = ContourBuilder::new(size, size, true).lines(values, &[threshold]) else { return path };
    for ring in lines.iter().flat_map(|line| &line.geometry().0) {
        for point in &ring.0 {
            // The crate puts grid point i at i + 0.5.
            let unit = |index: f64| ((index - 0.5) / (size - 1) as f64 * 2.0 - 1.0) * REACH;
            let (x, y) = place.at((unit(point.x), unit(point.y)));
            path.to(x, y);
        }
        path.close();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 65;
    const PLACE: HeadPlacement = HeadPlacement { x: 0.0, y: 0.0, unit: 100.0 };

    #[test]
    fn contours_lie_where_the_values_are() {
        // A cone over the top: its level at 0.5 is a circle of radius 0.5.
        let values: Vec<f64> = grid(SIZE).map(|at| 1.0 - at.z.acos() / std::f64::consts::FRAC_PI_2).collect();
        let Ok(lines) = ContourBuilder::new(SIZE, SIZE, true).lines(&values, &[0.5]) else {
            panic!("no contour")
        };
        assert_eq!(lines[0].geometry().0.len(), 1);
        for point in &lines[0].geometry().0[0].0 {
            let unit = |index: f64| ((index - 0.5) / (SIZE - 1) as f64 * 2.0 - 1.0) * REACH;
            assert!((unit(point.x).hypot(unit(point.y)) - 0.5).abs() < 2e-3);
        }
        assert!(outline(&values, SIZE, 0.5, PLACE).data().ends_with('z'));
    }

    #[test]
    fn a_symmetric_montage_gives_a_symmetric_surface() {
        let mirror = |place: Position| Position { x: -place.x, ..place };
        let right = [("C4", 1.0), ("F4", 0.3), ("P4", -0.4), ("O2", 0.0), ("T8", 0.8), ("Fp2", 0.1)];
        let mut points = Vec::new();
        for (name, value) in right {
            let place = ptsm_signal::position(name).unwrap();
            points.extend([(place, value), (mirror(place), value)]);
        }
        let spline = SphericalSpline::fit(&points).unwrap();
        for at in grid(33) {
            assert!((spline.at(at) - spline.at(mirror(at))).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_far_from_all_electrodes_stays_empty() {
        let back = [ptsm_signal::position("Oz").unwrap()];
        assert!(nearest(unproject(0.0, -0.9), &back) < BLIND);
        assert!(nearest(unproject(0.0, 0.9), &back) > BLIND);
        assert!(nearest(unproject(0.0, 0.9), &[]) > BLIND);
    }
}
