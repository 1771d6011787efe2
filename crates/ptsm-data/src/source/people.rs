//! Whether two people are the same person.

use std::collections::BTreeMap;

use ptsm_signal::{SubjectId, Trial, Trials};

/// A hash of each person's trials, in hexadecimal. It stays the same under another number, file name, folder, order of trials or
/// scaling: all that goes into it is where in each trial (channel and sample) the largest value is, whatever its sign.
pub(crate) fn people(trials: &[Trial], places: &[u64]) -> BTreeMap<SubjectId, String> {
    let mut all: BTreeMap<SubjectId, Vec<u64>> = BTreeMap::new();
    for (trial, &place) in trials.iter().zip(places) {
        all.entry(trial.subject).or_default().push(place);
    }
    all.into_iter().map(|(subject, places)| (subject, hash(places))).collect()
}

/// Where the largest value of each trial is.
pub(crate) fn places(trials: &Trials) -> Vec<u64> {
    (0..trials.len()).map(|row| largest(trials.signal(row)) as u64).collect()
}

/// The first of the largest absolute values.
fn largest(signal: &[f32]) -> usize {
    // Its size first: many values are compared at once then, which looking for the place cannot do.
    let larger = |a: f32, b: f32| if b.abs() > a { b.abs() } else { a };
    let (rows, rest) = signal.as_chunks::<16>();
    let most = rows.iter().fold([0.0; 16], |most, row| std::array::from_fn(|i| larger(most[i], row[i])));
    let most = most.iter().chain(rest).fold(0.0, |a, &b| larger(a, b));
    signal.iter().position(|value| value.abs() == most).unwrap_or(0)
}

fn hash(mut places: Vec<u64>) -> String {
    places.sort_unstable();
    let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
    blake3::hash(&bytes).to_hex()[..32].to_string()
}
