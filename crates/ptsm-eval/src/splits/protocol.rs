//! How subjects are divided for an evaluation: leave one out, folds, or a division fixed beforehand.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use ptsm_data::SubjectList;
use ptsm_signal::SubjectId;
use serde::{Deserialize, Serialize};

use super::split::{Sources, Split, shuffled};
use crate::error::{Error, Result};

/// The seed of the folds. One for all runs: seeds then differ in initialisation and validation subjects, not in who is tested
/// with whom, and their scores can be averaged fold by fold.
const FOLD_SEED: u64 = 0x666f_6c64;

/// How subjects are divided for an evaluation. Typed and printed as `loso`, `kfold:5`, `fixed:1-70/71-89/90-109`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Protocol {
    /// Each subject is tested alone, by a decoder of all the others.
    LeaveOneOut,
    /// Subjects are shuffled into k groups; each group is tested by a decoder of the others.
    Folds {
        /// Number of groups, at least 2.
        k: usize,
    },
    /// One division, as published results use it.
    Fixed {
        /// Who is trained on.
        train: SubjectList,
        /// Who is watched while training.
        validation: SubjectList,
        /// Who is tested.
        test: SubjectList,
    },
}

impl Protocol {
    /// The splits, in a fixed order. `loso` and `kfold` test every subject exactly once and draw validation subjects from the
    /// others with `seed`; the same seed gives the same splits.
    pub fn splits(&self, subjects: &BTreeSet<SubjectId>, seed: u64) -> Result<Vec<Split>> {
        match self {
            Protocol::LeaveOneOut => self.each_tested(subjects, seed, subjects.iter().map(|&s| [s].into())),
            Protocol::Folds { k } => {
                if *k < 2 {
                    return Err(self.refuse("takes at least 2 folds"));
                }
                // With fewer a fold is empty, or of three subjects in two folds only one is left for training.
                let needed = if *k == 2 { 4 } else { *k };
                if subjects.len() < needed {
                    return Err(Error::TooFewSubjects {
                        protocol: self.to_string(),
                        needed,
                        found: subjects.len(),
                    });
                }
                let order = shuffled(subjects, FOLD_SEED, 0);
                // The i-th goes to fold i mod k: sizes differ by one at most.
                let fold = |f| order.iter().copied().skip(f).step_by(*k).collect();
                self.each_tested(subjects, seed, (0..*k).map(fold))
            }
            Protocol::Fixed { train, validation, test } => Ok(vec![Split::new(
                train.choose(subjects)?,
                validation.choose(subjects)?,
                test.choose(subjects)?,
            )?]),
        }
    }

    /// The same for data that leave out some subjects on purpose: ranges of a fixed division skip them.
    pub fn skipping(self, excluded: &[(SubjectId, String)]) -> Result<Protocol> {
        Ok(match self {
            Protocol::Fixed { train, validation, test } => Protocol::Fixed {
                train: train.skipping(excluded)?,
                validation: validation.skipping(excluded)?,
                test: test.skipping(excluded)?,
            },
            other => other,
        })
    }

    fn each_tested(
        &self,
        subjects: &BTreeSet<SubjectId>,
        seed: u64,
        tests: impl Iterator<Item = BTreeSet<SubjectId>>,
    ) -> Result<Vec<Split>> {
        let splits: Vec<Split> = tests
            .enumerate()
            .map(|(fold, test)| {
                let pool = subjects - &test;
                let sources = Sources::draw(&pool, seed, fold as u64 + 1, &self.to_string(), test.len())?;
                Split::of(sources, test)
            })
            .collect::<Result<_>>()?;
        if splits.is_empty() {
            return Err(Error::TooFewSubjects { protocol: self.to_string(), needed: 3, found: 0 });
        }
        Ok(splits)
    }

    fn refuse(&self, message: &str) -> Error {
        Error::Protocol { text: self.to_string(), message: message.to_string() }
    }
}

impl FromStr for Protocol {
    type Err = Error;

    fn from_str(text: &str) -> Result<Protocol> {
        let refuse = |message: String| Error::Protocol { text: text.to_string(), message };
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        match (name, rest) {
            ("loso", None) => Ok(Protocol::LeaveOneOut),
            ("loso", Some(_)) => Err(refuse("`loso` takes nothing after a colon".into())),
            ("kfold", Some(k)) => match k.parse() {
                Ok(k) if k >= 2 => Ok(Protocol::Folds { k }),
                _ => Err(refuse(format!("`{k}` is no number of folds; at least 2"))),
            },
            ("kfold", None) => Err(refuse("the number of folds is missing".into())),
            ("fixed", Some(lists)) => match *lists.split('/').collect::<Vec<_>>() {
                [train, validation, test] => Ok(Protocol::Fixed {
                    train: train.parse()?,
                    validation: validation.parse()?,
                    test: test.parse()?,
                }),
                ref given => Err(refuse(format!("three lists are needed, {} given", given.len()))),
            },
            ("fixed", None) => Err(refuse("the three lists of subjects are missing".into())),
            (name, _) => Err(refuse(format!("`{name}` is not known"))),
        }
    }
}

impl TryFrom<String> for Protocol {
    type Error = Error;

    fn try_from(text: String) -> Result<Protocol> {
        text.parse()
    }
}

impl From<Protocol> for String {
    fn from(protocol: Protocol) -> String {
        protocol.to_string()
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protocol::LeaveOneOut => f.pad("loso"),
            Protocol::Folds { k } => f.pad(&format!("kfold:{k}")),
            Protocol::Fixed { train, validation, test } => {
                f.pad(&format!("fixed:{train}/{validation}/{test}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(n: u32) -> BTreeSet<SubjectId> {
        // With gaps, as in sets that miss some subjects.
        (0..n).map(|i| SubjectId(3 * i + 1)).collect()
    }

    /// What must hold of every list of splits.
    fn check(protocol: &Protocol, everybody: &BTreeSet<SubjectId>, seed: u64) {
        let splits = protocol.splits(everybody, seed).unwrap();
        let mut tested = Vec::new();
        for split in &splits {
            let (train, validation, test) =
                (split.train_subjects(), split.validation_subjects(), split.test_subjects());
            assert!(train.is_disjoint(validation) && train.is_disjoint(test) && validation.is_disjoint(test));
            assert_eq!(&(&(train | validation) | test), everybody);
            assert!(!train.is_empty() && !validation.is_empty() && !test.is_empty());
            let sources = train.len() + validation.len();
            assert!(sources < 5 || validation.len() >= 2);
            assert!(validation.len() <= sources.div_ceil(2));
            tested.extend(test.iter().copied());
        }
        let sizes = || splits.iter().map(|s| s.test_subjects().len());
        assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
        tested.sort();
        assert_eq!(tested, everybody.iter().copied().collect::<Vec<_>>(), "each exactly once");
        assert_eq!(splits, protocol.splits(everybody, seed).unwrap(), "same seed, same splits");
    }

    #[test]
    fn every_subject_is_tested_once_and_never_by_a_decoder_trained_on_it() {
        for n in 3..=40 {
            for seed in 0..5 {
                check(&Protocol::LeaveOneOut, &subjects(n), seed);
                for k in (2..=n as usize).filter(|&k| k > 2 || n >= 4) {
                    check(&Protocol::Folds { k }, &subjects(n), seed);
                }
            }
        }
        check(&Protocol::LeaveOneOut, &subjects(109), 1);
        check(&Protocol::Folds { k: 10 }, &subjects(109), 1);
    }

    #[test]
    fn seeds_change_who_validates_not_who_is_tested() {
        let protocol = Protocol::Folds { k: 5 };
        let (a, b) = (protocol.splits(&subjects(20), 1).unwrap(), protocol.splits(&subjects(20), 2).unwrap());
        assert_ne!(a, b);
        assert!(a.iter().zip(&b).all(|(a, b)| a.test_subjects() == b.test_subjects()));
    }

    #[test]
    fn too_few_subjects_are_an_error_not_an_empty_score() {
        for (protocol, n, needed) in [
            ("loso", 0, 3),
            ("loso", 1, 3),
            ("loso", 2, 3),
            ("kfold:5", 4, 5),
            ("kfold:2", 3, 4),
            ("kfold:3", 2, 3),
        ] {
            let error = protocol.parse::<Protocol>().unwrap().splits(&subjects(n), 0).unwrap_err();
            let says = format!("`{protocol}` needs at least {needed} subjects, the data have {n}");
            assert_eq!(error.to_string(), says);
            assert!(error.hint().is_some());
        }
        assert!(Protocol::Folds { k: 0 }.splits(&subjects(9), 0).is_err());
    }

    #[test]
    fn typed_and_printed_alike() {
        for text in ["loso", "kfold:5", "fixed:1-70/71-89/90-109"] {
            assert_eq!(text.parse::<Protocol>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "loo",
            "loso:3",
            "kfold",
            "kfold:1",
            "kfold:x",
            "fixed",
            "fixed:1/2",
            "fixed:1/2/3/4",
            "fixed:1//3",
        ] {
            let error = text.parse::<Protocol>().unwrap_err();
            assert!(error.hint().is_some(), "{error}");
        }
    }

    #[test]
    fn fixed_divisions_are_checked_too() {
        let everybody: BTreeSet<_> = (1..=9).map(SubjectId).collect();
        let splits = |text: &str| text.parse::<Protocol>().unwrap().splits(&everybody, 0);
        assert_eq!(splits("fixed:1-5/6-7/8-9").unwrap()[0].test_subjects().len(), 2);
        assert!(splits("fixed:1-5/6-7/7-9").unwrap_err().to_string().contains("S07"));
        assert!(splits("fixed:1-5/6-7/8-10").unwrap_err().to_string().contains("no subject 10"));
        let excluded = [(SubjectId(10), "odd".to_string())];
        let skipping = |text: &str| text.parse::<Protocol>().unwrap().skipping(&excluded);
        assert_eq!(skipping("fixed:1-5/6-7/8-10").unwrap().to_string(), "fixed:1-5/6-7/8-9");
        assert!(skipping("fixed:1-5/6-7/10").unwrap_err().to_string().contains("S10 (odd)"));
        assert_eq!(skipping("kfold:3").unwrap().to_string(), "kfold:3");
    }
}
