//! What is to be done with one set of trials, in full: nothing about it is decided later.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_data::Duplicate;
use ptsm_decode::registry::find;
use ptsm_decode::{AdaptationWay, Decoder, TrainingData, calibration_split};
use ptsm_signal::{Layout, Pipeline, SubjectId, Subset, TargetAccess, Trials};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::item::FitItem;
use crate::error::{Error, Result};
use crate::source_only::{SourceOnlyData, SourceOnlyTrials};
use crate::splits::{Protocol, Sources, Split, Transfer, Units};

fn is_head(how: &AdaptationWay) -> bool {
    *how == AdaptationWay::Head
}

/// A decoder that takes part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoderEntry {
    /// The decoder's name in the registry.
    pub model: String,
    /// What tells it from the same decoder with other settings or other trials.
    pub variant: Option<String>,
    /// All its settings.
    pub settings: Value,
}

/// One set of trials and everything that is fitted to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Name of the data set with the test subjects.
    pub data: String,
    /// Fingerprint of the data and its preparation; of both sets where test subjects are of another one.
    pub fingerprint: String,
    /// What the trials are: channels, samples, rate, window, classes.
    pub layout: Layout,
    /// How recordings became trials.
    pub pipeline: Pipeline,
    /// The target access of the pipeline: what preparing the trials saw of each subject.
    pub trials_access: TargetAccess,
    /// How subjects are divided.
    #[serde(rename = "people")]
    pub division: Division,
    /// Sessions and runs to learn from and to test. One of everything where none is named.
    pub transfers: Vec<Transfer>,
    /// Labelled trials of each class that decoders are adapted with, besides none.
    pub shots: Vec<usize>,
    /// What that changes. Lists of work of earlier versions do not say.
    #[serde(default, skip_serializing_if = "is_head")]
    pub how: AdaptationWay,
    /// Who takes part.
    pub entries: Vec<DecoderEntry>,
    /// The seeds of every fit. The first one also draws the validation subjects, so that all seeds of a fold train at once.
    pub seeds: Vec<u64>,
    /// What operands of large products are rounded to on a GPU; none for f32.
    pub precision: Option<String>,
    /// Whether it is measured what the features of every fit tell of subjects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub features: bool,
    /// Trials that are only trained on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_only: Vec<SourceOnlyData>,
}

/// How training and test subjects are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Division {
    /// Subjects of one data set, divided.
    Within(Protocol),
    /// Some subjects of one data set, divided; the others are not looked at.
    Among {
        /// The subjects that take part.
        #[serde(rename = "people")]
        subjects: BTreeSet<SubjectId>,
        /// How they are divided.
        protocol: Protocol,
    },
    /// All subjects of one data set are training subjects, all of another are test subjects.
    Across {
        /// Name of the training data set.
        from: String,
    },
}

impl Division {
    /// The source subjects of one fold, divided once more: no test subject of that fold is among them.
    pub fn inside(sources: &Sources, protocol: Protocol) -> Division {
        Division::Among { subjects: sources.train_subjects() | sources.validation_subjects(), protocol }
    }

    /// As it stands in records.
    pub fn name(&self) -> String {
        match self {
            Division::Within(protocol) | Division::Among { protocol, .. } => protocol.to_string(),
            Division::Across { from } => format!("across:{from}"),
        }
    }
}

/// Numbers of subjects that a decoder learns from, the least and the most over folds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrainingSubjects {
    /// What the decoder is called among others.
    pub entry: String,
    /// The fewest and the most training subjects of a fold.
    pub train: [usize; 2],
    /// The fewest and the most validation subjects of a fold.
    pub validation: [usize; 2],
}

/// Source subjects and test subjects.
pub(super) struct Fold {
    pub(super) sources: Sources,
    pub(super) test: BTreeSet<SubjectId>,
}

/// The trials of a stage: those of the source subjects, and those of the test subjects where they are of another set.
#[derive(Clone, Copy)]
pub struct StageTrials<'a> {
    /// The training set; where subjects are divided into folds, also the test set.
    pub training: &'a Trials,
    /// The test set, where it is another one.
    pub tested: Option<&'a Trials>,
    /// The training set with trials that are only trained on, where there are some.
    pub source_only: Option<&'a SourceOnlyTrials>,
}

impl<'a> StageTrials<'a> {
    /// One set for both.
    pub fn one(trials: &'a Trials) -> StageTrials<'a> {
        StageTrials { training: trials, tested: None, source_only: None }
    }

    pub(super) fn tested(&self) -> &'a Trials {
        self.tested.unwrap_or(self.training)
    }
}

impl Stage {
    pub(super) fn folds(&self, sets: StageTrials<'_>) -> Result<Vec<Fold>> {
        let seed = *self.seeds.first().ok_or_else(|| Error::plan("there is no seed", "give at least one"))?;
        let fold =
            |split: &Split| Fold { sources: split.sources().clone(), test: split.test_subjects().clone() };
        match (&self.division, sets.tested) {
            (Division::Within(protocol), None) => {
                Ok(protocol.splits(&sets.training.subjects(), seed)?.iter().map(fold).collect())
            }
            (Division::Among { subjects, protocol }, None) => {
                Ok(protocol.splits(subjects, seed)?.iter().map(fold).collect())
            }
            (Division::Across { .. }, Some(tested)) => {
                sets.training.layout().expect(tested.layout()).map_err(ptsm_decode::Error::from)?;
                let sources = Split::for_training(&sets.training.subjects(), seed)?;
                Ok(vec![Fold { sources, test: tested.subjects() }])
            }
            _ => Err(Error::plan(
                format!("`{}` does not fit the trials that are given", self.division.name()),
                "give one set of trials where subjects are divided within it, two where another data set is tested",
            )),
        }
    }

    /// Refuses folds in which a recording is on two sides under two subjects.
    pub fn check_duplicates(&self, sets: StageTrials<'_>, duplicates: &[Duplicate]) -> Result<()> {
        // Numbers of subjects of two sets have nothing to do with each other.
        let nobody = BTreeSet::new();
        let folds = self.folds(sets)?;
        let decoders = self.entries.iter().map(|entry| find(&entry.model)?.build(entry.settings.clone()));
        let decoders = decoders.collect::<Result<Vec<_>, _>>()?;
        let mut given: Vec<Fold> =
            decoders.iter().flat_map(|decoder| self.given_to(&**decoder, &folds)).collect();
        if decoders.is_empty() {
            given = folds;
        }
        for fold in given {
            let test = if sets.tested.is_some() { &nobody } else { &fold.test };
            fold.sources.check_duplicates(duplicates, test)?;
        }
        Ok(())
    }

    /// Folds as a decoder gets them: one that does not look at validation subjects trains on them too. Where the protocol names who is
    /// trained on, nobody else is.
    pub(super) fn given_to(&self, decoder: &dyn Decoder, folds: &[Fold]) -> Vec<Fold> {
        let named = matches!(
            &self.division,
            Division::Within(Protocol::Fixed { .. })
                | Division::Among { protocol: Protocol::Fixed { .. }, .. }
        );
        let given = |fold: &Fold| Fold {
            sources: match named || decoder.uses_validation() {
                true => fold.sources.clone(),
                false => fold.sources.without_validation(),
            },
            test: fold.test.clone(),
        };
        folds.iter().map(given).collect()
    }

    /// How many subjects each decoder trains on and how many of them are held back for validation: for every entry, the least and the most
    /// over folds.
    pub fn training_subjects(&self, sets: StageTrials<'_>) -> Result<Vec<TrainingSubjects>> {
        let folds = self.folds(sets)?;
        let of = |entry: &DecoderEntry| -> Result<TrainingSubjects> {
            let decoder = find(&entry.model)?.build(entry.settings.clone())?;
            let folds = self.given_to(&*decoder, &folds);
            let count = |of: fn(&Sources) -> usize| {
                let all = folds.iter().map(|fold| of(&fold.sources));
                all.fold([usize::MAX, 0], |[least, most], n| [least.min(n), most.max(n)])
            };
            Ok(TrainingSubjects {
                entry: entry.display_name(),
                train: count(|sources| sources.train_subjects().len()),
                validation: count(|sources| sources.validation_subjects().len()),
            })
        };
        self.entries.iter().map(of).collect()
    }

    /// The units that are tested for each unit that is trained on, in the order they were named.
    pub(super) fn tested_by(&self) -> Vec<(Units, Vec<Units>)> {
        let mut parts: Vec<(Units, Vec<Units>)> = vec![];
        let everything = [Transfer::default()];
        let transfers = if self.transfers.is_empty() { &everything[..] } else { &self.transfers };
        for Transfer { trained_on, tested } in transfers {
            match parts.iter_mut().find(|(known, _)| known == trained_on) {
                Some((_, all)) if all.contains(tested) => {}
                Some((_, all)) => all.push(tested.clone()),
                None => parts.push((trained_on.clone(), vec![tested.clone()])),
            }
        }
        parts
    }

    /// Everything that is to be fitted, entry by entry. A subject that could not be decoded in the end is reported here, before anything is trained.
    pub fn items(&self, sets: StageTrials<'_>) -> Result<Vec<FitItem>> {
        let folds = self.folds(sets)?;
        let parts = self.tested_by();
        for units in parts.iter().flat_map(|(_, tested)| tested) {
            self.check_tested(&folds, sets, units)?;
        }
        let mut items = vec![];
        for (entry, DecoderEntry { model, settings, .. }) in self.entries.iter().enumerate() {
            let method = find(model)?;
            let decoder = method.build(settings.clone())?;
            for units in parts.iter().flat_map(|(_, tested)| tested) {
                let tested = sets.tested().all().only(|t| units.contains(t));
                decoder.check_subjects(&tested, method.target_access_with(settings)?)?;
            }
            let folds = self.given_to(&*decoder, &folds);
            for (trained_on, tested) in &parts {
                self.training_data(&folds, sets, trained_on, tested, false)?;
                for (fold, subjects) in folds.iter().enumerate() {
                    for &seed in &self.seeds {
                        items.push(FitItem::new(self, entry, (fold, subjects), (trained_on, tested), seed)?);
                    }
                }
            }
        }
        Ok(items)
    }

    /// Checks that every test subject has trials of these units, and enough of them to set some aside.
    fn check_tested(&self, folds: &[Fold], sets: StageTrials<'_>, units: &Units) -> Result<()> {
        for subject in folds.iter().flat_map(|fold| &fold.test) {
            let trials = sets.tested().all().only(|t| t.subject == *subject && units.contains(t));
            if trials.is_empty() {
                return Err(nothing_of(units, &format!("test subjects, {subject} among them,")));
            }
            if let Some(&most) = self.shots.iter().max() {
                let (_, later) = calibration_split(&trials, most)?;
                if later.is_empty() {
                    return Err(Error::plan(
                        format!("with {most} shots no trial of {subject} is left to score"),
                        "ask for fewer shots",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The training data of each fold, from some units; with the unlabelled trials of the fold's test subjects as the target, or without them.
    pub(super) fn training_data<'a>(
        &self,
        folds: &[Fold],
        sets: StageTrials<'a>,
        trained_on: &Units,
        tested: &[Units],
        with_target: bool,
    ) -> Result<BTreeMap<usize, TrainingData<'a>>> {
        let some = |trials: Subset<'a>, what: &str| -> Result<Subset<'a>> {
            let kept = trials.only(|t| trained_on.contains(t));
            if kept.is_empty() && !trials.is_empty() {
                return Err(nothing_of(trained_on, what));
            }
            Ok(kept)
        };
        let data = |fold: &Fold| -> Result<TrainingData<'a>> {
            let train = some(fold.sources.train(sets.training), "training subjects")?;
            let validation = some(fold.sources.validation(sets.training), "validation subjects")?;
            let (train, validation) = match sets.source_only {
                Some(further) => further.join(&fold.sources, &train, &validation),
                None => (train, validation),
            };
            let data = TrainingData::new(train, validation)?;
            if !with_target {
                return Ok(data);
            }
            let target = sets.tested().of(&fold.test).only(|t| tested.iter().any(|units| units.contains(t)));
            Ok(data.with_target(target.unlabelled()))
        };
        folds.iter().enumerate().map(|(i, fold)| Ok((i, data(fold)?))).collect()
    }
}

pub(super) fn nothing_of(units: &Units, side: &str) -> Error {
    Error::plan(
        format!("the {side} have no trial of `{units}`"),
        "name sessions and runs the data have; `ptsm data show` lists them",
    )
}

#[cfg(test)]
mod tests {
    use ptsm_data::simulate::Cohort;
    use serde_json::json;

    use super::*;
    use crate::source_only::SourceOnlyTrials;

    /// What every decoder is given of every fold, with its own rule about validation subjects, one session and another.
    #[test]
    fn no_source_only_trial_of_a_validation_or_test_subject_is_given_to_a_decoder() {
        let cohort = Cohort { subjects: 8, sessions: 2, runs: 1, trials: 6, seed: 3, ..Cohort::default() };
        let source = ptsm_data::Source::Simulated { cohort: Box::new(cohort), note: None };
        let loaded = source.load(None, None).unwrap();
        let (study, further) = {
            let of = |session| loaded.only(|trial| trial.session == session).unwrap().trials;
            // A copy of everybody, and the same trials as somebody else's.
            let mut further = of(2);
            let others = further
                .info()
                .iter()
                .map(|t| ptsm_signal::Trial { subject: SubjectId(t.subject.0 + 100), ..*t });
            let others = Trials::new(further.layout().clone(), further.to_vec(), others.collect()).unwrap();
            further.append(&others).unwrap();
            (of(1), further)
        };
        let further = SourceOnlyTrials::new(&study, &further).unwrap();
        let sets = StageTrials { source_only: Some(&further), ..StageTrials::one(&study) };
        let entries = ["csp-lda", "eegnet", "dann"].map(|model| DecoderEntry {
            model: model.into(),
            variant: None,
            settings: find(model).unwrap().settings(study.layout(), &json!({})).unwrap(),
        });
        for protocol in ["loso", "kfold:3", "fixed:1-3/4/5-7"] {
            let stage = Stage {
                data: loaded.name.clone(),
                fingerprint: loaded.fingerprint.clone(),
                layout: study.layout().clone(),
                pipeline: loaded.pipeline.clone(),
                trials_access: TargetAccess::Nothing,
                division: Division::Within(protocol.parse().unwrap()),
                transfers: vec![],
                shots: vec![],
                how: Default::default(),
                entries: entries.to_vec(),
                seeds: vec![1],
                precision: None,
                features: false,
                source_only: vec![],
            };
            for entry in &stage.entries {
                let decoder = find(&entry.model).unwrap().build(entry.settings.clone()).unwrap();
                let folds = stage.given_to(&*decoder, &stage.folds(sets).unwrap());
                let target = decoder.learns_from_target();
                let given = stage.training_data(&folds, sets, &Units::ALL, &[Units::ALL], target).unwrap();
                for (fold, data) in given {
                    let Fold { sources, test } = &folds[fold];
                    for trial in data.train().info() {
                        // Numbers from 101 are other people.
                        let is_trained_on = sources.train_subjects().contains(&trial.subject);
                        assert!(is_trained_on || (trial.subject.0 > 100 && trial.session == 2), "{trial:?}");
                        assert!(!test.contains(&trial.subject), "{trial:?}");
                    }
                    assert!(data.validation().info().all(|t| t.session == 1), "{protocol}");
                    assert_eq!(&data.validation().subjects(), sources.validation_subjects());
                    let n = 6 * sources.train_subjects().len() + 6 * 8;
                    assert_eq!(further.count(data.train()), n, "{protocol} {}", entry.model);
                    // The unlabelled target is the study's.
                    let sessions = data
                        .target()
                        .map(|t| t.sessions().all(|(s, session)| session == 1 && test.contains(&s)));
                    assert_eq!(sessions, target.then_some(true));
                }
                stage.check_duplicates(sets, &[]).unwrap();
                let items = stage.items(sets).unwrap();
                assert!(items.iter().all(|item| item.test.iter().all(|subject| subject.0 < 100)));
            }
        }
    }
}
