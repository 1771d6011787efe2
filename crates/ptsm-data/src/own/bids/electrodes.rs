//! `electrodes.tsv`: where electrodes are.
//!
//! Coordinates come in any unit, around any origin and in two orientations (x to the right or x to the nose), and
//! `coordsystem.json` is often missing or wrong. So a sphere is laid through them, and names that the 10-05 system knows decide about
//! the orientation.

use std::collections::BTreeMap;

use nalgebra::{Matrix4, Vector4};
use ptsm_io::SignalHeader;
use ptsm_signal::{Position, normalise, position};

use super::super::table::TextTable;

/// Known electrodes may lie so far from where the 10-05 system puts them, in radii, on average.
const FAR: f64 = 0.5;

/// Places on the unit sphere for signals the 10-05 system does not know. Gives what the user should know.
pub(super) fn apply(signals: &mut [SignalHeader], table: &TextTable, system: &str) -> Vec<String> {
    let rows: Vec<(&str, [f64; 3])> = table
        .rows()
        .filter_map(|row| Some((row.get("name")?, [row.number("x")?, row.number("y")?, row.number("z")?])))
        .collect();
    let unknown = |signal: &SignalHeader| position(&signal.name).is_none();
    if rows.is_empty() || !signals.iter().any(unknown) {
        return vec![];
    }
    let center = sphere(rows.iter().map(|(_, point)| point));
    let places: Vec<(&str, [f64; 3])> =
        rows.iter().filter_map(|(name, point)| Some((*name, direction(*point, center)?))).collect();
    let (turned, far) = orientation(&places, system);
    if far > FAR {
        return vec![format!(
            "its `electrodes.tsv` puts known electrodes elsewhere ({far:.1} radii on average) and is not used"
        )];
    }
    let by_name: BTreeMap<String, [f64; 3]> =
        places.iter().map(|(name, place)| (normalise(name), *place)).collect();
    for signal in signals.iter_mut().filter(|signal| unknown(signal)) {
        if let Some(place) = by_name.get(&normalise(&signal.name)) {
            signal.position = Some(turn(*place, turned));
        }
    }
    vec![]
}

/// Whether x points to the nose and y to the left ear, and how far known electrodes are from where they should be then.
fn orientation(places: &[(&str, [f64; 3])], system: &str) -> (bool, f64) {
    let known: Vec<([f64; 3], Position)> =
        places.iter().filter_map(|(name, place)| Some((*place, position(name)?))).collect();
    if known.len() < 3 {
        let to_the_nose = ["CTF", "EEGLAB", "EEGLAB-HJ", "4DBti", "KitYokogawa"];
        return (to_the_nose.iter().any(|name| name.eq_ignore_ascii_case(system)), 0.0);
    }
    let far = |turned| {
        known.iter().map(|(place, should)| turn(*place, turned).distance(*should)).sum::<f64>()
            / known.len() as f64
    };
    let (straight, turned) = (far(false), far(true));
    if turned < straight { (true, turned) } else { (false, straight) }
}

fn turn([x, y, z]: [f64; 3], turned: bool) -> Position {
    if turned { Position { x: -y, y: x, z } } else { Position { x, y, z } }
}

fn direction(point: [f64; 3], center: [f64; 3]) -> Option<[f64; 3]> {
    let from: [f64; 3] = std::array::from_fn(|i| point[i] - center[i]);
    let length = from.iter().map(|x| x * x).sum::<f64>().sqrt();
    (length.is_finite() && length > 0.0).then(|| from.map(|x| x / length))
}

/// The middle of the sphere that points lie on, by least squares of |p|^2 = 2 c.p + k; the origin where they do not tell.
fn sphere<'a>(points: impl Iterator<Item = &'a [f64; 3]> + Clone) -> [f64; 3] {
    // In radii of about one, so that the equations are of one size whatever the unit.
    let largest = points.clone().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    if points.clone().count() < 8 || largest <= 0.0 {
        return [0.0; 3];
    }
    let (mut left, mut right) = (Matrix4::<f64>::zeros(), Vector4::<f64>::zeros());
    for point in points {
        let [x, y, z] = point.map(|x| x / largest);
        let row = Vector4::new(2.0 * x, 2.0 * y, 2.0 * z, 1.0);
        left += row * row.transpose();
        right += row * (x * x + y * y + z * z);
    }
    let solved = left.lu().solve(&right);
    let center = solved.map(|c| [c[0] * largest, c[1] * largest, c[2] * largest]);
    // A flat set of points has no sphere, or one whose middle is far away.
    center.filter(|c| c.iter().all(|x| x.is_finite() && x.abs() < largest)).unwrap_or([0.0; 3])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn named(name: &str) -> SignalHeader {
        SignalHeader::named(name, 1.0, 0)
    }

    const NAMES: [&str; 9] = ["Fp1", "Fp2", "C3", "C4", "Cz", "Oz", "P3", "P4", "T7"];

    /// A table of known electrodes and one nobody knows, 95 mm around a centre that is not the origin.
    fn table(turned: bool) -> (TextTable, Position) {
        let mine = direction([0.3, 0.5, 0.6], [0.0; 3]).unwrap();
        let mine = Position { x: mine[0], y: mine[1], z: mine[2] };
        let all = NAMES.iter().map(|name| (*name, position(name).unwrap())).chain([("E1", mine)]);
        let rows = all.map(|(name, p)| {
            let [x, y, z] = if turned { [p.y, -p.x, p.z] } else { [p.x, p.y, p.z] };
            format!("{name}\t{}\t{}\t{}\n", 95.0 * x + 3.0, 95.0 * y - 10.0, 95.0 * z + 40.0)
        });
        (TextTable::parse(&format!("name\tx\ty\tz\n{}X\tn/a\t1\t1\n", rows.collect::<String>())), mine)
    }

    #[test]
    fn either_orientation_is_found_by_the_electrodes_that_are_known() {
        for turned in [false, true] {
            let (table, mine) = table(turned);
            let mut signals = vec![named("C3"), named("E1"), named("E2"), named("X")];
            assert!(apply(&mut signals, &table, "Other").is_empty());
            let found = signals[1].position.unwrap();
            assert!(found.distance(mine) < 0.02, "{turned}: {found:?} {mine:?}");
            assert!([0, 2, 3].iter().all(|&at| signals[at].position.is_none()));
        }
    }

    #[test]
    fn without_known_electrodes_the_system_tells() {
        let table = TextTable::parse("name\tx\ty\tz\nE1\t0.1\t0\t0\nE2\t0\t0\t0\n");
        for (system, expected) in [("CTF", [0.0, 1.0]), ("CapTrak", [1.0, 0.0]), ("", [1.0, 0.0])] {
            let mut signals = vec![named("E1"), named("E2")];
            apply(&mut signals, &table, system);
            let p = signals[0].position.unwrap();
            assert_eq!(([p.x.abs(), p.y], signals[1].position), (expected, None), "{system}");
        }
    }

    #[test]
    fn nonsense_is_not_used() {
        let (table, _) = table(false);
        let text = NAMES.iter().enumerate().map(|(i, name)| {
            let p = position(NAMES[(i + 4) % NAMES.len()]).unwrap();
            format!("{name}\t{}\t{}\t{}\n", -p.x, p.z, p.y)
        });
        let wrong = TextTable::parse(&format!("name\tx\ty\tz\nE1\t1\t0\t0\n{}", text.collect::<String>()));
        let mut signals = vec![named("E1")];
        assert!(apply(&mut signals, &wrong, "")[0].contains("is not used"));
        assert_eq!(signals[0].position, None);
        assert!(apply(&mut [], &table, "").is_empty());
    }
}
