//! Source-only trials: further runs, tasks or data sets whose trials are trained on, and neither validate nor are scored.
//!
//! They stand in a set of their own beside the study's trials ([`SourceOnlyTrials`]): whatever validates or scores is given the study's
//! trials, in which there is none of them. Trials of a subject of the study are trained on only where that subject is trained on; trials
//! of other people are trained on in every fold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ptsm_data::CohortRelation;
use ptsm_signal::{SubjectId, Subset, Trials};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::splits::{Sources, Units};

/// The study's trials and, after them, source-only trials. Nothing gives out all of them: what is trained on comes with the division of
/// subjects that allows it.
pub struct SourceOnlyTrials {
    joined: Trials,
    /// The first of the source-only trials.
    first: usize,
    /// People who are none of the study's subjects.
    others: BTreeSet<SubjectId>,
}

impl SourceOnlyTrials {
    /// Source-only trials beside the study's, of the same layout. Subjects have their numbers in the study; who has another one is
    /// somebody else.
    pub fn new(study: &Trials, source_only: &Trials) -> Result<SourceOnlyTrials> {
        let mut joined = study.clone();
        joined.append(source_only)?;
        let others = source_only.subjects().difference(&study.subjects()).copied().collect();
        Ok(SourceOnlyTrials { joined, first: study.len(), others })
    }

    /// The training and validation trials of a study with the source-only trials that may be trained on with them: those of the training
    /// subjects, and those of people who are not in the study. Of validation and test subjects there is none.
    pub fn join<'a>(
        &'a self,
        sources: &Sources,
        train: &Subset<'_>,
        validation: &Subset<'_>,
    ) -> (Subset<'a>, Subset<'a>) {
        let all = self.joined.all();
        let allowed =
            |subject: &SubjectId| sources.train_subjects().contains(subject) || self.others.contains(subject);
        let info = self.joined.info();
        let further = (self.first..info.len()).filter(|&row| allowed(&info[row].subject));
        let rows: Vec<usize> = train.rows().iter().copied().chain(further).collect();
        (all.at(&rows), all.at(validation.rows()))
    }

    /// How many trials of a training set are source-only.
    pub fn count(&self, train: &Subset<'_>) -> usize {
        train.rows().iter().filter(|&&row| row >= self.first).count()
    }

    /// The trials of a training set that are the study's.
    pub fn of_study<'a>(&self, train: &Subset<'a>) -> Subset<'a> {
        let places: Vec<usize> = (0..train.len()).filter(|&place| train.rows()[place] < self.first).collect();
        train.at(&places)
    }

    /// The source-only trials alone.
    pub fn alone(&self) -> Subset<'_> {
        self.joined.all().at(&(self.first..self.joined.len()).collect::<Vec<_>>())
    }
}

/// What was trained on besides the study's trials, as runs and results tell it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceOnlyData {
    /// What the data are called.
    pub name: String,
    /// What was chosen about a data set of recordings; of the study's data set, what is not as in the study.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, String>,
    /// Sessions and runs.
    #[serde(default, skip_serializing_if = "Units::is_all")]
    pub units: Units,
    /// The study's class for each class of another name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, String>,
    /// Whether the subjects are those of the study.
    pub cohort: CohortRelation,
    /// Whether the sessions and runs were taken out of the study's own data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken_out: bool,
    /// A hash of the contents and the pipeline.
    pub fingerprint: String,
    /// The subjects, by their numbers in the study where they are the same people, by their own where not.
    pub subjects: BTreeSet<SubjectId>,
    /// How many trials there are, of all of these subjects.
    pub trials: usize,
}

/// What they are, without counts: `physionet-mi (task=execution)`.
impl fmt::Display for SourceOnlyData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        let units = (!self.units.is_all()).then(|| self.units.to_string());
        let with = self.with.iter().map(|(name, value)| format!("{name}={value}"));
        let said: Vec<String> = with.chain(units).collect();
        if said.is_empty() { Ok(()) } else { write!(f, " ({})", said.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Layout, Trial};

    use super::*;
    use crate::splits::{Protocol, Split};

    /// A trial of each class for each of these subjects.
    fn trials(subjects: impl IntoIterator<Item = u32>, session: u32) -> Trials {
        let trial =
            |label, subject| Trial { label, subject: SubjectId(subject), session, run: 1, cue_s: 0.0 };
        let info: Vec<Trial> =
            subjects.into_iter().flat_map(|subject| [trial(0, subject), trial(1, subject)]).collect();
        let layout = Layout {
            channels: vec![Channel::named("Cz")],
            samples: 1,
            rate_hz: 100.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        Trials::new(layout, vec![0.0; info.len()], info).unwrap()
    }

    /// Subjects of one side, and whether the trials are source-only.
    fn sides(subset: &Subset<'_>) -> BTreeSet<(u32, bool)> {
        subset.info().map(|t| (t.subject.0, t.session == 9)).collect()
    }

    #[test]
    fn nobody_but_training_subjects_and_others_is_trained_on() {
        // Subject 4 has none, subject 11 is somebody else.
        let study = trials(1..=10, 1);
        let further = SourceOnlyTrials::new(&study, &trials([1, 2, 3, 5, 6, 7, 8, 9, 10, 11], 9)).unwrap();
        for protocol in ["loso", "kfold:3", "fixed:1-4/5-6/7-10"] {
            let splits: Vec<Split> =
                protocol.parse::<Protocol>().unwrap().splits(&study.subjects(), 3).unwrap();
            for split in splits {
                for sources in [split.sources().clone(), split.sources().without_validation()] {
                    let (train, validation) =
                        further.join(&sources, &sources.train(&study), &sources.validation(&study));
                    let own =
                        |subjects: &BTreeSet<SubjectId>| subjects.iter().map(|s| (s.0, false)).collect();
                    let mut expected: BTreeSet<(u32, bool)> = own(sources.train_subjects());
                    let has_some = |s: &&SubjectId| s.0 != 4;
                    expected.extend(sources.train_subjects().iter().filter(has_some).map(|s| (s.0, true)));
                    expected.insert((11, true));
                    assert_eq!(sides(&train), expected, "{protocol}");
                    assert_eq!(sides(&validation), own(sources.validation_subjects()), "{protocol}");
                    assert_eq!(train.set(), validation.set());
                    assert_eq!(further.count(&train), 2 * expected.iter().filter(|(_, more)| *more).count());
                    let of_study = further.of_study(&train);
                    assert_eq!(of_study.rows(), sources.train(&study).rows());
                }
            }
        }
        assert!(further.alone().info().all(|t| t.session == 9) && further.alone().len() == 20);
    }

    #[test]
    fn trials_of_another_kind_are_refused() {
        let study = trials(1..=2, 1);
        let layout = Layout { rate_hz: 50.0, ..study.layout().clone() };
        let other = Trials::new(layout, study.to_vec(), study.info().to_vec()).unwrap();
        assert!(SourceOnlyTrials::new(&study, &other).is_err());
    }
}
