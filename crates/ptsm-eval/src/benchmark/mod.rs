//! Decoders x folds x seeds. What comes of each fit is a file of its own, so that processes on many machines can share the work, and any
//! of them can be killed at any time.

mod item;
mod reading;
mod stage;
mod work;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use ptsm_decode::registry::find;
use ptsm_decode::{Adaptation, Decoder, Fit, Job, Run, TrainingData, Watch};
use ptsm_engine::Device;
use ptsm_signal::SubjectId;

use crate::error::{Error, Result};
use crate::record::Record;
use crate::reliability::DecisionBins;
use crate::score::{RecordContext, learning_curve, score, score_into, unadapted};
use crate::splits::Units;

pub use item::{FitItem, FitOutcome, FitScores, ValidationScore};
pub use reading::{FeatureFindings, FeatureReader, FoldFeatureFindings};
pub use stage::{DecoderEntry, Division, Stage, StageTrials, TrainingSubjects};
pub use work::{CollectedFit, CollectedResults, FitFailure, FitStatus, WorkList, WorkMarker};

/// A stage, its trials, and where it is worked at.
pub struct Benchmark<'a> {
    /// What is to be done.
    pub stage: &'a Stage,
    /// The trials.
    pub sets: StageTrials<'a>,
    /// Where to work.
    pub device: &'a Device,
    /// Where outcomes and checkpoints are.
    pub folder: &'a Path,
    /// Who asks the features of each fit, where the stage wants them asked.
    pub ask: Option<&'a FeatureReader>,
}

/// Someone who watches a benchmark.
pub trait Observer: Watch {
    /// A decoder's fits begin: what it is called, how many fits, and its place among how many decoders.
    fn begins(&mut self, called: &str, fits: usize, place: (usize, usize));

    /// A fit could not be done; the others go on.
    fn failed(&mut self, called: &str, item: &FitItem, error: &str) {
        let _ = (called, item, error);
    }
}

impl DecoderEntry {
    /// What it is called among others: `ptsm`, `ptsm, without STAP`.
    pub fn display_name(&self) -> String {
        display_name(&self.model, self.variant.as_deref())
    }
}

/// A model with its variant.
pub(crate) fn display_name(model: &str, variant: Option<&str>) -> String {
    match variant {
        Some(variant) => format!("{model}, {variant}"),
        None => model.to_string(),
    }
}

/// What leads to the records of some fits of one entry.
struct Group<'a> {
    entry: &'a DecoderEntry,
    decoder: &'a dyn Decoder,
    training_data: &'a BTreeMap<usize, TrainingData<'a>>,
    tested: &'a [Units],
}

impl Benchmark<'_> {
    /// Does those of the wanted fits that have no scores yet. All folds and seeds of a decoder are handed to it at once; how many train
    /// together is its affair and the device's. A fit that fails is written down as such and does not end the others.
    pub fn run(&self, selected: &dyn Fn(&FitItem) -> bool, observer: &mut dyn Observer) -> Result<()> {
        let folds = self.stage.folds(self.sets)?;
        let items = self.stage.items(self.sets)?;
        for (i, entry) in self.stage.entries.iter().enumerate() {
            let method = find(&entry.model)?;
            let decoder = method.build(entry.settings.clone())?;
            let folds = self.stage.given_to(&*decoder, &folds);
            for (trained_on, tested) in self.stage.tested_by() {
                let own = items.iter().filter(|item| item.entry == i && item.trained_on == trained_on);
                let left: Vec<&FitItem> =
                    own.filter(|item| selected(item) && !item.is_scored(self.folder)).collect();
                if left.is_empty() {
                    continue;
                }
                observer.begins(&entry.display_name(), left.len(), (i, self.stage.entries.len()));
                // A transductive decoder also gets the unlabelled trials of the test subjects.
                let with_target = decoder.learns_from_target();
                let training_data =
                    self.stage.training_data(&folds, self.sets, &trained_on, &tested, with_target)?;
                let group =
                    Group { entry, decoder: &*decoder, training_data: &training_data, tested: &tested };
                let _working = WorkMarker::at(self.folder, &left)?;
                self.group(&group, &left, observer)?;
            }
        }
        Ok(())
    }

    /// Fits together; where that fails, one by one, so that only those are lost that cannot be done.
    fn group(&self, group: &Group<'_>, items: &[&FitItem], observer: &mut dyn Observer) -> Result<()> {
        let Err(first) = self.together(group, items, observer) else { return Ok(()) };
        let mut error = own_fault(first)?;
        let left: Vec<&FitItem> = items.iter().copied().filter(|item| !item.is_scored(self.folder)).collect();
        for item in &left {
            if left.len() > 1 {
                match self.together(group, &[item], observer) {
                    Ok(()) => continue,
                    Err(own) => error = own_fault(own)?,
                }
            }
            observer.failed(&group.entry.display_name(), item, &error.to_string());
            let scores = FitScores::Failed { error: error.to_string(), hint: error.hint() };
            self.outcome(group, item, scores, (Instant::now(), 1)).write(item, self.folder)?;
        }
        Ok(())
    }

    /// Fits, and writes down what comes of each as soon as it is known.
    fn together(&self, group: &Group<'_>, items: &[&FitItem], observer: &mut dyn Observer) -> Result<()> {
        item::make_room(self.folder)?;
        let job = |item: &&FitItem| Job {
            data: &group.training_data[&item.fold],
            seed: item.seed,
            checkpoint: Some(item.checkpoint(self.folder)),
        };
        let jobs: Vec<Job<'_>> = items.iter().map(job).collect();
        let run = Run { device: self.device, identity: &self.stage.fingerprint };
        let began = Instant::now();
        let mut failed = None;
        let fitted = group.decoder.fit(&jobs, &run, observer, &mut |job, fit| {
            let item = items[job];
            let written = self.records(group, item, &fit).and_then(|(records, decisions)| {
                let scores = FitScores::Scored { records };
                let outcome = FitOutcome {
                    decisions: Some(decisions),
                    validation: self.validation(group, item, &fit)?,
                    features: self.features(group, item, &fit)?,
                    ..self.outcome(group, item, scores, (began, items.len()))
                };
                outcome.write(item, self.folder)
            });
            // Not before the outcome is there. That there may be none, as with decoders that learn at once, is no matter.
            let _ = written.as_ref().map(|()| item.remove_checkpoints(self.folder, &group.entry.settings));
            written.map_err(|error| {
                failed = Some(error);
                ptsm_decode::Error::Stopped
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(fitted?),
        }
    }

    /// What the records of a fit have in common.
    fn context(&self, group: &Group<'_>, item: &FitItem, tested: &Units) -> Result<RecordContext> {
        let shown = find(&group.entry.model)?.target_access_with(&group.entry.settings)?;
        let units = |units: &Units| (!units.is_all()).then(|| units.clone());
        Ok(RecordContext {
            data: self.stage.data.clone(),
            model: group.entry.model.clone(),
            variant: group.entry.variant.clone(),
            protocol: self.stage.division.name(),
            trained_on: units(&item.trained_on),
            tested: units(tested),
            target_access: shown.and(self.stage.trials_access),
            shown,
            fold: item.fold,
            seed: item.seed,
            precision: self.stage.precision.clone(),
        })
    }

    /// How well it decodes its validation subjects, by whom it was stopped and calibrated; none of a decoder that has none.
    fn validation(&self, group: &Group<'_>, item: &FitItem, fit: &Fit) -> Result<Option<ValidationScore>> {
        let validation = group.training_data[&item.fold].validation();
        if validation.is_empty() {
            return Ok(None);
        }
        let context = self.context(group, item, &Units::default())?;
        Ok(Some(ValidationScore::of(&score(&*fit.fitted, validation, &context)?)))
    }

    /// Every subject's scores on every part that is tested, and after few-shot adaptation. Beside them the decisions before that, by their
    /// probability.
    fn records(&self, group: &Group<'_>, item: &FitItem, fit: &Fit) -> Result<(Vec<Record>, DecisionBins)> {
        let (method, settings) = (find(&group.entry.model)?, &group.entry.settings);
        let subjects = self.sets.tested().of(&item.test);
        let (mut records, mut decisions) = (vec![], DecisionBins::default());
        for tested in group.tested {
            let context = self.context(group, item, tested)?;
            let trials = subjects.only(|t| tested.contains(t));
            if trials.subjects() != item.test {
                return Err(stage::nothing_of(tested, "test subjects"));
            }
            records.extend(score_into(&*fit.fitted, &trials, &context, &mut decisions)?);
            if self.stage.shots.is_empty() {
                continue;
            }
            let each = |subject: &SubjectId| -> Result<Vec<Record>> {
                let own = trials.only(|t| t.subject == *subject);
                let shots = &self.stage.shots;
                if method.adaptations(settings)?.contains(&self.stage.how) {
                    let adaptation = Adaptation { how: self.stage.how, ..Adaptation::default() };
                    return Ok(learning_curve(&*fit.fitted, &own, shots, &adaptation, &context)?.records);
                }
                Ok(vec![unadapted(&*fit.fitted, &own, shots, &context)?])
            };
            for subject in &item.test {
                records.extend(each(subject)?);
            }
        }
        Ok((records, decisions))
    }

    /// What its features tell of subjects, where that is to be measured.
    fn features(&self, group: &Group<'_>, item: &FitItem, fit: &Fit) -> Result<Option<FeatureFindings>> {
        if !self.stage.features {
            return Ok(None);
        }
        let subjects = self.sets.tested().of(&item.test);
        let tested = subjects.only(|t| group.tested.iter().any(|units| units.contains(t)));
        let ask = self.ask.ok_or_else(|| {
            Error::plan(
                "features are to be measured, but no function that measures them is given",
                "give `Benchmark` its `ask`",
            )
        })?;
        let train = group.training_data[&item.fold].train();
        let train = self.sets.source_only.map_or(train.clone(), |further| further.of_study(train));
        ask(&*fit.fitted, &train, &tested).map(Some)
    }

    fn outcome(
        &self,
        group: &Group<'_>,
        item: &FitItem,
        scores: FitScores,
        (began, together): (Instant, usize),
    ) -> FitOutcome {
        let train = group.training_data[&item.fold].train();
        FitOutcome {
            key: item.key.clone(),
            scores,
            decisions: None,
            validation: None,
            features: None,
            elapsed_s: began.elapsed().as_secs_f64(),
            together,
            trials: train.len(),
            source_only: self.sets.source_only.map_or(0, |further| further.count(train)),
            made_by: format!("ptsm {}, {}", env!("CARGO_PKG_VERSION"), self.device),
        }
    }
}

/// An error of the fit itself. The wish to stop, and files that cannot be written, end everything.
fn own_fault(error: Error) -> Result<Error> {
    match error {
        Error::Decode(ptsm_decode::Error::Stopped | ptsm_decode::Error::File { .. })
        | Error::File { .. }
        | Error::Io(_) => Err(error),
        own => Ok(own),
    }
}
