//! Whether two people are the same person.

use std::collections::BTreeMap;

use ptsm_signal::{SubjectId, Trials};

/// A hash of each person's trials, in hexadecimal. It stays the same under another number, file name, folder, order of trials or
/// scaling: all that goes into it is where in each trial (channel and sample) the largest value is, whatever its sign.
pub(crate) fn people(trials: &Trials) -> BTreeMap<SubjectId, String> {
    let mut places: BTreeMap<SubjectId, Vec<u64>> = BTreeMap::new();
    for (row, trial) in trials.info().iter().enumerate() {
        places.entry(trial.subject).or_default().push(largest(trials.signal(row)) as u64);
    }
    places.into_iter().map(|(subject, places)| (subject, hash(places))).collect()
}

/// The first of the largest absolute values.
fn largest(signal: &[f32]) -> usize {
    let mut most = 0;
    for (i, value) in signal.iter().enumerate() {
        if value.abs() > signal[most].abs() {
            most = i;
        }
    }
    most
}

fn hash(mut places: Vec<u64>) -> String {
    places.sort_unstable();
    let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
    blake3::hash(&bytes).to_hex()[..32].to_string()
}
