//! Whether two subjects are the same person.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_signal::{SubjectId, Trial, Trials};

/// What a subject is recognised by: hashes, never a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectIdentity {
    /// A hash of all trials that were loaded. It stays the same under another number, file name, folder, order of trials or scaling.
    pub trials: String,
    /// That, the same of every session alone, of the contents of every recording and, where a data set tells whom a number or a
    /// label stands for, of this: whoever shares one of them is the same person.
    pub hashes: BTreeSet<String>,
}

impl SubjectIdentity {
    /// Whether one of these hashes is of this subject.
    pub fn is_among(&self, hashes: &BTreeSet<String>) -> bool {
        !self.hashes.is_disjoint(hashes)
    }

    /// The subject is known by their label, or their number, among the subjects of a data set.
    pub(crate) fn is_called(&mut self, label: &str, among: &str) {
        let parts = [among, label].map(|text| *blake3::hash(text.as_bytes()).as_bytes());
        self.hashes.insert(short(blake3::hash(parts.as_flattened())));
    }

    /// The subject is known by the contents of a recording.
    pub(crate) fn is_in(&mut self, contents: blake3::Hash) {
        self.hashes.insert(short(contents));
    }
}

/// A label of a subject that can be compared with others and is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelHash {
    exact: String,
    number: String,
}

impl LabelHash {
    pub(crate) fn of(label: &str) -> LabelHash {
        let is_number = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
        // The last digit stays: `00` is `0`.
        let zeros = label.bytes().take_while(|byte| *byte == b'0').count().min(label.len().saturating_sub(1));
        let number = if is_number { &label[zeros..] } else { label };
        let [exact, number] = [label, number].map(|text| short(blake3::hash(text.as_bytes())));
        LabelHash { exact, number }
    }

    /// Equal where labels are.
    pub(crate) fn exact(&self) -> &String {
        &self.exact
    }

    /// Equal too where labels are the same number with other zeros in front.
    pub(crate) fn as_number(&self) -> &String {
        &self.number
    }
}

/// Subjects by their trials: all that goes into a hash is where in each trial (channel and sample) the largest value is, whatever its
/// sign.
pub(crate) fn subject_identities(trials: &[Trial], places: &[u64]) -> BTreeMap<SubjectId, SubjectIdentity> {
    let mut all: BTreeMap<SubjectId, BTreeMap<u32, Vec<u64>>> = BTreeMap::new();
    for (trial, &place) in trials.iter().zip(places) {
        all.entry(trial.subject).or_default().entry(trial.session).or_default().push(place);
    }
    let identity = |sessions: BTreeMap<u32, Vec<u64>>| {
        let trials = hash(sessions.values().flatten().copied().collect());
        let hashes = sessions.into_values().map(hash).chain([trials.clone()]).collect();
        SubjectIdentity { trials, hashes }
    };
    all.into_iter().map(|(subject, sessions)| (subject, identity(sessions))).collect()
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
    short(blake3::hash(&bytes))
}

/// Enough of a hash to tell all people there are apart.
fn short(hash: blake3::Hash) -> String {
    hash.to_hex()[..16].to_string()
}
