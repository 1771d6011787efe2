//! Recordings that are there twice, under two subjects: exactly, or filtered, scaled or saved anew.
//!
//! Whoever is trained on and tested is recognised, and scores become too good. Epochs of the same recording are alike however it
//! was saved, and epochs of two subjects are not, unless the stimulus is all there is in them: then those of one subject are alike too, and say
//! nothing. Comparing all with all takes too long, so each epoch has a sketch of 128 bits
//! in which like epochs are like, and only those whose sketches agree are compared sample by sample.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use ptsm_signal::{SubjectId, Trials};
use serde::Serialize;

use super::problem::Case;

/// Bits of a sketch.
const BITS: usize = 128;
/// Parts of a sketch, and the bits of each: epochs that agree in one of them are compared. At a correlation of 0.95 one of ten agrees in 96 of 100
/// epochs, at 0.9 in 82.
const PARTS: usize = 10;
const PART: usize = 12;
/// Sketches that differ in more bits than this are not compared: some 18 of 128 differ at a correlation of 0.9, and 64 by chance.
const MOST_BITS: u32 = 34;
/// Epochs of one recording whose sketches differ in no more bits are alike: they correlate as much as those that are the same.
const OWN_BITS: u32 = 22;
/// Epochs that correlate so much are the same.
const SAME: f64 = 0.9;
/// This share of a recording's epochs must be those of another.
const SHARE: f64 = 0.5;
/// And so many of them.
const LEAST: usize = 3;
/// Epochs of others that one is compared with in a part of the sketch.
const MOST_CANDIDATES: usize = 64;
/// Epochs of the same recording that one is compared with.
const MOST_OWN: usize = 256;
/// A value is compared with those so long before and after, in seconds: this keeps rhythms between 4 and 16 Hz, which most filters leave as they
/// are, and takes away offsets and drifts, which are alike in all subjects.
const LAG_S: f64 = 0.05;

/// The sketch of an epoch: 128 bits. All zero where there is nothing to compare.
pub(crate) type Sketch = [u64; 2];

/// Two subjects with a recording of the same epochs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Duplicate {
    /// One of them.
    pub first: SubjectId,
    /// The other.
    pub second: SubjectId,
    /// How many epochs of one are also the other's.
    pub epochs: usize,
}

impl Duplicate {
    /// Whether a case is about these two subjects.
    pub fn is_reported_by(&self, case: &Case) -> bool {
        let pair = [case.subject, case.other];
        pair == [Some(self.first), Some(self.second)] || pair == [Some(self.second), Some(self.first)]
    }

    /// Those of two searches, each pair of subjects once.
    pub(crate) fn together(near: Vec<Duplicate>, exact: Vec<Duplicate>) -> Vec<Duplicate> {
        let mut pairs: BTreeMap<(SubjectId, SubjectId), usize> = BTreeMap::new();
        for Duplicate { first, second, epochs } in near.into_iter().chain(exact) {
            let most = pairs.entry((first, second)).or_default();
            *most = epochs.max(*most);
        }
        pairs.into_iter().map(|((first, second), epochs)| Duplicate { first, second, epochs }).collect()
    }
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Duplicate { first, second, epochs } = self;
        write!(
            f,
            "{first} and {second} have {epochs} epochs in common: the same recording under two subjects"
        )
    }
}

/// Sketches of all epochs of a set.
pub(crate) fn sketches(trials: &Trials) -> Vec<Sketch> {
    let layout = trials.layout();
    let table = Table::new(layout.channels.len() * layout.samples);
    let lag = lag(trials);
    (0..trials.len()).map(|row| table.read_sizes(&lagged(trials.signal(row), layout.samples, lag))).collect()
}

/// Subjects of one set who share a recording.
pub(crate) fn within(trials: &Trials, sketches: &[Sketch]) -> Vec<Duplicate> {
    let rows: Vec<Row<'_>> = rows(trials, sketches);
    common(&rows, |a, b| a.subject() < b.subject())
}

/// Subjects of two sets, with the same channels, samples and rate, who share a recording: the first of the one set, the second of the other.
pub(crate) fn between(one: (&Trials, &[Sketch]), other: (&Trials, &[Sketch])) -> Vec<Duplicate> {
    let mut rows = rows(one.0, one.1);
    rows.extend(self::rows(other.0, other.1));
    let of_one = |row: &Row<'_>| std::ptr::eq(row.trials, one.0);
    common(&rows, |a, b| of_one(a) && !of_one(b))
}

/// An epoch that is compared.
struct Row<'a> {
    trials: &'a Trials,
    row: usize,
    sketch: Sketch,
}

impl Row<'_> {
    fn subject(&self) -> SubjectId {
        self.trials.info()[self.row].subject
    }

    /// Which recording it is of.
    fn recording(&self) -> (SubjectId, u32, u32) {
        let info = &self.trials.info()[self.row];
        (info.subject, info.session, info.run)
    }
}

/// Epochs that tell a recording: not those that are like others of the same recording, as where the stimulus or the mains is all there is in them.
fn rows<'a>(trials: &'a Trials, sketches: &'a [Sketch]) -> Vec<Row<'a>> {
    let mut recordings: BTreeMap<(SubjectId, u32, u32), Vec<usize>> = BTreeMap::new();
    for (row, info) in trials.info().iter().enumerate() {
        recordings.entry((info.subject, info.session, info.run)).or_default().push(row);
    }
    let mut kept = vec![];
    for own in recordings.values() {
        // Those before and after it, and the first ones: like epochs are near to each other where classes come in blocks, and everywhere where not.
        let like = |place: usize| {
            let near = place.saturating_sub(MOST_OWN / 4)..(place + MOST_OWN / 4).min(own.len());
            let others = (0..own.len().min(MOST_OWN / 2)).chain(near).filter(|other| *other != place);
            let mut others = others.map(|other| &sketches[own[other]]);
            others.any(|other| differing(&sketches[own[place]], other) <= OWN_BITS)
        };
        let telling = |&place: &usize| sketches[own[place]] != [0; 2] && !like(place);
        kept.extend((0..own.len()).filter(telling).map(|place| own[place]));
    }
    kept.sort_unstable();
    kept.into_iter().map(|row| Row { trials, row, sketch: sketches[row] }).collect()
}

/// Pairs of subjects with a recording in common. `compare` says of which epochs pairs are made, and which comes first.
fn common(rows: &[Row<'_>], compare: impl Fn(&Row<'_>, &Row<'_>) -> bool) -> Vec<Duplicate> {
    type Recording = (SubjectId, u32, u32);
    let mut sizes: BTreeMap<(usize, Recording), usize> = BTreeMap::new();
    let set = |row: &Row<'_>| std::ptr::from_ref(row.trials) as usize;
    rows.iter().for_each(|row| *sizes.entry((set(row), row.recording())).or_default() += 1);
    // Epochs of one recording that are those of another.
    let mut same: BTreeMap<(Recording, Recording), (BTreeSet<usize>, usize)> = BTreeMap::new();
    for (i, j) in candidates(rows, &compare) {
        let (a, b) = (&rows[i], &rows[j]);
        if correlation(a, b) >= SAME {
            let smaller = sizes[&(set(a), a.recording())].min(sizes[&(set(b), b.recording())]);
            let (epochs, size) = same.entry((a.recording(), b.recording())).or_default();
            (*size) = smaller;
            epochs.insert(i);
        }
    }
    let mut subjects: BTreeMap<(SubjectId, SubjectId), usize> = BTreeMap::new();
    for ((first, second), (epochs, smaller)) in same {
        if epochs.len() >= LEAST && epochs.len() as f64 >= SHARE * smaller as f64 {
            *subjects.entry((first.0, second.0)).or_default() += epochs.len();
        }
    }
    subjects.into_iter().map(|((first, second), epochs)| Duplicate { first, second, epochs }).collect()
}

/// Pairs of epochs whose sketches are alike, in order.
fn candidates(rows: &[Row<'_>], compare: &impl Fn(&Row<'_>, &Row<'_>) -> bool) -> BTreeSet<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    for part in 0..PARTS {
        let mut alike: HashMap<u16, Vec<usize>> = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            let bits = u128::from(row.sketch[0]) | u128::from(row.sketch[1]) << 64;
            alike.entry((bits >> (part * PART)) as u16 & ((1 << PART) - 1)).or_default().push(i);
        }
        for group in alike.values() {
            for (at, &j) in group.iter().enumerate() {
                let ordered = |&i: &usize| match (compare(&rows[i], &rows[j]), compare(&rows[j], &rows[i])) {
                    (true, _) => Some((i, j)),
                    (false, true) => Some((j, i)),
                    (false, false) => None,
                };
                let near = |i: &&usize| differing(&rows[**i].sketch, &rows[j].sketch) <= MOST_BITS;
                pairs.extend(group[..at].iter().filter(near).filter_map(ordered).take(MOST_CANDIDATES));
            }
        }
    }
    pairs
}

/// How many bits of two sketches differ.
fn differing(a: &Sketch, b: &Sketch) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

fn correlation(a: &Row<'_>, b: &Row<'_>) -> f64 {
    let values =
        |row: &Row<'_>| lagged(row.trials.signal(row.row), row.trials.layout().samples, lag(row.trials));
    let (a, b) = (values(a), values(b));
    let product =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum() };
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

/// How many samples lie between a value and those it is compared with.
fn lag(trials: &Trials) -> usize {
    let layout = trials.layout();
    ((LAG_S * layout.rate_hz).round() as usize).clamp(1, (layout.samples / 4).max(1))
}

/// Samples minus the mean of those before and after them, `[C, T]`, without their mean in each channel; zero at both ends.
fn lagged(signal: &[f32], samples: usize, lag: usize) -> Vec<f32> {
    let mut differences = vec![0.0; signal.len()];
    if samples <= 2 * lag {
        return differences;
    }
    for (channel, differences) in signal.chunks_exact(samples).zip(differences.chunks_exact_mut(samples)) {
        let inner = &mut differences[lag..samples - lag];
        let around = channel.iter().zip(&channel[2 * lag..]);
        for (d, (now, (before, after))) in inner.iter_mut().zip(channel[lag..].iter().zip(around)) {
            *d = now - 0.5 * (before + after);
        }
        let mean = inner.iter().sum::<f32>() / inner.len() as f32;
        inner.iter_mut().for_each(|d| *d -= mean);
    }
    differences
}

/// For every value the bit it counts towards, and its sign: the same on every machine and in every run.
struct Table(Vec<(u8, f32)>);

impl Table {
    fn new(values: usize) -> Table {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let draw = |_| {
            // xorshift64*
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56;
            let sign = if state & (1 << 40) == 0 { 1.0 } else { -1.0 };
            ((bits as usize % BITS) as u8, sign)
        };
        Table((0..values).map(draw).collect())
    }

    /// Signs of 128 random sums of the values.
    fn read_sizes(&self, values: &[f32]) -> Sketch {
        let mut sums = [0.0f32; BITS];
        for (&(bit, sign), value) in self.0.iter().zip(values) {
            sums[usize::from(bit)] += sign * value;
        }
        // Nothing moves, or something is no number.
        if sums.iter().all(|sum| *sum == 0.0) || sums.iter().any(|sum| !sum.is_finite()) {
            return [0; 2];
        }
        let mut sketch = [0; 2];
        for (bit, sum) in sums.iter().enumerate() {
            sketch[bit / 64] |= u64::from(*sum > 0.0) << (bit % 64);
        }
        sketch
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::{Channel, Layout, Trial};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const CHANNELS: usize = 4;
    const SAMPLES: usize = 200;

    /// Smooth noise with a large drift and an offset, both of which are alike in all subjects.
    fn signal(seed: u64) -> Vec<f32> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut all = vec![];
        for c in 0..CHANNELS {
            let mut last = 0.0;
            all.extend((0..SAMPLES).map(|t| {
                last = 0.8 * last + random.random_range(-1.0..1.0f32);
                last + 500.0 + 100.0 * c as f32 + 0.5 * t as f32
            }));
        }
        all
    }

    /// Ten epochs of each subject, made by the subject and the number of the epoch.
    fn trials(subjects: &[u32], of: impl Fn(u32, u64) -> Vec<f32>) -> Trials {
        let layout = Layout {
            channels: ["C3", "Cz", "C4", "Pz"].map(Channel::named).to_vec(),
            samples: SAMPLES,
            rate_hz: 100.0,
            start_s: 0.0,
            classes: vec!["left".into(), "right".into()],
            task: Default::default(),
        };
        let (mut x, mut info) = (vec![], vec![]);
        for &subject in subjects {
            for epoch in 0..10 {
                x.extend(of(subject, epoch));
                let label = (epoch % 2) as u32;
                info.push(Trial {
                    label,
                    subject: SubjectId(subject),
                    session: 1,
                    run: 1,
                    cue_s: epoch as f64,
                });
            }
        }
        Trials::new(layout, x, info).unwrap()
    }

    fn found(trials: &Trials) -> Vec<(u32, u32, usize)> {
        within(trials, &sketches(trials)).iter().map(|d| (d.first.0, d.second.0, d.epochs)).collect()
    }

    fn own(subject: u32, epoch: u64) -> Vec<f32> {
        signal(1000 * u64::from(subject) + epoch)
    }

    #[test]
    fn different_subjects_have_nothing_in_common() {
        assert_eq!(found(&trials(&(1..=30).collect::<Vec<_>>(), own)), []);
    }

    #[test]
    fn a_recording_under_two_subjects_is_found() {
        let twice = |subject, epoch| own(if subject == 3 { 1 } else { subject }, epoch);
        assert_eq!(found(&trials(&[1, 2, 3], twice)), [(1, 3, 10)]);
    }

    #[test]
    fn also_scaled_shifted_and_smoothed() {
        let twice = |subject, epoch| {
            if subject != 3 {
                return own(subject, epoch);
            }
            let copy = own(1, epoch);
            let smooth = |i: usize| match i % SAMPLES {
                0 => copy[i],
                _ => 0.9 * copy[i] + 0.1 * copy[i - 1],
            };
            (0..copy.len()).map(|i| 1e-6 * (smooth(i) - 300.0)).collect()
        };
        let found = found(&trials(&[1, 2, 3], twice));
        assert!(matches!(found[..], [(1, 3, 8..=10)]), "{found:?}");
    }

    #[test]
    fn a_few_epochs_or_none_that_move_are_no_recording() {
        let few = |subject, epoch| own(if epoch < 3 { 1 } else { subject }, epoch);
        assert_eq!(found(&trials(&[1, 2], few)), []);
        assert_eq!(found(&trials(&[1, 2], |_, _| vec![5.0; CHANNELS * SAMPLES])), []);
    }

    #[test]
    fn also_where_only_one_band_is_left_of_the_copy() {
        // A running mean takes away what is above some 20 Hz, and the running mean of a second what is below one.
        let mean = |x: &[f32], half: usize| -> Vec<f32> {
            let around = |t: usize| &x[t.saturating_sub(half)..(t + half + 1).min(x.len())];
            (0..x.len()).map(|t| around(t).iter().sum::<f32>() / around(t).len() as f32).collect()
        };
        let twice = |subject, epoch| {
            let all = own(if subject == 3 { 1 } else { subject }, epoch);
            if subject != 3 {
                return all;
            }
            let band = |x: &[f32]| -> Vec<f32> {
                let smooth = mean(x, 1);
                smooth.iter().zip(mean(&smooth, 50)).map(|(x, slow)| x - slow).collect()
            };
            all.chunks(SAMPLES).flat_map(band).collect()
        };
        let found = found(&trials(&[1, 2, 3], twice));
        assert!(matches!(found[..], [(1, 3, 5..=10)]), "{found:?}");
    }

    #[test]
    fn a_stimulus_that_all_subjects_follow_is_no_duplicate() {
        // Flicker of two frequencies, with a little noise of each subject's own.
        let flicker = |subject: u32, epoch: u64| -> Vec<f32> {
            let noise = own(subject, epoch);
            let step = [0.6, 0.75][(epoch % 2) as usize];
            let wave = |t: usize| 100.0 * (step * t as f32).sin();
            (0..noise.len()).map(|i| wave(i % SAMPLES) + noise[i]).collect()
        };
        assert_eq!(found(&trials(&[1, 2, 3], flicker)), []);
        // However many epochs there are.
        let many = |subject: u32, epoch: u64| flicker(subject / 100, epoch + 10 * u64::from(subject % 100));
        let subjects: Vec<u32> = (100..160).chain(200..260).collect();
        let mut all = trials(&subjects, many);
        let info: Vec<Trial> =
            all.info().iter().map(|t| Trial { subject: SubjectId(t.subject.0 / 100), ..*t }).collect();
        let x: Vec<f32> = (0..all.len()).flat_map(|row| all.signal(row)).copied().collect();
        all = Trials::new(all.layout().clone(), x, info).unwrap();
        assert_eq!((all.len(), found(&all)), (1200, vec![]));
    }

    #[test]
    fn two_sets_are_compared() {
        let (one, other) = (trials(&[1, 2], own), trials(&[7, 8], |s, e| own(if s == 8 { 2 } else { s }, e)));
        let (a, b) = (sketches(&one), sketches(&other));
        let found = between((&one, &a), (&other, &b));
        assert_eq!(found, [Duplicate { first: SubjectId(2), second: SubjectId(8), epochs: 10 }]);
    }
}
