//! Decoders x folds x seeds. What comes of each fit is a file of its own, so that processes on many machines can share the work, and any
//! of them can be killed at any time.

mod item;
mod reading;
mod shared;
mod stage;
mod work;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use ptsm_decode::registry::find;
use ptsm_decode::{Adaptation, Decoder, Fit, Method, Run, TrainingData, Watch};
use ptsm_engine::Device;
use ptsm_signal::SubjectId;

use crate::error::{Error, Result};
use crate::record::Record;
use crate::reliability::DecisionBins;
use crate::score::{RecordContext, learning_curve, score, score_into, unadapted};
use crate::splits::Units;

pub use item::{FitItem, FitOutcome, FitScores, ValidationScore};
use shared::FitJobs;
pub(crate) use shared::SharedFits;

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

/// What leads to the records of some items that are made of the same fits.
struct Group<'a> {
    shared: &'a SharedFits,
    decoder: &'a dyn Decoder,
    training_data: &'a BTreeMap<usize, TrainingData<'a>>,
    tested: &'a [Units],
}

impl Benchmark<'_> {
    /// Does those of the wanted items that have no scores yet. All folds and seeds of a decoder are handed to it at once; how many train
    /// together is its affair and the device's. What several items are made of is fitted once. An item that fails is written down as such and
    /// does not end the others.
    pub fn run(&self, selected: &dyn Fn(&FitItem) -> bool, observer: &mut dyn Observer) -> Result<()> {
        let folds = self.stage.folds(self.sets)?;
        let items = self.stage.items(self.sets)?;
        let all = self.stage.shared_fits()?;
        for (i, shared) in all.iter().enumerate() {
            let decoder = find(&shared.model)?.build(shared.settings.clone())?;
            let folds = self.stage.given_to(&*decoder, &folds);
            for (trained_on, tested) in self.stage.tested_by() {
                let own = items.iter().filter(|item| shared.has(item) && item.trained_on == trained_on);
                let mut left: Vec<&FitItem> =
                    own.filter(|item| selected(item) && !item.is_scored(self.folder)).collect();
                if left.is_empty() {
                    continue;
                }
                FitJobs::order(&mut left, shared);
                // A transductive decoder also gets the unlabelled trials of the test subjects.
                let with_target = decoder.learns_from_target();
                let training_data =
                    self.stage.training_data(&folds, self.sets, &trained_on, &tested, with_target)?;
                let group =
                    Group { shared, decoder: &*decoder, training_data: &training_data, tested: &tested };
                let fits = self.jobs(&group, &left).jobs.len();
                observer.begins(&shared.display_name(self.stage), fits, (i, all.len()));
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
            observer.failed(&self.entry(item).display_name(), item, &error.to_string());
            let scores = FitScores::Failed { error: error.to_string(), hint: error.hint() };
            let made_of = group.shared.seeds(item).len();
            self.outcome(group, item, scores, (Instant::now(), made_of)).write(item, self.folder)?;
        }
        Ok(())
    }

    fn entry(&self, item: &FitItem) -> &DecoderEntry {
        &self.stage.entries[item.entry]
    }

    fn jobs<'a>(&self, group: &Group<'a>, items: &[&FitItem]) -> FitJobs<'a> {
        FitJobs::of(items, group.shared, (self.stage, self.folder), group.training_data)
    }

    /// Fits, and writes down what comes of each item as soon as all that it is made of is there.
    fn together(&self, group: &Group<'_>, items: &[&FitItem], observer: &mut dyn Observer) -> Result<()> {
        item::make_room(self.folder)?;
        let FitJobs { jobs, of_item, items: of_job } = self.jobs(group, items);
        let run = Run { device: self.device, identity: &self.stage.fingerprint };
        let began = Instant::now();
        let mut failed = None;
        let mut fits: Vec<Option<Fit>> = vec![None; jobs.len()];
        let mut waiting: Vec<usize> = of_job.iter().map(Vec::len).collect();
        let fitted = group.decoder.fit(&jobs, &run, observer, &mut |job, fit| {
            fits[job] = Some(fit);
            for &i in &of_job[job] {
                let Some(own) = of_item[i].iter().map(|&job| fits[job].clone()).collect() else { continue };
                self.write(group, items[i], own, (began, jobs.len())).map_err(|error| {
                    failed = Some(error);
                    ptsm_decode::Error::Stopped
                })?;
                for &job in &of_item[i] {
                    waiting[job] -= 1;
                    if waiting[job] == 0 {
                        fits[job] = None;
                    }
                }
            }
            Ok(())
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(fitted?),
        }
    }

    /// Makes an item of its fits and writes down what comes of it.
    fn write(
        &self,
        group: &Group<'_>,
        item: &FitItem,
        fits: Vec<Fit>,
        (began, together): (Instant, usize),
    ) -> Result<()> {
        let fit = group.shared.compositions[&item.entry].compose(
            &group.training_data[&item.fold],
            item.seed,
            fits,
        )?;
        let (records, decisions) = self.records(group, item, &fit)?;
        let outcome = FitOutcome {
            decisions: Some(decisions),
            validation: self.validation(group, item, &fit)?,
            features: self.features(group, item, &fit)?,
            ..self.outcome(group, item, FitScores::Scored { records }, (began, together))
        };
        outcome.write(item, self.folder)?;
        // Not before the outcome is there. That there may be none, as with decoders that learn at once, is no matter.
        item.remove_checkpoints(self.folder, &self.entry(item).settings);
        Ok(())
    }

    /// What the records of a fit have in common.
    fn context(&self, item: &FitItem, tested: &Units) -> Result<RecordContext> {
        let entry = self.entry(item);
        let shown = find(&entry.model)?.target_access_with(&entry.settings)?;
        let units = |units: &Units| (!units.is_all()).then(|| units.clone());
        Ok(RecordContext {
            data: self.stage.data.clone(),
            model: entry.model.clone(),
            variant: entry.variant.clone(),
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
        let context = self.context(item, &Units::default())?;
        Ok(Some(ValidationScore::of(&score(&*fit.fitted, validation, &context)?)))
    }

    /// Every subject's scores on every part that is tested, and after few-shot adaptation. Beside them the decisions before that, by their
    /// probability.
    fn records(&self, group: &Group<'_>, item: &FitItem, fit: &Fit) -> Result<(Vec<Record>, DecisionBins)> {
        let DecoderEntry { model, settings, .. } = self.entry(item);
        let method = find(model)?;
        let subjects = self.sets.tested().of(&item.test);
        let (mut records, mut decisions) = (vec![], DecisionBins::default());
        for tested in group.tested {
            let context = self.context(item, tested)?;
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
        // Decoders that are adapted without labels have the features of adapted ones, as their scores are.
        let access = Method::adaptation_access(&self.entry(item).settings)?;
        let fitted = &*fit.fitted;
        let to_train = fitted.with_target_access(&train, access)?;
        let fitted = to_train.as_deref().unwrap_or(fitted);
        let to_both = fitted.with_target_access(&tested, access)?;
        ask(to_both.as_deref().unwrap_or(fitted), &train, &tested).map(Some)
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
            made_of: group.shared.seeds(item).len(),
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
