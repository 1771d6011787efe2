//! Electrodes: names and places.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A place on the unit sphere: x to the right ear, y to the nose, z up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// To the right.
    pub x: f64,
    /// To the front.
    pub y: f64,
    /// Upwards.
    pub z: f64,
}

impl Position {
    /// Distance along a straight line, in radii.
    pub fn distance(self, other: Position) -> f64 {
        ((self.x - other.x).powi(2) + (self.y - other.y).powi(2) + (self.z - other.z).powi(2)).sqrt()
    }
}

/// What a channel's numbers mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Microvolts.
    #[default]
    Microvolts,
    /// Nothing known, as in arrays a user prepared.
    Arbitrary,
}

/// One electrode or other signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Its name, normalised: `C3`, `Cz`, `Fp1`.
    pub name: String,
    /// What its numbers mean.
    #[serde(default)]
    pub unit: Unit,
    /// Where it is; none for signals that are not on the head or names nobody knows.
    pub position: Option<Position>,
}

impl Channel {
    /// An electrode of the 10-05 system by name; without a position where the name is not known.
    pub fn named(name: &str) -> Channel {
        let name = normalise(name);
        Channel { position: position(&name), name, unit: Unit::Microvolts }
    }
}

/// Names and unit-sphere positions of the electrodes used by the data sets this program knows.
const TABLE: &str = include_str!("../data/electrode-positions.tsv");

static POSITIONS: LazyLock<HashMap<&'static str, Position>> = LazyLock::new(|| {
    TABLE
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut cells = line.split('\t');
            let name = cells.next()?;
            let mut number = || cells.next()?.trim().parse().ok();
            Some((name, Position { x: number()?, y: number()?, z: number()? }))
        })
        .collect()
});

/// Where the 10-05 system puts an electrode.
pub fn position(name: &str) -> Option<Position> {
    POSITIONS.get(&*normalise(name)).copied()
}

/// A name as the 10-05 system spells it: dots and spaces dropped, `FCZ` to `FCz`, `FP1` to `Fp1`, old names to new ones
/// (`T3` to `T7`), `EEG Cz` and `EEG Cz-Ref` to `Cz`. Two electrodes (`Fpz-Cz`) are no name of one.
pub fn normalise(name: &str) -> String {
    let bare = name.trim_matches(|c: char| c == '.' || c.is_whitespace());
    // What the system does not know keeps the user's spelling.
    spelled(bare).or_else(|| spelled(undressed(bare))).unwrap_or_else(|| bare.to_string())
}

/// Without what recorders put around an electrode's name.
fn undressed(name: &str) -> &str {
    let start = name
        .get(..4)
        .filter(|start| start.eq_ignore_ascii_case("EEG ") || start.eq_ignore_ascii_case("EEG-"));
    let name = start.map_or(name, |_| &name[4..]).trim();
    let end = name.rfind('-').map(|at| (at, name[at + 1..].to_uppercase()));
    match end {
        Some((at, end)) if ["REF", "LE", "AVG", "A1A2", "M1M2"].contains(&&*end) => &name[..at],
        _ => name,
    }
}

/// The system's spelling; none where it does not know the name.
fn spelled(name: &str) -> Option<String> {
    let upper = name.to_uppercase();
    match &*upper {
        "T3" => return Some("T7".into()),
        "T4" => return Some("T8".into()),
        "T5" => return Some("P7".into()),
        "T6" => return Some("P8".into()),
        _ => {}
    }
    let mut spelled = upper;
    if spelled.starts_with("FP") {
        spelled.replace_range(..2, "Fp");
    }
    if spelled.ends_with('Z') {
        spelled.replace_range(spelled.len() - 1.., "z");
    }
    if spelled.ends_with('H') && spelled.chars().any(|c| c.is_ascii_digit()) {
        spelled.replace_range(spelled.len() - 1.., "h");
    }
    POSITIONS.contains_key(&*spelled).then_some(spelled)
}

/// For each channel the one on the other side of the midline, itself where it lies on it: odd numbers are left, even ones
/// right, `z` is the middle. Only names of the 10-05 system tell a side: `ch1` and `ch2` are no pair.
pub fn mirror_permutation(channels: &[Channel]) -> Result<Vec<usize>> {
    channels
        .iter()
        .map(|channel| {
            let other = opposite(&channel.name).ok_or_else(|| {
                Error::data(format!("channel `{}`", channel.name), "has no side that its name tells").with_hint(
                    "mirroring needs names of the 10-05 system (`C3`, `Cz`); pick such channels or switch it off",
                )
            })?;
            channels.iter().position(|c| c.name == other).ok_or_else(|| {
                Error::data(
                    format!("channel `{}`", channel.name),
                    format!("has no partner `{other}` on the other side"),
                )
                .with_hint("mirroring needs both sides; pick channels in pairs or switch it off")
            })
        })
        .collect()
}

/// How far to the front an electrode of the frontal region lies: within 37 degrees of Fpz, as Fp1, AF7, AFz.
const FRONTAL: f64 = 0.8;
/// How far to the front those beside and below the eyes lie: F7, F9, but not FT7.
const BESIDE_EYES: f64 = 0.5;

/// Places of the channels in the frontal region, which eyes reach most: those within 37 degrees of Fpz, and those at the level of
/// Fpz or below and within 60 degrees of the front. Of the 10-10 system these are Fp1, Fpz, Fp2, AF7, AF3, AFz, AF4, AF8, F7, F8, F9 and
/// F10. Electrodes are told by their positions; a channel without one is not among them.
pub fn frontal(channels: &[Channel]) -> Vec<usize> {
    let near_eyes = |p: Position| p.y >= FRONTAL || (p.y >= BESIDE_EYES && p.z <= 0.0);
    (0..channels.len()).filter(|&c| channels[c].position.is_some_and(near_eyes)).collect()
}

/// The electrode on the other side; none where the 10-05 system does not know both.
fn opposite(name: &str) -> Option<String> {
    let normal = normalise(name);
    position(&normal)?;
    if normal.ends_with('z') {
        return Some(normal);
    }
    let start = normal.find(|c: char| c.is_ascii_digit())?;
    let rest = &normal[start..];
    let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number: u32 = rest[..length].parse().ok()?;
    let other = if number % 2 == 1 { number + 1 } else { number.checked_sub(1)? };
    Some(format!("{}{other}{}", &normal[..start], &rest[length..])).filter(|other| position(other).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_one_way() {
        for (given, normal) in [
            ("Fc5.", "FC5"),
            ("FCZ", "FCz"),
            ("FP1", "Fp1"),
            ("C3..", "C3"),
            ("T3", "T7"),
            ("tpp9h", "TPP9h"),
        ] {
            assert_eq!(normalise(given), normal);
            assert!(position(given).is_some(), "{given}");
        }
        assert_eq!(normalise("ECG 1"), "ECG 1");
        assert_eq!(position("ECG 1"), None);
    }

    #[test]
    fn sides_change_places() {
        let channels = ["C3", "Cz", "C4", "FT10", "FT9"].map(Channel::named);
        assert_eq!(mirror_permutation(&channels).unwrap(), [2, 1, 0, 4, 3]);
        assert!(mirror_permutation(&channels[..2]).unwrap_err().to_string().contains("`C4`"));
        assert!(mirror_permutation(&[Channel::named("status")]).is_err());
    }

    #[test]
    fn numbers_of_a_montage_are_no_sides() {
        for pair in [["ch1", "ch2"], ["EEG 001", "EEG 002"], ["E11", "E12"], ["EOGz", "C3"]] {
            let error = mirror_permutation(&pair.map(Channel::named)).unwrap_err();
            assert!(error.to_string().contains("has no side that its name tells"), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("10-05")));
        }
    }

    #[test]
    fn the_frontal_region_is_told_by_positions_and_is_alike_on_both_sides() {
        let mut names: Vec<&str> = POSITIONS.keys().copied().collect();
        names.sort_unstable();
        let channels: Vec<Channel> = names.iter().map(|name| Channel::named(name)).collect();
        let region: Vec<&str> = frontal(&channels).into_iter().map(|c| names[c]).collect();
        let expected = ["AF3", "AF4", "AF7", "AF8", "AFz", "F10", "F7", "F8", "F9", "Fp1", "Fp2", "Fpz"];
        assert_eq!(region, expected);
        for name in region {
            let other = opposite(name).unwrap();
            assert!(expected.contains(&&*other), "{name}");
        }
        let moved = Channel { position: position("Fpz"), ..Channel::named("E17") };
        assert_eq!(frontal(&[Channel::named("E17"), moved]), [1]);
    }

    #[test]
    fn partners_lie_opposite_to_each_other() {
        for (name, p) in POSITIONS.iter() {
            let Some(other) = opposite(name) else { continue };
            let mirrored = Position { x: -p.x, ..*p };
            assert!(POSITIONS[&*other].distance(mirrored) < 0.1, "{name} {other}");
        }
    }

    #[test]
    fn positions_lie_on_the_sphere_left_to_the_left() {
        for (name, p) in POSITIONS.iter() {
            assert!((p.distance(Position { x: 0.0, y: 0.0, z: 0.0 }) - 1.0).abs() < 1e-4, "{name}");
        }
        assert!(POSITIONS["C3"].x < -0.5 && POSITIONS["C4"].x > 0.5 && POSITIONS["Oz"].y < -0.8);
    }
}
