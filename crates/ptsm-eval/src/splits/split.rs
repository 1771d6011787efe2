//! Who is trained on, who stops the training, who is tested: always whole subjects.

use std::collections::BTreeSet;

use ptsm_data::Duplicate;
use ptsm_signal::{SubjectId, Subset, Trials};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};
use crate::side::Side;

/// Source subjects: the training subjects and the validation subjects of a decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    train: BTreeSet<SubjectId>,
    validation: BTreeSet<SubjectId>,
}

impl Sources {
    /// Refuses a subject on both sides, and an empty training set. Validation may be empty, for decoders that need none.
    pub fn new(train: BTreeSet<SubjectId>, validation: BTreeSet<SubjectId>) -> Result<Sources> {
        apart(&train, Side::Train, &validation, Side::Validation)?;
        if train.is_empty() {
            return Err(Error::EmptySide { side: Side::Train });
        }
        Ok(Sources { train, validation })
    }

    /// Everybody is trained on: for decoders that do not look at validation subjects.
    pub fn all(subjects: BTreeSet<SubjectId>) -> Result<Sources> {
        Sources::new(subjects, BTreeSet::new())
    }

    /// The same with the validation subjects trained on.
    pub fn without_validation(&self) -> Sources {
        Sources { train: &self.train | &self.validation, validation: BTreeSet::new() }
    }

    /// Draws the validation subjects: one in eight, but at least 2 of 5 or more subjects and 1 of fewer.
    ///
    /// `stream` keeps the draws of one seed apart: fold 3 draws the same subjects whatever happened in fold 2. Fewer than two
    /// subjects are an error, which names `purpose`.
    pub(crate) fn draw(
        pool: &BTreeSet<SubjectId>,
        seed: u64,
        stream: u64,
        purpose: &str,
        tested: usize,
    ) -> Result<Sources> {
        if pool.len() < 2 {
            return Err(Error::TooFewSubjects {
                protocol: purpose.to_string(),
                needed: tested + 2,
                found: tested + pool.len(),
            });
        }
        let least = if pool.len() >= 5 { 2 } else { 1 };
        let count = ((pool.len() + 4) / 8).max(least);
        let shuffled = shuffled(pool, seed, stream);
        let (validation, train) = shuffled.split_at(count);
        Sources::new(train.iter().copied().collect(), validation.iter().copied().collect())
    }

    /// Refuses a recording that is on two sides under two subjects, those tested among them.
    pub fn check_duplicates(&self, duplicates: &[Duplicate], test: &BTreeSet<SubjectId>) -> Result<()> {
        let sides = [(Side::Train, &self.train), (Side::Validation, &self.validation), (Side::Test, test)];
        let side =
            |subject: SubjectId| sides.iter().find(|(_, all)| all.contains(&subject)).map(|(side, _)| *side);
        for duplicate in duplicates {
            if let (Some(first), Some(second)) = (side(duplicate.first), side(duplicate.second))
                && first != second
            {
                return Err(Error::SharedRecording { duplicate: duplicate.clone(), first, second });
            }
        }
        Ok(())
    }

    /// Trials to train on.
    pub fn train<'a>(&self, trials: &'a Trials) -> Subset<'a> {
        trials.of(&self.train)
    }

    /// Trials to watch while training.
    pub fn validation<'a>(&self, trials: &'a Trials) -> Subset<'a> {
        trials.of(&self.validation)
    }

    /// Who is trained on.
    pub fn train_subjects(&self) -> &BTreeSet<SubjectId> {
        &self.train
    }

    /// Who is watched while training.
    pub fn validation_subjects(&self) -> &BTreeSet<SubjectId> {
        &self.validation
    }
}

/// Source subjects and test subjects. No subject is both: such a split cannot be made.
///
/// The sets are private, so that no split comes about but through the check in [`Split::new`]:
///
/// ```compile_fail,E0451
/// use ptsm_eval::{Sources, Split};
/// # fn leak(sources: Sources) {
/// let everybody = sources.train_subjects().clone();
/// let leaking = Split { sources, test: everybody };
/// # }
/// ```
///
/// ```compile_fail,E0616
/// # fn leak(mut split: ptsm_eval::Split) {
/// let tested = split.test_subjects().clone();
/// split.sources.train.extend(tested);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    sources: Sources,
    test: BTreeSet<SubjectId>,
}

impl Split {
    /// Refuses a subject on two sides, an empty training set and an empty test set.
    pub fn new(
        train: BTreeSet<SubjectId>,
        validation: BTreeSet<SubjectId>,
        test: BTreeSet<SubjectId>,
    ) -> Result<Split> {
        Split::of(Sources::new(train, validation)?, test)
    }

    /// The same, of source subjects and test subjects.
    pub fn of(sources: Sources, test: BTreeSet<SubjectId>) -> Result<Split> {
        apart(&sources.train, Side::Train, &test, Side::Test)?;
        apart(&sources.validation, Side::Validation, &test, Side::Test)?;
        if test.is_empty() {
            return Err(Error::EmptySide { side: Side::Test });
        }
        Ok(Split { sources, test })
    }

    /// For a decoder whose test subjects come later: all subjects are source subjects, some of them for validation.
    pub fn for_training(subjects: &BTreeSet<SubjectId>, seed: u64) -> Result<Sources> {
        Sources::draw(subjects, seed, 0, "training", 0)
    }

    /// The source subjects.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Trials to train on.
    pub fn train<'a>(&self, trials: &'a Trials) -> Subset<'a> {
        self.sources.train(trials)
    }

    /// Trials to watch while training.
    pub fn validation<'a>(&self, trials: &'a Trials) -> Subset<'a> {
        self.sources.validation(trials)
    }

    /// Trials to score.
    pub fn test<'a>(&self, trials: &'a Trials) -> Subset<'a> {
        trials.of(&self.test)
    }

    /// Who is trained on.
    pub fn train_subjects(&self) -> &BTreeSet<SubjectId> {
        &self.sources.train
    }

    /// Who is watched while training.
    pub fn validation_subjects(&self) -> &BTreeSet<SubjectId> {
        &self.sources.validation
    }

    /// Who is scored.
    pub fn test_subjects(&self) -> &BTreeSet<SubjectId> {
        &self.test
    }
}

/// Subjects in an order drawn from a seed.
pub(crate) fn shuffled(subjects: &BTreeSet<SubjectId>, seed: u64, stream: u64) -> Vec<SubjectId> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    let mut order: Vec<SubjectId> = subjects.iter().copied().collect();
    order.shuffle(&mut random);
    order
}

fn apart(a: &BTreeSet<SubjectId>, first: Side, b: &BTreeSet<SubjectId>, second: Side) -> Result<()> {
    match a.intersection(b).next() {
        Some(&subject) => Err(Error::TwoSides { subject, first, second }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: impl IntoIterator<Item = u32>) -> BTreeSet<SubjectId> {
        numbers.into_iter().map(SubjectId).collect()
    }

    #[test]
    fn no_subject_is_on_two_sides() {
        let says = |train, validation, test| {
            Split::new(set(train), set(validation), set(test)).unwrap_err().to_string()
        };
        assert_eq!(
            says(vec![1, 2], vec![3], vec![2]),
            "subject S02 is in the training set and in the test set"
        );
        assert_eq!(
            says(vec![1], vec![3], vec![3]),
            "subject S03 is in the validation set and in the test set"
        );
        assert_eq!(
            says(vec![1], vec![1], vec![3]),
            "subject S01 is in the training set and in the validation set"
        );
        assert_eq!(says(vec![], vec![1], vec![3]), "the training set has no subject");
        assert_eq!(says(vec![1], vec![2], vec![]), "the test set has no subject");
        assert!(Split::new(set([1]), set([]), set([2])).is_ok());
    }

    #[test]
    fn a_recording_of_two_subjects_stays_on_one_side() {
        let sources = Sources::new(set([1, 2]), set([3])).unwrap();
        let duplicate =
            |first, second| vec![Duplicate { first: SubjectId(first), second: SubjectId(second), epochs: 9 }];
        let checked = |first, second| sources.check_duplicates(&duplicate(first, second), &set([4, 5]));
        assert!(checked(1, 2).is_ok() && checked(4, 5).is_ok() && checked(1, 9).is_ok());
        for (first, second) in [(1, 3), (2, 4), (3, 5), (5, 1)] {
            assert!(checked(first, second).is_err(), "{first} {second}");
        }
        let error = checked(2, 4).unwrap_err();
        assert_eq!(
            error.to_string(),
            "S02 and S04 have 9 epochs in common: the same recording under two subjects; S02 is in the training set and S04 in the test set"
        );
        assert!(error.hint().unwrap().contains("--subjects"));
    }

    #[test]
    fn validation_is_one_subject_in_eight() {
        for (subjects, validation) in
            [(2, 1), (4, 1), (5, 2), (8, 2), (15, 2), (19, 2), (20, 3), (53, 7), (87, 11), (108, 14)]
        {
            let sources = Split::for_training(&set(1..=subjects), 7).unwrap();
            assert_eq!(sources.validation.len(), validation, "{subjects}");
            assert_eq!(sources.train.len() + validation, subjects as usize);
        }
    }

    #[test]
    fn without_validation_all_subjects_are_trained_on() {
        let sources = Split::for_training(&set(1..=6), 1).unwrap();
        assert_eq!((sources.train.len(), sources.validation.len()), (4, 2));
        assert_eq!(sources.without_validation(), Sources::all(set(1..=6)).unwrap());
        assert_eq!(Sources::all(set([])).unwrap_err().to_string(), "the training set has no subject");
    }

    #[test]
    fn one_subject_cannot_be_trained_and_validated() {
        let error = Split::for_training(&set([4]), 0).unwrap_err();
        assert_eq!(error.to_string(), "`training` needs at least 2 subjects, the data have 1");
        assert!(error.hint().is_some());
    }

    #[test]
    fn a_seed_draws_the_same_subjects_always() {
        // Held as numbers: a run that is continued after an update must not change its splits.
        let sources = Split::for_training(&set(1..=24), 1).unwrap();
        assert_eq!(sources, Split::for_training(&set(1..=24), 1).unwrap());
        assert_ne!(sources, Split::for_training(&set(1..=24), 2).unwrap());
        assert_eq!(sources.validation, set([6, 9, 16]));
    }
}
